//! The bookkeeper as a member of a cluster: partitions arrive, leave and are lost; links come in and go out.
//!
//! A commit never spans two stays of a partition: one that comes back is opened only after everything that was under way
//! when it came has been committed. So a commit needs one epoch per partition, and what an earlier stay left behind is gone.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use lycosa_cluster::{
    Allocation, Batch, CrawlSettings, Event as NodeEvent, Figures, Link, LinkMode, NodeHandle, PartitionLoad,
};
use lycosa_frontier::store::HostSlot;
use lycosa_frontier::{PartitionCounts, StoreError};
use lycosa_types::{CanonUrl, PartitionId, Partitioner, RegionId, UnixMs};
use tokio::runtime::Handle;

use super::opener::{Opener, Read, Unread};
use super::pace::Pace;
use super::placing::Placing;
use super::{Bookkeeper, NodeParts, Stop};
use crate::cluster::Stays;
use crate::cluster::aside::Aside;
use crate::cluster::custody::LostArchive;
use crate::cluster::note::Note;

/// Figures and loads are told this often.
const REPORT_EVERY: Duration = Duration::from_millis(500);
/// Whether pages may be requested is looked up this often; workers ask once more before each request.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// A node that leaves and is not asked for its partitions for so long is the only one.
const ALONE_AFTER: Duration = Duration::from_secs(4);
/// How long links that found no room are kept back at the end.
const LAST_CHANCE: Duration = Duration::from_secs(5);

/// A partition that has come and waits for the commits under way.
struct Arrival {
    partition: PartitionId,
    epoch: u64,
    planned: bool,
    links: Vec<(u64, Batch)>,
    /// It was here before: what its earlier stay left under way is committed first.
    again: bool,
    /// The commit that must be durable first; none before it is cut.
    after: Option<u64>,
    /// It is being read.
    asked: bool,
}

/// A partition that is to go.
struct Departure {
    epoch: u64,
    /// Nothing of it is under way any more.
    drained: bool,
    after: Option<u64>,
}

/// What found the outbox full.
enum Waiting {
    Link { partition: PartitionId, url: String, depth: u16, backlinks: u32, importance: f32, note: Vec<u8> },
    Fact { partition: PartitionId, kind: u8, body: Vec<u8> },
}

pub(super) struct Member {
    pub(super) node: NodeHandle,
    runtime: Handle,
    opener: Opener,
    pub(super) settings: CrawlSettings,
    /// Links to follow once nothing else is left, in link mode `cross`.
    pub(super) aside: Option<Aside>,
    /// Hosts that are being placed, in a crawl with regions.
    pub(super) placing: Option<Placing>,
    /// The stay each partition had last.
    pub(super) epochs: BTreeMap<PartitionId, u64>,
    pub(super) consumed: BTreeMap<PartitionId, u64>,
    arriving: Vec<Arrival>,
    leaving: BTreeMap<PartitionId, Departure>,
    overflow: VecDeque<Waiting>,
    /// Archives that are lost, for partitions that have not been opened yet.
    lost: BTreeMap<PartitionId, Vec<LostArchive>>,
    /// Opened, and whether by plan; no page of theirs could be requested yet.
    unasked: BTreeMap<PartitionId, bool>,
    /// The last commit that is durable.
    committed: Option<u64>,
    finished: bool,
    /// Another process has taken this node's name.
    pub(super) superseded: bool,
    /// Whether a partition was ever asked back.
    asked_to_release: bool,
    pub(super) refused: u64,
    paces: BTreeMap<PartitionId, Pace>,
    last_report: Instant,
    last_asked: Option<Instant>,
    /// Buffers used again for every link.
    url: String,
    note: Vec<u8>,
}

