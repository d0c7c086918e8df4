//! Reasoning items that go back to OpenAI, whatever happened to the history meanwhile.
//!
//! What goes out is judged twice: by the vendor's rules and by a server that remembers what it said.

use std::sync::Arc;

use jackfield_dialect_openai::profile::Profile;
use jackfield_dialect_rules::openai;
use jackfield_domain::accumulator::ReplyAccumulator;
use jackfield_domain::block::{Block, Content};
use jackfield_domain::ids::{ModelAttempt, SessionId, TurnId};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::{OutcomePart, ToolOutcome, ToolResult};
use jackfield_domain::reply::{FinishReason, Reply};
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::rules;
use jackfield_domain::settings::Settings;
use jackfield_domain::tool::{Catalog, ToolChoice};
use jackfield_ports::call_context::CallContext;
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use serde_json::Value;

use crate::models::{Server, Wire};

const MODEL: &str = "gpt-6.2-sol";

/// A server, and the conversation with it.
struct Bench {
    messages: Vec<Message>,
    server: Server,
}

/// What was sent the last time, in short, and the codes of the notes on it.
type Sent = (Vec<String>, Vec<String>);

impl Bench {
    async fn new(script: impl IntoIterator<Item = ScriptTurn>) -> Self {
        let script: Vec<ScriptTurn> = script.into_iter().collect();
        Self {
            messages: vec![Message::user("Calculate.")],
            server: Wire::OpenAiResponses.serve(script).await,
        }
    }

    /// What a model says to the conversation, which is added to it.
    async fn ask(&mut self, model: &str) -> Reply {
        let request = ModelRequest {
            choice: ToolChoice::Auto,
            messages: self.messages.iter().cloned().collect(),
            model: ModelRef {
                model: model.into(),
                provider: "openai".into(),
            },
            turn: None,
            settings: Arc::new(Settings {
                thinking_shown: Some(true),
                ..Settings::default()
            }),
            strict: None,
            system: Arc::default(),
            tools: Arc::default(),
            searchable: Arc::default(),
            tools_as_text: false,
            whole: false,
        };
        rules::check_request(request.messages.iter()).expect("a conversation that keeps the rules");
        let adapter = Wire::OpenAiResponses.adapter(&self.server);
        let mut deltas = Vec::new();
        let end = adapter
            .reply(&request, &CallContext::default(), &mut deltas)
            .await
            .expect("a reply");
        let turn = TurnId::derive(&SessionId::parse("s").expect("an id"), 1);
        let round = u32::try_from(self.messages.len()).expect("few");
        let mut reply = ReplyAccumulator::new(turn, ModelAttempt { round, attempt: 1 });
        for delta in &deltas {
            reply.push(delta).expect("sound pieces");
        }
        let reply = reply.finish(end, &Catalog::default()).expect("a reply");
        self.messages.push((*reply.message).clone());
        reply
    }

    /// Adds an outcome for each call of the last reply.
    fn answer(&mut self, result: &ToolResult) {
        let calls = self.messages.last().into_iter().flat_map(Message::calls);
        let outcomes = calls.map(|call| {
            let outcome = ToolOutcome {
                call: call.id.clone(),
                opaque: Vec::new(),
                result: result.clone(),
            };
            Content::ToolOutcome(Arc::new(outcome)).into()
        });
        let outcomes = Message::new(Role::Tool, outcomes.collect());
        self.messages.push(outcomes);
    }

    /// Asks once more, and tells what was sent; nobody may have anything against it.
    async fn sent(&mut self, model: &str) -> Sent {
        let reply = self.ask(model).await;
        let requests = self.server.requests();
        let body = requests.last().expect("a request");
        assert_eq!(openai::responses::check(body, &Profile::openai(model)), []);
        assert_eq!(self.server.violations(), [""; 0]);
        let items = body["input"].as_array().expect("items").iter().map(short);
        let notes = reply.end.notes.iter().map(|note| note.code.to_string());
        (items.collect(), notes.collect())
    }
}

/// An item in a word or two.
fn short(item: &Value) -> String {
    let kind = item["type"].as_str().unwrap_or("message");
    let own = |key: &str| if item.get(key).is_some() { "its" } else { "an" };
    match kind {
        "function_call" => format!("call of {} id", own("id")),
        "function_call_output" => format!("outcome {}", item["output"]),
        "message" if item["role"] == "assistant" => format!("words of {} id", own("id")),
        "reasoning" => format!("reasoning {}", item["encrypted_content"]),
        other => other.to_owned(),
    }
}

fn thinking(nth: &str) -> ScriptPart {
    ScriptPart::Thinking {
        signature: nth.to_owned(),
        text: format!("thought {nth}"),
    }
}

fn call(arguments: &str) -> ScriptPart {
    ScriptPart::Call {
        arguments: arguments.to_owned(),
        id: None,
        name: "add".to_owned(),
    }
}

fn two() -> ToolResult {
    ToolResult {
        content: vec![OutcomePart::Text("2".into())],
        is_error: false,
        structured: None,
    }
}

fn words(text: &str) -> ScriptPart {
    ScriptPart::Text(text.to_owned())
}

fn done() -> ScriptTurn {
    ScriptTurn::text("Done.")
}

fn codes(sent: &Sent) -> Vec<&str> {
    sent.1.iter().map(String::as_str).collect()
}

