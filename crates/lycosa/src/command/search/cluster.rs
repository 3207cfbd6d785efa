//! Searching a cluster: asking all nodes, and being one of those that are asked.

use std::time::Duration;

use anyhow::{Result, bail};
use lycosa_cluster::NodeId;
use lycosa_engine::Layout;
use lycosa_engine::cluster::answering::{self, Answering};
use lycosa_engine::layout::write_atomically;
use lycosa_search::federation::{Joint, Silent};
use lycosa_search::{Request, SearchIndex, index_dir};

use super::SearchArgs;
use crate::exit::Exit;
use crate::figures::plural;
use crate::nats::{Connection, NatsArgs, node_name};
use crate::output::tell;
use crate::signals::Asked;

/// Asks all nodes that keep an index.
pub fn ask(args: &NatsArgs, request: &Request, within: Duration) -> Result<Joint> {
    let connection = args.connect()?;
    Ok(connection.runtime.block_on(answering::search(&connection.bus, request, within))?)
}

/// Takes a node off the list of those that are asked.
pub fn forget(args: &SearchArgs, node: &str) -> Result<Exit> {
    let connection = args.nats.connect()?;
    connection.runtime.block_on(answering::forget(&connection.bus, node))?;
    Ok(Exit::Done)
}

/// Answers from the index of a directory until it is told to stop.
pub fn serve(args: &SearchArgs) -> Result<Exit> {
    let layout = Layout::new(&args.data);
    // Before anybody is told of it.
    let index = SearchIndex::open(&index_dir(&args.data))?;
    let node = match (&args.node, name_of(&layout)) {
        (Some(name), Some(known)) if *name != known => {
            bail!("{} belongs to the node {known}; leave --node out", args.data.display())
        }
        (Some(name), _) => node_name(Some(name))?,
        (None, Some(known)) => known,
        (None, None) => node_name(None)?,
    };
    let connection = args.nats.connect()?;
    remember(&layout, &node)?;
    let _answering = start(&connection, &layout, &node);
    tell!(
        "{} of {} can be searched as {node} of {}; Ctrl-C ends that",
        plural(index.count(), "page", "pages"),
        args.data.display(),
        connection.crawl
    );
    drop(index);
    connection.runtime.block_on(async {
        Asked::listen()?.next().await;
        anyhow::Ok(Exit::Done)
    })
}

/// Answers beside something else, for as long as what is returned is kept.
pub fn start(connection: &Connection, layout: &Layout, node: &str) -> Answering {
    let (bus, runtime) = (connection.bus.clone(), connection.runtime.handle());
    Answering::start(bus, runtime, node.to_owned(), index_dir(layout.path()))
}

/// The node that a directory belongs to, if it is known.
fn name_of(layout: &Layout) -> Option<String> {
    let name = std::fs::read_to_string(layout.node()).ok()?;
    NodeId::new(name.trim(), 0).ok().map(|node| node.name().to_owned())
}

/// Notes the node that a directory belongs to: its pages are asked for under that name.
pub fn remember(layout: &Layout, node: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(layout.path())?;
    write_atomically(&layout.node(), format!("{node}\n").as_bytes())
}

/// Who answered, and whose pages are missing.
pub fn who_answered(joint: &Joint) -> String {
    let mut text = format!("{} answered", plural(joint.answered.len() as u64, "node", "nodes"));
    if !joint.silent.is_empty() {
        let told = |Silent { node, why }: &Silent| format!("\n  {node}: {why}");
        let silent: String = joint.silent.iter().map(told).collect();
        text.push_str(&format!("; the pages of these are missing:{silent}"));
    }
    text
}
