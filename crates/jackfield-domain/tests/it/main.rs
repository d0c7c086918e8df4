//! Integration tests of `jackfield-domain`.
#![expect(
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test that cannot go on should stop, and looks at few of many kinds"
)]

mod accumulator;
mod approvals;
mod audits;
mod bills;
mod budgets;
mod cache_misses;
mod call_order;
mod choices;
mod compactions;
mod context;
mod directory;
mod examples;
mod finding_tools;
mod hidden_letters;
mod limits;
mod locating;
mod locating_after;
mod locating_more;
mod loop_properties;
mod own_tools;
mod pauses;
mod recovery;
mod replay;
mod replies;
mod retries;
mod routes;
mod routing;
mod rules;
mod scene;
mod schemas;
mod server_tools;
mod spending;
mod tags;
mod talk;
mod telling;
mod timelines;
mod traces;
mod values;
mod viewing;
mod waits;
mod world;
mod written;