#[tokio::test]
async fn reasoning_comes_before_what_it_led_to() {
    for (parts, expected) in [
        (
            vec![thinking("a"), call("{}")],
            vec!["reasoning \"a\"", "call of its id"],
        ),
        (
            vec![thinking("a"), thinking("b"), call("{}")],
            vec!["reasoning \"a\"", "reasoning \"b\"", "call of its id"],
        ),
        (
            vec![thinking("a"), words("One moment."), call("{}")],
            vec!["reasoning \"a\"", "words of its id", "call of its id"],
        ),
        (
            vec![
                thinking("a"),
                words("One moment."),
                thinking("b"),
                call("{}"),
                call("{\"a\":1}"),
            ],
            vec![
                "reasoning \"a\"",
                "words of its id",
                "reasoning \"b\"",
                "call of its id",
                "call of its id",
            ],
        ),
    ] {
        let mut bench = Bench::new([ScriptTurn::reply(parts), done()]).await;
        bench.ask(MODEL).await;
        bench.answer(&two());
        let sent = bench.sent(MODEL).await;
        let own = sent.0[1..].iter().take(expected.len());
        assert_eq!(own.collect::<Vec<_>>(), expected);
        assert_eq!(codes(&sent), [""; 0]);
    }
}

#[tokio::test]
async fn reasoning_whose_call_is_gone_stays_behind() {
    for (parts, before) in [
        (vec![thinking("a"), call("{}")], None),
        (
            vec![words("One moment."), thinking("a"), call("{}")],
            Some("words of its id"),
        ),
    ] {
        let mut bench = Bench::new([ScriptTurn::reply(parts), done()]).await;
        bench.ask(MODEL).await;
        // A fork from right before the call.
        bench.messages[1].blocks.pop();
        bench.messages.push(Message::user("Say it in words."));
        let sent = bench.sent(MODEL).await;
        let expected: Vec<&str> = ["message"]
            .into_iter()
            .chain(before)
            .chain(["message"])
            .collect();
        assert_eq!(sent.0, expected);
        assert_eq!(codes(&sent), ["reasoning_without_its_item"]);
    }
}

#[tokio::test]
async fn words_that_were_edited_have_no_id_and_their_reasoning_goes_with_them() {
    let script = [
        ScriptTurn::reply([thinking("a"), words("Two.")]),
        ScriptTurn::reply([thinking("b"), words("Six.")]),
        done(),
    ];
    let mut bench = Bench::new(script).await;
    bench.ask(MODEL).await;
    bench.messages.push(Message::user("And three times two?"));
    bench.ask(MODEL).await;
    // Whoever puts other words into the model's mouth writes a whole message.
    bench.messages[1] = Message::new(Role::Assistant, vec![Block::text("Four.")]);
    bench.messages.push(Message::user("Sure?"));
    let sent = bench.sent(MODEL).await;
    assert_eq!(
        sent.0,
        [
            "message",
            "words of an id",
            "message",
            "reasoning \"b\"",
            "words of its id",
            "message"
        ]
    );
    assert_eq!(codes(&sent), [""; 0]);
}

#[tokio::test]
async fn a_call_without_an_outcome_is_not_sent_and_one_with_a_lost_outcome_is() {
    let script = [ScriptTurn::reply([thinking("a"), call("{}")]), done()];
    let mut bench = Bench::new(script).await;
    bench.ask(MODEL).await;
    let unanswered: Vec<Arc<Message>> = bench.messages.iter().cloned().map(Arc::new).collect();
    assert!(rules::check_request(unanswered.iter()).is_err());
    bench.answer(&ToolResult {
        content: vec![OutcomePart::Text("It is not known what came of it.".into())],
        is_error: true,
        structured: None,
    });
    let sent = bench.sent(MODEL).await;
    assert_eq!(
        sent.0[1..],
        [
            "reasoning \"a\"",
            "call of its id",
            "outcome \"The tool failed: It is not known what came of it.\""
        ]
    );
    assert_eq!(codes(&sent), ["error_put_into_words"]);
}

#[tokio::test]
async fn each_model_gets_its_own_reasoning_back_and_no_others() {
    let turn = |nth: &str| ScriptTurn::reply([thinking(nth), call("{}")]);
    let mut bench = Bench::new([turn("a"), turn("b"), turn("c")]).await;
    bench.ask(MODEL).await;
    bench.answer(&two());
    let other = bench.sent("gpt-6-luna").await;
    assert_eq!(
        other.0[1..],
        ["call of an id", "outcome \"2\""],
        "the other model"
    );
    bench.answer(&two());
    let back = bench.sent(MODEL).await;
    assert_eq!(
        back.0[1..],
        [
            "reasoning \"a\"",
            "call of its id",
            "outcome \"2\"",
            "call of an id",
            "outcome \"2\""
        ]
    );
    assert_eq!(codes(&other), ["thinking_withheld", "state_withheld"]);
    assert_eq!(codes(&back), ["thinking_withheld", "state_withheld"]);
}

#[tokio::test]
async fn a_reply_that_was_cut_off_goes_back_as_far_as_it_stands() {
    // In the middle of its reasoning.
    let cut = ScriptTurn::reply([thinking("a")]).finish(FinishReason::Length);
    let mut bench = Bench::new([cut, done()]).await;
    assert_eq!(bench.ask(MODEL).await.end.finish, FinishReason::Length);
    bench.messages.push(Message::user("Go on."));
    let sent = bench.sent(MODEL).await;
    assert_eq!(sent.0, ["message", "message"]);
    assert_eq!(codes(&sent), ["reasoning_without_its_item"]);

    // In the middle of a call.
    let cut = ScriptTurn::reply([thinking("a"), call("{\"a\":")]).finish(FinishReason::Length);
    let mut bench = Bench::new([cut, done()]).await;
    assert_eq!(bench.ask(MODEL).await.end.finish, FinishReason::Length);
    bench.answer(&two());
    let sent = bench.sent(MODEL).await;
    assert_eq!(
        sent.0[1..],
        ["reasoning \"a\"", "call of its id", "outcome \"2\""]
    );
    assert_eq!(codes(&sent), ["malformed_arguments"]);
}
