//! One program's turn: a fresh directory, an empty log at the server, the program measured, and what it did counted.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::measure;
use crate::nginx::Nginx;
use crate::program;
use crate::workspace::Workspace;

use super::peers::{Binaries, Peer};
use super::results::Turn;

pub struct Arena<'a> {
    pub workspace: &'a Workspace,
    pub binaries: &'a Binaries,
    /// Where programs work; emptied before and after each turn.
    pub work: PathBuf,
    pub limit: Duration,
}

impl Arena<'_> {
    /// An empty directory to work in, with nothing of the turn before left to be written to disk.
    pub fn clean(&self) -> Result<()> {
        if self.work.exists() {
            std::fs::remove_dir_all(&self.work)?;
        }
        std::fs::create_dir_all(self.work.join("tmp"))?;
        program::run(&mut Command::new("sync"))
    }
}

/// Runs a program; returns its figures and the pages it got.
pub fn turn(arena: &Arena<'_>, server: &Nginx, peer: Peer, round: usize) -> Result<(Turn, BTreeSet<String>)> {
    arena.clean()?;
    server.clear_log()?;
    let command = peer.command(arena.workspace, arena.binaries, &server.url("index.html"), &arena.work);
    let (cost, said) = measure::measure(&command, arena.limit, &arena.work)?;
    let requests = server.requests()?;
    let pages: BTreeSet<String> =
        requests.iter().filter(|request| request.is_page()).map(|request| request.path.clone()).collect();
    if pages.is_empty() {
        eprintln!("{} got no page; it said: {}", peer.name(), said.trim());
    }
    let stored = stored_bytes(&arena.work);
    let turn = Turn::new(peer, round, cost, pages.len() as u64, requests.len() as u64, stored);
    std::fs::remove_dir_all(&arena.work)?;
    Ok((turn, pages))
}

/// Bytes in files below a directory; of a file with holes only what is really there.
pub fn stored_bytes(dir: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return 0;
    };
    entries
        .filter_map(Result::ok)
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => stored_bytes(&entry.path()),
            Ok(meta) => meta.len().min(meta.blocks() * 512),
            Err(_) => 0,
        })
        .sum()
}
