//! How the tests ask the model.

#![expect(clippy::unwrap_used, reason = "the names in the tests are valid")]

use std::sync::Arc;

use jackfield_demo::brain::{self, DemoCall, DemoReply};
use jackfield_domain::block::{Block, CalledName, Content, RanBy, ToolCall};
use jackfield_domain::ids::{ModelAttempt, SessionId, ToolCallId, ToolName, TurnId};
use jackfield_domain::message::{Message, Messages, Role};
use jackfield_domain::outcome::{ToolOutcome, ToolResult};
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::tool::{InputFormat, ToolChoice, ToolDefinition};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use serde_json::{Value, json};

/// A conversation that a test has with the model.
pub(crate) struct Talk {
    pub(crate) request: ModelRequest,
    calls: u32,
}

impl Talk {
    /// One that begins with these words, with both tools offered.
    pub(crate) fn asking(text: &str) -> Self {
        let request = ModelRequest {
            choice: ToolChoice::Auto,
            messages: Messages::default(),
            model: ModelRef {
                model: brain::NAME.into(),
                provider: "demo".into(),
            },
            turn: None,
            settings: Arc::default(),
            strict: None,
            system: Arc::default(),
            tools: Arc::new(vec![calculator(), clock()]),
            searchable: Arc::default(),
            tools_as_text: false,
            whole: false,
        };
        let mut talk = Self { request, calls: 0 };
        talk.user(text);
        talk
    }

    pub(crate) fn user(&mut self, text: &str) {
        self.request.messages.push(Arc::new(Message::user(text)));
    }

    pub(crate) fn assistant(&mut self, text: &str) {
        let message = Message::new(Role::Assistant, vec![Block::text(text)]);
        self.request.messages.push(Arc::new(message));
    }

    pub(crate) fn reply(&self) -> DemoReply {
        brain::reply(&self.request)
    }

    /// Gives the model what it has called for: the results, in the order of the calls.
    pub(crate) fn outcomes(&mut self, saying: &DemoReply, results: Vec<ToolResult>) {
        assert_eq!(
            saying.calls.len(),
            results.len(),
            "one result for each call"
        );
        let mut said = vec![Block::text(saying.text.as_str())];
        let mut told = Vec::new();
        for (call, result) in saying.calls.iter().zip(results) {
            self.calls += 1;
            let id = id(self.calls);
            said.push(block(&id, call));
            told.push(Block::from(Content::ToolOutcome(Arc::new(ToolOutcome {
                call: id,
                opaque: Vec::new(),
                result,
            }))));
        }
        for (role, blocks) in [(Role::Assistant, said), (Role::Tool, told)] {
            self.request
                .messages
                .push(Arc::new(Message::new(role, blocks)));
        }
    }
}

/// The calls in a form that is easily compared; how a time is to be written is left out.
pub(crate) fn calls(saying: &DemoReply) -> Vec<(String, Value)> {
    let calls = saying.calls.iter();
    calls
        .map(|call| {
            let mut arguments = call.arguments.clone();
            arguments.remove("format");
            (call.tool.to_string(), Value::Object(arguments))
        })
        .collect()
}

pub(crate) fn calculate(expression: &str) -> (String, Value) {
    ("calculator".to_owned(), json!({ "expression": expression }))
}

pub(crate) fn tell(zone: &str) -> (String, Value) {
    ("current_datetime".to_owned(), json!({ "timezone": zone }))
}

pub(crate) fn definition(name: &str, schema: Value) -> Arc<ToolDefinition> {
    Arc::new(ToolDefinition {
        description: "".into(),
        extensions: Vec::new(),
        input: InputFormat::Json(Arc::new(schema)),
        name: ToolName::parse(name).unwrap(),
        output: None,
        strict: None,
    })
}

pub(crate) fn calculator() -> Arc<ToolDefinition> {
    definition(
        "calculator",
        json!({
            "type": "object",
            "properties": { "expression": { "type": "string" } },
            "required": ["expression"],
        }),
    )
}

pub(crate) fn clock() -> Arc<ToolDefinition> {
    definition(
        "current_datetime",
        json!({
            "type": "object",
            "properties": { "timezone": { "type": "string" }, "format": { "type": "string" } },
        }),
    )
}

fn id(nth: u32) -> ToolCallId {
    let turn = TurnId::derive(&SessionId::parse("s").unwrap(), 1);
    let attempt = ModelAttempt {
        round: 1,
        attempt: 1,
    };
    ToolCallId::derive(&turn, attempt, nth)
}

fn block(id: &ToolCallId, call: &DemoCall) -> Block {
    Block::from(Content::ToolCall(Arc::new(ToolCall {
        id: id.clone(),
        input: ToolInput::Json(JsonInput::from(call.arguments.clone())),
        name: CalledName::from(&call.tool),
        ran_by: RanBy::Engine,
        upstream: None,
    })))
}
