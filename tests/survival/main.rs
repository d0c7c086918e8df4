//! The real program is killed, wherever it may be, and started again until the turn has ended; then a
//! judge that stands outside looks at what was told, at what is in the journal, at what the tools have
//! done to the world, and at what the provider was sent.
//!
//! `cargo xtask survival` builds what is killed, and prints the tables. Everything that is chosen by
//! chance is chosen by a seed, which is printed, and which `JACKFIELD_SURVIVAL_SEED` sets.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a slice that cannot go on has to fail the test, and the tables are for people"
)]

mod approved;
mod budgets;
mod chance;
mod client;
mod controls;
mod cursors;
mod deaths;
#[cfg(target_os = "linux")]
mod disk;
#[cfg(target_os = "linux")]
mod faults;
mod gateway;
mod judge;
mod kept;
mod load;
mod named;
#[cfg(target_os = "linux")]
mod outages;
mod over_http;
mod owners;
mod parked;
mod random;
mod recovering;
mod replicas;
mod replicas_cut;
mod replicas_killed;
#[cfg(target_os = "linux")]
mod replicas_paused;
mod secrets;
mod served;
mod shared_database;
#[cfg(target_os = "linux")]
mod small_disks;
mod started;
mod table;
mod world;
