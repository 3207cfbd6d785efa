//! What a failure of the store means to those who crawl: what is damaged, what is lost, what to do.

use std::io::ErrorKind;

/// In words. Its own go to the log, for those who ask for more.
pub fn told(error: &fjall::Error) -> String {
    tracing::debug!(?error, "the state store failed");
    let io = match error {
        fjall::Error::Io(io) | fjall::Error::Storage(fjall::LsmError::Io(io)) => Some(io),
        _ => None,
    };
    match io {
        Some(io)
            if matches!(
                io.kind(),
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge
            ) =>
        {
            format!(
                "the state cannot be written: {io}; make room and run again, nothing that was saved is lost"
            )
        }
        Some(io)
            if matches!(
                io.kind(),
                ErrorKind::NotFound | ErrorKind::UnexpectedEof | ErrorKind::InvalidData
            ) =>
        {
            format!("the state is damaged, a file in it is missing or cut off ({io}); {ADVICE}")
        }
        Some(io) => format!("the state cannot be read or written: {io}"),
        None if matches!(error, fjall::Error::Poisoned) => {
            "an earlier write of the state failed; free space or repair the disk and run again".to_owned()
        }
        None => format!("the state is damaged and cannot be read; {ADVICE}"),
    }
}

const ADVICE: &str = "the pages in archive/ are not touched by that and any WARC tool reads them, what is known about URLs \
     is lost: restore state/ from a copy, or crawl into a new directory";
