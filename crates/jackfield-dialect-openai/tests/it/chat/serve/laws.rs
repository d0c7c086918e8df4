//! The laws of what is served: told in pieces or whole, it is the same.

use jackfield_dialect_kit::serve::ServeDialect as _;
use jackfield_dialect_openai::chat::serve::ChatCompletions;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::about;
use super::segments::{added_up, segment};

proptest! {
    #[test]
    fn a_streamed_segment_is_the_whole_one((segment, deltas) in segment(), reasoning in any::<bool>()) {
        let dialect = ChatCompletions::new();
        let dialect = if reasoning { dialect.with_extensions() } else { dialect };
        let about = about(json!({ "include_usage": true }));
        let streamed = added_up(&segment.events(&dialect, &about, &deltas));
        let (body, _) = dialect.reply(&segment.reply(), &about);
        let whole: Value = serde_json::from_slice(&body).expect("JSON");
        let choice = &whole["choices"][0];
        prop_assert_eq!(&streamed["finish_reason"], &choice["finish_reason"]);
        prop_assert_eq!(&streamed["message"], &choice["message"]);
        prop_assert_eq!(&streamed["usage"], &whole["usage"]);
        let shown = choice["message"].get("reasoning_content").is_some();
        prop_assert!(reasoning || !shown);
    }

    #[test]
    fn a_segment_is_framed_as_the_vendor_frames_a_reply((segment, deltas) in segment()) {
        let about = about(json!({}));
        let events = segment.events(&ChatCompletions::new(), &about, &deltas);
        let (done, chunks) = events.split_last().expect("events");
        prop_assert_eq!(done.data.as_str(), "[DONE]");
        let mut roles = 0;
        let mut reasons = 0;
        let mut begun = 0;
        for chunk in chunks {
            let chunk: Value = serde_json::from_str(&chunk.data).expect("JSON");
            prop_assert_eq!(&chunk["id"], "chatcmpl-turn_1_0");
            prop_assert_eq!(&chunk["model"], "custom-claude-4-sonnet");
            prop_assert!(chunk.get("usage").is_none() && reasons == 0);
            let choice = &chunk["choices"][0];
            roles += usize::from(choice["delta"].get("role").is_some());
            reasons += usize::from(choice["finish_reason"].is_string());
            for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
                let index = call["index"].as_u64().expect("a number");
                prop_assert!(index <= begun, "numbered on over the rounds");
                begun += u64::from(call.get("id").is_some());
            }
        }
        prop_assert_eq!((roles, reasons), (1, 1));
    }
}
