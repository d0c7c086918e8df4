//! What a third party needs to test its own adapter: contract suites, a byte-level server, generators, strict fakes.

pub mod arb;
pub mod arrays;
pub mod contract;
pub mod facts;
pub mod fakes;
mod gate;
pub mod mocks;
pub mod outline;
pub mod server;

/// The examples of the guide, held to compile, and those that need no network to pass.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/add-an-adapter.md")]
struct Guide;
