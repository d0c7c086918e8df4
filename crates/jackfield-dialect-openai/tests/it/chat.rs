//! Chat Completions, both directions.

mod arb;
mod corpus;
mod examples;
mod goldens;
mod hostile;
mod parallel;
mod read;
mod reply_laws;
mod request_laws;
mod rules;
