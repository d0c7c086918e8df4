//! How a response ends that is a refusal.

use jackfield_dialect_openai::responses::reply::to_wire;
use jackfield_domain::block::RanBy;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use serde_json::{Value, json};

use super::about;
use super::reply_laws::{accumulated, encoded};

#[test]
fn a_refusal_that_no_part_tells_does_not_look_like_an_answer() {
    let call = BlockStart::ToolCall {
        json: true,
        name: "clock".into(),
        ran_by: RanBy::Engine,
        upstream: None,
    };
    let filtered = json!(["incomplete", "content_filter"]);
    for (start, ending) in [
        (Some(BlockStart::Refusal), json!(["completed", null])),
        (Some(BlockStart::Text), filtered.clone()),
        (Some(call), filtered.clone()),
        (None, filtered),
    ] {
        let deltas = start.map_or_else(Vec::new, block);
        let end = ReplyEnd::new(FinishReason::Refused);
        let (whole, _) = to_wire(&accumulated(&deltas, end.clone()), &about());
        assert_eq!(ended(&json!(whole)), ending, "{deltas:?}");
        let events = encoded(&deltas, &end);
        let last = events.last().expect("an event");
        let told: Value = serde_json::from_str(&last.data).expect("JSON");
        assert_eq!(ended(&told["response"]), ending, "{deltas:?}");
        let name = format!("response.{}", ending[0].as_str().expect("a status"));
        assert_eq!(last.event, Some(&*name), "{deltas:?}");
    }
}

/// A block that begins so.
fn block(start: BlockStart) -> Vec<Delta> {
    let index = 0;
    let text = "{}".into();
    let piece = match start {
        BlockStart::ToolCall { .. } => Delta::ArgumentsAppended { index, text },
        BlockStart::Refusal
        | BlockStart::Text
        | BlockStart::Thinking { .. }
        | BlockStart::Whole(_) => Delta::TextAppended { index, text },
    };
    vec![
        Delta::BlockStarted { index, start },
        piece,
        Delta::BlockEnded { index },
    ]
}

fn ended(response: &Value) -> Value {
    json!([response["status"], response["incomplete_details"]["reason"]])
}
