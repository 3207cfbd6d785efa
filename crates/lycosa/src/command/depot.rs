//! `lycosa depot`: a central archive. Nodes bring it their sealed segments over HTTPS.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, bail};
use clap::Args;
use lycosa_cluster::depot::{Depot, Door, DoorOptions, Shelf};
use serde_json::json;

use crate::exit::Exit;
use crate::figures::{self, plural};
use crate::output::{stdout, tell};
use crate::signals::Asked;

const EXAMPLES: &str = "\
Examples:
  lycosa depot -d /srv/archive --cert depot.pem --key depot.key --token-file token
  lycosa depot -d /srv/archive --cert depot.pem --key depot.key --client-ca nodes.pem    nodes show certificates

Nodes find it by `archive.central = \"https://HOST:7443/\"` in the settings of their crawl, with the token in the variable
LYCOSA_CENTRAL_TOKEN, or with `archive.central_cert` and `archive.central_key`. They may add segments; nothing can be read,
changed or removed over the network.

Exit codes: 1 failed, 2 wrong usage, 3 stopped.";

/// Where the token is looked for, so that it stands on no command line.
const TOKEN: &str = "LYCOSA_DEPOT_TOKEN";
/// Largest file of a token.
const MAX_TOKEN_FILE: u64 = 4096;
const THREADS: usize = 2;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct DepotArgs {
    /// Where segments are kept: DIR/NODE/SEGMENT
    #[arg(short, long, value_name = "DIR")]
    pub data: PathBuf,
    /// Address to listen at
    #[arg(long, value_name = "ADDR:PORT", default_value = "0.0.0.0:7443")]
    pub listen: SocketAddr,
    /// This depot's certificate (PEM), followed by those between it and the authority
    #[arg(long, value_name = "FILE")]
    pub cert: PathBuf,
    /// The key (PEM) of the certificate
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,
    /// Let in whoever shows a certificate of this authority (PEM)
    #[arg(long, value_name = "FILE")]
    pub client_ca: Option<PathBuf>,
    /// Let in whoever knows the token in this file [default: the variable LYCOSA_DEPOT_TOKEN]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Print what was received as JSON at the end
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: DepotArgs) -> Result<Exit> {
    let door = Door::new(&DoorOptions {
        certificate: args.cert.clone(),
        key: args.key.clone(),
        authority: args.client_ca.clone(),
        token: token(args.token_file.as_deref())?,
    })
    .with_context(|| format!("add --client-ca, --token-file or the variable {TOKEN}"))?;
    let shelf = Shelf::open(&args.data)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build()?;
    runtime.block_on(async {
        let depot = Depot::open(args.listen, door, shelf).await.with_context(|| args.listen.to_string())?;
        let counts = depot.counts();
        tell!("segments are taken in at https://{}/", depot.address()?);
        let mut asked = Asked::listen()?;
        tokio::select! {
            () = depot.run() => {}
            _ = asked.next() => {}
        }
        let count = |value: &std::sync::atomic::AtomicU64| value.load(Ordering::Relaxed);
        let (segments, bytes) = (count(&counts.segments), count(&counts.bytes));
        let refused = count(&counts.refused);
        let mut out = stdout();
        if args.json {
            writeln!(out, "{}", json!({ "segments": segments, "bytes": bytes, "refused": refused }))?;
        } else {
            writeln!(
                out,
                "{} with {} taken in, {} refused",
                plural(segments, "segment", "segments"),
                figures::bytes(bytes),
                plural(refused, "request", "requests")
            )?;
        }
        out.flush()?;
        Ok(Exit::Stopped)
    })
}

fn token(file: Option<&Path>) -> Result<Option<String>> {
    let Some(file) = file else {
        return Ok(std::env::var(TOKEN).ok().filter(|token| !token.is_empty()));
    };
    if std::fs::metadata(file).with_context(|| file.display().to_string())?.len() > MAX_TOKEN_FILE {
        bail!("{} is too large to hold a token", file.display());
    }
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    Ok(Some(text.trim().to_owned()))
}
