//! Acme alone, without engine and configuration: tests of what only acme does.

use std::sync::Arc;

use jackfield_domain::delta::Delta;
use jackfield_domain::message::{Message, Messages};
use jackfield_domain::reply::FinishReason;
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::tool::ToolChoice;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::ChatModel as _;
use jackfield_testkit::arb;
use jackfield_testkit::contract::chat_model::ChatModelHarness as _;
use jackfield_testkit::server::{Response, TestServer};
use proptest::prelude::*;

use crate::harness::AcmeHarness;

/// A question without tools.
fn question(text: &str) -> ModelRequest {
    ModelRequest {
        choice: ToolChoice::Auto,
        messages: Messages::with_history(Arc::new(vec![Arc::new(Message::user(text))])),
        model: ModelRef {
            model: "anvil-2".into(),
            provider: "acme".into(),
        },
        turn: None,
        searchable: Arc::default(),
        settings: Arc::default(),
        strict: None,
        system: Arc::default(),
        tools: Arc::default(),
        tools_as_text: false,
        whole: false,
    }
}

#[tokio::test]
async fn a_recorded_reply_is_read_and_its_request_is_as_documented() {
    let server = TestServer::start().await;
    // Cut into pieces of 3 bytes, as a network may.
    let recorded = "data: {\"text\":\"It is noon.\"}\n\ndata: {\"end\":\"limit\"}\n\n";
    server.answer(Response::event_stream(recorded).split_sends(3));
    let acme = AcmeHarness.connect(&server.base_url(), "sk-acme-0123456789");
    let mut deltas: Vec<Delta> = Vec::new();
    let call = CallContext::default();
    let end = acme
        .reply(&question("What time is it?"), &call, &mut deltas)
        .await;
    assert_eq!(end.expect("a reply").finish, FinishReason::Length);
    let text = deltas.iter().filter_map(|delta| match delta {
        Delta::TextAppended { text, .. } => Some(&**text),
        _ => None,
    });
    assert_eq!(text.collect::<String>(), "It is noon.");
    let sent = server.request(0).await;
    assert_eq!(sent.path, "/v1/talk");
    assert_eq!(sent.json()["turns"][0]["text"], "What time is it?");
}

proptest! {
    /// Whatever a request holds, acme sends it or refuses it with a reason.
    #[test]
    fn every_request_is_sent_or_refused(request in arb::model_request()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let server = TestServer::start().await;
            server.answer(Response::event_stream("data: {\"end\":\"done\"}\n\n"));
            let acme = AcmeHarness.connect(&server.base_url(), "sk-acme-0123456789");
            let call = CallContext::default();
            let reply = acme.reply(&request, &call, &mut Vec::<Delta>::new()).await;
            if let Err(error) = reply {
                prop_assert!(server.requests().is_empty(), "sent and failed: {error}");
            }
            Ok(())
        })?;
    }
}
