//! The frontier as a whole, against a model of a small web, with time as an argument and crashes at any commit.

mod crawl;