impl Member {
    pub(super) fn new(parts: NodeParts) -> Self {
        let NodeParts { node, runtime, settings, opener, aside, regions } = parts;
        Self {
            aside,
            placing: regions.map(|(regions, locator)| Placing::new(regions, locator)),
            node,
            runtime,
            opener,
            settings,
            epochs: BTreeMap::new(),
            consumed: BTreeMap::new(),
            arriving: Vec::new(),
            leaving: BTreeMap::new(),
            overflow: VecDeque::new(),
            lost: BTreeMap::new(),
            unasked: BTreeMap::new(),
            committed: None,
            finished: false,
            superseded: false,
            asked_to_release: false,
            refused: 0,
            paces: BTreeMap::new(),
            last_report: Instant::now(),
            last_asked: None,
            url: String::new(),
            note: Vec::new(),
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// Whether more pages may be fetched: their links need room.
    pub(super) fn has_room(&self) -> bool {
        self.overflow.is_empty() && self.node.has_room()
    }

    /// Whether a commit may be cut: all links of what ended are on their way.
    pub(super) fn may_commit(&self) -> bool {
        self.overflow.is_empty()
    }

    /// Whether somebody waits for a commit.
    pub(super) fn wants_commit(&self) -> bool {
        self.arriving.iter().any(|arrival| arrival.again && arrival.after.is_none())
            || self.leaving.values().any(|departure| departure.drained && departure.after.is_none())
    }

    pub(super) fn has_consumed(&self) -> bool {
        !self.consumed.is_empty()
    }

    /// A commit is cut: which stays it belongs to.
    pub(super) fn cut(&mut self, epoch: u64) -> Stays {
        self.arriving.iter_mut().for_each(|arrival| {
            arrival.after.get_or_insert(epoch);
        });
        for departure in self.leaving.values_mut().filter(|departure| departure.drained) {
            departure.after.get_or_insert(epoch);
        }
        Stays { epochs: self.epochs.clone(), consumed: std::mem::take(&mut self.consumed) }
    }

    pub(super) fn commit_done(&mut self, epoch: u64) {
        self.committed = self.committed.max(Some(epoch));
    }

    /// Asks something of a URL in canonical form, in a buffer that is used again.
    fn ask_of<T>(&mut self, url: &str, ask: impl FnOnce(&Partitioner, &CanonUrl) -> T) -> T {
        self.url.clear();
        self.url.push_str(url);
        let canon = CanonUrl::from_canonical(std::mem::take(&mut self.url));
        let answer = ask(&self.settings.partitioner, &canon);
        self.url = canon.into_string();
        answer
    }

    /// The home of a URL.
    pub(super) fn partition_of(&mut self, url: &str) -> PartitionId {
        self.ask_of(url, |partitioner, url| partitioner.partition_of(url))
    }

    /// The home of a URL, and its host.
    pub(super) fn slot_of(&mut self, url: &str) -> HostSlot {
        self.ask_of(url, |partitioner, url| HostSlot {
            partition: partitioner.partition_of(url),
            host: url.host_key(),
        })
    }

    /// Where a URL is crawled whose server stands in a region.
    pub(super) fn partition_in(&mut self, url: &str, region: RegionId) -> PartitionId {
        self.ask_of(url, |partitioner, url| partitioner.partition_in(url, region))
    }

    pub(super) fn send(&mut self, partition: PartitionId, link: (&str, u16, f32), note: &Note) {
        let (url, depth, importance) = link;
        let mut bytes = std::mem::take(&mut self.note);
        note.encode(&mut bytes);
        self.send_on(partition, &Link { url, depth, backlinks: 1, importance, note: &bytes });
        self.note = bytes;
    }

    /// Sends a link as it is.
    pub(super) fn send_on(&mut self, partition: PartitionId, link: &Link<'_>) {
        if !self.overflow.is_empty() || self.node.try_send(partition, link).is_err() {
            let Link { url, depth, backlinks, importance, note } = *link;
            let (url, note) = (url.to_owned(), note.to_vec());
            let waiting = Waiting::Link { partition, url, depth, backlinks, importance, note };
            self.overflow.push_back(waiting);
        }
    }

    pub(super) fn send_fact(&mut self, partition: PartitionId, kind: u8, body: Vec<u8>) {
        if !self.overflow.is_empty() || self.node.try_send_fact(partition, kind, &body).is_err() {
            self.overflow.push_back(Waiting::Fact { partition, kind, body });
        }
    }

    /// Gives the outbox what it had no room for.
    fn drain(&mut self) {
        while let Some(waiting) = self.overflow.front() {
            let sent = match waiting {
                Waiting::Link { partition, url, depth, backlinks, importance, note } => {
                    let (depth, backlinks, importance) = (*depth, *backlinks, *importance);
                    let link = Link { url, depth, backlinks, importance, note };
                    self.node.try_send(*partition, &link)
                }
                Waiting::Fact { partition, kind, body } => self.node.try_send_fact(*partition, *kind, body),
            };
            if sent.is_err() {
                return;
            }
            self.overflow.pop_front();
        }
    }

    /// Says that this node is going; partitions are told to leave one after the other.
    pub(super) fn start_leaving(&self) {
        let node = self.node.clone();
        self.runtime.spawn(async move { node.leave().await });
    }

    fn release(&self, partition: PartitionId, epoch: u64) {
        let node = self.node.clone();
        self.runtime.spawn(async move { node.release(partition, epoch).await });
    }
}

impl Bookkeeper {
    /// This node stops: its partitions are handed over.
    pub(super) fn start_leaving(&self) {
        if let Some(member) = &self.member {
            member.start_leaving();
        }
    }

    /// Whether the cluster has nothing left here that must be handed over first.
    pub(super) fn has_left(&self, reason: Stop, since: Instant) -> bool {
        let Some(member) = &self.member else { return true };
        // Nobody is there to take anything over.
        let alone = member.superseded || (!member.asked_to_release && since.elapsed() > ALONE_AFTER);
        let settled = member.has_crossed() && member.may_commit();
        let gone = settled && self.frontier.partitions().next().is_none();
        alone || reason == Stop::Exhausted || gone
    }

    /// Gives links that wait a last chance to leave; false if they cannot.
    pub(super) fn drain_links(&mut self) -> bool {
        let Some(member) = &mut self.member else { return true };
        let started = Instant::now();
        while !member.may_commit() && started.elapsed() < LAST_CHANCE {
            member.drain();
            std::thread::sleep(Duration::from_millis(20));
        }
        member.may_commit()
    }

    /// Something happened in the cluster.
    pub(super) fn take_node_event(&mut self, event: NodeEvent, now: UnixMs) -> Result<(), StoreError> {
        let Some(member) = &mut self.member else { return Ok(()) };
        match event {
            NodeEvent::Arrived { partition, epoch, planned, loaded, .. } => {
                tracing::info!(%partition, epoch, planned, ?loaded, "a partition arrived");
                member.arriving.retain(|arrival| arrival.partition != partition);
                let links = Vec::new();
                let again = member.epochs.contains_key(&partition);
                let arrival = Arrival { partition, epoch, planned, links, again, after: None, asked: false };
                member.arriving.push(arrival);
            }
            NodeEvent::Links { partition, epoch, sequence, batch } => {
                let arrival = member.arriving.iter_mut().find(|arrival| arrival.partition == partition);
                if let Some(arrival) = arrival {
                    if arrival.epoch == epoch {
                        arrival.links.push((sequence, batch));
                    }
                } else if member.epochs.get(&partition) == Some(&epoch) {
                    self.take_links(partition, sequence, &batch, now)?;
                }
            }
            NodeEvent::Leaving { partition, epoch } => {
                tracing::info!(%partition, epoch, "a partition leaves");
                member.asked_to_release = true;
                let pending = member.arriving.len();
                member.arriving.retain(|arrival| arrival.partition != partition);
                if member.arriving.len() < pending {
                    // It was never worked on.
                    member.release(partition, epoch);
                } else {
                    self.frontier.leave_partition(partition);
                    member.leaving.insert(partition, Departure { epoch, drained: false, after: None });
                }
            }
            NodeEvent::Lost { partition, epoch } => {
                member.arriving.retain(|arrival| arrival.partition != partition || arrival.epoch != epoch);
                if member.epochs.get(&partition) == Some(&epoch) {
                    tracing::info!(%partition, epoch, "a partition is gone");
                    member.leaving.remove(&partition);
                    member.consumed.remove(&partition);
                    self.frontier.close_partition(partition);
                    if let Some(placing) = &mut member.placing {
                        placing.gone(partition);
                    }
                }
            }
            NodeEvent::Finished => member.finished = true,
            NodeEvent::Superseded => member.superseded = true,
        }
        Ok(())
    }

    /// The seeds of the crawl, as they are now: what is within scope may depend on them.
    pub(super) fn take_seeds(&self, seeds: &[CanonUrl]) {
        self.context.widen_scope(seeds);
    }

    /// Does what is due: opens what has come, lets go what is done with, sends what waits, tells where things stand.
    pub(super) fn tend_partitions(&mut self, now: UnixMs) -> Result<(), StoreError> {
        let settled = self.is_settled();
        let Some(member) = &mut self.member else { return Ok(()) };
        member.drain();
        let committed = member.committed;
        let durable = |after: Option<u64>| match after {
            Some(after) => committed >= Some(after),
            None => settled,
        };
        let coming = member.arriving.len();
        let may_open = |arrival: &&mut Arrival| !arrival.asked && (!arrival.again || durable(arrival.after));
        for arrival in member.arriving.iter_mut().filter(may_open) {
            arrival.asked = true;
            arrival.after.get_or_insert(committed.unwrap_or(0));
            let Arrival { partition, epoch, .. } = *arrival;
            let lost = member.lost.remove(&partition).unwrap_or_default();
            let wanted = self.frontier.picture_wanted(coming);
            member.opener.ask(Unread { partition, epoch, wanted, lost });
        }
        self.let_go(durable);
        while let Some(read) = self.member.as_ref().and_then(|member| member.opener.next()) {
            self.open_partition(read, now)?;
        }
        self.tend_places(now)?;
        self.ask_for_leave(now);
        self.report_loads();
        Ok(())
    }

    /// Nothing is under way to the disk or the logs.
    fn is_settled(&self) -> bool {
        let nothing_taken_in = self.member.as_ref().is_none_or(|member| !member.has_consumed());
        self.committing == 0 && self.ended.is_empty() && !self.frontier.has_changes() && nothing_taken_in
    }

    fn open_partition(&mut self, read: Read, now: UnixMs) -> Result<(), StoreError> {
        let Read { partition, epoch, picture, lost } = read;
        let Some(member) = &mut self.member else { return Ok(()) };
        let its =
            |arrival: &Arrival| arrival.asked && (arrival.partition, arrival.epoch) == (partition, epoch);
        // It may have left while it was read.
        let Some(at) = member.arriving.iter().position(its) else { return Ok(()) };
        let Arrival { planned, links, .. } = member.arriving.swap_remove(at);
        member.epochs.insert(partition, epoch);
        member.leaving.remove(&partition);
        member.last_asked = None;
        member.unasked.insert(partition, planned);
        if let Some(placing) = &mut member.placing {
            placing.arrived(partition);
        }
        self.frontier.open_pictured(picture?, epoch, planned, now);
        if !lost.is_empty() {
            tracing::warn!(%partition, pages = lost.len(), "pages of a lost archive are fetched again");
        }
        for (id, record) in lost {
            self.frontier.requeue(id, record, now)?;
        }
        for (sequence, batch) in links {
            self.take_links(partition, sequence, &batch, now)?;
        }
        Ok(())
    }

    pub(super) fn note_lost(&mut self, partition: PartitionId, lost: Vec<LostArchive>) {
        if let Some(member) = &mut self.member {
            member.lost.insert(partition, lost);
        }
    }

    /// Partitions that leave go once nothing of theirs is under way and all of it is durable.
    fn let_go(&mut self, durable: impl Fn(Option<u64>) -> bool) {
        let Some(member) = &mut self.member else { return };
        if member.leaving.is_empty() {
            return;
        }
        for counts in self.frontier.partitions().filter(|counts| counts.leaving && counts.leased == 0) {
            if let Some(departure) = member.leaving.get_mut(&counts.partition) {
                departure.drained = true;
            }
        }
        let gone: Vec<(PartitionId, u64)> = member
            .leaving
            .iter()
            .filter(|(_, departure)| departure.drained && durable(departure.after))
            .map(|(partition, departure)| (*partition, departure.epoch))
            .collect();
        for (partition, epoch) in gone {
            member.leaving.remove(&partition);
            self.frontier.close_partition(partition);
            if let Some(placing) = &mut member.placing {
                placing.gone(partition);
            }
            member.release(partition, epoch);
        }
    }

    /// Asks the node what may be fetched.
    fn ask_for_leave(&mut self, now: UnixMs) {
        let Some(member) = &mut self.member else { return };
        if member.last_asked.is_some_and(|at| at.elapsed() < ASK_EVERY) {
            return;
        }
        member.last_asked = Some(Instant::now());
        let open: Vec<PartitionCounts> = self.frontier.partitions().collect();
        for PartitionCounts { partition, epoch, .. } in open {
            let leasing = member.node.may_fetch(partition, epoch);
            self.frontier.set_leasing(partition, leasing, now);
            if leasing && let Some(planned) = member.unasked.remove(&partition) {
                tracing::info!(%partition, epoch, planned, at_ms = now.0, "a partition is worked on");
            }
        }
    }

    fn report_loads(&mut self) {
        let settled = self.is_settled() && self.held.is_empty();
        let under_way: usize = self.workers.iter().map(|slot| slot.in_flight).sum();
        let Some(member) = &mut self.member else { return };
        if member.last_report.elapsed() < REPORT_EVERY {
            return;
        }
        let settled = settled && member.overflow.is_empty() && member.has_crossed();
        let passed_s = member.last_report.elapsed().as_secs_f64();
        member.last_report = Instant::now();
        let mut paces = BTreeMap::new();
        let load = |counts: PartitionCounts| {
            let before = member.paces.get(&counts.partition).filter(|pace| pace.epoch == counts.epoch);
            let pace = Pace::after(before, &counts, passed_s);
            paces.insert(counts.partition, pace);
            PartitionLoad {
                partition: counts.partition,
                epoch: counts.epoch,
                weight: pace.weight(&counts),
                // Until it is durable it may have to be done again.
                idle: settled
                    && counts.waiting == 0
                    && counts.leased == 0
                    && member.placing.as_ref().is_none_or(|placing| placing.is_idle(counts.partition)),
            }
        };
        let loads: Vec<PartitionLoad> = self.frontier.partitions().map(load).collect();
        member.paces = paces;
        let figures = Figures {
            pages: self.totals.pages,
            bytes: self.totals.received_bytes,
            queued: self.frontier.counts().waiting,
            pages_per_minute: (self.rate.pages_per_s * 60.0) as u64,
            ..Figures::default()
        };
        let load_percent = (under_way * 100 / self.concurrency.max(1)).min(100) as u8;
        member.node.report(load_percent, figures, &loads);
    }
}

/// What the engine can do of what a crawl may be set to.
pub(crate) fn is_supported(settings: &CrawlSettings) -> bool {
    let regions = settings.partitioner.regions;
    let tells_others = settings.links == LinkMode::Exchange;
    settings.allocation != Allocation::Independent && (regions == 0 || tells_others)
}
