//! Tools that come again with every request.

use std::sync::Arc;

use jackfield_dialect_kit::body;
use jackfield_dialect_kit::brought::{Brought, WireTool};
use jackfield_dialect_kit::shelf::Shelf;
use jackfield_domain::ids::ToolName;
use jackfield_domain::tool::{InputFormat, ToolDefinition};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A tool of a language of its own.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct Tool {
    name: String,
    about: Value,
}

impl WireTool for Tool {
    fn shelf() -> &'static Shelf<Brought<Self>> {
        static SHELF: Shelf<Brought<Tool>> = Shelf::new();
        &SHELF
    }
}

#[derive(Deserialize, Serialize)]
struct Body {
    tools: Vec<Brought<Tool>>,
}

fn definition(tool: &Tool) -> Result<ToolDefinition, String> {
    Ok(ToolDefinition {
        description: tool.about.to_string().into(),
        extensions: Vec::new(),
        input: InputFormat::Text(None),
        name: ToolName::parse(&tool.name).map_err(|invalid| invalid.to_string())?,
        output: None,
        strict: None,
    })
}

fn meant(body: &Body) -> Vec<Arc<ToolDefinition>> {
    let tools = body.tools.iter().map(|tool| tool.definition(definition));
    tools.collect::<Result<_, _>>().expect("definitions")
}

fn read(body: &Value) -> serde_json::Result<Body> {
    serde_json::from_str(&body.to_string())
}

#[test]
fn the_same_text_is_read_once_and_any_other_by_itself() {
    let said = json!({ "tools": [
        { "name": "one", "about": { "b": 1, "a": [null, "\u{e9}\n"] } },
        { "name": "one", "about": { "a": [null, "\u{e9}\n"], "b": 1 } },
    ]});
    let (first, second) = (read(&said).expect("a body"), read(&said).expect("a body"));
    let (first, second) = (meant(&first), meant(&second));
    assert_eq!(first, second);
    for (one, other) in first.iter().zip(&second) {
        assert!(Arc::ptr_eq(one, other));
    }
    // The order of fields is a part of what is said.
    assert!(!Arc::ptr_eq(&first[0], &first[1]));
    assert_ne!(first[0].description, first[1].description);
}

#[test]
fn what_is_written_is_what_was_read() {
    let said = json!({ "tools": [{ "name": "two", "about": [1.5, {}, "x"] }] });
    let body = read(&said).expect("a body");
    assert_eq!(serde_json::to_value(&body).expect("JSON"), said);
    let by_hand = Brought::from(Tool {
        name: "two".to_owned(),
        about: json!([1.5, {}, "x"]),
    });
    assert_eq!(body.tools, [by_hand]);
    // From a value that was read already, too.
    let again: Body = serde_json::from_value(said).expect("a body");
    assert_eq!(again.tools, body.tools);
}

#[test]
fn what_cannot_be_read_is_said_each_time() {
    for _ in 0..2 {
        let Err(error) = read(&json!({ "tools": [{ "name": 3, "about": 1 }] })) else {
            panic!("that was no tool");
        };
        assert!(error.to_string().contains("expected a string"), "{error}");
    }
    let body = read(&json!({ "tools": [{ "name": "no name", "about": 1 }] })).expect("a body");
    for _ in 0..2 {
        let refused = body.tools[0].definition(definition);
        assert!(refused.is_err(), "{refused:?}");
    }
}

#[test]
fn a_shelf_holds_so_much_and_no_more() {
    let shelf = Shelf::<Arc<str>>::new();
    let read = |text: &str| {
        shelf
            .read(text, |text| Ok::<_, ()>(text.into()))
            .expect("a text")
    };
    let first = read("first");
    assert!(Arc::ptr_eq(&first, &read("first")));
    // A text as long as a whole body is not worth the room.
    let long = "x".repeat(1 << 17);
    assert!(!Arc::ptr_eq(&read(&long), &read(&long)));
    assert!(Arc::ptr_eq(&first, &read("first")));
    for nth in 0..40 {
        read(&format!("{nth}{}", "x".repeat(1 << 15)));
    }
    assert!(!Arc::ptr_eq(&first, &read("first")), "it was to be emptied");
}

#[test]
fn a_fault_within_a_tool_says_where_it_is_in_the_body() {
    let body = "{\"tools\":[\n{\"name\":\"one\",\"about\":1},\n{\"about\":1,\"name\":7}]}";
    let Err(invalid) = body::parse::<Body>(body.as_bytes()) else {
        panic!("a name is no number");
    };
    assert_eq!(invalid.path, "tools.1.name");
    assert!(invalid.reason.contains("line 3"), "{}", invalid.reason);
    // What is read next is kept as before.
    let said = json!({ "tools": [{ "name": "kept", "about": 0 }] });
    let [one, other] = [(), ()].map(|()| read(&said).expect("a body"));
    assert!(Arc::ptr_eq(&meant(&one)[0], &meant(&other)[0]));
}
