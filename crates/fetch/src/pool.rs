//! The connections of one fetcher: how many may be open, and which are idle.
//!
//! Promise: never more than the limit open; idle ones are bounded per origin, given up when old, and closed, oldest
//! first, when their slot is needed. A fetch that finds every slot busy waits; it is never refused.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    pin::Pin,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use lycosa_types::HostKey;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, Sleep, sleep},
};

use crate::{
    faults::Faults,
    generations::Generations,
    http2::Session,
    options::PoolLimits,
    sessions::Sessions,
    stream::{Silence, Stream},
};

/// Servers remembered for having been silent when they should.
const SILENT_SERVERS: usize = 65_536;

/// The right to have one connection open; given back when dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    _permit: OwnedSemaphorePermit,
    open: Arc<AtomicUsize>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An open HTTP/1 connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub stream: Stream,
    /// `scheme://host:port`; compared in full, so that no two origins can be mixed up by a hash.
    pub origin: Box<str>,
    pub ip: IpAddr,
    /// The clock over its exchanges, one after the other; see [`crate::watch`].
    pub timer: Pin<Box<Sleep>>,
    /// Requests served so far.
    pub served: u32,
    /// The server answered in HTTP/1.1: it should bear several requests at once.
    pub is_http11: bool,
    /// The last answer was one that has no body.
    pub was_empty: bool,
    /// Its server was listened to, after answers with a body and after those without.
    pub heard: [bool; 2],
    pub _slot: Slot,
}

#[derive(Debug)]
struct Idle {
    sequence: u64,
    connection: Connection,
}

#[derive(Debug, Default)]
struct Shelf {
    by_origin: HashMap<HostKey, Vec<Idle>, foldhash::fast::FixedState>,
    /// Oldest first: when each idle connection was put back, and whose it is.
    by_age: BTreeMap<u64, (Instant, HostKey)>,
    next_sequence: u64,
}

impl Shelf {
    fn remove(&mut self, key: HostKey, sequence: u64) -> Option<Connection> {
        let idle = self.by_origin.get_mut(&key)?;
        let at = idle.iter().position(|one| one.sequence == sequence)?;
        let found = idle.remove(at);
        if idle.is_empty() {
            self.by_origin.remove(&key);
        }
        Some(found.connection)
    }

    fn remove_oldest(&mut self) -> Option<Connection> {
        let (sequence, (_, key)) = self.by_age.pop_first()?;
        self.remove(key, sequence)
    }
}

#[derive(Debug)]
pub(crate) struct Pool {
    limits: PoolLimits,
    slots: Arc<Semaphore>,
    open: Arc<AtomicUsize>,
    waiting: Cell<usize>,
    shelf: RefCell<Shelf>,
    /// Servers that were listened to and kept silent; whether after an answer without a body.
    silent: RefCell<Generations<(HostKey, bool), ()>>,
    /// HTTP/2 connections, which are never taken out: their requests share them.
    pub sessions: Sessions,
}

