//! What the server has not allowed. A refusal of permission comes as a message of its own, beside the request, which is never
//! answered: without it a call would wait for its time-out and be made again, for ever.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::bus::BusError;

/// Refusals that are remembered.
const KEPT: usize = 64;
/// How the server begins its message.
const BEGINNING: &str = "permissions violation for";

/// The refusals of one connection, latest last.
#[derive(Clone, Debug)]
pub(super) struct Denials {
    subjects: Arc<Mutex<VecDeque<(u64, String)>>>,
    count: watch::Sender<u64>,
}

impl Default for Denials {
    fn default() -> Self {
        Self { subjects: Arc::default(), count: watch::Sender::new(0) }
    }
}

impl Denials {
    /// Takes in an error that the server told; anything but a refusal of permission is passed over.
    pub fn hear(&self, error: &str) {
        if !error.to_ascii_lowercase().contains(BEGINNING) {
            return;
        }
        // `Permissions Violation for Publish to "subject"`, where versions differ in quotes and letters.
        let Some(subject) = error.split('"').nth(1) else { return };
        let mut subjects = self.subjects.lock().unwrap_or_else(PoisonError::into_inner);
        self.count.send_modify(|count| {
            *count += 1;
            subjects.push_back((*count, subject.to_owned()));
            if subjects.len() > KEPT {
                subjects.pop_front();
            }
        });
    }

    /// Makes a call; if the server refuses a subject that holds `word` meanwhile, the call ends with that.
    pub async fn watch<T>(
        &self,
        word: &str,
        call: impl Future<Output = Result<T, BusError>>,
    ) -> Result<T, BusError> {
        let mut count = self.count.subscribe();
        let before = *count.borrow_and_update();
        let refused = async {
            loop {
                if count.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
                if let Some(subject) = self.since(before, word) {
                    break subject;
                }
            }
        };
        tokio::select! {
            result = call => result,
            subject = refused => Err(BusError::Refused(format!(
                "the NATS server does not allow this user to use {subject}; use another user, or give this one the permission"
            ))),
        }
    }

    fn since(&self, before: u64, word: &str) -> Option<String> {
        let subjects = self.subjects.lock().unwrap_or_else(PoisonError::into_inner);
        let mut later = subjects.iter().filter(|(number, _)| *number > before);
        later.find(|(_, subject)| subject.contains(word)).map(|(_, subject)| subject.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_refusal_ends_the_call_it_concerns_and_no_other() {
        let denials = Denials::default();
        let never = || std::future::pending::<Result<(), BusError>>();
        let (told, other) = (denials.clone(), denials.clone());
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            told.hear("stale connection");
            told.hear("Permissions Violation for Publish to \"lycosa.news.4.in\"");
        });
        let waits = tokio::spawn(async move { other.watch("lycosa.news.5.in", never()).await });
        let refused = denials.watch("lycosa.news.4.in", never()).await;
        assert!(matches!(&refused, Err(BusError::Refused(why)) if why.contains("news.4.in")), "{refused:?}");
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(!waits.is_finished());
        // What was refused before concerns no later call.
        let later =
            tokio::time::timeout(Duration::from_secs(9), denials.watch("lycosa.news.4.in", never())).await;
        assert!(later.is_err());
        assert_eq!(denials.watch("lycosa.news.4.in", async { Ok(3) }).await, Ok(3));
    }
}
