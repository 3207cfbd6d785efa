//! Searching a cluster: every node answers from its own index, and whoever asks puts the answers together.
//!
//! Which nodes keep an index stands under one key on the bus. A node stays there when it stops: its pages are missing from
//! answers then, and whoever asks is told so, until it is served again or forgotten.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use lycosa_cluster::bus::BusError;
use lycosa_cluster::{AskError, Asking, Listener, Question};
use lycosa_search::federation::{Joint, MAX_NODES, ShardResponse, Transport, search_all};
use lycosa_search::{Request, SearchError, SearchIndex};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;

/// The nodes that keep an index: a list of names, as JSON.
pub const NODES_KEY: &str = "search.nodes";
/// The kind of the questions.
pub const SEARCH: &str = "search";
/// Questions that are worked on at a time.
const AT_ONCE: usize = 4;
/// Questions that may wait for their turn; more are told to come again.
const MAX_WAITING: usize = 64;
/// How old what an index has committed may be before it is looked at again.
const FRESH: Duration = Duration::from_secs(1);
const TRY_AGAIN: Duration = Duration::from_millis(500);

#[derive(Debug, thiserror::Error)]
pub enum AskingError {
    #[error(transparent)]
    Bus(#[from] BusError),
    #[error(transparent)]
    Search(#[from] SearchError),
    #[error(
        "no node of this crawl keeps an index; start the crawl with --index, or make one on each node with `lycosa index -d DIR` and \
         serve it with `lycosa search --serve`"
    )]
    NoNodes,
    #[error("none of the nodes answered: {0}")]
    NoAnswer(String),
    #[error("{0} is not among the nodes that keep an index: {1}")]
    Unknown(String, String),
}

/// An index that is served: opened once it is there, and as fresh as its last commits.
struct Served {
    dir: PathBuf,
    open: Mutex<Option<(Arc<SearchIndex>, Instant)>>,
}

impl Served {
    fn index(&self) -> Result<Arc<SearchIndex>, SearchError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((index, looked)) = &mut *open {
            if looked.elapsed() < FRESH {
                return Ok(Arc::clone(index));
            }
            if index.reload().is_ok() {
                *looked = Instant::now();
                return Ok(Arc::clone(index));
            }
            // It may have been made anew: then it is opened anew.
        }
        *open = None;
        let index = Arc::new(SearchIndex::open(&self.dir)?);
        *open = Some((Arc::clone(&index), Instant::now()));
        Ok(index)
    }

    /// The answer to a question, whatever it is.
    fn answer(&self, question: &[u8], most_bytes: usize) -> Bytes {
        let response = match self.index() {
            Ok(index) => index.serve(question),
            Err(error) => ShardResponse::Refused(error.to_string()),
        };
        let written = response.to_bytes_within(most_bytes);
        let written = written.or_else(|error| ShardResponse::Refused(error.to_string()).to_bytes());
        written.unwrap_or_default().into()
    }
}

/// A node that answers. It stops when this is dropped.
#[derive(Debug)]
pub struct Answering(AbortHandle);

