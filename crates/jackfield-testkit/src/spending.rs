//! Spending records for tests.

use std::time::Duration;

use jackfield_domain::request::ModelRef;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_domain::usage::Usage;

/// The record of a request of the principal `ann` to the model `claude/opus`, without a price; it used 1000 tokens of
/// input and 20 of output.
#[must_use]
pub fn record(id: &str, at: WallTime) -> SpendingRecord {
    SpendingRecord {
        at,
        endpoint: "/v1/messages".into(),
        first_token: None,
        id: id.into(),
        model: ModelRef {
            model: "opus".into(),
            provider: "claude".into(),
        },
        price: None,
        principal: "ann".into(),
        request_id: None,
        route: None,
        own_key: false,
        repeats_facts: false,
        settled: Vec::new(),
        status: Some(200),
        tags: Vec::new(),
        took: Duration::from_nanos(1_234_567_891),
        trace: None,
        usage: Usage {
            input: 1000,
            output: 20,
            ..Usage::default()
        },
    }
}
