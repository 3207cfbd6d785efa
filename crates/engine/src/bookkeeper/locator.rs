//! Where servers are: names are looked up on a thread of their own, through the cache and the limits that all fetchers
//! share. Only crawls with regions have one.

use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use lycosa_fetch::{FetchOptions, Fetcher, Shared};
use lycosa_frontier::store::HostSlot;
use lycosa_types::{CanonUrl, Failure};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::LocalSet;

use super::Event;

/// The addresses of a host, in the order of the answer.
pub type Addresses = Result<Vec<IpAddr>, Failure>;

/// The way to the thread. It ends when this goes away. Whoever asks bounds what is asked at a time.
#[derive(Debug)]
pub struct Locator {
    asked: UnboundedSender<(HostSlot, String)>,
}

impl Locator {
    /// The locator, and what its thread does. Answers are [`Event::Located`].
    pub fn new(
        shared: Arc<Shared>,
        options: FetchOptions,
        events: Sender<Event>,
    ) -> (Self, impl FnOnce() + Send + 'static) {
        let (asked, mut inbox) = unbounded_channel::<(HostSlot, String)>();
        let thread = move || {
            let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return tracing::error!(%error, "servers cannot be located"),
            };
            LocalSet::new().block_on(&runtime, async move {
                let fetcher = Rc::new(Fetcher::new(shared, options));
                while let Some((slot, origin)) = inbox.recv().await {
                    let (fetcher, events) = (Rc::clone(&fetcher), events.clone());
                    tokio::task::spawn_local(async move {
                        let url = CanonUrl::from_canonical(format!("{origin}/"));
                        let found = fetcher.resolve(&url).await;
                        let addresses = found.map(|all| all.iter().map(SocketAddr::ip).collect());
                        // The bookkeeper is gone only when the crawl is over.
                        let _ = events.send(Event::Located { slot, addresses });
                    });
                }
            });
        };
        (Self { asked }, thread)
    }

    /// Asks for the addresses of a host.
    pub(super) fn ask(&self, slot: HostSlot, origin: &str) {
        // The thread is there for as long as this is.
        let _ = self.asked.send((slot, origin.to_owned()));
    }
}

#[cfg(test)]
impl Locator {
    /// One that never answers.
    pub(super) fn silent() -> Self {
        Self { asked: unbounded_channel().0 }
    }
}
