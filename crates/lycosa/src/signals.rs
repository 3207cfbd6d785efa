//! Ctrl-C, SIGTERM and SIGHUP: the first asks the crawl to save and stop, the second leaves at once.

use std::path::PathBuf;

use lycosa_engine::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::output::tell;

/// The exit code of a crawl that was left at once. The state is safe at any instant, so it is the same as for a stop.
const EXIT_STOPPED: i32 = 3;

/// The signals that ask a program to end: Ctrl-C, `kill`, and the terminal or connection that goes away.
pub struct Asked {
    interrupt: Signal,
    terminate: Signal,
    /// None under `nohup`, which has it ignored.
    hangup: Option<Signal>,
}

impl Asked {
    /// Listens from now on. Belongs into a runtime.
    pub fn listen() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: if hangup_is_ignored() { None } else { Some(signal(SignalKind::hangup())?) },
        })
    }

    /// Waits until one came. None if no more can come.
    pub async fn next(&mut self) -> Option<()> {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            came = self.interrupt.recv() => came,
            came = self.terminate.recv() => came,
            came = hangup => came,
        }
    }
}

/// Whether the program was started to outlive its terminal, as under nohup.
fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

/// A file that may grow no more is a failed write, which is told, and not a signal that ends the program. Systems that
/// refuse leave things as they were.
pub fn outlive_file_limit() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    if let Ok(runtime) = runtime {
        let _guard = runtime.enter();
        // Whatever is done with it: once listened for, a signal does not end the program any more.
        let _ = signal(SignalKind::from_raw(nix::libc::SIGXFSZ));
    }
}

/// Listens on a thread of its own until the process ends. `progress` is removed when the crawl is left at once.
pub fn listen(handle: Handle, progress: PathBuf) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Registered before the thread starts, so that no signal finds the default action in place.
    let mut asked = {
        let _guard = runtime.enter();
        Asked::listen()?
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        runtime.block_on(async move {
            let mut is_stopping = false;
            while asked.next().await.is_some() {
                if is_stopping {
                    // What is under way is fetched again by the next run; everything else is saved already.
                    let _ = std::fs::remove_file(&progress);
                    std::process::exit(EXIT_STOPPED);
                }
                is_stopping = true;
                handle.stop();
                tell!("stopping: saving what is under way (once more to leave at once; nothing is lost)");
            }
        });
    })?;
    Ok(())
}
