//! The contract, kept by the adapter for acme.
#![expect(
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test stops at the first surprise, and a renderer has most manners in common"
)]

mod alone;
mod command;
mod harness;

use crate::harness::AcmeHarness;

jackfield_testkit::chat_model_contract!(AcmeHarness);
