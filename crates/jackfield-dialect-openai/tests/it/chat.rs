//! Chat Completions, both directions.

mod arb;
mod asking;
mod clients;
mod corpus;
mod descriptions;
pub(crate) mod examples;
mod finish_reasons;
mod goldens;
mod hostile;
mod hosts;
mod inline;
mod parallel;
mod prefill;
pub(crate) mod read;
mod reply_laws;
mod request_laws;
mod rules;
mod serve;