impl Pool {
    /// `open` counts the connections of all pools.
    pub fn new(limits: PoolLimits, open: Arc<AtomicUsize>) -> Self {
        let slots = limits.connections.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            slots: Arc::new(Semaphore::new(slots)),
            limits,
            open,
            waiting: Cell::new(0),
            shelf: RefCell::default(),
            silent: RefCell::new(Generations::new(SILENT_SERVERS)),
            sessions: Sessions::default(),
        }
    }

    /// An idle connection to this origin that still looks alive; the one used last, for it is the least likely to
    /// have been given up by the server. None to a server that sends what nobody asked for.
    pub async fn take(&self, origin: &str, faults: &Faults) -> Option<Connection> {
        loop {
            let (mut connection, since) = self.take_idle(origin)?;
            if faults.has(origin) {
                continue;
            }
            let kind = usize::from(connection.was_empty);
            let heard = connection.heard.get(kind).copied().unwrap_or_default();
            if !heard {
                self.listen(&connection, since).await;
            }
            match connection.stream.silence() {
                Silence::Quiet if heard => return Some(connection),
                Silence::Quiet => {
                    let key = (HostKey::of(origin), connection.was_empty);
                    self.silent.borrow_mut().insert(key, ());
                    if let Some(heard) = connection.heard.get_mut(kind) {
                        *heard = true;
                    }
                    return Some(connection);
                }
                Silence::Broken => faults.note(origin),
                Silence::Over => {}
            }
        }
    }

    /// The connection to this origin that was used last, and since when it is idle.
    fn take_idle(&self, origin: &str) -> Option<(Connection, Instant)> {
        let key = HostKey::of(origin);
        let shelf = &mut *self.shelf.borrow_mut();
        loop {
            let idle = shelf.by_origin.get_mut(&key)?;
            let at = idle.iter().rposition(|one| *one.connection.origin == *origin)?;
            let Idle { sequence, connection } = idle.remove(at);
            if idle.is_empty() {
                shelf.by_origin.remove(&key);
            }
            if let Some((since, _)) = shelf.by_age.remove(&sequence)
                && since.elapsed() < self.limits.idle
            {
                return Some((connection, since));
            }
        }
    }

    /// Lets a server have the time to send what it should not, unless it had it before.
    async fn listen(&self, connection: &Connection, since: Instant) {
        let key = (HostKey::of(&connection.origin), connection.was_empty);
        if self.silent.borrow_mut().get(&key).is_some() {
            return;
        }
        let left = self.limits.listen.saturating_sub(since.elapsed());
        if !left.is_zero() {
            sleep(left).await;
        }
    }

    /// Keeps a connection for the next request to its origin, or closes it.
    pub fn put(&self, connection: Connection) {
        let wanted = self.waiting.get() > 0 || connection.served >= self.limits.requests_per_connection;
        if wanted || self.limits.idle_per_origin == 0 {
            return;
        }
        let key = HostKey::of(&connection.origin);
        let now = Instant::now();
        let shelf = &mut *self.shelf.borrow_mut();
        let sequence = shelf.next_sequence;
        shelf.next_sequence += 1;
        let idle = shelf.by_origin.entry(key).or_default();
        if idle.len() >= self.limits.idle_per_origin {
            let oldest = idle.remove(0);
            shelf.by_age.remove(&oldest.sequence);
        }
        idle.push(Idle { sequence, connection });
        shelf.by_age.insert(sequence, (now, key));
        self.expire_on(shelf, now);
    }

    /// Closes idle connections that are too old.
    pub fn expire(&self) {
        let now = Instant::now();
        self.expire_on(&mut self.shelf.borrow_mut(), now);
        if let Some(before) = now.checked_sub(self.limits.idle) {
            self.sessions.expire(before);
        }
    }

    fn expire_on(&self, shelf: &mut Shelf, now: Instant) {
        while let Some((_, (since, _))) = shelf.by_age.first_key_value() {
            if now.saturating_duration_since(*since) < self.limits.idle {
                break;
            }
            shelf.remove_oldest();
        }
    }

    /// Closes every idle connection.
    pub fn clear(&self) {
        let shelf = &mut *self.shelf.borrow_mut();
        shelf.by_origin.clear();
        shelf.by_age.clear();
        self.sessions.clear();
    }

    pub fn idle(&self) -> usize {
        self.shelf.borrow().by_age.len()
    }

    /// A request over HTTP/2 is done: its connection stays, unless it is idle and its slot is wanted.
    pub fn done(&self, session: &Rc<Session>) {
        if self.waiting.get() > 0 {
            self.sessions.remove_idle(session);
        }
    }

    /// A slot for a new connection: a free one, that of the oldest idle connection, or the next that comes free.
    pub async fn slot(&self) -> Option<Slot> {
        let permit = match Arc::clone(&self.slots).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                let closed = self.shelf.borrow_mut().remove_oldest();
                if closed.is_none() {
                    self.sessions.close_oldest();
                }
                drop(closed);
                let _waiting = Waiting::new(&self.waiting);
                Arc::clone(&self.slots).acquire_owned().await.ok()?
            }
        };
        self.open.fetch_add(1, Ordering::Relaxed);
        Some(Slot { _permit: permit, open: Arc::clone(&self.open) })
    }
}

/// Counts a fetch that waits for a slot, even if it is dropped while waiting.
struct Waiting<'a>(&'a Cell<usize>);

impl<'a> Waiting<'a> {
    fn new(count: &'a Cell<usize>) -> Self {
        count.set(count.get() + 1);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}
