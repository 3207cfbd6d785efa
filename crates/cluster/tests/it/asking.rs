//! Questions and answers: one contract for both buses.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lycosa_cluster::bus::memory::{Chances, Link};
use lycosa_cluster::{AskError, Asking, CrawlName, Listener, MemoryBus, MemoryServer, NatsBus, NatsOptions};
use lycosa_testkit::Server;

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(400);

async fn keeps_the_contract<B: Asking>(asker: B, node: B) {
    let ask = async |name: &str, text: &str, within| {
        asker.ask("search", name, Bytes::copy_from_slice(text.as_bytes()), within).await
    };
    assert_eq!(ask("a", "anybody?", LONG).await, Err(AskError::Nobody));
    let mut listener = node.listen("search", "a").await.unwrap();
    let mut others = node.listen("other", "a").await.unwrap();
    let answering = tokio::spawn(async move {
        // The second question is answered before the first.
        let first = listener.next().await.unwrap();
        let second = listener.next().await.unwrap();
        for question in [second, first] {
            let answer = [b"re: ", &question.body[..]].concat();
            question.answer(Bytes::from(answer)).await.unwrap();
        }
        // Taken, and never answered.
        let _kept = listener.next().await.unwrap();
        std::future::pending::<()>().await;
    });
    let (one, two) = tokio::join!(ask("a", "one", LONG), ask("a", "two", LONG));
    assert_eq!((one.unwrap(), two.unwrap()), (Bytes::from("re: one"), Bytes::from("re: two")));
    assert_eq!(ask("a", "three", SHORT).await, Err(AskError::Late));
    assert_eq!(ask("b", "another node?", LONG).await, Err(AskError::Nobody));
    answering.abort();
    // Another kind of question goes another way.
    let other = asker.clone();
    let asked = tokio::spawn(async move { other.ask("other", "a", Bytes::from("x"), LONG).await });
    others.next().await.unwrap().answer(Bytes::from("y")).await.unwrap();
    assert_eq!(asked.await.unwrap(), Ok(Bytes::from("y")));
    assert!(asker.most_bytes() >= 64 << 10);
}

#[tokio::test(start_paused = true)]
async fn in_memory() {
    let server = Arc::new(MemoryServer::new(3, Chances::default()));
    let (here, there) = (Arc::new(Link::default()), Arc::new(Link::default()));
    let asker = MemoryBus::new(Arc::clone(&server), here);
    let node = MemoryBus::new(server, Arc::clone(&there));
    keeps_the_contract(asker.clone(), node.clone()).await;
    // A node that has gone leaves nobody behind.
    drop(node.listen("search", "gone").await.unwrap());
    assert_eq!(asker.ask("search", "gone", Bytes::new(), LONG).await, Err(AskError::Nobody));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_real_server() {
    let server = Server::start();
    let crawl = CrawlName::new("ask").unwrap();
    let connect = async || NatsBus::connect(&NatsOptions::new(&server.url()), &crawl).await.unwrap();
    let (asker, node) = (connect().await, connect().await);
    keeps_the_contract(asker.clone(), node).await;
    let large = Bytes::from(vec![0; asker.most_bytes() + 1]);
    assert!(matches!(asker.ask("other", "a", large, LONG).await, Err(AskError::Bus(_))));
    // Another crawl on the same server hears nothing.
    let other =
        NatsBus::connect(&NatsOptions::new(&server.url()), &CrawlName::new("other").unwrap()).await.unwrap();
    let _listener = asker.listen("search", "a").await.unwrap();
    assert_eq!(other.ask("search", "a", Bytes::new(), LONG).await, Err(AskError::Nobody));
}
