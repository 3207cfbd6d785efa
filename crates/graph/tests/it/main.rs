//! Files of the graph, from the log to the ranks.

mod index;
mod networkx;
