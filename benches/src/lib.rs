//! What Jackfield costs, against floors of its own: the same work by bare hyper and bare `rmcp`.
//!
//! Nothing here is published, and nothing of it runs but by `cargo xtask bench`. Figures are taken in
//! one run, the cases turn about, so that whatever else the machine does falls on all of them; what
//! counts are the ratios, since machines differ.

pub mod call;
pub mod catalog;
pub mod cold;
pub mod crowd;
pub mod document;
pub mod echo;
pub mod floor;
pub mod gateway;
pub mod journal;
pub mod mcp;
pub mod measure;
pub mod ours;
pub mod plan;
pub mod process;
pub mod provider;
pub mod remote;
pub mod report;
pub mod servers;
pub mod suite;
pub mod turn;
pub mod wire;
