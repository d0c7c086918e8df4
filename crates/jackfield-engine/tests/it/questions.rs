//! Questions of tools, in turns with and without a person.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::fact::TurnEnd;
use jackfield_domain::ids::{DeliveryId, ToolboxId, TurnId};
use jackfield_domain::tool::Safety;
use jackfield_domain::wait::{CancelCause, DeliveryBody, ElicitationAnswer, JobHandle};
use jackfield_engine::{Engine, ToolboxStatus};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{
    CalledWhat, ScriptedCall, ScriptedModel, ScriptedReply, ScriptedToolbox,
};
use serde_json::json;

use crate::fixture::{message, options, session};

fn world() -> (Engine, ScriptedToolbox) {
    let model = ScriptedModel::new();
    model.push_reply(ScriptedReply::calls([("box__book", "{}")]));
    model.push_reply(ScriptedReply::text("done"));
    let tools = ScriptedToolbox::new(ToolboxId::parse("box").expect("a valid id"));
    tools
        .tool("book", Safety::ReadOnly)
        .push_call("book", ScriptedCall::question("When?", json!({ "n": 1 })))
        .push_resume(ScriptedCall::question("Where?", json!({ "n": 2 })))
        .push_resume(ScriptedCall::text("booked"));
    let status = ToolboxStatus {
        prefix: None,
        server: None,
        trusted: true,
    };
    let engine = Engine::builder(Arc::new(MemoryJournal::default()))
        .model("provider", model.port())
        .toolbox_as(tools.port(), status)
        .build();
    (engine, tools)
}

/// The answers that a tool got which asks twice, in a turn with a person or without.
async fn answers(can_ask: bool) -> Vec<Option<ElicitationAnswer>> {
    let (engine, tools) = world();
    let mut options = options();
    options.policy.can_ask = can_ask;
    let mut watched = ();
    let turn = engine.send(message(options), &mut watched);
    // A turn that asks waits for a day.
    let ended = tokio::time::timeout(Duration::from_secs(3600), turn).await;
    assert_eq!(ended.is_ok(), !can_ask);
    let calls = tools.calls().into_iter();
    let answers = calls.filter_map(|call| match call.what {
        CalledWhat::Resume { answer, .. } => Some(answer),
        CalledWhat::Run(_) => None,
    });
    answers.collect()
}

#[tokio::test(start_paused = true)]
async fn questions_are_declined_where_nobody_can_be_asked_and_wait_where_a_person_can() {
    let declined = Some(ElicitationAnswer::Declined);
    assert_eq!(answers(false).await, [declined.clone(), declined]);
    assert_eq!(answers(true).await, []);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_asks_is_given_up_when_its_turn_is_cancelled() {
    let (engine, tools) = world();
    let sending = engine.clone();
    let sent = tokio::spawn(async move {
        let mut options = options();
        options.policy.can_ask = true;
        sending.send(message(options), &mut ()).await
    });
    // The time is the test's own: it goes on when nothing is left to do.
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(tools.abandoned(), []);
    let body = DeliveryBody::Cancel {
        cause: CancelCause::Asked,
        turn: TurnId::derive(&session(), 1),
    };
    let id = DeliveryId::parse("stop").expect("a valid id");
    let told = engine.deliver(&session(), id, "a person", body).await;
    told.expect("delivered");
    let report = sent.await.expect("no panic").expect("a report");
    assert_eq!(report.end, TurnEnd::Cancelled(CancelCause::Asked));
    assert_eq!(tools.abandoned(), [JobHandle(Arc::new(json!({ "n": 1 })))]);
}
