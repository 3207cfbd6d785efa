//! What the server's refusals mean here.

use std::error::Error;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::{ConnectError, ConnectErrorKind};
use lycosa_types::PartitionId;

use crate::bus::BusError;

/// The server's own error behind another one.
fn behind<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a async_nats::jetstream::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<async_nats::jetstream::Error>() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// Whether the server found another last sequence. In a cluster it says so with a code of its own.
pub fn is_wrong_sequence(error: &(dyn Error + 'static)) -> bool {
    behind(error).is_some_and(|error| {
        let code = error.error_code();
        code == ErrorCode::STREAM_WRONG_LAST_SEQUENCE
            || code == ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT
    })
}

/// A message was not taken.
pub fn of_publish(error: PublishError, partition: PartitionId, expected: u64) -> BusError {
    if error.kind() == PublishErrorKind::WrongLastSequence || is_wrong_sequence(&error) {
        return BusError::Fenced { partition, expected };
    }
    if error.kind() == PublishErrorKind::MaxPayloadExceeded {
        return BusError::Refused("the message is larger than the server's max_payload".to_owned());
    }
    let full = behind(&error).is_some_and(|error| error.to_string().contains("maximum"));
    if full { BusError::Full(partition) } else { unavailable(error) }
}

/// No connection. Whether a server is there that cannot answer yet, or none at all, makes a difference to whoever typed the
/// address.
pub fn of_connect(error: ConnectError) -> BusError {
    let kind = error.kind();
    let BusError::Unavailable(text) = unavailable(error) else { return BusError::Unavailable(String::new()) };
    match kind {
        ConnectErrorKind::Io | ConnectErrorKind::Dns => BusError::Unreachable(text),
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
            BusError::Refused(text)
        }
        _ => BusError::Unavailable(text),
    }
}

/// Anything else may pass: a server that restarts, a leader that is being chosen, a network that is down.
pub fn unavailable(error: impl Error) -> BusError {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text = format!("{text}: {source}");
        next = source.source();
    }
    BusError::Unavailable(text)
}
