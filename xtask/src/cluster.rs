//! Clusters of real processes: NATS servers, nodes, the synthetic web, and what the web's server saw of them all.
//!
//! | module | noun |
//! | --- | --- |
//! | [`audit`] | the requests as the server saw them: who asked for what, when, how often |
//! | [`crew`] | nodes and coordinators, each a process with a directory |
//! | [`fault`] | what goes wrong, in an order that follows from a seed |
//! | [`figures`] | `cargo xtask cluster`: balance, exchange, takeover, joining, two nodes against one |
//! | [`nats`] | one NATS server or several, which can be killed |
//! | [`proxy`] | the network between a node and the servers, which can be cut |
//! | [`soak`] | `cargo xtask soak`: a crawl under faults, and what must hold at its end |
//! | [`takeover`] | how soon a dead node's partitions are worked on by others |
//! | [`web`] | the synthetic web |

pub mod audit;
pub mod crew;
pub mod fault;
pub mod figures;
pub mod nats;
pub mod proxy;
pub mod soak;
pub mod takeover;
pub mod web;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;

use crate::program;
use crate::workspace::Workspace;

/// The programs that a cluster is made of.
#[derive(Clone, Debug)]
pub struct Programs {
    pub lycosa: PathBuf,
    pub simweb: PathBuf,
    pub nats: PathBuf,
}

impl Programs {
    /// Those of the tests, or with `release` those that are measured; built as needed, unless `bin` names a directory.
    pub fn find(workspace: &Workspace, release: bool, bin: Option<&Path>) -> Result<Self> {
        let nats = nats::program(workspace)?;
        if let Some(bin) = bin {
            let bin = std::path::absolute(bin)?;
            return Ok(Self { lycosa: bin.join("lycosa"), simweb: bin.join("examples/simweb"), nats });
        }
        let profile: &[&str] = if release { &["--release"] } else { &[] };
        let build = |what: &[&str]| {
            program::run(workspace.cargo().args(["build", "--quiet"]).args(profile).args(what))
        };
        if release {
            build(&["-p", "lycosa"])?;
            build(&["-p", "lycosa-simweb", "--example", "simweb"])?;
        } else {
            workspace.build_tested()?;
        }
        let bin = workspace.target.join(if release { "release" } else { "debug" });
        Ok(Self { lycosa: bin.join("lycosa"), simweb: bin.join("examples/simweb"), nats })
    }
}

pub fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
