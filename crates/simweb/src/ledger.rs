//! The ledger: every request the server saw, for tests to judge a crawler by.
//!
//! Promise: entries are in order of arrival; a request for a page of the world costs 48 bytes, any other the length of
//! its target on top; at [`MAX_ENTRIES`] it stops taking entries and counts what it left out.

mod audit;

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use foldhash::HashMap;

use crate::host::{HostId, PageId};
use crate::node::Node;
use crate::world::World;

/// Entries kept.
pub const MAX_ENTRIES: usize = 32 << 20;
/// User agents kept apart; later ones share the last.
const MAX_AGENTS: usize = 1 << 12;

#[derive(Clone, Copy)]
enum Target {
    /// The canonical address of a page.
    Page(PageId),
    /// Any other, spelled out in the arena.
    Raw { host: u32, start: u64, len: u16 },
}

#[derive(Clone, Copy)]
struct Record {
    arrived_us: u64,
    /// Time until the answer was written; `u32::MAX` while it is not.
    took_us: u32,
    target: Target,
    connection: u32,
    status: u16,
    agent: u16,
    ip: u16,
}

#[derive(Default)]
struct Book {
    records: Vec<Record>,
    arena: Vec<u8>,
    agents: Vec<Box<str>>,
    agent_ids: HashMap<Box<str>, u16>,
    ips: Vec<IpAddr>,
    unknown_hosts: Vec<Box<str>>,
    left_out: u64,
    generation: u32,
}

/// One request, spelled out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Since the server started.
    pub arrived_us: u64,
    pub arrived_unix_ms: u64,
    /// Until the answer was written; `None` while it is not.
    pub took_us: Option<u32>,
    pub host: String,
    /// Path and query as requested.
    pub path: String,
    /// The status sent, 0 if none was.
    pub status: u16,
    pub connection: u32,
    pub user_agent: String,
    /// The address of the server that was asked.
    pub local_ip: IpAddr,
}

impl Entry {
    pub fn url(&self) -> String {
        format!("http://{}{}", self.host, self.path)
    }
}

/// Handle to close an entry with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    at: usize,
    generation: u32,
}

/// What the server notes about a request.
pub(crate) struct Arrival<'a> {
    pub host: Result<HostId, &'a str>,
    pub target: &'a [u8],
    pub node: Option<Node>,
    pub connection: u32,
    pub agent: &'a str,
    pub ip: IpAddr,
}

/// See the module.
pub struct Ledger {
    world: Arc<World>,
    book: Mutex<Book>,
    started: Instant,
    started_unix_ms: u64,
    enabled: AtomicBool,
}

const UNKNOWN_HOST: u32 = 1 << 31;

impl Ledger {
    pub(crate) fn new(world: Arc<World>, enabled: bool) -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            world,
            book: Mutex::new(Book::default()),
            started: Instant::now(),
            started_unix_ms: unix.as_millis() as u64,
            enabled: AtomicBool::new(enabled),
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Switches the ledger on or off, for benchmarks.
    pub fn enable(&self, on: bool) {
        self.enabled.store(on, Ordering::Relaxed);
    }

    pub(crate) fn open(&self, arrival: &Arrival<'_>) -> Option<Opened> {
        if !self.enabled.load(Ordering::Relaxed) {
            return None;
        }
        let mut book = self.book();
        // Inside the lock, so that entries are in order of arrival.
        let arrived_us = self.started.elapsed().as_micros() as u64;
        if book.records.len() >= MAX_ENTRIES {
            book.left_out += 1;
            return None;
        }
        let target = self.target(&mut book, arrival);
        let agent = book.agent(arrival.agent);
        let ip = book.ips.iter().position(|&ip| ip == arrival.ip).unwrap_or_else(|| {
            book.ips.push(arrival.ip);
            book.ips.len() - 1
        }) as u16;
        let record = Record {
            arrived_us,
            took_us: u32::MAX,
            target,
            connection: arrival.connection,
            status: 0,
            agent,
            ip,
        };
        book.records.push(record);
        Some(Opened { at: book.records.len() - 1, generation: book.generation })
    }

