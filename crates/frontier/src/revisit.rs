//! When a page is fetched again: how often it changes, what keeping it fresh is worth, and what the budget allows.
//!
//! | module | noun |
//! | --- | --- |
//! | [`evidence`] | what the visits to one page showed, as it is stored: [`Evidence`] |
//! | [`prior`] | what is believed of a page not yet watched: [`Prior`], of all pages: [`Population`], of a host: [`HostRate`] |
//! | [`beliefs`] | all that visits taught about pages in general: [`Beliefs`] |
//! | [`estimate`] | how often one page changes, of evidence and belief: [`ChangeEstimate`] |
//! | [`gain`] | what a visit after a given interval is worth: pure formulas |
//! | [`policy`] | the interval of one page at the present price of a visit: [`Policy`] |
//! | [`census`] | all pages counted in cells, from which the price is found: [`Census`], [`Place`] |
//! | [`schedule`] | policy and census together, the price kept current: [`Schedule`] |
//! | [`budget`] | how much may be fetched, and how new pages and refreshes share it: [`Budget`], [`Share`] |
//!
//! The way of a visit: [`Beliefs::visited`] takes in what it showed, about the page and about its like, [`Beliefs::estimate`]
//! puts both together, [`Schedule::visited`] says when to come again. All are O(1). The theory is in `revisit/README.md`.
//!
//! Promises: no clock and no randomness of its own; state per page is at most 24 bytes; no input, stored or observed,
//! makes anything fail or yields a rate or an interval outside the stated bounds.

pub mod beliefs;
pub mod budget;
pub mod census;
pub mod estimate;
pub mod evidence;
pub mod gain;
pub mod policy;
pub mod prior;
pub mod schedule;

pub use beliefs::Beliefs;
pub use budget::{Budget, BudgetUnit, Share, Turn};
pub use census::{Census, Place};
pub use estimate::{ChangeEstimate, Sighting};
pub use evidence::Evidence;
pub use policy::{Policy, PolicyKind, PolicyOptions, Worth};
pub use prior::{HostRate, Population, Prior};
pub use schedule::Schedule;
