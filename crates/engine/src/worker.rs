//! A core's share of the crawl: an OS thread with its own event loop, connections and buffers. A page is fetched,
//! scanned, judged and encoded where its bytes arrived; only results leave the thread.

use std::cell::{Cell, RefCell};
use std::iter::Peekable;
use std::rc::Rc;
use std::sync::Arc;
use std::vec::IntoIter;

use lycosa_archive::EncodedVisit;
use lycosa_cluster::NodeHandle;
use lycosa_fetch::{Fetcher, Line, Request, RequestKind, Shared};
use lycosa_frontier::host_queue::Entry;
use lycosa_frontier::schedule::HostIndex;
use lycosa_frontier::{Lease, LeaseKind, RulesEnd};
use lycosa_types::{CanonUrl, Failure, UrlId};
use std::net::IpAddr;
use tokio::runtime::LocalOptions;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::bookkeeper::Visitor;
use crate::clock;
use crate::judge::{Earlier, Judge, JudgeContext, Judged};
use crate::lane::Lane;
use crate::limits::Limit;
use crate::outlinks::LinkCounts;
use crate::rules;

/// Results handed over at once. With eight at a time, and a look at the sockets after every eight tasks, a page took
/// some 5 µs more of the kernel's time and came no sooner.
const OUTBOX: usize = 32;
/// Lanes that wait for a lease; beyond, a lane ends with its lease.
const MOST_IDLE_LANES: usize = 256;

/// A lease that is over.
#[derive(Debug)]
pub enum Finished {
    Page {
        host: HostIndex,
        entry: Box<Entry>,
        judged: Box<Judged>,
        received_bytes: u64,
    },
    Rules {
        host: HostIndex,
        end: RulesEnd,
        /// Sitemaps it names, as far as they are within scope.
        sitemaps: Vec<CanonUrl>,
        /// What became of the others.
        counts: Box<LinkCounts>,
        address: Option<IpAddr>,
        elapsed_ms: u64,
        encoded: Option<Box<EncodedVisit>>,
    },
    Resolve {
        host: HostIndex,
        address: Result<IpAddr, Failure>,
    },
    /// No request was made: this node may not ask now.
    Returned {
        host: HostIndex,
        kind: LeaseKind,
    },
}

/// Runs a worker until the bookkeeper hangs up and everything it was given is done.
pub fn run(
    context: Arc<JudgeContext>,
    shared: Arc<Shared>,
    node: Option<NodeHandle>,
    leases: UnboundedReceiver<Vec<Lease>>,
    desk: Visitor,
) -> std::io::Result<()> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build_local(LocalOptions::default())?;
    let worker = Rc::new(Worker {
        node,
        fetcher: Fetcher::new(shared, context.config.fetch_options()),
        judge: RefCell::new(Judge::new(Arc::clone(&context))),
        context,
        idle: RefCell::default(),
        outbox: RefCell::new(Vec::with_capacity(OUTBOX)),
        flushing: Cell::new(false),
        flusher: Lane::default(),
        desk,
    });
    runtime.block_on(worker.serve(leases));
    Ok(())
}

struct Worker {
    /// Says whether pages may be requested, in a cluster.
    node: Option<NodeHandle>,
    context: Arc<JudgeContext>,
    fetcher: Fetcher,
    judge: RefCell<Judge>,
    /// Lanes without a lease.
    idle: RefCell<Vec<Rc<Lane<Vec<Lease>>>>>,
    outbox: RefCell<Vec<Finished>>,
    /// The flusher was told.
    flushing: Cell<bool>,
    flusher: Lane<()>,
    desk: Visitor,
}

impl Worker {
    async fn serve(self: Rc<Self>, mut leases: UnboundedReceiver<Vec<Lease>>) {
        tokio::task::spawn_local(Rc::clone(&self).flush_when_told());
        while let Some(batch) = leases.recv().await {
            let mut batch = batch.into_iter().peekable();
            while let Some(first) = batch.next() {
                let line = self.line_up(first, &mut batch);
                let idle = self.idle.borrow_mut().pop();
                match idle {
                    Some(lane) => lane.give(line),
                    None => {
                        tokio::task::spawn_local(Rc::clone(&self).run_lane(line));
                    }
                }
            }
        }
        self.flush();
    }

    /// A lease, and those behind it whose requests may go along with its own.
    fn line_up(&self, first: Lease, others: &mut Peekable<IntoIter<Lease>>) -> Vec<Lease> {
        let fetch = &self.context.config.fetch;
        // HTTP/2 has its own way to send several requests at once.
        let most = if fetch.http2 { 1 } else { fetch.pipeline };
        let mut line = vec![first];
        while line.len() < most
            && let Some(last) = line.last()
            && let Some(next) = others.next_if(|next| goes_along(last, next))
        {
            line.push(next);
        }
        line
    }

    /// Works off leases, and then those that the lane is given.
    async fn run_lane(self: Rc<Self>, first: Vec<Lease>) {
        let lane = Rc::new(Lane::default());
        let mut leases = first;
        loop {
            self.work_off(leases).await;
            {
                let mut idle = self.idle.borrow_mut();
                if idle.len() >= MOST_IDLE_LANES {
                    return;
                }
                idle.push(Rc::clone(&lane));
            }
            leases = lane.next().await;
        }
    }

    /// Works off leases whose requests go together.
    async fn work_off(&self, leases: Vec<Lease>) {
        let mut line = Line::default();
        let mut leases = leases.into_iter();
        while let Some(lease) = leases.next() {
            let finished = self.work(lease, leases.as_slice(), &mut line).await;
            self.hand_over(finished);
        }
    }

