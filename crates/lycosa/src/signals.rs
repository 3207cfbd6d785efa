//! Ctrl-C and SIGTERM: the first asks the crawl to save and stop, the second leaves at once.

use std::path::PathBuf;

use lycosa_engine::Handle;
use tokio::signal::unix::{SignalKind, signal};

/// The exit code of a crawl that was left at once. The state is safe at any instant, so it is the same as for a stop.
const EXIT_STOPPED: i32 = 3;

/// Listens on a thread of its own until the process ends. `progress` is removed when the crawl is left at once.
pub fn listen(handle: Handle, progress: PathBuf) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Registered before the thread starts, so that no signal finds the default action in place.
    let (mut interrupt, mut terminate) = {
        let _guard = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        runtime.block_on(async move {
            let mut asked = false;
            loop {
                let came = tokio::select! {
                    came = interrupt.recv() => came,
                    came = terminate.recv() => came,
                };
                if came.is_none() {
                    return;
                }
                if asked {
                    // What is under way is fetched again by the next run; everything else is saved already.
                    let _ = std::fs::remove_file(&progress);
                    std::process::exit(EXIT_STOPPED);
                }
                asked = true;
                handle.stop();
                eprintln!("stopping: saving what is under way (once more to leave at once; nothing is lost)");
            }
        });
    })?;
    Ok(())
}
