//! A look over a stretch of the log, for the rare cases in which its last record alone does not tell whose it is: bytes that
//! are no record (written by a stranger, or damaged), and a term that this node opened before.

use std::time::Duration;

use lycosa_types::PartitionId;
use tokio::time::timeout;

use super::{Backoff, OwnerError};
use crate::bus::{Bus, Lane, Reader};
use crate::wire::{Body, Record};

/// A reader that says nothing for so long, although there is more, is replaced.
const READ_PATIENCE: Duration = Duration::from_secs(3);

/// What a stretch of the log holds.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// The last record that can be read, and its sequence.
    pub last: Option<(u64, Record)>,
    /// Who opened the term asked for, if its opening is still there.
    pub opener: Option<String>,
    /// Messages that are no records.
    pub unreadable: u64,
}

/// Reads the log from `from` up to the message `to`, which is there.
pub(super) async fn survey<B: Bus>(
    bus: &B,
    partition: PartitionId,
    from: u64,
    to: u64,
    epoch: u64,
) -> Result<Survey, OwnerError> {
    let mut survey = Survey::default();
    let mut next = from;
    let mut backoff = Backoff::default();
    while next <= to {
        let mut reader = match bus.read(partition, Lane::Log, next).await {
            Ok(reader) => reader,
            Err(error) if error.is_transient() => {
                backoff.pause().await;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        while next <= to {
            match timeout(READ_PATIENCE, reader.next()).await {
                Ok(Ok(message)) if message.sequence < next => {}
                // Everything up to `to` was purged meanwhile.
                Ok(Ok(message)) if message.sequence > to => return Ok(survey),
                Ok(Ok(message)) => {
                    next = message.sequence + 1;
                    survey.take(message.sequence, Record::decode(&message.body).ok(), epoch);
                }
                Ok(Err(error)) if !error.is_transient() => return Err(error.into()),
                Ok(Err(_)) | Err(_) => {
                    backoff.pause().await;
                    break;
                }
            }
        }
    }
    Ok(survey)
}

impl Survey {
    fn take(&mut self, sequence: u64, record: Option<Record>, epoch: u64) {
        let Some(record) = record else {
            self.unreadable += 1;
            return;
        };
        if record.header.epoch == epoch
            && let Body::Opened { node } = &record.body
        {
            self.opener = Some(node.clone());
        }
        self.last = Some((sequence, record));
    }
}
