//! A deterministic synthetic web: thousands of hosts on one port, pages generated on the fly, a ledger of every request
//! and the truth about everything a crawler may find.
//!
//! ```
//! use lycosa_simweb::{Server, TruthOptions, World, WorldConfig};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let world = std::sync::Arc::new(World::new(WorldConfig::clean(1, 10, 500)));
//! let server = Server::start(world.clone(), "127.0.0.1:0".parse()?)?;
//! let truth = world.truth(&TruthOptions::default());
//! assert!(truth.fetchable().count() >= 490);
//! assert!(server.ledger.is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! One seed decides everything. [`World`] answers questions (what is this page, where does it link, when did it change, is it still there),
//! [`Server`] puts it on sockets, [`Ledger`] remembers what was asked, [`Truth`] says what should have been.

mod change;
mod coding;
mod config;
mod connection;
mod date;
mod fault;
mod freshness;
mod host;
mod html;
mod image;
mod kind;
mod ledger;
mod life;
mod links;
mod node;
mod response;
mod rng;
mod robots;
mod server;
mod sitemap;
mod thin;
mod trap;
mod truth;
mod words;
mod world;

pub use change::{Change, ChangeSize, ChangeSpec, PageState};
pub use coding::Accept;
pub use config::{ChangeConfig, FaultConfig, Features, RateSpread, Rates, Timing, WorldConfig};
pub use date::EPOCH_S;
pub use freshness::{CopyState, Freshness};
pub use host::{Host, HostId, HostRole, PageId};
pub use image::put_png;
pub use kind::{
    ChangeKind, Charset, CharsetPlace, Coding, Fault, NearClass, PageKind, RedirectShape, RobotsKind,
    ThinKind, TrapKind,
};
pub use ledger::{Entry, Ledger};
pub use life::{Fate, LifeConfig, Presence};
pub use links::{Link, Role};
pub use node::{Node, SitemapFile};
pub use response::{Act, Reply, Request, Scratch, Tries};
pub use server::{Server, ServerConfig, ServerError};
pub use truth::{Expect, Truth, TruthEntry, TruthOptions};
pub use words::{Lang, Lexicon};
pub use world::World;
