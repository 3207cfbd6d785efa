//! Standard output, buffered, and standard error. A reader that has seen enough (`lycosa export … | head`) is no failure, and
//! a standard error that is gone is none either: messages are then lost, not work.

use std::io::{BufWriter, ErrorKind, IsTerminal, StdoutLock, Write};

use crate::foreign::{Cleaner, Kind, clean};

pub type Out = Cleaner<BufWriter<StdoutLock<'static>>>;

/// For people, or JSON.
pub fn stdout() -> Out {
    stdout_of(Kind::Text)
}

pub fn stdout_of(kind: Kind) -> Out {
    let out = std::io::stdout();
    let is_terminal = out.is_terminal();
    Cleaner::new(BufWriter::with_capacity(64 * 1024, out.lock()), kind, is_terminal)
}

/// Writes to standard error, whatever becomes of it.
pub fn note(text: std::fmt::Arguments<'_>) {
    let text = clean(&text.to_string(), Kind::Text);
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// A line on a terminal's standard error that the next one writes over.
pub fn passing(text: &str) {
    let text = format!("\r{}", clean(text, Kind::Text));
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// A line on standard error, as by `eprintln!`, which ends the program if standard error is gone.
macro_rules! tell {
    ($($words:tt)*) => { $crate::output::note(format_args!("{}\n", format_args!($($words)*))) };
}
pub(crate) use tell;

/// Whether an error means only that nobody reads any more.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == ErrorKind::BrokenPipe)
}
