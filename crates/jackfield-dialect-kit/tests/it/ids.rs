//! The ids under which calls are sent.

use std::collections::HashSet;
use std::sync::Arc;

use jackfield_dialect_kit::ids::{IdForm, WireIds};
use jackfield_domain::block::{CalledName, Content, RanBy, ToolCall, UpstreamId};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::tool::ToolChoice;
use jackfield_domain::tool_input::ToolInput;
use jackfield_testkit::arb as kit;
use proptest::prelude::*;

use crate::owner;

/// A request whose only message has calls with these ids, ours and the owner's.
fn request(calls: &[(&str, Option<&str>)]) -> ModelRequest {
    let block = |(id, upstream): &(&str, Option<&str>)| {
        let call = ToolCall {
            id: ToolCallId::parse(id).expect("an id"),
            input: ToolInput::Text("x".into()),
            name: CalledName::new("clock"),
            ran_by: RanBy::Engine,
            upstream: upstream.map(|id| UpstreamId {
                id: id.into(),
                owner: owner(),
            }),
        };
        Content::ToolCall(Arc::new(call)).into()
    };
    let blocks = calls.iter().map(block).collect();
    ModelRequest {
        choice: ToolChoice::Auto,
        messages: [Message::new(Role::Assistant, blocks)]
            .into_iter()
            .collect(),
        model: ModelRef {
            model: "model-a".into(),
            provider: "p".into(),
        },
        turn: None,
        settings: Arc::default(),
        strict: None,
        system: Arc::default(),
        tools: Arc::default(),
        searchable: Arc::default(),
        tools_as_text: false,
        whole: false,
    }
}

fn wire(calls: &[(&str, Option<&str>)], form: IdForm) -> Vec<String> {
    let request = request(calls);
    let ids = WireIds::new(&request, &owner(), form);
    let ours = calls.iter().map(|(id, _)| ToolCallId::parse(id));
    ours.map(|id| ids.wire_id(&id.expect("an id"))).collect()
}

#[test]
fn the_owner_gets_its_own_ids_and_ours_where_it_gave_none() {
    let calls = [("call_a", Some("toolu.1")), ("call_b", None)];
    assert_eq!(wire(&calls, IdForm::Usual), ["toolu.1", "call_b"]);
    let ids = WireIds::new(
        &request(&calls),
        &StateOwner {
            endpoint: "https://elsewhere.example".into(),
            ..owner()
        },
        IdForm::Usual,
    );
    let first = ToolCallId::parse("call_a").expect("an id");
    assert_eq!(ids.wire_id(&first), "call_a");
}

#[test]
fn an_id_that_an_earlier_call_was_sent_with_is_not_used_again() {
    let sent = wire(
        &[("call_a", None), ("call_b", Some("call_a"))],
        IdForm::Usual,
    );
    assert_eq!(sent, ["call_a", "call_b"]);
    let sent = wire(
        &[("call_a", Some("call_b")), ("call_b", None)],
        IdForm::Usual,
    );
    assert_eq!(sent[0], "call_b");
    assert_ne!(sent[1], "call_b");
}

#[test]
fn ids_of_nine_are_of_nine_and_kept_where_they_are() {
    let calls = [
        ("call_a", None),
        ("call_b", Some("D681PevKs")),
        ("call_c", Some("call_of_another")),
        ("AbCdEf123", None),
    ];
    let sent = wire(&calls, IdForm::NineAlphanumeric);
    assert_eq!((&*sent[1], &*sent[3]), ("D681PevKs", "AbCdEf123"));
    assert!(sent.iter().all(|id| is_nine(id)), "{sent:?}");
}

fn is_nine(id: &str) -> bool {
    id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

proptest! {
    #[test]
    fn no_two_calls_share_an_id_and_each_keeps_it(request in kit::model_request(), owner in kit::state_owner(), nine: bool) {
        let form = if nine { IdForm::NineAlphanumeric } else { IdForm::Usual };
        let ids = WireIds::new(&request, &owner, form);
        let again = WireIds::new(&request, &owner, form);
        let mut ours = HashSet::new();
        let mut sent = HashSet::new();
        for call in request.messages.iter().flat_map(|message| message.calls()) {
            let id = ids.wire_id(&call.id);
            prop_assert_eq!(&id, &again.wire_id(&call.id));
            prop_assert!(!nine || is_nine(&id), "{}", id);
            if ours.insert(call.id.clone()) {
                prop_assert!(sent.insert(id), "two calls share an id");
            }
        }
    }
}
