//! Ask, and tools answer.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::Turn;
use serde_json::json;

use crate::harness::{jackfield, kept};

#[tokio::test]
async fn s1_01_hello_calls_no_tool_and_the_model_just_answers() {
    let claude = ScriptedClaude::start([Turn::text("Hello! How can I help?")]).await;
    let ran = jackfield(["ask", "Hello"])
        .at(&claude.base_url())
        .run()
        .await;
    ran.answers("Hello! How can I help?\n");
    ran.says("1 round · 0 calls");
    let requests = claude.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(
        requests[0]["messages"],
        json!([{ "role": "user", "content": [{ "type": "text", "text": "Hello" }] }])
    );
    kept(&claude);
}
