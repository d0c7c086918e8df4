//! Tools for testing third-party adapters: contract suites, a byte-level server, generators and strict fakes.

#![warn(missing_docs)]

pub mod arb;
pub mod arrays;
pub mod contract;
pub mod facts;
pub mod fakes;
mod gate;
#[doc(hidden)]
pub mod interest;
pub mod laws;
pub mod mocks;
pub mod outline;
pub mod replies;
pub mod server;
pub mod spending;

/// The examples of the guide: they must compile, and those that need no network must pass.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/add-an-adapter.md")]
struct Guide;
