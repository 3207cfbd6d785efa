//! What is fetched next. The waiting side of a URL's life: admitted, waiting in its host queue, leased, finished.
//!
//! | module | noun |
//! | --- | --- |
//! | [`scope`] | which URLs belong to the crawl, and why not |
//! | [`trap`] | shapes of URLs that never end |
//! | [`seen`] | the URL-seen test |
//! | [`order`] | which of two waiting URLs goes first |
//! | [`host_queue`] | the URLs waiting for one host: the best in memory, the rest on disk |
//! | [`host`] | one host: its queue, its rules, its pace |
//! | [`host_table`] | the hosts in memory |
//! | [`pace`], [`section`] | what a host bears; which of its sections are broken |
//! | [`politeness`] | how long to leave a host alone |
//! | [`schedule`] | which host may be served now, which one when |
//! | [`frontier`] | all of it together: admit, lease, finish |
//! | [`course`], [`revisit`] | what visits over time tell about a page; when to come again |
//! | [`prints`] | the content-seen test |
//! | [`store`] | the state on disk |
//!
//! Promises: time is an argument; one URL has at most one lease at a time; a host is never leased before it is ready;
//! memory follows [`FrontierOptions`], not the number of URLs; what [`store::Store::commit`] has written survives.

pub mod course;
pub mod frontier;
pub mod host;
pub mod host_queue;
pub mod host_table;
pub mod order;
pub mod pace;
mod path_queries;
pub mod politeness;
pub mod prints;
pub mod revisit;
pub mod schedule;
pub mod scope;
pub mod section;
pub mod seen;
pub mod store;
mod table;
pub mod trap;

pub use course::{Amendment, Course, CourseEnd};
pub use frontier::{
    Admission, Counts, Discovered, Done, Frontier, FrontierOptions, Lease, LeaseKind, LookupLimits, PageEnd,
    PartitionCounts, PictureWanted, Revisits, RulesEnd,
};
pub use host::Rules;
pub use order::{Order, Signals};
pub use politeness::Politeness;
pub use prints::{First, PrintTable};
pub use revisit::{ChangeEstimate, Evidence, Policy, PolicyKind, PolicyOptions, Schedule, Sighting};
pub use scope::{Move, Rejection, Scope, ScopeKind, ScopeOptions, UrlPatterns};
pub use store::{Changes, HostRecord, RulesRecord, Store, StoreError};
pub use trap::Trap;