impl Answering {
    /// Answers from the index in `dir`, which may come later, under the name of a node.
    pub fn start<B: Asking>(bus: B, runtime: &Handle, node: String, dir: PathBuf) -> Self {
        Self(runtime.spawn(run(bus, node, dir)).abort_handle())
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn run<B: Asking>(bus: B, node: String, dir: PathBuf) {
    let served = Arc::new(Served { dir, open: Mutex::default() });
    let (turns, room) = (Arc::new(Semaphore::new(AT_ONCE)), Arc::new(Semaphore::new(AT_ONCE + MAX_WAITING)));
    let mut listed = false;
    loop {
        match bus.listen(SEARCH, &node).await {
            Ok(mut listener) => {
                while !listed {
                    match list(&bus, |nodes| add(nodes, &node)).await {
                        Ok(()) => listed = true,
                        Err(error) if error.is_transient() => sleep(TRY_AGAIN).await,
                        Err(error) => {
                            tracing::warn!(%error, "this node cannot be searched");
                            return;
                        }
                    }
                }
                while let Ok(question) = listener.next().await {
                    take(&bus, question, &served, &turns, &room);
                }
            }
            Err(error) => tracing::debug!(%error, "listening for searches again"),
        }
        sleep(TRY_AGAIN).await;
    }
}

/// Has a question answered, beside the others.
fn take<B: Asking>(
    bus: &B,
    question: Question,
    served: &Arc<Served>,
    turns: &Arc<Semaphore>,
    room: &Arc<Semaphore>,
) {
    let place = Arc::clone(room).try_acquire_owned();
    let (served, turns, most_bytes) = (Arc::clone(served), Arc::clone(turns), bus.most_bytes());
    tokio::spawn(async move {
        let answer = match place {
            Ok(_place) => {
                let Ok(_turn) = turns.acquire().await else { return };
                let body = question.body.clone();
                let worked = tokio::task::spawn_blocking(move || served.answer(&body, most_bytes)).await;
                worked.unwrap_or_else(|_| refusal("the search ended by a panic"))
            }
            Err(_) => refusal("too many searches at a time; ask again"),
        };
        if let Err(error) = question.answer(answer).await {
            tracing::debug!(%error, "an answer to a search was lost");
        }
    });
}

fn refusal(why: &str) -> Bytes {
    ShardResponse::Refused(why.to_owned()).to_bytes().unwrap_or_default().into()
}

/// The nodes that keep an index, in order.
pub async fn nodes<B: Asking>(bus: &B) -> Result<Vec<String>, BusError> {
    Ok(bus.get(NODES_KEY).await?.map_or_else(Vec::new, |found| read(&found.value)))
}

fn read(bytes: &[u8]) -> Vec<String> {
    let mut nodes: Vec<String> = serde_json::from_slice(bytes).unwrap_or_default();
    // A name becomes part of a subject: nothing else may.
    nodes.retain(|name| lycosa_cluster::NodeId::new(name, 0).is_ok());
    nodes
}

fn add(nodes: &mut Vec<String>, node: &str) -> Result<bool, BusError> {
    if nodes.iter().any(|known| known == node) {
        return Ok(false);
    }
    if nodes.len() >= MAX_NODES {
        return Err(BusError::Refused(format!("{MAX_NODES} nodes keep an index already")));
    }
    nodes.push(node.to_owned());
    nodes.sort();
    Ok(true)
}

/// Changes the list of nodes; somebody else's change in between is not lost.
async fn list<B: Asking>(
    bus: &B,
    change: impl Fn(&mut Vec<String>) -> Result<bool, BusError>,
) -> Result<(), BusError> {
    loop {
        let found = bus.get(NODES_KEY).await?;
        let mut nodes = found.as_ref().map_or_else(Vec::new, |found| read(&found.value));
        if !change(&mut nodes)? {
            return Ok(());
        }
        let text = Bytes::from(serde_json::to_vec(&nodes).unwrap_or_default());
        let written = match &found {
            Some(found) => bus.update(NODES_KEY, text, found.revision).await,
            None => bus.create(NODES_KEY, text).await,
        };
        match written {
            Err(BusError::Conflict(_)) => {}
            other => return other.map(|_| ()),
        }
    }
}

/// Takes a node off the list: its index will not come back.
pub async fn forget<B: Asking>(bus: &B, node: &str) -> Result<(), AskingError> {
    let known = nodes(bus).await?;
    if !known.iter().any(|name| name == node) {
        return Err(AskingError::Unknown(node.to_owned(), known.join(", ")));
    }
    let drop_it = |nodes: &mut Vec<String>| {
        let before = nodes.len();
        nodes.retain(|name| name != node);
        Ok(nodes.len() != before)
    };
    Ok(list(bus, drop_it).await?)
}

/// The way to the nodes of a crawl.
struct Nodes<'b, B>(&'b B);

impl<B: Asking> Transport for Nodes<'_, B> {
    async fn ask(
        &self,
        nodes: &[String],
        request: &[u8],
        within: Duration,
    ) -> Vec<(String, Result<Vec<u8>, String>)> {
        let mut asked = JoinSet::new();
        let request = Bytes::copy_from_slice(request);
        for node in nodes {
            let (bus, node, request) = (self.0.clone(), node.clone(), request.clone());
            asked.spawn(async move {
                let answer = bus.ask(SEARCH, &node, request, within).await;
                (node, answer.map(Vec::from).map_err(|error| why(&error)))
            });
        }
        let mut answers = Vec::new();
        while let Some(answer) = asked.join_next().await {
            answers.extend(answer);
        }
        answers
    }
}

fn why(error: &AskError) -> String {
    match error {
        AskError::Nobody => {
            "its index is not served; `lycosa search --serve` does that on its machine".to_owned()
        }
        error => error.to_string(),
    }
}

