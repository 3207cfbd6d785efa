//! Seeds from the inbox: taken in while the crawl runs, removed once they are durable.

use std::time::{Duration, Instant};

use lycosa_frontier::StoreError;

use super::Bookkeeper;
use crate::clock;
use crate::crawl::{MARK_SEEDS, merged_seeds, seeds_mark};
use crate::inbox;
use crate::prospects::Found;

const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Files whose seeds are admitted, until the commit that holds them is durable.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    pub(super) last_look: Option<Instant>,
    pub(super) taken: Vec<std::path::PathBuf>,
    /// Seeds to be written with the next commit.
    pub(super) mark: Option<Vec<u8>>,
    /// The commit that makes them durable.
    pub(super) durable_with: Option<u64>,
}

impl Bookkeeper {
    /// Takes in what lies in the inbox, now and then; at once if `now` says so.
    pub(super) fn look_for_mail(&mut self, at_once: bool) -> Result<(), StoreError> {
        let recently = self.mailbox.last_look.is_some_and(|at| at.elapsed() < LOOK_EVERY);
        if (recently && !at_once) || !self.mailbox.taken.is_empty() {
            return Ok(());
        }
        self.mailbox.last_look = Some(Instant::now());
        let mail = match inbox::read(&self.inbox, &self.context.config.urls, &self.mailbox.taken) {
            Ok(mail) => mail,
            Err(error) => {
                tracing::warn!(%error, inbox = %self.inbox.display(), "submitted seeds cannot be read");
                return Ok(());
            }
        };
        if mail.files.is_empty() {
            return Ok(());
        }
        if mail.unusable > 0 {
            tracing::warn!(count = mail.unusable, "submitted lines that are no URL");
        }
        let seeds = merged_seeds(&self.store, &mail.seeds)?;
        // What is within scope may depend on the seeds.
        self.context.widen_scope(&mail.seeds);
        let now = clock::now();
        for seed in &mail.seeds {
            let found = Found { depth: 0, seed: true, relevance: 1.0 };
            self.admit_one(seed.as_str(), seed.key(), found, (0, false), None, now)?;
        }
        self.mailbox.taken = mail.files;
        self.mailbox.mark = Some(seeds_mark(&seeds));
        Ok(())
    }

    /// The mark to write with a commit, if seeds came in.
    pub(super) fn mail_mark(&mut self, epoch: u64) -> Option<(&'static str, Vec<u8>)> {
        let mark = self.mailbox.mark.take()?;
        self.mailbox.durable_with = Some(epoch);
        Some((MARK_SEEDS, mark))
    }

    /// A commit is durable: the files it makes superfluous go.
    pub(super) fn mail_committed(&mut self, epoch: u64) {
        if self.mailbox.durable_with.is_some_and(|with| with <= epoch) {
            self.mailbox.durable_with = None;
            for file in self.mailbox.taken.drain(..) {
                if let Err(error) = std::fs::remove_file(&file) {
                    tracing::warn!(%error, file = %file.display(), "submitted seeds are done with but stay");
                }
            }
        }
    }
}
