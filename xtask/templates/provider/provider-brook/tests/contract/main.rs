//! The contract of the adapter: each test that fails is something to do, and says what. `cargo test CLAUSE` runs one.
//!
//! 1. `wire.rs` and `client.rs`: the vendor's forms, address, headers and capabilities. Without `tools` in those of
//!    `client.rs` and `harness.rs`, less is to do at first.
//! 2. `harness.rs`: what the vendor sends, by hand, from its documentation and recorded bytes, until
//!    `every_manner_is_rendered_or_said_to_be_impossible` holds.
//! 3. `request.rs`, `reply.rs` and `error.rs`, until no clause fails. One that cannot hold is an exception:
//!    `chat_model_contract!(BrookHarness, except: { clause => "why" })`.

mod harness;

use crate::harness::BrookHarness;

jackfield_testkit::chat_model_contract!(BrookHarness);
