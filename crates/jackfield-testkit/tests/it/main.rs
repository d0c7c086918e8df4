//! Integration tests of `jackfield-testkit`.

mod arb;
mod chat_model_contract;
mod fakes;
mod mocks;
mod server;
