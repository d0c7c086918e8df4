//! The demo: a small rule-following model of our own, behind a loopback server that speaks the Claude dialect.
//!
//! It needs no key and no network, and it is no AI: it finds arithmetic in digits and some questions about the time
//! in what a person writes, in English, Russian and Chinese, and calls the tools that it is offered for them.
//! Its answers are made of what the tools said, and of nothing else: break a tool and the answer changes.
//!
//! [`brain`] is what it says, as a pure function; [`server`] around it is what a provider's server is.

pub mod brain;
pub mod server;
