//! Logs that hold more than owners wrote, and terms that are opened twice by the same node.

use super::*;

/// What a stranger with access to the bus writes behind the last record, whichever that is.
async fn scribble(bus: &MemoryBus, bytes: &'static [u8]) {
    let last = bus.last(P, Lane::Log).await.unwrap().map_or(0, |message| message.sequence);
    bus.append(P, last, Bytes::from_static(bytes)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn bytes_that_are_no_record_neither_fence_the_owner_nor_block_the_next() {
    let (_, bus) = bus(Chances::default()).await;
    let (first, second) = (MemoryState::default(), MemoryState::default());
    let mut owner = Owner::open(&bus, P, 1, &node("a"), true).await.unwrap();
    owner.load(&first).await.unwrap();
    commit(&mut owner, &first, &[put(1)], 3).await;
    scribble(&bus, b"\xffrubbish").await;
    scribble(&bus, b"").await;
    commit(&mut owner, &first, &[put(2)], 4).await;
    assert_eq!(owner.take_unreadable(), 2);
    scribble(&bus, b"at the end").await;
    // Another node takes over: the last message of the log is no record.
    let mut next = Owner::open(&bus, P, 2, &node("b"), false).await.unwrap();
    assert_eq!((next.position().consumed, next.take_unreadable()), (4, 3));
    let loaded = next.load(&second).await.unwrap();
    assert_eq!(loaded.unreadable, 3, "{loaded:?}");
    assert_eq!(second.pairs(P), first.pairs(P));
    let refused = owner.append(&[put(9)], None).await;
    assert!(matches!(refused, Err(OwnerError::Fenced { epoch: 2, .. })), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn an_owner_behind_the_rubbish_is_found() {
    let (_, bus) = bus(Chances::default()).await;
    let mut owner = Owner::open(&bus, P, 1, &node("a"), true).await.unwrap();
    scribble(&bus, b"rubbish").await;
    let next = Owner::open(&bus, P, 2, &node("b"), false).await.unwrap();
    scribble(&bus, b"more of it").await;
    let refused = owner.append(&[put(1)], None).await;
    assert!(matches!(refused, Err(OwnerError::Fenced { epoch: 2, .. })), "{refused:?}");
    let late = Owner::open(&bus, P, 1, &node("a"), false).await;
    assert!(matches!(late, Err(OwnerError::Fenced { epoch: 2, .. })), "{late:?}");
    assert_eq!(next.epoch(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_node_goes_on_in_a_term_that_it_opened_itself() {
    let (_, bus) = bus(Chances::default()).await;
    let state = MemoryState::default();
    let mut owner = Owner::open(&bus, P, 7, &node("a"), true).await.unwrap();
    owner.load(&state).await.unwrap();
    commit(&mut owner, &state, &[put(1)], 5).await;
    // Lost for a reason of its own; nobody else was given the partition.
    drop(owner);
    let mut again = Owner::open(&bus, P, 7, &node("a"), true).await.unwrap();
    let loaded = again.load(&state).await.unwrap();
    assert!(loaded.resumed, "{loaded:?}");
    commit(&mut again, &state, &[put(2)], 6).await;
    again.close().await.unwrap();
    // Nobody else goes on in it.
    let other = Owner::open(&bus, P, 7, &node("b"), false).await;
    assert!(matches!(other, Err(OwnerError::Fenced { epoch: 7, .. })), "{other:?}");
    let (next, copy) = (Owner::open(&bus, P, 8, &node("b"), true).await, MemoryState::default());
    next.unwrap().load(&copy).await.unwrap();
    assert_eq!(copy.pairs(P), state.pairs(P));
}
