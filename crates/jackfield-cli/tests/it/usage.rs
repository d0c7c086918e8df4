//! The rows of `jackfield usage`: turns, and model calls without a session.

use std::time::Duration;

use jackfield_cli::render::usage::report;
use jackfield_domain::failure::ModelFailureKind;
use jackfield_domain::ids::{ModelAttempt, SessionId, TurnId};
use jackfield_domain::price::{Money, Price, Rates};
use jackfield_domain::request::ModelRef;
use jackfield_domain::spending::report::{SpendingGroup, SpendingReport};
use jackfield_domain::spending::{AttemptSpending, ReplySpending, TurnSpending};
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_domain::usage::Usage;
use jackfield_testkit::spending::record;
use serde_json::{Value, json};

const NOON: WallTime = WallTime::from_millis(1_800_014_400_000);

/// A millionth for a token of input, and ten for one of output.
fn price() -> Price {
    Price {
        currency: "USD".into(),
        date: "2026-11-01".into(),
        rates: Rates {
            cache_read: Money::ZERO,
            cache_write: Money::ZERO,
            ..Rates::new(Money::from_picos(1_000_000), Money::from_picos(10_000_000))
        },
        source: "a test".into(),
        variants: Vec::new(),
    }
}

const FIRST: ModelAttempt = ModelAttempt {
    attempt: 1,
    round: 1,
};

/// A turn of one reply, as large as a spending record.
fn turn(session: &SessionId) -> TurnSpending {
    let record = record("", NOON);
    TurnSpending {
        at: NOON,
        attempts: vec![
            AttemptSpending {
                at: NOON,
                attempt: FIRST,
                failure: Some(ModelFailureKind::Overloaded),
                first_token: None,
                model: record.model.clone(),
                started: None,
            },
            AttemptSpending {
                at: NOON,
                attempt: ModelAttempt {
                    attempt: 2,
                    ..FIRST
                },
                failure: None,
                first_token: Some(Duration::from_millis(420)),
                model: record.model.clone(),
                started: None,
            },
        ],
        calls: Vec::new(),
        model: record.model.clone(),
        ordinal: 1,
        principal: None,
        replies: vec![ReplySpending {
            own_key: false,
            at: NOON,
            attempt: FIRST,
            model: record.model,
            price: Some(price()),
            usage: record.usage,
        }],
        tags: Vec::new(),
        turn: TurnId::derive(session, 1),
    }
}

fn day_of(at: WallTime) -> String {
    at.to_rfc3339().chars().take(10).collect()
}

/// The rows by this, of one turn and of requests: one like the turn, one of another model without a price, and one
/// that used nothing.
fn shown(by: SpendingGroup, from: Option<WallTime>) -> (Value, String) {
    let session = SessionId::parse("one").unwrap();
    let mut table = SpendingReport::new(by, from, day_of);
    table.add_session(&session, &"A talk".into(), &[turn(&session)]);
    let priced = SpendingRecord {
        price: Some(price()),
        ..record("a", NOON)
    };
    let other = SpendingRecord {
        model: ModelRef {
            model: "haiku".into(),
            provider: "claude".into(),
        },
        ..record("b", NOON)
    };
    let failed = SpendingRecord {
        model: ModelRef {
            model: "none".into(),
            provider: "claude".into(),
        },
        usage: Usage::default(),
        ..record("c", NOON)
    };
    for record in [&priced, &other, &failed] {
        table.add_record(record);
    }
    let text = |as_json| {
        let mut out = anstream::StripStream::new(Vec::new());
        report(&mut out, &table, as_json).unwrap();
        String::from_utf8(out.into_inner()).unwrap()
    };
    (serde_json::from_str(&text(true)).unwrap(), text(false))
}

/// Checks the rows: label, turns, replies, tokens of input, cost, and tokens without a price.
#[track_caller]
fn check(by: SpendingGroup, key: &str, expected: &[Value]) {
    let (told, text) = shown(by, None);
    let rows = told["lines"].as_array().unwrap().iter();
    let sums = |row: &Value| {
        json!([
            row["turns"],
            row["replies"],
            row["input_tokens"],
            row["cost"][0]["amount"],
            row["unpriced_tokens"]
        ])
    };
    let rows: Vec<Value> = rows.map(|row| json!([row[key], sums(row)])).collect();
    assert_eq!(rows, expected, "{told:#}");
    let total = json!([1, 3, 3000, "0.0024", 1020]);
    assert_eq!(sums(&told["total"]), total, "{told:#}");
    for row in &rows {
        let label = row[0].as_str().unwrap();
        assert!(text.lines().any(|line| line.starts_with(label)), "{text}");
    }
}

#[test]
fn requests_that_were_passed_through_add_to_their_model() {
    check(
        SpendingGroup::Model,
        "model",
        &[
            json!(["claude/haiku", [0, 1, 1000, null, 1020]]),
            json!(["claude/opus", [1, 2, 2000, "0.0024", 0]]),
        ],
    );
}

#[test]
fn requests_that_were_passed_through_add_to_their_day() {
    let (told, _) = shown(SpendingGroup::Day, None);
    let rows = told["lines"].as_array().unwrap();
    assert_eq!(
        (rows.len(), &rows[0]["replies"]),
        (1, &json!(3)),
        "{told:#}"
    );
}

#[test]
fn requests_that_were_passed_through_are_one_row_beside_sessions_turns_and_replies() {
    let passed = json!(["without a session", [0, 2, 2000, "0.0012", 1020]]);
    let sums = json!([1, 1, 1000, "0.0012", 0]);
    let session = json!(["one", sums]);
    check(
        SpendingGroup::Session,
        "session",
        &[session, passed.clone()],
    );
    let turn = json!(["one 1", sums]);
    check(SpendingGroup::Turn, "turn", &[turn, passed.clone()]);
    // A reply is a part of its turn: no turn begins with it.
    let (told, _) = shown(SpendingGroup::Reply, None);
    assert_eq!(told["lines"][1]["reply"], "without a session", "{told:#}");
    assert_eq!(told["lines"][1]["replies"], 2, "{told:#}");
}

#[test]
fn a_turn_without_a_token_is_of_the_command_line_and_a_provider_has_all_of_its_models() {
    let passed = record("a", NOON).principal.to_string();
    let mut users = [
        json!([passed, [0, 2, 2000, "0.0012", 1020]]),
        json!(["command line", [1, 1, 1000, "0.0012", 0]]),
    ];
    users.sort_by_key(|row| row[0].to_string());
    check(SpendingGroup::User, "user", &users);
    let provider = json!(["claude", [1, 3, 3000, "0.0024", 1020]]);
    check(SpendingGroup::Provider, "provider", &[provider]);
}

#[test]
fn failed_calls_count_and_times_to_the_first_token_are_those_of_the_others() {
    let (told, _) = shown(SpendingGroup::User, None);
    let mut rows = told["lines"].as_array().unwrap().iter();
    let row = rows.find(|row| row["user"] == "command line").unwrap();
    let seen = json!([
        row["attempts"],
        row["failures"],
        row["first_token_p50_ms"],
        row["first_token_p95_ms"]
    ]);
    assert_eq!(seen, json!([2, 1, 420, 420]), "{told:#}");
}

#[test]
fn what_came_before_the_beginning_does_not_count() {
    let later = WallTime::from_millis(NOON.as_millis() + 1);
    for (from, replies) in [(NOON, 3), (later, 0)] {
        let (told, text) = shown(SpendingGroup::Session, Some(from));
        assert_eq!(told["total"]["replies"], replies, "{told:#}");
        assert_eq!(text.contains("nothing was used"), replies == 0, "{text}");
    }
}