/// Asks all nodes that keep an index.
pub async fn search<B: Asking>(bus: &B, request: &Request, within: Duration) -> Result<Joint, AskingError> {
    let nodes = nodes(bus).await?;
    if nodes.is_empty() {
        return Err(AskingError::NoNodes);
    }
    let began = Instant::now();
    let joint = search_all(&Nodes(bus), &nodes, request, within, || began.elapsed()).await?;
    if joint.answered.is_empty() {
        let silent: Vec<String> =
            joint.silent.iter().map(|silent| format!("{} ({})", silent.node, silent.why)).collect();
        return Err(AskingError::NoAnswer(silent.join("; ")));
    }
    Ok(joint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lycosa_cluster::bus::Bus;
    use lycosa_cluster::bus::memory::{Chances, Link};
    use lycosa_cluster::{MemoryBus, MemoryServer};
    use lycosa_search::{Change, Indexer, Mark, PageDoc, PageKey};
    use std::path::Path;

    const LONG: Duration = Duration::from_secs(20);

    fn put(dir: &Path, keys: std::ops::Range<u8>) {
        let mut indexer = Indexer::open(dir).unwrap();
        for key in keys {
            let mut page = PageDoc::new(format!("http://a.test/{key}"), PageKey([key; 16]));
            page.text = "spider web".to_owned();
            indexer.apply(Change::Put(Box::new(page))).unwrap();
        }
        indexer.commit(Mark::default()).unwrap();
        indexer.finish().unwrap();
    }

    async fn total(bus: &MemoryBus) -> u64 {
        search(bus, &Request::new("web"), LONG).await.unwrap().answer.total
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn indexes_are_asked_as_they_grow_and_missed_when_they_go() {
        let server = Arc::new(MemoryServer::new(1, Chances::default()));
        let connect = || MemoryBus::new(Arc::clone(&server), Arc::new(Link::default()));
        let bus = connect();
        let request = Request::new("web");
        assert!(matches!(search(&bus, &request, LONG).await, Err(AskingError::NoNodes)));
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        put(a.path(), 0..3);
        let serve = |name: &str, dir: &Path| {
            Answering::start(connect(), &Handle::current(), name.to_owned(), dir.to_owned())
        };
        let (one, _two) = (serve("a", a.path()), serve("b", b.path()));
        while nodes(&bus).await.unwrap().len() < 2 {
            sleep(Duration::from_millis(10)).await;
        }
        // The second has no index yet, and says so.
        let joint = search(&bus, &request, LONG).await.unwrap();
        assert_eq!((joint.answer.total, joint.answered), (3, vec!["a".to_owned()]));
        assert!(
            joint.silent[0].node == "b" && joint.silent[0].why.contains("no index"),
            "{:?}",
            joint.silent
        );
        put(b.path(), 3..5);
        assert_eq!(total(&bus).await, 5);
        // What is committed later is seen, without anybody starting anew.
        put(a.path(), 10..14);
        while total(&bus).await < 9 {
            sleep(Duration::from_millis(50)).await;
        }
        drop(one);
        let gone = loop {
            let joint = search(&bus, &request, LONG).await.unwrap();
            if !joint.silent.is_empty() {
                break joint;
            }
            sleep(Duration::from_millis(10)).await;
        };
        assert_eq!((gone.answer.total, gone.silent[0].node.as_str()), (2, "a"));
        assert!(gone.silent[0].why.contains("--serve"));
        forget(&bus, "a").await.unwrap();
        assert!(matches!(forget(&bus, "a").await, Err(AskingError::Unknown(..))));
        assert_eq!(nodes(&bus).await.unwrap(), ["b"]);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_is_no_name_is_asked_nothing() {
        let server = Arc::new(MemoryServer::new(1, Chances::default()));
        let bus = MemoryBus::new(server, Arc::new(Link::default()));
        for list in ["nonsense", "[\"*\", \"a.b\", \">\", \"\", \"ok\"]"] {
            bus.put(NODES_KEY, Bytes::from(list)).await.unwrap();
        }
        assert_eq!(nodes(&bus).await.unwrap(), ["ok"]);
        let mut full: Vec<String> = (0..MAX_NODES).map(|number| format!("n{number}")).collect();
        assert!(add(&mut full, "one-more").is_err() && !add(&mut full, "n7").unwrap());
    }
}
