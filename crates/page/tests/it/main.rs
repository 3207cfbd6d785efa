//! The scanner against html5ever, and its laws on arbitrary input.

mod cases;
mod extraction;
mod laws;
mod listings;
mod oracle;
mod random_pages;
