//! Answers of a person at the terminal to what a tool asks.

use std::io::{self, Seek as _, Write as _};
use std::sync::Arc;

use jackfield_cli::approval::Terminal;
use jackfield_cli::person::Person;
use jackfield_cli::render::human::{HumanOptions, HumanRenderer};
use jackfield_cli::render::screen::Screen;
use jackfield_cli::turn::{self, AskMode};
use jackfield_domain::ids::{SessionId, ToolboxId};
use jackfield_domain::message::Message;
use jackfield_domain::policy::{PolicyRule, RuleVerdict};
use jackfield_domain::request::ModelRef;
use jackfield_domain::setup::Opening;
use jackfield_domain::tool::Safety;
use jackfield_domain::wait::{ElicitationAnswer, Question};
use jackfield_engine::{Engine, SendMessage, ToolboxStatus, TurnOptions};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{
    CalledWhat, ScriptedCall, ScriptedModel, ScriptedReply, ScriptedToolbox,
};
use serde_json::{Value, json};

/// The answer that a tool gets which asks with this form, if the person types these lines.
async fn answered(schema: Option<Value>, typed: &str) -> ElicitationAnswer {
    let question = Question {
        message: "Which?".into(),
        sampling: None,
        schema: schema.map(Arc::new),
        url: None,
    };
    let model = ScriptedModel::new();
    model.push_reply(ScriptedReply::calls([("box__book", "{}")]));
    model.push_reply(ScriptedReply::text("done"));
    let tools = ScriptedToolbox::new(ToolboxId::parse("box").unwrap());
    tools
        .tool("book", Safety::ReadOnly)
        .push_call("book", ScriptedCall::asks(question, json!({})))
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
    let mut options = TurnOptions::new(ModelRef {
        model: "model".into(),
        provider: "provider".into(),
    });
    options.policy.can_ask = true;
    options.policy.rules.push(PolicyRule {
        pattern: "*".into(),
        verdict: RuleVerdict::Allow,
    });
    let message = SendMessage {
        opening: Opening::UserMessage(Message::user("Book!").into()),
        options,
        session: SessionId::parse("s").unwrap(),
    };
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(typed.as_bytes()).unwrap();
    file.rewind().unwrap();
    let mut person = Person::from_terminal(Terminal::from(file));
    let look = HumanOptions {
        markdown: None,
        spins: false,
        terminal: false,
        together: false,
        verbose: false,
    };
    let mut view = HumanRenderer::new(Screen::new(io::sink(), io::sink(), false), look);
    let asks = AskMode::Person(&mut person);
    turn::run(&engine, message, &mut view, asks).await.unwrap();
    let answers = tools
        .calls()
        .into_iter()
        .filter_map(|call| match call.what {
            CalledWhat::Resume { answer, .. } => answer,
            CalledWhat::Run(_) => None,
        });
    let answers: Vec<ElicitationAnswer> = answers.collect();
    let [answer] = <[_; 1]>::try_from(answers).unwrap();
    answer
}

fn accepted(content: Value) -> ElicitationAnswer {
    ElicitationAnswer::Accepted(Arc::new(content))
}

#[tokio::test]
async fn a_question_without_a_form_is_answered_with_yes_or_no() {
    for (typed, answer) in [
        ("y\n", accepted(json!({}))),
        ("No\n", ElicitationAnswer::Declined),
        // What is unclear is asked again.
        ("perhaps\nYES\n", accepted(json!({}))),
        ("", ElicitationAnswer::Declined),
    ] {
        assert_eq!(answered(None, typed).await, answer, "{typed}");
    }
}

#[tokio::test]
async fn a_form_is_answered_as_json_and_one_with_one_field_by_its_value() {
    let one = |kind: &str| json!({ "properties": { "day": { "type": kind } } });
    let two = json!({ "properties": { "a": {}, "b": {} } });
    for (schema, typed, answer) in [
        (one("string"), "7\n", accepted(json!({ "day": "7" }))),
        (one("integer"), "7\n", accepted(json!({ "day": 7 }))),
        (
            one("string"),
            "{\"day\": \"Monday\"}\n",
            accepted(json!({ "day": "Monday" })),
        ),
        (
            two.clone(),
            "Monday\n{\"a\":1,\"b\":2}\n",
            accepted(json!({ "a": 1, "b": 2 })),
        ),
        (two, "n\n", ElicitationAnswer::Declined),
    ] {
        assert_eq!(answered(Some(schema), typed).await, answer, "{typed}");
    }
}
