//! The usage of the own API: requests that were passed through without a turn count, too.

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt as _;
use jackfield_domain::caller::tags::Tag;
use jackfield_domain::request::ModelRef;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_gateway::Gateway;
use jackfield_http::router;
use jackfield_testkit::spending::record;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::harness;

/// A gateway after these requests.
async fn gateway(records: &[SpendingRecord]) -> Gateway {
    let gateway = harness::gateway([], |_| {});
    let log = gateway.engine().spending().unwrap();
    for record in records {
        log.record(record).await.unwrap();
    }
    gateway
}

/// The status and the body of an answer.
async fn get(gateway: &Gateway, query: &str) -> (u16, Value) {
    let request = Request::get(format!("/api/v1/usage{query}"));
    let request = request.body(Body::empty()).unwrap();
    let answer = router(gateway).oneshot(request).await.unwrap();
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap())
}

/// The lines, each with its replies and its tokens of input.
async fn lines(gateway: &Gateway, query: &str) -> Value {
    let (status, report) = get(gateway, query).await;
    assert_eq!(status, 200, "{report}");
    let lines = report["lines"].as_array().unwrap().iter();
    let line = |line: &Value| {
        let input = &line["usage"]["input_tokens"];
        json!([line["about"], line["replies"], input])
    };
    lines.map(line).collect()
}

fn at(time: &str) -> WallTime {
    WallTime::from_rfc3339(time).unwrap()
}

/// Requests of two days and two models, and one that used nothing.
fn records() -> [SpendingRecord; 4] {
    let other = SpendingRecord {
        model: ModelRef {
            model: "haiku".into(),
            provider: "claude".into(),
        },
        ..record("c", at("2026-11-02T00:00:00Z"))
    };
    let failed = SpendingRecord {
        usage: jackfield_domain::usage::Usage::default(),
        ..record("d", at("2026-11-03T10:00:00Z"))
    };
    [
        record("a", at("2026-11-01T23:59:59Z")),
        record("b", at("2026-11-02T10:00:00Z")),
        other,
        failed,
    ]
}

#[tokio::test]
async fn requests_that_were_passed_through_count_for_their_model_and_day() {
    let gateway = gateway(&records()).await;
    let model = json!([["claude/haiku", 1, 1000], ["claude/opus", 2, 2000]]);
    assert_eq!(lines(&gateway, "").await, model);
    let day = json!([["2026-11-01", 1, 1000], ["2026-11-02", 2, 2000]]);
    assert_eq!(lines(&gateway, "?by=day").await, day);
    assert_eq!(lines(&gateway, "?by=tool").await, json!([]));
    let (_, report) = get(&gateway, "?by=tool").await;
    let total = &report["total"];
    let sums = json!([total["turns"], total["replies"], total["unpriced_tokens"]]);
    assert_eq!(sums, json!([0, 3, 3060]), "{report}");
}

#[tokio::test]
async fn requests_that_were_passed_through_are_one_line_beside_the_sessions() {
    let gateway = gateway(&records()).await;
    let passed = json!([["without a session", 3, 3000]]);
    assert_eq!(lines(&gateway, "?by=session").await, passed);
}

#[tokio::test]
async fn tagged_requests_are_lines_beside_the_untagged() {
    let mut records = records();
    for (record, team) in records.iter_mut().zip(["search", "ads"]) {
        record.tags = vec![Tag {
            name: "team".into(),
            value: team.into(),
        }];
    }
    let gateway = gateway(&records).await;
    let teams = json!([["ads", 1, 1000], ["search", 1, 1000], ["untagged", 1, 1000]]);
    assert_eq!(lines(&gateway, "?by=tag:team").await, teams);
    for wrong in ["turn", "reply", "tag:", "tag:Team", "week", ""] {
        let (status, problem) = get(&gateway, &format!("?by={wrong}")).await;
        assert_eq!(status, 400, "{wrong}: {problem}");
    }
}

#[tokio::test]
async fn usage_begins_with_the_day_that_is_asked_for() {
    let gateway = gateway(&records()).await;
    let second = json!([["2026-11-02", 2, 2000]]);
    assert_eq!(lines(&gateway, "?by=day&since=2026-11-02").await, second);
    for nothing in ["2026-11-03", "2026-12-01", "9999-12-31"] {
        let none = lines(&gateway, &format!("?since={nothing}")).await;
        assert_eq!(none, json!([]), "{nothing}");
    }
    for wrong in [
        "",
        "yesterday",
        "2026-11-1",
        "2026-13-01",
        "2026-02-30",
        "2026-11-01T00:00:00Z",
        "2026-11-01T00:00:00.0",
    ] {
        let (status, problem) = get(&gateway, &format!("?since={wrong}")).await;
        assert_eq!(
            (status, &problem["parameter"]),
            (400, &json!("since")),
            "{wrong}: {problem}"
        );
    }
}

#[tokio::test]
async fn a_chart_by_day_has_all_days_of_the_time() {
    let gateway = gateway(&records()).await;
    let path = "/api/v1/usage?by=day&format=svg&since=2026-10-30&until=2026-11-04";
    let request = Request::get(path).body(Body::empty()).unwrap();
    let answer = router(&gateway).oneshot(request).await.unwrap();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let chart = String::from_utf8(body.to_vec()).unwrap();
    for day in ["2026-10-30", "2026-10-31", "2026-11-01", "2026-11-02"] {
        assert!(chart.contains(&format!(">{day}</text>")), "{chart}");
    }
    // The highest value, with a space between the thousands.
    assert!(chart.contains(">2\u{202f}040</text>"), "{chart}");
}
