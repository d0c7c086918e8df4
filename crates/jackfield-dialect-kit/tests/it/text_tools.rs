//! Tools as text.

mod forms;
mod reading;
mod rewriting;

use std::sync::Arc;

use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::ids::ToolName;
use jackfield_domain::message::Message;
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::tool::{InputFormat, ToolChoice, ToolDefinition};
use serde_json::{Value, json};

/// A request with these messages, and with the tools `weather`, `clock` and `poem`, which takes text.
fn request(messages: Vec<Message>) -> ModelRequest {
    let weather = json!({
        "type": "object",
        "properties": {
            "city": { "type": "string" },
            "days": { "type": "integer" },
            "units": { "type": ["string", "null"] },
            "places": { "type": "array" },
        },
    });
    let tool = |name: &str, input: InputFormat| {
        Arc::new(ToolDefinition {
            description: format!("The {name}.").into(),
            extensions: Vec::new(),
            input,
            name: ToolName::parse(name).expect("a name"),
            output: None,
            strict: None,
        })
    };
    let none = json!({ "type": "object", "properties": {} });
    let tools = vec![
        tool("weather", InputFormat::Json(Arc::new(weather))),
        tool("clock", InputFormat::Json(Arc::new(none))),
        tool("poem", InputFormat::Text(None)),
    ];
    ModelRequest {
        choice: ToolChoice::Auto,
        messages: messages.into_iter().collect(),
        model: ModelRef {
            model: "model-a".into(),
            provider: "p".into(),
        },
        turn: None,
        settings: Arc::default(),
        strict: None,
        system: Arc::default(),
        tools: Arc::new(tools),
        searchable: Arc::default(),
        tools_as_text: false,
        whole: false,
    }
}

/// The deltas of a reply of one text in these pieces.
fn text(pieces: &[&str]) -> Vec<Delta> {
    let start = BlockStart::Text;
    let pieces = pieces.iter().map(|piece| Delta::TextAppended {
        index: 0,
        text: (*piece).into(),
    });
    std::iter::once(Delta::BlockStarted { index: 0, start })
        .chain(pieces)
        .chain([Delta::BlockEnded { index: 0 }])
        .collect()
}

/// The arguments of a call, as JSON.
fn parsed(arguments: &str) -> Value {
    serde_json::from_str(arguments).expect("JSON")
}
