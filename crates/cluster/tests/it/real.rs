//! A crawl over a real server: it is killed and comes back, one of three is lost, strangers are kept out.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use lycosa_cluster::bus::nats::{Credentials, NatsBus, NatsOptions};
use lycosa_cluster::bus::{Bus, BusError};
use lycosa_cluster::membership::Timing;
use lycosa_cluster::name::{CrawlName, NodeId};
use lycosa_cluster::owner::{MemoryState, Owner};
use lycosa_cluster::{Asking, Listener};
use lycosa_testkit::{Server, free_port};
use lycosa_types::PartitionId;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::model::faults::submit;
use crate::model::toy::Toy;
use crate::model::{Chronicle, Shared, Web};

const PARTITIONS: u16 = 6;
const SEEDS: [u32; 2] = [0, 7];
const PATIENCE: Duration = Duration::from_secs(400);

/// Short waits: everything is on one machine.
fn quick() -> Timing {
    Timing {
        beat: Duration::from_millis(300),
        dead_after: Duration::from_millis(2500),
        leader_after: Duration::from_secs(2),
        hand_over: Duration::from_secs(10),
        gather: Duration::from_millis(600),
    }
}

struct Crawl {
    web: Arc<Web>,
    chronicle: Shared,
    options: NatsOptions,
    crawl: CrawlName,
    nodes: Vec<tokio::task::JoinHandle<bool>>,
    /// Nodes that the test killed, by their place among the nodes.
    killed: BTreeSet<usize>,
}

impl Crawl {
    fn new(name: &str, options: NatsOptions, pages: u32) -> Self {
        Self {
            web: Arc::new(Web::new(5, pages, PARTITIONS)),
            chronicle: Arc::new(Mutex::new(Chronicle::default())),
            options,
            crawl: CrawlName::new(name).unwrap(),
            nodes: Vec::new(),
            killed: BTreeSet::new(),
        }
    }

    async fn connect(&self) -> NatsBus {
        let connect = async {
            loop {
                match NatsBus::connect(&self.options, &self.crawl).await {
                    Ok(bus) => return bus,
                    Err(error) => eprintln!("connecting: {error}"),
                }
                sleep(Duration::from_millis(300)).await;
            }
        };
        timeout(PATIENCE, connect).await.expect("no connection")
    }

    async fn node(&mut self, name: &str, life: u64) {
        let bus = self.connect().await;
        let mut toy = Toy::new(&self.web, &self.chronicle, &Arc::new(MemoryState::default()), life);
        toy.slowest = Duration::from_millis(150);
        let (sender, _) = mpsc::unbounded_channel();
        let id = NodeId::new(name, life).unwrap();
        self.nodes.push(tokio::spawn(toy.run(bus, id, 100, quick(), sender)));
    }

