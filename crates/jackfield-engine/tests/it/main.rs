//! Integration tests of `jackfield-engine`.
#![expect(
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test that cannot go on should stop, and looks at few of many kinds"
)]

mod approvers;
mod asking;
mod background;
mod broken_schemas;
mod budgeted;
mod budgets;
mod calling;
mod client_tools;
mod commits;
mod compacting;
mod directory;
mod driving;
mod fixture;
mod forms;
mod generated;
mod keeping;
mod lates;
mod leases;
mod letting_go;
mod looks;
mod near;
mod nulls;
mod offering;
mod ordering;
mod outages;
mod own_servers;
mod own_sign_ins;
mod patterns;
mod pausing;
mod plain_schemas;
mod questions;
mod recovering;
mod remote_clients;
mod resuming;
mod retaining;
mod retrying;
mod robustness;
mod routes;
mod running;
mod schemas;
mod script;
mod searching;
mod second;
mod secrets;
mod signs_of_life;
mod slow_toolbox;
mod spending;
mod tool_cache;
mod toolbox_sources;
mod turn_observers;
mod vast;
mod watching;
