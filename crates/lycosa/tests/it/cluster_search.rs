//! Nodes of a cluster that keep an index each and are searched as one: several processes and a real NATS server.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Child;
use std::time::{Duration, Instant};

use lycosa_simweb::{Lang, Lexicon, WorldConfig};
use lycosa_testkit::Server;
use serde_json::Value;

use nix::sys::signal::Signal;

use crate::binary::{Run, command, finish, lycosa, send};
use crate::search::indexed;
use crate::site::Site;

const PATIENCE: Duration = Duration::from_secs(90);
/// Everything that is in an index.
const ALL: &str = "NOT qqqq";

struct Cluster {
    site: Site,
    nats: Server,
    url: String,
}

/// A process that ends with the test, however it ends.
struct Node(Option<Child>);

impl Node {
    fn signal(&self, signal: Signal) {
        send(self.0.as_ref().unwrap(), signal);
    }

    /// Asks it to stop, and waits for that.
    fn stop(mut self) -> Run {
        self.signal(Signal::SIGINT);
        finish(self.0.take().unwrap())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Cluster {
    fn start(world: WorldConfig) -> Self {
        let nats = Server::start();
        Self { url: nats.url(), nats, site: Site::start(world) }
    }

    fn dir(&self, name: &str) -> String {
        self.site.dir.path().join(name).to_str().unwrap().to_owned()
    }

    fn spawn(&self, first: &[&str], name: &str, more: &[&str]) -> Node {
        let dir = self.dir(name);
        let mut args = first.to_vec();
        args.extend(["--nats", &self.url, "--crawl", "test", "-d", &dir]);
        args.extend(more);
        Node(Some(command(&args).spawn().unwrap()))
    }

    /// Makes the crawl, with a node that stays when it is over.
    fn crawl(&self, name: &str, options: &[&str]) -> Node {
        let seed = self.site.seed();
        let mut more = vec!["--node", name, "--serve", "--quiet", "--index", "--set", "index.commit_s=1"];
        more.extend(options);
        more.extend(["--scope", "any", "--ip-delay", "0", "--delay", "15ms"]);
        more.extend(["--set", "judging.skip_mirrors=false", "--set", "partitions.count=16"]);
        more.extend(["--set", "politeness.retry_ms=50"]);
        more.push("--no-requisites");
        more.extend(self.site.net());
        self.spawn(&["crawl", &seed], name, &more)
    }

    /// Every node reports when its crawl is over.
    fn wait_for_the_end(&self, nodes: &[&str]) {
        let started = Instant::now();
        while nodes.iter().any(|name| !self.site.dir.path().join(name).join("report.json").exists()) {
            assert!(started.elapsed() < PATIENCE, "the crawls do not end");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn search(&self, query: &str, more: &[&str]) -> Run {
        let mut args = vec!["search", query, "--nats", &self.url, "--crawl", "test"];
        args.extend(more);
        lycosa(&args)
    }

    fn ask(&self, query: &str, more: &[&str]) -> Value {
        let within: &[&str] = if more.contains(&"--timeout") { &[] } else { &["--timeout", "20"] };
        let all = ["-n", "200", "--all", "--json"];
        self.search(query, &[&all[..], within, more].concat()).expect_code(0).json()
    }

    /// Asks until the answer is as it should be in the end.
    fn ask_until(&self, query: &str, is_good: impl Fn(&Value) -> bool) -> Value {
        let started = Instant::now();
        loop {
            // Before the first node listens there is nobody to ask.
            let run = self.search(query, &["-n", "200", "--all", "--json", "--timeout", "20"]);
            if run.code == 0 && is_good(&run.json()) {
                return run.json();
            }
            let size = run.out.len();
            assert!(started.elapsed() < PATIENCE, "the answer does not come: {size} bytes, {}", run.err);
            std::thread::sleep(Duration::from_millis(300));
        }
    }
}

/// All addresses of an answer, each of them told once.
fn urls(answer: &Value) -> BTreeSet<String> {
    let mut urls = BTreeSet::new();
    for found in answer["results"].as_array().unwrap() {
        let also = found["also_at"].as_array().unwrap().iter();
        for url in std::iter::once(&found["url"]).chain(also) {
            assert!(urls.insert(url.as_str().unwrap().to_owned()), "{url} is there twice");
        }
    }
    urls
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|value| value.as_str().unwrap()).collect()
}

#[test]
fn a_cluster_is_searched_like_one_index() {
    let mut world = WorldConfig::clean(61, 10, 180);
    world.features.odd_pages = true;
    let cluster = Cluster::start(world);
    assert!(cluster.search("x", &[]).expect_code(1).err.contains("keeps an index"));
    // By pages, so that copies of one host's pages lie on both nodes.
    let a = cluster.crawl("a", &["--set", "partitions.by=page"]);
    let b = cluster.spawn(&["node"], "b", &["--node", "b", "--serve", "--quiet"]);
    // While they crawl.
    let early = cluster.ask_until(ALL, |answer| {
        answer["total"].as_u64() > Some(0) && names(&answer["answered"]) == ["a", "b"]
    });
    assert_eq!(early["silent"], Value::Array(Vec::new()));

    // One machine for itself makes one index of everything.
    let data = cluster.site.data();
    let alone = ["--delay", "0", "--quiet", "--index", "--set", "judging.skip_mirrors=false"];
    cluster.site.crawl(&alone).expect_code(0);
    let everything = indexed(&data);
    assert!(everything.len() > 100 && everything.len() <= 200, "{}", everything.len());
    let all = cluster.ask_until(ALL, |answer| answer["total"].as_u64() == Some(everything.len() as u64));
    assert_eq!(urls(&all), everything);
    let parts = [indexed(&cluster.dir("a")), indexed(&cluster.dir("b"))];
    assert!(parts.iter().all(|part| part.len() > 10), "both have their share");
    copies_are_one_result(&all, &data);

    let words = Lexicon::new(Lang::En).topic_words(0);
    let (one, two, three) = (&words[0], &words[1], &words[2]);
    for query in [
        format!("text:{one}"),
        format!("text:({one} {two} {three})"),
        format!("text:({one} AND {two})"),
        format!("text:({one} XOR {two})"),
        format!("text:({one} NEAR/8 {two})"),
        format!("text:({two} OR {three}) -title:{one}"),
        format!("title:{one} OR text:{}*", &three[..3]),
    ] {
        let joint = cluster.ask(&query, &[]);
        let single = lycosa(&["search", &query, "-d", &data, "-n", "200", "--all", "--json"]).expect_code(0);
        let single = single.json();
        assert_eq!(urls(&joint), urls(&single), "{query}");
        for figure in ["total", "query"] {
            assert_eq!(joint[figure], single[figure], "{query}");
        }
        assert_eq!(joint["facets"], single["facets"], "{query}");
    }
    let wrong = cluster.search("(web", &[]).expect_code(2);
    assert!(wrong.err.contains("never closed") && wrong.err.contains('^'), "{}", wrong.err);
    assert!(cluster.search(one, &["--offset", "195"]).expect_code(1).err.contains("at most 200"));

    // A node that is stopped is named, and the others' pages are told.
    cluster.wait_for_the_end(&["a", "b"]);
    b.signal(Signal::SIGSTOP);
    let some = cluster.ask(ALL, &["--timeout", "1500ms"]);
    assert_eq!((names(&some["answered"]), &some["silent"][0]["node"]), (vec!["a"], &Value::from("b")));
    assert_eq!(some["silent"][0]["why"], "no answer in time");
    assert_eq!(urls(&some), parts[0]);
    let text = cluster.search(one, &["--timeout", "1500ms"]).expect_code(0).out;
    assert!(text.contains("1 node answered") && text.contains("  b: no answer in time"), "{text}");
    b.signal(Signal::SIGCONT);
    assert_eq!(cluster.ask(ALL, &[])["total"], all["total"]);

    // One that is gone is named, too; its directory can be served by itself.
    b.stop().expect_code(0);
    let some = cluster.ask(ALL, &[]);
    assert!(some["silent"][0]["why"].as_str().unwrap().contains("search --serve"));
    assert_eq!(urls(&some), parts[0]);
    let b = cluster.spawn(&["search", "--serve"], "b", &[]);
    let again = cluster.ask_until(ALL, |answer| names(&answer["answered"]) == ["a", "b"]);
    assert_eq!(urls(&again), everything);
    b.stop().expect_code(0);
    let forget =
        |name: &str| lycosa(&["search", "--forget", name, "--nats", &cluster.url, "--crawl", "test"]);
    forget("b").expect_code(0);
    assert!(forget("b").expect_code(1).err.contains("not among"));
    let some = cluster.ask(ALL, &[]);
    assert_eq!((names(&some["answered"]), some["silent"].as_array().unwrap().len()), (vec!["a"], 0));
    a.stop().expect_code(0);
    let none = cluster.search(ALL, &[]).expect_code(1);
    assert!(none.err.contains("none of the nodes answered"), "{}", none.err);
    drop(cluster.nats);
}

/// Pages with the same content are together, whichever nodes they lie on.
fn copies_are_one_result(answer: &Value, single: &str) {
    let mut place = BTreeMap::new();
    for (number, found) in answer["results"].as_array().unwrap().iter().enumerate() {
        let also = found["also_at"].as_array().unwrap().iter();
        place.extend(std::iter::once(&found["url"]).chain(also).map(|url| (url.as_str().unwrap(), number)));
    }
    let pages = lycosa(&["export", "-d", single, "-f", "jsonl"]).expect_code(0).json_lines();
    let mut same: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for page in &pages {
        let (digest, url) = (page["digest"].as_str().unwrap(), page["url"].as_str().unwrap());
        same.entry(digest).or_default().extend(place.contains_key(url).then_some(url));
    }
    same.retain(|_, urls| urls.len() > 1);
    assert!(same.len() > 3, "the world has copies: {same:?}");
    for urls in same.values() {
        assert!(urls.iter().all(|url| place[url] == place[urls[0]]), "{urls:?}");
    }
}

/// Nodes that crawl everything each have everything: it is told once.
#[test]
fn pages_that_two_nodes_have_are_told_once() {
    let cluster = Cluster::start(WorldConfig::clean(62, 5, 60));
    let _a = cluster.crawl("a", &["--allocation", "independent"]);
    let _b = cluster.spawn(&["node"], "b", &["--node", "b", "--serve", "--quiet"]);
    cluster.wait_for_the_end(&["a", "b"]);
    let everything = indexed(&cluster.dir("a"));
    assert_eq!(everything, indexed(&cluster.dir("b")));
    let total = everything.len() as u64;
    let all = cluster.ask_until(ALL, |answer| {
        names(&answer["answered"]) == ["a", "b"] && answer["total"].as_u64() == Some(total)
    });
    assert_eq!(urls(&all), everything);
    let counted: u64 =
        all["facets"]["site"].as_array().unwrap().iter().map(|facet| facet["count"].as_u64().unwrap()).sum();
    assert_eq!(counted, total);
}