    /// Waits until so many pages were asked for. A fault that comes then hits a crawl that is under way: most of it is left.
    async fn under_way(&self, pages: usize) {
        let reachable = self.web.reachable(&SEEDS).len();
        let fetched = || self.chronicle.lock().unwrap().fetched.len();
        let wait = async {
            while fetched() < pages {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(PATIENCE, wait).await.expect("the crawl does not get going");
        let now = fetched();
        assert!(now < reachable, "{now} of {reachable} pages: nothing is left that a fault could hit");
        let gone =
            self.nodes.iter().enumerate().find(|(at, node)| node.is_finished() && !self.killed.contains(at));
        assert!(gone.is_none(), "node {gone:?} is gone before anything was done to it");
    }

    /// A node dies amid its work.
    fn kill(&mut self, node: usize) {
        self.nodes[node].abort();
        self.killed.insert(node);
    }

    /// Waits for the end and compares with what can be reached.
    async fn check(mut self) -> Chronicle {
        for (at, node) in self.nodes.drain(..).enumerate() {
            match timeout(PATIENCE, node).await.expect("the crawl does not end") {
                Ok(finished) => assert!(finished && !self.killed.contains(&at), "node {at}"),
                // A node that panicked is no node that was killed.
                Err(error) => {
                    assert!(error.is_cancelled() && self.killed.contains(&at), "node {at}: {error}")
                }
            }
        }
        let bus = self.connect().await;
        let mut done = BTreeSet::new();
        for partition in (0..PARTITIONS).map(PartitionId) {
            let state = MemoryState::default();
            let reader = NodeId::new("reader", 1).unwrap();
            let mut owner = Owner::open(&bus, partition, u64::MAX, &reader, false).await.unwrap();
            owner.load(&state).await.unwrap();
            for (key, value) in state.pairs(partition) {
                assert_eq!(&value[..], b"d");
                done.insert(u32::from_be_bytes(key[..].try_into().unwrap()));
            }
        }
        assert_eq!(done, self.web.reachable(&SEEDS));
        let chronicle = std::mem::take(&mut *self.chronicle.lock().unwrap());
        assert!(chronicle.wrongs.is_empty(), "{:?}", chronicle.wrongs);
        assert!(chronicle.repeated <= chronicle.abandoned, "{chronicle:?}");
        chronicle
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes_fetch_every_page_once() {
    let server = Server::start();
    let mut crawl = Crawl::new("calm", NatsOptions::new(&server.url()), 250);
    for name in ["a", "b", "c"] {
        crawl.node(name, 1).await;
    }
    submit(&crawl.connect().await, &crawl.web, &SEEDS).await;
    assert_eq!(crawl.check().await.repeated, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_and_a_node_are_killed_and_nothing_is_lost() {
    let mut server = Server::start();
    let mut crawl = Crawl::new("killed", NatsOptions::new(&server.url()), 600);
    for name in ["a", "b", "c"] {
        crawl.node(name, 1).await;
    }
    submit(&crawl.connect().await, &crawl.web, &SEEDS).await;
    crawl.under_way(50).await;
    server.kill();
    sleep(Duration::from_millis(700)).await;
    server.up();
    crawl.under_way(120).await;
    crawl.kill(0);
    crawl.node("d", 1).await;
    // What the dead node had is crawled by others: beyond these pages there is no other way to the end.
    crawl.under_way(200).await;
    server.kill();
    server.up();
    crawl.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_server_of_three_is_lost_and_the_crawl_goes_on() {
    let routes: Vec<u16> = (0..3).map(|_| free_port()).collect();
    let all: Vec<String> = routes.iter().map(|port| format!("nats://127.0.0.1:{port}")).collect();
    let mut servers = Vec::new();
    // All three must be on their way before any is ready: a cluster chooses its leader together.
    let ports: Vec<u16> = (0..3).map(|_| free_port()).collect();
    for (i, &port) in ports.iter().enumerate() {
        let more = format!(
            "server_name: s{i}\ncluster {{ name: c, listen: \"127.0.0.1:{}\", routes: [{}] }}\n",
            routes[i],
            all.join(", ")
        );
        let server = Server::with(port, &more);
        servers.push(server);
    }
    let url = servers.iter().map(Server::url).collect::<Vec<_>>().join(",");
    let options = NatsOptions { replicas: 3, ..NatsOptions::new(&url) };
    let mut crawl = Crawl::new("three", options, 300);
    for name in ["a", "b"] {
        crawl.node(name, 1).await;
    }
    submit(&crawl.connect().await, &crawl.web, &SEEDS).await;
    crawl.under_way(60).await;
    servers[1].kill();
    crawl.check().await;
}

fn write_certificates(dir: &std::path::Path) {
    let mut authority = rcgen::CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority_key = rcgen::KeyPair::generate().unwrap();
    let authority_cert = authority.self_signed(&authority_key).unwrap();
    let issuer = rcgen::Issuer::new(authority, authority_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
    let cert = params.signed_by(&key, &issuer).unwrap();
    std::fs::write(dir.join("ca.pem"), authority_cert.pem()).unwrap();
    std::fs::write(dir.join("cert.pem"), cert.pem()).unwrap();
    std::fs::write(dir.join("key.pem"), key.serialize_pem()).unwrap();
}

/// The configuration of `docs/cluster.md`, for crawls called `mine` and `other`.
const GUARDED: &str = r#"
tls { cert_file: "@DIR@/cert.pem", key_file: "@DIR@/key.pem", timeout: 5 }
accounts {
  MINE: { jetstream: enabled, users: [
    { user: "mine", password: "right", permissions: {
        publish: [
          "lycosa.mine.>", "$KV.lycosa-mine.>", "$O.lycosa-mine.>",
          "$JS.API.INFO", "$JS.API.STREAM.CREATE.*", "$JS.API.STREAM.INFO.*", "$JS.API.STREAM.PURGE.*",
          "$JS.API.STREAM.MSG.GET.*", "$JS.API.DIRECT.GET.>",
          "$JS.API.CONSUMER.CREATE.>", "$JS.API.CONSUMER.INFO.>", "$JS.API.CONSUMER.DELETE.>",
          "$JS.API.CONSUMER.MSG.NEXT.>", "$JS.FC.>", "$JS.ACK.>"
        ],
        subscribe: ["_INBOX.>", "lycosa.mine.node.*.search"],
        allow_responses: { max: 1, expires: "1m" } } },
    { user: "search", password: "words", permissions: {
        publish: [
          "lycosa.mine.node.*.search",
          "$JS.API.STREAM.INFO.KV_lycosa-mine", "$JS.API.STREAM.INFO.OBJ_lycosa-mine",
          "$JS.API.DIRECT.GET.KV_lycosa-mine.>"
        ],
        subscribe: ["_INBOX.>"] } },
    { user: "submit", password: "seeds", permissions: {
        publish: [
          "lycosa.mine.*.in",
          "$JS.API.STREAM.INFO.KV_lycosa-mine", "$JS.API.STREAM.INFO.OBJ_lycosa-mine",
          "$JS.API.DIRECT.GET.KV_lycosa-mine.>"
        ],
        subscribe: ["_INBOX.>"] } } ] }
  OTHER: { jetstream: enabled, users: [ { user: "other", password: "right" } ] }
}
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_and_credentials_keep_strangers_out_and_crawls_apart() {
    let dir = tempfile::tempdir().unwrap();
    write_certificates(dir.path());
    let server = Server::in_dir(dir, free_port(), GUARDED);
    let authority = Some(server.dir.path().join("ca.pem"));
    let user = |password: &str| Credentials::User { name: "mine".to_owned(), password: password.to_owned() };
    let url = format!("tls://127.0.0.1:{}", server.port);
    let right =
        NatsOptions { credentials: user("right"), authority: authority.clone(), ..NatsOptions::new(&url) };
    let mine = CrawlName::new("mine").unwrap();
    for wrong in [
        NatsOptions { credentials: user("wrong"), ..right.clone() },
        NatsOptions { credentials: Credentials::None, ..right.clone() },
        // A server that nobody vouches for.
        NatsOptions { authority: None, ..right.clone() },
    ] {
        assert!(timeout(PATIENCE, NatsBus::connect(&wrong, &mine)).await.unwrap().is_err(), "{wrong:?}");
    }
    // The own crawl works, from beginning to end; seeds come from somebody who may do nothing else.
    let mut crawl = Crawl::new("mine", right.clone(), 60);
    crawl.node("a", 1).await;
    crawl.node("b", 1).await;
    let submitter = NatsOptions {
        credentials: Credentials::User { name: "submit".to_owned(), password: "seeds".to_owned() },
        ..right.clone()
    };
    let submitter = NatsBus::connect(&submitter, &mine).await.unwrap();
    submit(&submitter, &crawl.web, &SEEDS).await;
    assert!(submitter.put("crawl.finished", Bytes::from_static(b"no")).await.is_err());
    assert!(submitter.append(PartitionId(0), 0, Bytes::from_static(b"no")).await.is_err());
    let bus = crawl.connect().await;
    crawl.check().await;
    within_limits(&bus).await;
    searched_by_one_who_may(&bus, &right).await;
    // Another crawl on the same server is out of reach, and this one is for others.
    let other = CrawlName::new("other").unwrap();
    let stranger = NatsOptions {
        credentials: Credentials::User { name: "other".to_owned(), password: "right".to_owned() },
        ..right.clone()
    };
    let theirs = NatsBus::connect(&stranger, &other).await.unwrap();
    theirs.put("crawl.settings", Bytes::from_static(b"theirs")).await.unwrap();
    let ours = NatsBus::connect(&stranger, &mine).await.unwrap();
    assert_eq!(ours.get("crawl.settings").await.unwrap(), None);
    let peeping = NatsBus::connect(&right, &other).await.unwrap();
    assert_eq!(peeping.get("crawl.settings").await.unwrap(), None);
    assert!(peeping.put("crawl.settings", Bytes::from_static(b"no")).await.is_err());
}

/// One may search who may do nothing else; others may not even do that.
async fn searched_by_one_who_may(node: &NatsBus, right: &NatsOptions) {
    let mine = CrawlName::new("mine").unwrap();
    let connect = async |name: &str, password: &str| {
        let credentials = Credentials::User { name: name.to_owned(), password: password.to_owned() };
        NatsBus::connect(&NatsOptions { credentials, ..right.clone() }, &mine).await.unwrap()
    };
    node.put("search.nodes", Bytes::from_static(b"[\"a\"]")).await.unwrap();
    let mut listener = node.listen("search", "a").await.unwrap();
    let answering = tokio::spawn(async move {
        while let Ok(question) = listener.next().await {
            question.answer(Bytes::from_static(b"found")).await.unwrap();
        }
    });
    let ask = async |bus: &NatsBus| bus.ask("search", "a", Bytes::new(), Duration::from_secs(2)).await;
    let searcher = connect("search", "words").await;
    assert!(searcher.get("search.nodes").await.unwrap().is_some());
    assert_eq!(ask(&searcher).await, Ok(Bytes::from_static(b"found")));
    assert!(searcher.put("search.nodes", Bytes::from_static(b"[]")).await.is_err());
    assert!(searcher.publish(PartitionId(0), "x", Bytes::from_static(b"no")).await.is_err());
    let submitter = connect("submit", "seeds").await;
    assert!(ask(&submitter).await.is_err());
    answering.abort();
}

/// A lane that is full says so, and an object that is too large is not taken.
async fn within_limits(bus: &NatsBus) {
    let large = Bytes::from(vec![0; 17 << 20]);
    assert!(matches!(bus.put_object("large", large).await, Err(BusError::Refused(_))));
    let message = Bytes::from(vec![0; 2 << 20]);
    assert!(matches!(bus.publish(PartitionId(0), "large", message).await, Err(BusError::Refused(_))));
}
