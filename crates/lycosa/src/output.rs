//! Standard output, buffered. A reader that has seen enough (`lycosa export … | head`) is no failure.

use std::io::{BufWriter, ErrorKind, StdoutLock};

pub type Out = BufWriter<StdoutLock<'static>>;

pub fn stdout() -> Out {
    BufWriter::with_capacity(64 * 1024, std::io::stdout().lock())
}

/// Whether an error means only that nobody reads any more.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == ErrorKind::BrokenPipe)
}
