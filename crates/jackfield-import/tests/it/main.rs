//! Configurations of other gateways become ours, and no key comes along; conversations of other programs are read.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has to fail")]

mod conversations;
mod litellm;
mod secrets;
mod shares;
mod yaml;
