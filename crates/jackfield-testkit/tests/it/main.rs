//! Integration tests of `jackfield-testkit`.

mod arb;
mod arrays;
mod budgets;
mod chat_model_contract;
mod context_source_contract;
mod directory_contract;
mod facts;
mod fakes;
mod journal_contract;
mod laws;
mod mocks;
mod mutants;
mod outline;
mod quotas;
mod server;
mod toolbox_contract;
mod toolbox_source_contract;
mod upstream_contract;
