//! The scanner against html5ever, its laws on arbitrary input, and judging on the synthetic web.

mod cases;
mod changes;
mod extraction;
mod judging;
mod kinds;
mod laws;
mod listings;
mod oracle;
mod random_pages;
