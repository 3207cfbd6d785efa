//! Asking all nodes within a time.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use super::merge::{Joint, Silent, merge};
use super::message::{MAX_FEDERATED, ShardRequest, ShardResponse};
use crate::answer::Request;
use crate::error::SearchError;
use crate::query::parse;
use crate::statistics::Statistics;

/// Nodes that can be asked.
pub const MAX_NODES: usize = 1024;
/// The share of the time that the first round may take.
const FIRST_ROUND: f64 = 0.4;

/// A way to other nodes.
pub trait Transport {
    /// Sends a request to each of the nodes, and returns the answers that came within the time, or why there will be none.
    fn ask(
        &self,
        nodes: &[String],
        request: &[u8],
        within: Duration,
    ) -> impl Future<Output = Vec<(String, Result<Vec<u8>, String>)>> + Send;
}

/// Answers a question from the pages of all nodes. `clock` tells the time since some moment.
pub async fn search_all(
    transport: &impl Transport,
    nodes: &[String],
    request: &Request,
    within: Duration,
    clock: impl Fn() -> Duration,
) -> Result<Joint, SearchError> {
    let began = clock();
    let node = parse(&request.query)?;
    let window = request.offset.saturating_add(request.limit);
    if window > MAX_FEDERATED {
        return Err(SearchError::TooFar { asked: window, limit: MAX_FEDERATED });
    }
    if nodes.len() > MAX_NODES {
        return Err(SearchError::TooManyNodes { asked: nodes.len(), limit: MAX_NODES });
    }
    let mut silent = BTreeMap::new();
    let mut statistics = Statistics::default();
    let mut counted = Vec::new();
    let first = ShardRequest::Statistics { query: request.query.clone() }.to_bytes()?;
    let answers = transport.ask(nodes, &first, within.mul_f64(FIRST_ROUND)).await;
    for (node, response) in sorted(nodes, answers, &mut silent) {
        match response {
            ShardResponse::Statistics(own) => {
                statistics.add(own);
                counted.push(node);
            }
            other => refuse(node, other, &mut silent),
        }
    }
    let second = ShardRequest::Search {
        query: request.query.clone(),
        statistics,
        window,
        sort: request.sort,
        all: request.all,
        explain: request.explain,
        facets: request.facets,
    };
    let left = within.saturating_sub(clock().saturating_sub(began));
    let answers = transport.ask(&counted, &second.to_bytes()?, left).await;
    let (mut answered, mut results) = (Vec::new(), Vec::new());
    for (node, response) in sorted(&counted, answers, &mut silent) {
        match response {
            ShardResponse::Results(own) => {
                results.push(own);
                answered.push(node);
            }
            other => refuse(node, other, &mut silent),
        }
    }
    let mut answer = merge(request, &node, results);
    let elapsed = clock().saturating_sub(began);
    answer.elapsed_us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
    let silent = silent.into_iter().map(|(node, why)| Silent { node, why }).collect();
    Ok(Joint { answer, answered, silent })
}

/// One readable answer of each node, in the order of the nodes; the others are noted as silent.
fn sorted(
    nodes: &[String],
    answers: Vec<(String, Result<Vec<u8>, String>)>,
    silent: &mut BTreeMap<String, String>,
) -> Vec<(String, ShardResponse)> {
    let mut answers: BTreeMap<String, Result<Vec<u8>, String>> = answers.into_iter().collect();
    let mut read = Vec::new();
    for node in nodes {
        let answer = answers.remove(node);
        let readable = |bytes: Vec<u8>| ShardResponse::from_bytes(&bytes).map_err(|error| error.to_string());
        match answer.map(|answer| answer.and_then(readable)) {
            Some(Ok(response)) => read.push((node.clone(), response)),
            Some(Err(why)) => {
                silent.insert(node.clone(), why);
            }
            None => {
                silent.insert(node.clone(), "no answer in time".to_owned());
            }
        }
    }
    read
}

fn refuse(node: String, response: ShardResponse, silent: &mut BTreeMap<String, String>) {
    let why = match response {
        ShardResponse::Refused(why) => why,
        _ => "an answer to another question".to_owned(),
    };
    silent.insert(node, why);
}
