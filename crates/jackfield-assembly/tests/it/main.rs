//! Integration tests of `jackfield-assembly`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod assistants;
mod bedrock;
mod compaction;
mod database;
mod documented;
mod explain;
mod foreign;
mod gemini;
mod internet;
mod layers;
mod openai;
#[cfg(unix)]
mod pins;
mod prices;
mod registry;
mod schema;
mod servers;
mod tool_cache;
mod tool_sets;
mod trust;
mod upstreams;
mod values;
mod vertex;
mod waiting;
mod web;
mod world;
mod wrong;
