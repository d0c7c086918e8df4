//! Approvals: what they are bound to, what they let run, and for how long.

use std::sync::Arc;

use jackfield_domain::approval::{Grants, subject};
use jackfield_domain::digest::Digest;
use jackfield_domain::fact::{CallEnd, Fact};
use jackfield_domain::ids::{DeliveryId, SessionId, ToolName, ToolboxId, WaitId};
use jackfield_domain::limits::Limits;
use jackfield_domain::restrictions::Restrictions;
use jackfield_domain::send_message::SendMessageUseCase;
use jackfield_domain::session::Session;
use jackfield_domain::time::{Now, WallTime};
use jackfield_domain::tool::{CatalogEntry, Permission};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_domain::tool_loop::Action;
use jackfield_domain::wait::{Answer, Approval, Delivery, DeliveryBody, WaitEnd};
use jackfield_testkit::arb;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::scene::{Scene, answer, calls, session};
use crate::world;

fn tool() -> CatalogEntry {
    let setup = world::setup(Limits::default());
    setup.catalog.tool("ask").expect("the tool").clone()
}

fn input(json: &Value) -> ToolInput {
    ToolInput::Json(JsonInput::parse(&json.to_string()))
}

#[test]
fn a_subject_is_another_one_for_every_change_of_what_runs() {
    let tool = tool();
    let sent = input(&json!({ "a": 1, "b": "x" }));
    let same = ToolInput::Json(JsonInput::parse(r#" {"b":"x", "a":1} "#));
    assert_eq!(subject(&tool, &sent), subject(&tool, &same));
    let mut others = vec![
        subject(&tool, &input(&json!({ "a": 1, "b": "y" }))),
        subject(&tool, &input(&json!({ "a": 1.0, "b": "x" }))),
        subject(&tool, &input(&json!({ "a": 1 }))),
        subject(&tool, &ToolInput::Text(r#"{"a":1,"b":"x"}"#.into())),
    ];
    let changed = CatalogEntry {
        digest: Digest::of(b"another"),
        ..tool.clone()
    };
    others.push(subject(&changed, &sent));
    let mut moved = tool.clone();
    moved.origin.toolbox = ToolboxId::parse("elsewhere").expect("an id");
    others.push(subject(&moved, &sent));
    let mut renamed = tool.clone();
    renamed.origin.tool = "other".into();
    others.push(subject(&renamed, &sent));
    for other in others {
        assert_ne!(other, subject(&tool, &sent));
    }
    // What a model is told it is called does not change what runs.
    let mut alias = (*tool.definition).clone();
    alias.name = ToolName::parse("alias").expect("a name");
    let aliased = CatalogEntry {
        definition: Arc::new(alias),
        ..tool.clone()
    };
    assert_eq!(subject(&aliased, &sent), subject(&tool, &sent));
}

#[test]
fn nothing_can_be_moved_from_one_part_of_a_subject_to_another() {
    let mut one = tool();
    let mut other = tool();
    (one.origin.toolbox, one.origin.tool) = (ToolboxId::parse("a").expect("an id"), "bc".into());
    (other.origin.toolbox, other.origin.tool) =
        (ToolboxId::parse("ab").expect("an id"), "c".into());
    let sent = ToolInput::Text("x".into());
    assert_ne!(subject(&one, &sent), subject(&other, &sent));
}

proptest! {
    /// Equal subjects are equal calls.
    #[test]
    fn two_values_have_two_subjects(one in arb::json_object(), other in arb::json_object()) {
        let tool = tool();
        let of = |fields: &serde_json::Map<String, Value>| {
            subject(&tool, &ToolInput::Json(JsonInput::from(fields.clone())))
        };
        prop_assert_eq!(of(&one) == of(&other), one == other);
    }
}

/// The facts of a session in which somebody allowed all calls of a tool, and the session of them.
fn granted() -> (Vec<Fact>, Session) {
    let facts = crate::scene::granted_for_session();
    let id = SessionId::parse("s").expect("an id");
    let session = Session::fold(id, &facts);
    (facts, session)
}

#[test]
fn a_grant_for_the_session_holds_in_later_turns_and_says_whose_it_is() {
    let (_, session) = granted();
    assert_eq!(session.grants().iter().len(), 1);
    let setup = world::setup(Limits::default());
    let catalog = session.grants().apply_to(&setup.catalog).expect("a change");
    let permission = &catalog.tool("ask").expect("the tool").permission;
    assert!(
        matches!(permission, Permission::Granted { by, .. } if &**by == "somebody"),
        "{permission:?}"
    );
    // What is denied stays denied, and what nobody was asked about is left alone.
    for name in ["denied", "write", "ask_again"] {
        assert_eq!(
            catalog.tool(name).map(|tool| &tool.permission),
            setup.catalog.tool(name).map(|tool| &tool.permission),
        );
    }
    assert_eq!(Grants::default().apply_to(&setup.catalog), None);
}

#[test]
fn a_changed_definition_ends_the_grant_for_good() {
    let (mut facts, session) = granted();
    let mut setup = world::setup(Limits::default());
    let unchanged = Arc::clone(&setup.catalog);
    let entries = setup.catalog.iter().cloned().map(|tool| {
        let changed = &*tool.origin.tool == "ask";
        CatalogEntry {
            digest: if changed {
                Digest::of(b"changed")
            } else {
                tool.digest
            },
            ..tool
        }
    });
    setup.catalog = Arc::new(entries.collect());
    assert_eq!(session.grants().apply_to(&setup.catalog), None);
    facts.push(Fact::TurnOpened {
        opening: jackfield_domain::setup::Opening::UserMessage(Arc::new(
            jackfield_domain::message::Message::user("more"),
        )),
        ordinal: 2,
        setup: Arc::new(setup),
        turn: jackfield_domain::ids::TurnId::derive(session.id(), 2),
    });
    let later = Session::fold(session.id().clone(), &facts);
    assert_eq!(later.grants().apply_to(&unchanged), None);
}

#[test]
fn a_denial_that_is_there_wins_over_what_was_allowed_for_the_session() {
    let (mut scene, _) = Scene::begin(Arc::new(world::setup(Limits::default())));
    scene.play(calls(&["ask", "ask"]));
    let waits = scene.facts.iter().filter_map(|fact| match fact {
        Fact::WaitOpened { wait } => Some(wait.id.clone()),
        _ => None,
    });
    let waits: Vec<WaitId> = waits.collect();
    let [one, other] = &*waits else {
        panic!("{waits:?}")
    };
    let delivery = |wait: &WaitId, answer| Delivery {
        at: WallTime::from_millis(0),
        body: DeliveryBody::Answer {
            answer: Answer::Approval(answer),
            wait: wait.clone(),
        },
        by: "somebody".into(),
        id: DeliveryId::parse(wait.as_str()).expect("a valid id"),
    };
    let granted = delivery(
        one,
        Approval::Granted {
            edited: None,
            for_session: true,
        },
    );
    let denied = delivery(
        other,
        Approval::Denied {
            reason: "no".into(),
        },
    );
    // Whichever came first: both were told that they are accepted.
    for deliveries in [[granted.clone(), denied.clone()], [denied, granted]] {
        let recovered = SendMessageUseCase::recover(
            &session(),
            &scene.facts,
            &deliveries,
            Now::default(),
            Restrictions::default(),
            Vec::new(),
        );
        let (_, step) = recovered.expect("an open turn");
        let end_of = |of: &WaitId| {
            let ends = step.facts.iter().filter_map(|fact| match fact {
                Fact::WaitClosed { end, wait, .. } if wait == of => Some(end.clone()),
                _ => None,
            });
            ends.collect::<Vec<_>>()
        };
        let said = |end: &WaitEnd| match end {
            WaitEnd::Answered { delivery, .. } => delivery.to_string(),
            WaitEnd::Cancelled | WaitEnd::Expired | WaitEnd::Superseded => "nothing".to_owned(),
        };
        for wait in [one, other] {
            let by: Vec<String> = end_of(wait).iter().map(said).collect();
            assert_eq!(by, [wait.to_string()]);
        }
    }
}

#[test]
fn what_was_allowed_is_all_that_runs_whatever_a_journal_says() {
    let (mut scene, _) = Scene::begin(Arc::new(world::setup(Limits::default())));
    scene.play(calls(&["ask"]));
    let granted = Approval::Granted {
        edited: None,
        for_session: false,
    };
    scene.play(answer("ask", Answer::Approval(granted)));
    let is_granted = |fact: &Fact| matches!(fact, Fact::WaitClosed { .. });
    let place = scene.facts.iter().position(is_granted).expect("an answer");
    // The process died between the answer and the start, and then somebody was at its journal.
    let recovered = |change: &dyn Fn(&mut Option<Digest>)| {
        let mut facts = scene.facts[..=place].to_vec();
        if let Some(Fact::WaitClosed { subject, .. }) = facts.last_mut() {
            change(subject);
        }
        let now = Now::default();
        let recovered = SendMessageUseCase::recover(
            &session(),
            &facts,
            &[],
            now,
            Restrictions::default(),
            Vec::new(),
        );
        let (_, step) = recovered.expect("an open turn");
        let runs = |action: &Action| matches!(action, Action::RunTool(_));
        let ends = step.facts.iter().filter_map(|fact| match fact {
            Fact::CallClosed { end, .. } => Some(*end),
            _ => None,
        });
        (step.actions.iter().any(runs), ends.collect::<Vec<_>>())
    };
    assert_eq!(recovered(&|_| {}), (true, Vec::new()));
    let other = recovered(&|subject| *subject = Some(Digest::of(b"something else")));
    assert_eq!(other, (false, vec![CallEnd::NotRun]));
}
