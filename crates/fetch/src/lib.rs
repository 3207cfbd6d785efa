//! Fetching: DNS, connections, HTTP, limits, robots.txt. It never touches the disk and never schedules.
//!
//! Promise: whatever a resolver, network or server does, a visit ends in a [`Response`] or a
//! [`lycosa_types::Failure`], within its limits of time and memory.
//!
//! A crawl makes one [`Shared`] and, on each of its threads, one [`Fetcher`]:
//!
//! | module | noun |
//! | --- | --- |
//! | [`options`] | every limit and choice, with its default |
//! | [`shared`] | what all threads share |
//! | [`fetcher`] | takes a [`Request`], brings back a [`Visit`] |
//! | [`request`], [`response`] | what is asked, what comes back |
//! | [`cidr`], [`guard`], `ports` | which addresses and ports may be connected to |
//! | [`overrides`], [`dns`], `asker` | from names to addresses |
//! | `connect`, `pool`, `stream`, [`tls`] | connections |
//! | `line` | several requests on one connection at once |
//! | `faults` | servers that get a connection for each request |
//! | `exchange`, `head`, `chunked`, `watch`, `spare` | HTTP/1 over one connection |
//! | `http2`, `sessions` | HTTP/2, if it is switched on |
//! | [`decode`] | content encodings |
//! | [`http_date`] | dates in fields |
//! | [`robots`] | robots.txt: parsing, matching, what a fetch of it means |

pub mod cidr;
pub mod decode;
pub mod dns;
pub mod fetcher;
pub mod guard;
pub mod http_date;
pub mod options;
pub mod overrides;
pub mod request;
pub mod response;
pub mod robots;
pub mod shared;
pub mod tls;

mod asker;
mod chunked;
mod connect;
mod exchange;
mod faults;
mod generations;
mod head;
mod http2;
mod line;
mod pool;
mod ports;
mod sessions;
mod spare;
mod stream;
mod watch;

pub use cidr::{Cidr, CidrError};
pub use dns::DnsOptions;
pub use fetcher::Fetcher;
pub use guard::NetGuard;
pub use http_date::parse_http_date;
pub use line::Line;
pub use options::{FetchOptions, Limits, PoolLimits, UserAgent};
pub use overrides::{Override, OverrideError, Overrides};
pub use request::{Request, RequestKind};
pub use response::{Head, Protocol, Response, Timing, Visit};
pub use robots::{Decision, Robots, RobotsFetch, RobotsPolicy, RobotsStep};
pub use shared::{Shared, SharedOptions};
pub use tls::{TlsOptions, TlsSetupError};