    async fn work(&self, lease: Lease, following: &[Lease], line: &mut Line) -> Finished {
        let host = lease.host;
        if let Some(node) = &self.node
            && !node.may_fetch(lease.slot.partition, lease.epoch)
        {
            *line = Line::default();
            return Finished::Returned { host, kind: lease.kind };
        }
        match lease.kind {
            LeaseKind::Resolve => {
                let address = match CanonUrl::parse(&lease.origin, &self.context.config.urls) {
                    Ok(url) => self.fetcher.resolve(&url).await.and_then(|addresses| {
                        addresses.first().map(std::net::SocketAddr::ip).ok_or(Failure::DnsNoAddress)
                    }),
                    Err(_) => Err(Failure::DnsError),
                };
                Finished::Resolve { host, address }
            }
            LeaseKind::Rules { moved_to, redirects } => {
                let url = moved_to
                    .unwrap_or_else(|| CanonUrl::from_canonical(format!("{}/robots.txt", lease.origin)));
                self.fetch_rules(host, &url, redirects).await
            }
            LeaseKind::Page(entry) => {
                let id = UrlId { partition: lease.slot.partition, key: entry.key };
                let earlier = self.earlier(&entry, id);
                let (if_none_match, if_modified_since) =
                    earlier.as_ref().map_or((None, None), Earlier::validators);
                let request = Request { if_none_match, if_modified_since, ..Request::page(&entry.url) };
                let following = following.iter().filter_map(first_visit).map(|next| Request::page(&next.url));
                let visit = self.fetcher.fetch_in_line(line, &request, following).await;
                let mut judge = self.judge.borrow_mut();
                let judged = Box::new(match earlier {
                    Some(earlier) => judge.page_again(&entry, id, &visit, earlier),
                    None => judge.page(&entry, id, &visit),
                });
                judge.rest(&visit);
                let received_bytes = visit.bytes_received;
                self.fetcher.reuse(visit);
                Finished::Page { host, entry, judged, received_bytes }
            }
        }
    }

    /// What the state knows of a page that is visited again.
    fn earlier(&self, entry: &Entry, id: UrlId) -> Option<Earlier> {
        if !entry.revisit {
            return None;
        }
        Earlier::load(&self.context.store, id).unwrap_or_else(|error| {
            tracing::error!(%error, url = %entry.url, "what is known of a page cannot be read");
            None
        })
    }

    async fn fetch_rules(&self, host: HostIndex, url: &CanonUrl, redirects: u8) -> Finished {
        let visit = self.fetcher.fetch(&Request::new(url, RequestKind::Robots)).await;
        let product = &self.context.config.agent.product;
        let (end, sitemaps) = rules::judge(url, &visit, redirects, product, clock::now());
        let (sitemaps, counts) = self.within_scope(&sitemaps.named, sitemaps.beyond);
        let finished = Finished::Rules {
            host,
            end,
            sitemaps,
            counts: Box::new(counts),
            address: visit.ip,
            elapsed_ms: visit.timing.finished.as_millis() as u64,
            encoded: self.judge.borrow_mut().encode_rules(url, &visit).map(Box::new),
        };
        self.fetcher.reuse(visit);
        finished
    }

    /// The sitemaps that belong to the crawl, and why others do not.
    fn within_scope(&self, sitemaps: &[String], beyond: u32) -> (Vec<CanonUrl>, LinkCounts) {
        let (config, scope) = (&self.context.config, self.context.scope());
        let mut counts = LinkCounts::default();
        if !config.robots.sitemaps {
            return (Vec::new(), counts);
        }
        counts.cuts.add(Limit::RobotsSitemaps, beyond);
        let mut found = Vec::new();
        for sitemap in sitemaps {
            counts.links += 1;
            match CanonUrl::parse(sitemap, &config.urls) {
                Err(_) => counts.unusable += 1,
                Ok(url) => match scope.check(&url, 0) {
                    Ok(()) => found.push(url),
                    Err(rejection) => counts.reject(&rejection),
                },
            }
        }
        (found, counts)
    }

    /// Collects results that come in the same turn of the event loop into one message.
    fn hand_over(&self, finished: Finished) {
        let full = {
            let mut outbox = self.outbox.borrow_mut();
            outbox.push(finished);
            outbox.len() >= OUTBOX
        };
        if full {
            self.flush();
        } else if !self.flushing.replace(true) {
            self.flusher.give(());
        }
    }

    async fn flush_when_told(self: Rc<Self>) {
        loop {
            self.flusher.next().await;
            tokio::task::yield_now().await;
            self.flushing.set(false);
            self.flush();
        }
    }

    fn flush(&self) {
        let batch = std::mem::replace(&mut *self.outbox.borrow_mut(), Vec::with_capacity(OUTBOX));
        if !batch.is_empty() {
            self.desk.bring(batch);
        }
    }
}

/// Whether the request of a lease may be sent together with that of the one before it.
fn goes_along(lease: &Lease, next: &Lease) -> bool {
    let same = lease.host == next.host && lease.epoch == next.epoch;
    same && first_visit(lease).is_some() && first_visit(next).is_some()
}

/// The page of a lease that was never visited: asking for it takes nothing but its URL.
fn first_visit(lease: &Lease) -> Option<&Entry> {
    match &lease.kind {
        LeaseKind::Page(entry) if !entry.revisit => Some(entry),
        _ => None,
    }
}
