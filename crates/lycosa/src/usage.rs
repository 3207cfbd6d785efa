//! Wrong usage, told apart from failure: what was typed cannot be done, whatever the crawl or the network is like.

use std::error::Error;
use std::fmt;

use lycosa_engine::ReaderError;
use lycosa_engine::why::WhyError;

/// An error that is about what was typed; the program ends with code 2.
#[derive(Debug)]
pub struct WrongUsage(anyhow::Error);

impl fmt::Display for WrongUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for WrongUsage {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// Marks the errors of a result as wrong usage.
pub trait OrUsage<T> {
    fn or_usage(self) -> anyhow::Result<T>;
}

impl<T, E: Into<anyhow::Error>> OrUsage<T> for Result<T, E> {
    fn or_usage(self) -> anyhow::Result<T> {
        self.map_err(|error| anyhow::Error::new(WrongUsage(error.into())))
    }
}

/// An error of wrong usage with this message.
pub fn wrong(message: impl fmt::Display) -> anyhow::Error {
    anyhow::Error::new(WrongUsage(anyhow::anyhow!("{message}")))
}

/// Whether an error is about what was typed. URLs and queries come from the command line alone, wherever they are read.
pub fn is_wrong_usage(error: &anyhow::Error) -> bool {
    error.downcast_ref::<WrongUsage>().is_some()
        || error.chain().any(|cause| {
            cause.is::<WrongUsage>()
                || cause.is::<lycosa_types::UrlError>()
                || matches!(cause.downcast_ref(), Some(ReaderError::Url(_)))
                || matches!(cause.downcast_ref(), Some(WhyError::Url(_)))
                || cause.is::<lycosa_search::QueryError>()
                || cause.is::<lycosa_frontier::scope::PatternError>()
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn usage_shows_through_context_and_keeps_its_words() {
        let error = Err::<(), _>(wrong("no such thing")).context("--set a=b").unwrap_err();
        assert!(is_wrong_usage(&error));
        assert_eq!(format!("{error:#}"), "--set a=b: no such thing");
        let io = std::io::Error::other("disk");
        assert!(!is_wrong_usage(&anyhow::Error::from(io)));
        let marked = Err::<(), _>(std::io::Error::other("disk")).context("reading").or_usage().unwrap_err();
        assert!(is_wrong_usage(&marked));
        assert_eq!(format!("{marked:#}"), "reading: disk");
    }
}
