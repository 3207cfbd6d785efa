//! Shipping: sealed segments and their indexes go to the central archive while the crawl runs.
//!
//! What is safe there is in a ledger beside the crawl; a copy that broke off is taken up by the next run. The crawl never
//! waits for it, except at its own end, so that a crawl that is over is whole in the central archive.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use lycosa_archive::{ArchiveError, segments};
use lycosa_cluster::ship::ShipError;
use lycosa_cluster::{ParentOptions, S3Options, ShipOptions, Shipper};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::cluster::custody::{Range, ranges};
use crate::cluster::seat::TellSafe;
use crate::config::ArchiveConfig;
use crate::layout::Layout;

/// Where the token for a parent node is looked for, so that it stands in no file that is shown around.
const TOKEN: &str = "LYCOSA_CENTRAL_TOKEN";
/// How often is looked for sealed segments.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Pause after a failure; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Failures in a row after which the end of a crawl waits no longer.
const LAST_TRIES: u32 = 5;

#[derive(Debug, thiserror::Error)]
pub enum ShippingError {
    #[error(transparent)]
    Ship(#[from] ShipError),
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error("cannot start shipping: {0}")]
    Start(#[from] std::io::Error),
}

/// What became of the segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shipped {
    pub safe: usize,
    /// Sealed here and not safe there; the next run goes on with them.
    pub left: usize,
}

/// Shipping under way.
#[derive(Debug)]
pub struct Shipping {
    orders: Arc<Orders>,
    thread: JoinHandle<Shipped>,
}

#[derive(Debug, Default)]
struct Orders {
    /// Ship what is sealed now, then end.
    last_round: AtomicBool,
    /// End at once.
    stop: AtomicBool,
    changed: Notify,
}

struct Run {
    shipper: Shipper,
    archive: PathBuf,
    /// The start of names in the central archive; empty on one machine.
    prefix: String,
    tell: Option<TellSafe>,
    /// What was told last.
    told: Vec<Range>,
    orders: Arc<Orders>,
}

impl Shipping {
    /// Ships the segments of a crawl. `node` keeps those of several nodes apart; `tell` tells them what is safe.
    pub fn start(
        layout: &Layout,
        config: &ArchiveConfig,
        node: Option<&str>,
        tell: Option<TellSafe>,
    ) -> Result<Self, ShippingError> {
        let shipper = Shipper::open(&config.central, &options(config), &layout.shipped())?;
        let orders = Arc::new(Orders::default());
        let prefix = node.map_or_else(String::new, |node| format!("{node}/"));
        let (archive, told) = (layout.archive(), Vec::new());
        let run = Run { shipper, archive, prefix, tell, told, orders: Arc::clone(&orders) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let thread = std::thread::Builder::new()
            .name("shipping".to_owned())
            .spawn(move || runtime.block_on(run.run()))?;
        Ok(Self { orders, thread })
    }

    /// Ends it: after one more round over what is sealed by now, or at once.
    pub fn finish(self, ship_all: bool) -> Shipped {
        let order = if ship_all { &self.orders.last_round } else { &self.orders.stop };
        order.store(true, Ordering::SeqCst);
        self.orders.changed.notify_one();
        self.thread.join().unwrap_or_default()
    }
}

impl Run {
    async fn run(mut self) -> Shipped {
        let (mut pause, mut failures) = (FIRST_PAUSE, 0);
        loop {
            let last = self.orders.last_round.load(Ordering::SeqCst);
            let orders = Arc::clone(&self.orders);
            let stopped = async {
                while !orders.stop.load(Ordering::SeqCst) {
                    let _ = timeout(LOOK_EVERY, orders.changed.notified()).await;
                }
            };
            let round = tokio::select! {
                round = self.ship_sealed() => round,
                () = stopped => return self.count(),
            };
            self.tell_safe().await;
            let rest = match round {
                Ok(()) if last => return self.count(),
                Ok(()) => {
                    (pause, failures) = (FIRST_PAUSE, 0);
                    LOOK_EVERY
                }
                Err(error) => {
                    tracing::warn!(%error, "a segment could not be shipped; it is tried again");
                    failures += 1;
                    if last && failures >= LAST_TRIES {
                        return self.count();
                    }
                    let rest = pause;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    rest
                }
            };
            if self.orders.stop.load(Ordering::SeqCst) {
                return self.count();
            }
            tokio::select! {
                () = sleep(rest) => {}
                () = self.orders.changed.notified() => {}
            }
        }
    }

    async fn ship_sealed(&mut self) -> Result<(), ShippingError> {
        for (path, name) in self.sealed()? {
            if self.shipper.ledger().get(&name).is_none() {
                self.shipper.ship(&path, &name).await?;
                tracing::info!(segment = name, "a segment is safe in the central archive");
            }
        }
        Ok(())
    }

    /// Tells which segments are safe, if that has changed.
    async fn tell_safe(&mut self) {
        let Some(tell) = &self.tell else { return };
        let found = segments(&self.archive).unwrap_or_default();
        let safe = found.iter().filter(|segment| {
            let name = format!("{}{}", self.prefix, segment.name);
            self.shipper.ledger().get(&name).is_some()
        });
        let safe = ranges(&safe.map(|segment| segment.number).collect());
        if safe != self.told && tell(safe.clone()).await {
            self.told = safe;
        }
    }

    /// What is sealed: each segment's index, then the segment, so that a segment that is there can be read.
    fn sealed(&self) -> Result<Vec<(PathBuf, String)>, ArchiveError> {
        let found = segments(&self.archive)?;
        let paths = found.iter().filter(|segment| !segment.open).flat_map(|s| [s.index_path(), s.path()]);
        let named = paths.filter(|path| path.exists()).filter_map(|path| {
            let name = format!("{}{}", self.prefix, file_name(&path)?);
            Some((path, name))
        });
        Ok(named.collect())
    }

    fn count(&self) -> Shipped {
        let sealed = self.sealed().unwrap_or_default();
        let safe = sealed.iter().filter(|(_, name)| self.shipper.ledger().get(name).is_some()).count();
        Shipped { safe, left: sealed.len() - safe }
    }
}

fn options(config: &ArchiveConfig) -> ShipOptions {
    let named = |value: &str| Some(value.to_owned()).filter(|value| !value.is_empty());
    let file = |value: &str| named(value).map(PathBuf::from);
    ShipOptions {
        s3: S3Options {
            endpoint: named(&config.central_endpoint),
            allow_http: config.central_endpoint.starts_with("http://"),
            ..S3Options::default()
        },
        parent: ParentOptions {
            token: std::env::var(TOKEN).ok().and_then(|token| named(token.trim())),
            authority: file(&config.central_ca),
            certificate: file(&config.central_cert).zip(file(&config.central_key)),
        },
    }
}

fn file_name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}
