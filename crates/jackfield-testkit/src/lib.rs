//! What a third party needs to test its own adapter: contract suites, a byte-level server, generators, strict fakes.

pub mod arb;
pub mod contract;
pub mod fakes;
mod gate;
pub mod mocks;
pub mod server;
