//! A web server on loopback: nginx with one worker, a configuration and directories of its own, a free port, and a log
//! from which it can be told what a client asked for.

use std::io::{Read, Seek, SeekFrom};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::program;

/// Longest wait for the server to answer.
const START_LIMIT: Duration = Duration::from_secs(10);
/// Ports tried, since another program may take a free one first.
const PORT_TRIES: usize = 5;
/// The log is written in blocks, at the latest after one second.
const LOG_FLUSH: Duration = Duration::from_millis(1300);

pub struct Nginx {
    child: Child,
    port: u16,
    log: PathBuf,
}

/// One request as the server saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub status: u16,
    pub bytes: u64,
    pub path: String,
    pub mime: String,
    /// The page that the client says it comes from; `-` where it does not say.
    pub referer: String,
}

impl Request {
    pub fn is_page(&self) -> bool {
        self.status == 200 && self.mime.starts_with("text/html")
    }

    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split('\t');
        let status = fields.next()?.parse().ok()?;
        let bytes = fields.next()?.parse().ok()?;
        let path = fields.next()?.to_owned();
        let mime = fields.next()?.to_owned();
        let referer = fields.next()?.to_owned();
        Some(Self { status, bytes, path, mime, referer })
    }
}

impl Nginx {
    /// Serves `root`; `home` takes configuration, log and temporary files.
    pub fn start(root: &Path, home: &Path) -> Result<Self> {
        let binary = program::needed("nginx")?;
        std::fs::create_dir_all(home)?;
        let log = home.join("access.log");
        for _ in 0..PORT_TRIES {
            let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
            let file = home.join("nginx.conf");
            std::fs::write(&file, configuration(root, home, port))?;
            std::fs::write(&log, "")?;
            let errors = std::fs::File::create(home.join("start.log"))?;
            // In a session of its own, as a service is: the kernel shares the cores between sessions first.
            let child = Command::new("setsid")
                .arg(&binary)
                .arg("-p")
                .arg(home)
                .arg("-c")
                .arg(&file)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(errors)
                .spawn()
                .context("starting nginx")?;
            let mut server = Self { child, port, log: log.clone() };
            if server.answers()? {
                return Ok(server);
            }
        }
        bail!("nginx does not start: see {}", home.join("start.log").display())
    }

    /// Waits until the port is open; false where the server ended, its port taken by another.
    fn answers(&mut self) -> Result<bool> {
        let start = Instant::now();
        while start.elapsed() < START_LIMIT {
            if self.child.try_wait()?.is_some() {
                return Ok(false);
            }
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return Ok(true);
            }
            sleep(Duration::from_millis(20));
        }
        Ok(false)
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// Forgets what was asked for so far.
    pub fn clear_log(&self) -> Result<()> {
        sleep(LOG_FLUSH);
        std::fs::OpenOptions::new().write(true).open(&self.log)?.set_len(0)?;
        Ok(())
    }

    /// Everything asked for since the log was cleared.
    pub fn requests(&self) -> Result<Vec<Request>> {
        sleep(LOG_FLUSH);
        let mut file = std::fs::File::open(&self.log)?;
        file.seek(SeekFrom::Start(0))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).lines().filter_map(Request::parse).collect())
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // The master takes its worker along on this signal, which it would not when killed.
        if let Ok(pid) = i32::try_from(self.child.id()) {
            kill(Pid::from_raw(pid), Signal::SIGTERM).ok();
        }
        self.child.wait().ok();
    }
}

fn configuration(root: &Path, home: &Path, port: u16) -> String {
    let user = if nix::unistd::geteuid().is_root() { "user root;" } else { "" };
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("    {kind}_temp_path {}/{kind};\n", home.display()))
        .concat();
    format!(
        r#"{user}
worker_processes 1;
daemon off;
pid {home}/nginx.pid;
error_log {home}/error.log;
events {{ worker_connections 8192; }}
http {{
    types {{
        text/html html htm;
        text/css css;
        text/plain txt;
        text/xml xml;
        application/javascript js;
        application/json json;
        application/pdf pdf;
        image/gif gif;
        image/jpeg jpg jpeg;
        image/png png;
        image/svg+xml svg;
        image/x-icon ico;
        font/woff woff;
        font/woff2 woff2;
    }}
    default_type application/octet-stream;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 100000000;
    log_format asked "$status\t$body_bytes_sent\t$request_uri\t$sent_http_content_type\t$http_referer";
    access_log {home}/access.log asked buffer=64k flush=1s;
{temporary}    server {{ listen 127.0.0.1:{port} backlog=4096; root {root}; }}
}}
"#,
        home = home.display(),
        root = root.display(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_lines_are_read_and_torn_ones_left_out() {
        let page = Request::parse("200\t12\t/a/b.html?x=1\ttext/html\t-").unwrap();
        assert!(page.is_page());
        assert_eq!((page.bytes, page.path.as_str()), (12, "/a/b.html?x=1"));
        assert!(!Request::parse("404\t12\t/a\ttext/html\t-").unwrap().is_page());
        assert_eq!(Request::parse("200\t12\t/a\ttext/html"), None);
    }
}
