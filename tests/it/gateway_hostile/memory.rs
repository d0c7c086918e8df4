//! What large bodies leave behind.

use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::ways::{Hostile, TIME_LIMIT, Way};

#[tokio::test]
async fn large_bodies_leave_no_memory_taken() {
    let hostile = Hostile::started("").await;
    hostile.is_well().await;
    let Some(before) = hostile.resident() else {
        // Only Linux tells.
        return hostile.end().await;
    };
    let (one, many) = ("x".repeat(LARGE), "x".repeat(200));
    for _ in 0..2 {
        // Each is read and refused, for its last message: one large text, or many small ones.
        let bodies = [Way::Chat, Way::Api].into_iter().flat_map(|way| {
            let wizard = || json!({ "role": "wizard", "type": "wizard", "content": "x" });
            let said = |text: &str| json!({ "role": "user", "type": "message", "content": text });
            let texts = std::iter::repeat_with(|| said(&many)).take(LARGE / 256);
            [
                (way, way.says(json!([said(&one), wizard()]))),
                (way, way.says(texts.chain([wizard()]).collect())),
            ]
        });
        let asked = bodies.map(|(way, body)| {
            let asking = hostile.gateway.raw("POST", &hostile.path(way));
            asking.body(body.to_string()).answered()
        });
        for answer in asked.collect::<JoinSet<_>>().join_all().await {
            assert!(answer.status >= 400, "{}", answer.text());
        }
    }
    let since = Instant::now();
    loop {
        let after = hostile.resident().expect("it told before");
        if after < before + LARGE as u64 {
            break;
        }
        assert!(
            since.elapsed() < TIME_LIMIT,
            "{before} bytes before, {after} after"
        );
        sleep(Duration::from_millis(50)).await;
    }
    hostile.end().await;
}

/// The size of the text of a body, in bytes.
const LARGE: usize = 24 << 20;