    fn target(&self, book: &mut Book, arrival: &Arrival<'_>) -> Target {
        if let (Ok(_), Some(Node::Page(page))) = (arrival.host, arrival.node) {
            let mut canonical = Vec::with_capacity(64);
            self.world.put_path(&mut canonical, Node::Page(page));
            if canonical == arrival.target {
                return Target::Page(page);
            }
        }
        let host = match arrival.host {
            Ok(host) => host.0,
            Err(name) => {
                let known = book.unknown_hosts.iter().position(|h| &**h == name);
                let at = known.unwrap_or_else(|| {
                    if book.unknown_hosts.len() < MAX_AGENTS {
                        book.unknown_hosts.push(name.into());
                    }
                    book.unknown_hosts.len() - 1
                });
                UNKNOWN_HOST | at as u32
            }
        };
        let len = arrival.target.len().min(usize::from(u16::MAX));
        let start = book.arena.len() as u64;
        book.arena.extend_from_slice(&arrival.target[..len]);
        Target::Raw { host, start, len: len as u16 }
    }

    /// Notes the status when it is known.
    pub(crate) fn answer(&self, opened: Option<Opened>, status: u16) {
        self.amend(opened, |record, _| record.status = status);
    }

    /// Notes that the answer was written.
    pub(crate) fn close(&self, opened: Option<Opened>) {
        self.amend(opened, |record, now| {
            record.took_us = now.saturating_sub(record.arrived_us).min(u64::from(u32::MAX - 1)) as u32;
        });
    }

    fn amend(&self, opened: Option<Opened>, change: impl FnOnce(&mut Record, u64)) {
        let Some(opened) = opened else { return };
        let mut book = self.book();
        let now = self.started.elapsed().as_micros() as u64;
        if book.generation == opened.generation
            && let Some(record) = book.records.get_mut(opened.at)
        {
            change(record, now);
        }
    }

    /// Forgets everything; requests still open leave no trace.
    pub fn clear(&self) {
        let mut book = self.book();
        let generation = book.generation.wrapping_add(1);
        *book = Book { generation, ..Book::default() };
    }

    /// Number of requests kept.
    pub fn len(&self) -> usize {
        self.book().records.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Requests that came after the ledger was full.
    pub fn left_out(&self) -> u64 {
        self.book().left_out
    }

    fn host_name<'b>(&'b self, book: &'b Book, target: Target) -> &'b str {
        match target {
            Target::Page(page) => &self.world.host(self.world.locate(page).0).name,
            Target::Raw { host, .. } if host & UNKNOWN_HOST != 0 => {
                book.unknown_hosts.get((host & !UNKNOWN_HOST) as usize).map_or("", |h| h)
            }
            Target::Raw { host, .. } => &self.world.host(HostId(host)).name,
        }
    }

    fn put_target(&self, book: &Book, target: Target, out: &mut Vec<u8>) {
        match target {
            Target::Page(page) => self.world.put_path(out, Node::Page(page)),
            Target::Raw { start, len, .. } => {
                let start = start as usize;
                out.extend_from_slice(book.arena.get(start..start + usize::from(len)).unwrap_or_default());
            }
        }
    }

    fn spell(&self, book: &Book, record: &Record) -> Entry {
        let mut path = Vec::new();
        self.put_target(book, record.target, &mut path);
        Entry {
            arrived_us: record.arrived_us,
            arrived_unix_ms: self.started_unix_ms + record.arrived_us / 1000,
            took_us: (record.took_us != u32::MAX).then_some(record.took_us),
            host: self.host_name(book, record.target).to_owned(),
            path: String::from_utf8_lossy(&path).into_owned(),
            status: record.status,
            connection: record.connection,
            user_agent: book
                .agents
                .get(usize::from(record.agent))
                .map_or_else(String::new, |a| a.to_string()),
            local_ip: book.ips.get(usize::from(record.ip)).copied().unwrap_or(IpAddr::from([127, 0, 0, 1])),
        }
    }
}

impl Record {
    fn ended_us(&self) -> u64 {
        if self.took_us == u32::MAX { u64::MAX } else { self.arrived_us + u64::from(self.took_us) }
    }
}

impl Book {
    fn agent(&mut self, agent: &str) -> u16 {
        if let Some(&id) = self.agent_ids.get(agent) {
            return id;
        }
        if self.agents.len() >= MAX_AGENTS {
            return (MAX_AGENTS - 1) as u16;
        }
        let id = self.agents.len() as u16;
        self.agents.push(agent.into());
        self.agent_ids.insert(agent.into(), id);
        id
    }
}
