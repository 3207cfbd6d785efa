//! Ownership under a paused clock: replay, fence, snapshots, lost answers.

use std::sync::Arc;

mod strangers;

use super::*;
use crate::bus::memory::{Chances, Link, MemoryBus, MemoryServer};

const P: PartitionId = PartitionId(3);

fn node(name: &str) -> NodeId {
    NodeId::new(name, 1).unwrap()
}

async fn bus(chances: Chances) -> (Arc<MemoryServer>, MemoryBus) {
    let server = Arc::new(MemoryServer::new(1, Chances::default()));
    let bus = MemoryBus::new(server.clone(), Arc::new(Link::default()));
    bus.prepare(8).await.unwrap();
    server.set_chances(chances);
    (server, bus)
}

fn put(i: u32) -> Change {
    Change::put(i.to_be_bytes().to_vec(), format!("value {i}"))
}

/// What the engine does: the log first, then the working copy.
async fn commit(owner: &mut Owner<MemoryBus>, state: &MemoryState, changes: &[Change], consumed: u64) {
    let position = owner.append(changes, Some(consumed)).await.unwrap();
    state.apply(P, changes, Some(position)).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_new_owner_has_what_the_old_one_had() {
    let chances = Chances { lost_answers: 200, repeats: 200, ..Chances::default() };
    let (_, bus) = bus(chances).await;
    let (first, second) = (MemoryState::default(), MemoryState::default());
    let mut owner = Owner::open(&bus, P, 1, &node("a"), true).await.unwrap();
    owner.load(&first).await.unwrap();
    for i in 0..50 {
        commit(&mut owner, &first, &[put(i), Change::remove((i / 2).to_be_bytes().to_vec())], 7).await;
        if i == 20 || i == 40 {
            let snapshot =
                store_snapshot(&bus, &first, P, owner.epoch(), owner.next_snapshot()).await.unwrap();
            commit(&mut owner, &first, &[put(100 + i)], 8).await;
            owner.note_snapshot(snapshot).await.unwrap();
        }
    }
    let mut next = Owner::open(&bus, P, 2, &node("b"), false).await.unwrap();
    let loaded = next.load(&second).await.unwrap();
    assert!(loaded.from_snapshot > 0 && loaded.replayed > 5 && !loaded.resumed, "{loaded:?}");
    assert_eq!(second.pairs(P), first.pairs(P));
    assert_eq!(next.position().consumed, 8);
    // The old one is told, and what it tries is not there.
    let refused = owner.append(&[put(999)], None).await;
    assert!(matches!(refused, Err(OwnerError::Fenced { epoch: 2, .. })), "{refused:?}");
    // Back on the first node: its own copy is completed, not loaded anew.
    next.append(&[put(500)], Some(9)).await.unwrap();
    let mut again = Owner::open(&bus, P, 3, &node("a"), false).await.unwrap();
    let loaded = again.load(&first).await.unwrap();
    assert!(loaded.resumed && loaded.from_snapshot == 0, "{loaded:?}");
    assert!(first.get(P, &500u32.to_be_bytes()).is_some() && first.get(P, &999u32.to_be_bytes()).is_none());
    assert_eq!(first.position(P).unwrap().unwrap().consumed, 9);
}

/// Every other answer is lost: what was done all the same is found in the log, and is there once.
#[tokio::test(start_paused = true)]
async fn answers_that_are_lost_change_nothing() {
    let (server, bus) = bus(Chances { lost_answers: 500, ..Chances::default() }).await;
    let state = MemoryState::default();
    for epoch in 1..=12 {
        let mut owner = Owner::open(&bus, P, epoch, &node("a"), false).await.unwrap();
        owner.load(&state).await.unwrap();
        for n in 0..4 {
            commit(&mut owner, &state, &[put(epoch as u32 * 10 + n)], epoch).await;
        }
        owner.close().await.unwrap();
    }
    server.set_chances(Chances::default());
    let fresh = MemoryState::default();
    let mut last = Owner::open(&bus, P, 13, &node("b"), true).await.unwrap();
    let loaded = last.load(&fresh).await.unwrap();
    // Of each term: opened, passed the fence, four commits, closed; and the last one's opening.
    assert_eq!((loaded.replayed, loaded.stale), (12 * 7 + 1, 0), "{loaded:?}");
    assert_eq!((fresh.pairs(P).len(), last.position().consumed), (48, 12));
}

/// What a server refuses for good is told at once, and not tried for ever.
#[tokio::test(start_paused = true)]
async fn a_refusal_that_stands_is_told() {
    let (_, bus) = bus(Chances::default()).await;
    let beyond = PartitionId(99);
    let refused = Owner::open(&bus, beyond, 1, &node("a"), true).await.map(|owner| owner.epoch());
    assert!(matches!(refused, Err(OwnerError::Bus(BusError::Refused(_)))), "{refused:?}");
    let mut owner = Owner::open(&bus, P, 1, &node("a"), true).await.unwrap();
    owner.partition = beyond;
    let refused = owner.append(&[put(1)], None).await;
    assert!(matches!(refused, Err(OwnerError::Bus(BusError::Refused(_)))), "{refused:?}");
}

/// A record of a term that was over, behind one of the next: the fence forbids it, and a reader passes it over all the same.
#[tokio::test(start_paused = true)]
async fn a_record_of_an_old_term_is_passed_over() {
    let (_, bus) = bus(Chances::default()).await;
    let state = MemoryState::default();
    let mut old = Owner::open(&bus, P, 1, &node("a"), true).await.unwrap();
    old.append(&[put(1)], Some(3)).await.unwrap();
    let late = Record {
        header: Header { epoch: 1, number: 9, consumed: 3, snapshot: 0 },
        body: Body::Changes { changes: vec![put(2)], piece: Piece::Whole },
    };
    let mut next = Owner::open(&bus, P, 2, &node("b"), false).await.unwrap();
    let behind = next.position().log;
    bus.append(P, behind, late.encode().unwrap()).await.unwrap();
    let last = Owner::open(&bus, P, 3, &node("c"), false).await;
    let mut last = last.unwrap();
    last.append(&[put(4)], Some(4)).await.unwrap();
    let mut reader = Owner::open(&bus, P, 4, &node("d"), false).await.unwrap();
    let loaded = reader.load(&state).await.unwrap();
    assert_eq!(loaded.stale, 1, "{loaded:?}");
    let has = |n: u32| state.get(P, &n.to_be_bytes()).is_some();
    assert_eq!((has(1), has(2), has(4)), (true, false, true));
    assert!(next.append(&[put(5)], None).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_hand_over_waits_for_the_close_and_an_old_epoch_is_refused() {
    let (_, bus) = bus(Chances::default()).await;
    let owner = Owner::open(&bus, P, 4, &node("a"), true).await.unwrap();
    assert!(matches!(Owner::open(&bus, P, 5, &node("b"), true).await, Err(OwnerError::Waiting(_))));
    owner.close().await.unwrap();
    let owner = Owner::open(&bus, P, 5, &node("b"), true).await.unwrap();
    assert_eq!(owner.epoch(), 5);
    for epoch in [3, 4, 5] {
        let late = Owner::open(&bus, P, epoch, &node("a"), false).await;
        assert!(matches!(late, Err(OwnerError::Fenced { epoch: 5, .. })), "{late:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_larger_than_a_message_is_whole_or_not_there() {
    let (_, bus) = bus(Chances::default()).await;
    let state = MemoryState::default();
    let mut owner = Owner::open(&bus, P, 1, &node("a"), true).await.unwrap();
    owner.load(&state).await.unwrap();
    let big: Vec<Change> = (0..9).map(|i| Change::put(vec![i], vec![i; 300_000])).collect();
    owner.append(&big, Some(5)).await.unwrap();
    // Another one breaks off in the middle.
    let torn = Body::Changes { changes: vec![put(1)], piece: Piece::First };
    let body = owner.encode(torn, 5).unwrap();
    owner.write(body).await.unwrap();
    let other = MemoryState::default();
    let mut next = Owner::open(&bus, P, 2, &node("b"), false).await.unwrap();
    next.load(&other).await.unwrap();
    assert_eq!(other.pairs(P).len(), 9);
    assert_eq!(next.position().consumed, 5);
    next.append(&[put(7)], None).await.unwrap();
    let third = MemoryState::default();
    Owner::open(&bus, P, 3, &node("c"), false).await.unwrap().load(&third).await.unwrap();
    assert_eq!(third.pairs(P).len(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_purges_what_it_holds_and_leaves_no_litter() {
    let (server, bus) = bus(Chances::default()).await;
    let state = MemoryState::default();
    let mut owner = Owner::open(&bus, P, 1, &node("a"), true).await.unwrap();
    owner.load(&state).await.unwrap();
    for i in 0..10 {
        bus.publish(P, &format!("m{i}"), Bytes::from_static(b"x")).await.unwrap();
    }
    let consumed = bus.last(P, Lane::In).await.unwrap().unwrap().sequence - 1;
    commit(&mut owner, &state, &[put(1)], consumed).await;
    for _ in 0..3 {
        let snapshot = store_snapshot(&bus, &state, P, 1, owner.next_snapshot()).await.unwrap();
        owner.note_snapshot(snapshot).await.unwrap();
    }
    assert_eq!(server.objects("").len(), 1);
    let left = server.first_from(P, Lane::In, 0).unwrap().sequence;
    assert_eq!(left, consumed + 1);
    // A snapshot that was stored and never noted goes with the next load.
    store_snapshot(&bus, &state, P, 1, 77).await.unwrap();
    assert_eq!(server.objects("").len(), 2);
    let other = MemoryState::default();
    Owner::open(&bus, P, 2, &node("b"), false).await.unwrap().load(&other).await.unwrap();
    assert_eq!(server.objects("").len(), 1);
    assert_eq!(other.pairs(P), state.pairs(P));
    // One that loads late, after a later epoch made its own, leaves that alone.
    let mut late = Owner::open(&bus, P, 3, &node("c"), false).await.unwrap();
    store_snapshot(&bus, &state, P, 4, 1).await.unwrap();
    late.load(&MemoryState::default()).await.unwrap();
    assert_eq!(server.objects("").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_load_that_is_overtaken_does_not_pass_for_complete() {
    let (_, bus) = bus(Chances::default()).await;
    let (own, others) = (MemoryState::default(), MemoryState::default());
    let mut owner = Owner::open(&bus, P, 1, &node("a"), true).await.unwrap();
    owner.load(&own).await.unwrap();
    commit(&mut owner, &own, &[put(1)], 0).await;
    let before = own.position(P).unwrap();
    owner.append(&[put(2)], None).await.unwrap();
    // The same node opens again, and before it has read, another one takes over and purges what it would have read.
    let mut late = Owner::open(&bus, P, 2, &node("a"), false).await.unwrap();
    let mut next = Owner::open(&bus, P, 3, &node("b"), false).await.unwrap();
    next.load(&others).await.unwrap();
    let snapshot = store_snapshot(&bus, &others, P, 3, 1).await.unwrap();
    next.note_snapshot(snapshot).await.unwrap();
    assert!(matches!(late.load(&own).await, Err(OwnerError::Fenced { epoch: 3, .. })));
    assert_eq!(own.position(P).unwrap(), before);
    // Its next load is a whole one.
    let mut again = Owner::open(&bus, P, 4, &node("a"), false).await.unwrap();
    assert!(!again.load(&own).await.unwrap().resumed);
    assert_eq!(own.pairs(P), others.pairs(P));
}

/// A server as a cluster is one: an append whose answer did not come may still be on its way through Raft. Until it has
/// been decided, the log's last record is the old one and every further append is refused.
mod in_flight {
    use super::*;
    use crate::bus::memory::{MemoryReader, MemoryWatcher};
    use crate::bus::{KeyUpdate, KeyValue, Keys, Message};
    use std::sync::Mutex;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Fate {
        Lands,
        IsDropped,
    }

    #[derive(Debug, Default)]
    struct Flight {
        /// The next append stays in flight for so many looks at the last record.
        arm: Option<(u32, bool)>,
        held: Option<(u32, bool, u64, Bytes)>,
    }

    #[derive(Clone, Debug)]
    pub struct RaftBus {
        pub inner: MemoryBus,
        flight: Arc<Mutex<Flight>>,
    }

    impl RaftBus {
        pub fn new(inner: MemoryBus) -> Self {
            Self { inner, flight: Arc::default() }
        }

        pub fn hold_next(&self, looks: u32, fate: Fate) {
            self.flight.lock().unwrap().arm = Some((looks, fate == Fate::Lands));
        }
    }

    impl Bus for RaftBus {
        type Reader = MemoryReader;
        type Watcher = MemoryWatcher;

        async fn prepare(&self, partitions: u16) -> Result<(), BusError> {
            self.inner.prepare(partitions).await
        }
        async fn publish(&self, p: PartitionId, id: &str, body: Bytes) -> Result<u64, BusError> {
            self.inner.publish(p, id, body).await
        }
        async fn append(&self, p: PartitionId, expected: u64, body: Bytes) -> Result<u64, BusError> {
            {
                let mut flight = self.flight.lock().unwrap();
                if flight.held.is_some() {
                    return Err(BusError::Fenced { partition: p, expected });
                }
                if let Some((looks, lands)) = flight.arm.take() {
                    flight.held = Some((looks, lands, expected, body));
                    return Err(BusError::Unavailable("timed out".into()));
                }
            }
            self.inner.append(p, expected, body).await
        }
        async fn last(&self, p: PartitionId, lane: Lane) -> Result<Option<Message>, BusError> {
            let last = self.inner.last(p, lane).await;
            let landing = {
                let mut flight = self.flight.lock().unwrap();
                match flight.held.take() {
                    Some((0, lands, expected, body)) => lands.then_some((expected, body)),
                    Some((looks, lands, expected, body)) => {
                        flight.held = Some((looks - 1, lands, expected, body));
                        None
                    }
                    None => None,
                }
            };
            if let Some((expected, body)) = landing {
                self.inner.append(p, expected, body).await?;
            }
            last
        }
        async fn message(&self, p: PartitionId, s: u64) -> Result<Option<Message>, BusError> {
            self.inner.message(p, s).await
        }
        async fn read(&self, p: PartitionId, lane: Lane, from: u64) -> Result<MemoryReader, BusError> {
            self.inner.read(p, lane, from).await
        }
        async fn purge(&self, p: PartitionId, lane: Lane, below: u64) -> Result<(), BusError> {
            self.inner.purge(p, lane, below).await
        }
        async fn get(&self, key: &str) -> Result<Option<KeyValue>, BusError> {
            self.inner.get(key).await
        }
        async fn create(&self, key: &str, value: Bytes) -> Result<u64, BusError> {
            self.inner.create(key, value).await
        }
        async fn update(&self, key: &str, value: Bytes, revision: u64) -> Result<u64, BusError> {
            self.inner.update(key, value, revision).await
        }
        async fn put(&self, key: &str, value: Bytes) -> Result<u64, BusError> {
            self.inner.put(key, value).await
        }
        async fn delete(&self, key: &str) -> Result<(), BusError> {
            self.inner.delete(key).await
        }
        async fn watch(&self, keys: Keys<'_>) -> Result<MemoryWatcher, BusError> {
            self.inner.watch(keys).await
        }
        async fn put_object(&self, name: &str, body: Bytes) -> Result<(), BusError> {
            self.inner.put_object(name, body).await
        }
        async fn get_object(&self, name: &str) -> Result<Option<Bytes>, BusError> {
            self.inner.get_object(name).await
        }
        async fn delete_object(&self, name: &str) -> Result<(), BusError> {
            self.inner.delete_object(name).await
        }
        async fn objects(&self, prefix: &str) -> Result<Vec<String>, BusError> {
            self.inner.objects(prefix).await
        }
    }

    fn _used(_: Option<KeyUpdate>) {}

    async fn owner() -> (RaftBus, Owner<RaftBus>) {
        let (_, inner) = bus(Chances::default()).await;
        let bus = RaftBus::new(inner);
        let mut owner = Owner::open(&bus, P, 1, &node("a"), true).await.unwrap();
        owner.load(&MemoryState::default()).await.unwrap();
        (bus, owner)
    }

    #[tokio::test(start_paused = true)]
    async fn a_record_that_lands_late_is_ours() {
        for looks in 0..6 {
            let (bus, mut owner) = owner().await;
            bus.hold_next(looks, Fate::Lands);
            let written = owner.append(&[put(1)], Some(5)).await;
            assert!(written.is_ok(), "after {looks} looks: {written:?}");
            owner.append(&[put(2)], Some(6)).await.unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_record_that_never_lands_is_written_again() {
        for looks in 0..6 {
            let (bus, mut owner) = owner().await;
            bus.hold_next(looks, Fate::IsDropped);
            let written = owner.append(&[put(1)], Some(5)).await;
            assert!(written.is_ok(), "after {looks} looks: {written:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_stranger_behind_a_record_in_flight_is_one() {
        let (bus, mut owner) = owner().await;
        bus.hold_next(2, Fate::IsDropped);
        let inner = bus.inner.clone();
        tokio::spawn(async move {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            Owner::open(&inner, P, 2, &node("b"), false).await.unwrap();
        });
        let refused = owner.append(&[put(1)], Some(5)).await;
        assert!(matches!(refused, Err(OwnerError::Fenced { epoch: 2, .. })), "{refused:?}");
    }
}
