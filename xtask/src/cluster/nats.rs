//! NATS servers as processes: one, or several that hold each message together.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;

/// How long a server may take to greet.
const PATIENCE: Duration = Duration::from_secs(60);

/// The server's program in the Python environment.
pub fn program(workspace: &Workspace) -> Result<PathBuf> {
    let program = workspace.venv().join("bin/nats-server");
    if !program.exists() {
        bail!("{} is not there; `cargo xtask setup` installs it", program.display());
    }
    Ok(program)
}

pub struct Nats {
    program: PathBuf,
    servers: Vec<Server>,
}

struct Server {
    dir: PathBuf,
    port: u16,
    child: Option<Child>,
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

impl Nats {
    /// Starts `count` servers below `dir`. They tell clients of no address but their own, so that a proxy is not passed by.
    pub fn start(program: &Path, dir: &Path, count: usize) -> Result<Self> {
        let ports = (0..count).map(|_| Ok((free_port()?, free_port()?))).collect::<Result<Vec<_>>>()?;
        let routes: Vec<String> =
            ports.iter().map(|(_, route)| format!("nats://127.0.0.1:{route}")).collect();
        let mut servers = Vec::new();
        for (number, (port, route)) in ports.iter().enumerate() {
            let dir = dir.join(format!("nats-{number}"));
            std::fs::create_dir_all(&dir)?;
            let mut config = format!(
                "server_name: n{number}\nlisten: \"127.0.0.1:{port}\"\n\
                 jetstream {{ store_dir: \"{}\", sync_interval: always }}\n",
                dir.join("store").display()
            );
            if count > 1 {
                writeln!(
                    config,
                    "cluster {{ name: soak, listen: \"127.0.0.1:{route}\", no_advertise: true, routes: {routes:?} }}"
                )?;
            }
            std::fs::write(dir.join("nats.conf"), config)?;
            servers.push(Server { dir, port: *port, child: None });
        }
        let mut nats = Self { program: program.to_owned(), servers };
        (0..count).try_for_each(|number| nats.up(number))?;
        (0..count).try_for_each(|number| nats.wait(number))?;
        Ok(nats)
    }

    pub fn len(&self) -> usize {
        self.servers.len()
    }

    pub fn ports(&self) -> Vec<u16> {
        self.servers.iter().map(|server| server.port).collect()
    }

    /// Starts a server, which finds what it had.
    pub fn up(&mut self, number: usize) -> Result<()> {
        let server = &mut self.servers[number];
        let log = File::options().create(true).append(true).open(server.dir.join("log"))?;
        let child = Command::new(&self.program)
            .arg("-c")
            .arg(server.dir.join("nats.conf"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .context("starting nats-server")?;
        server.child = Some(child);
        Ok(())
    }

    fn wait(&self, number: usize) -> Result<()> {
        let server = &self.servers[number];
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", server.port)) {
                stream.set_read_timeout(Some(Duration::from_secs(1)))?;
                let mut greeting = [0; 4];
                if stream.read_exact(&mut greeting).is_ok() && &greeting == b"INFO" {
                    return Ok(());
                }
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        bail!("nats-server {number} does not come up; see {}", server.dir.join("log").display())
    }

    /// `kill -9`.
    pub fn kill(&mut self, number: usize) {
        if let Some(mut child) = self.servers[number].child.take() {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        (0..self.servers.len()).for_each(|number| self.kill(number));
    }
}
