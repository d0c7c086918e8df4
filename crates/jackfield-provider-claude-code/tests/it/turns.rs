//! Turns without tools: what is sent, what comes back, and how a session goes on.

use jackfield_domain::message::Message;
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_domain::reply::FinishReason;
use jackfield_domain::settings::{Effort, ResponseFormat, Settings};
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Talk, World, text};

#[tokio::test]
async fn a_text_comes_back_in_pieces_with_its_usage_and_the_process_ends() {
    let world = World::new([ScriptTurn::text("Hello from far away.")]).await;
    let model = world.model();
    let asked = Talk::new("Hello!").ask(&model).await;
    let end = asked.end.unwrap();
    assert_eq!(text(&asked.deltas), "Hello from far away.");
    assert!(asked.deltas.len() > 3, "{:?}", asked.deltas);
    assert_eq!(end.finish, FinishReason::Stop);
    assert!(
        end.usage
            .is_some_and(|usage| usage.input > 0 && usage.output > 0)
    );
    assert_eq!(end.notes, []);
    let body = &world.server.requests()[0];
    let words = json!([
        { "type": "text", "text": "Hello!" },
        { "type": "text", "text": "(End of the message.)" },
    ]);
    assert_eq!(
        body["messages"],
        json!([{ "role": "user", "content": words }])
    );
    assert_eq!(body["system"][0]["text"], "Be brief.");
    let tools: Vec<&str> = body["tools"].as_array().unwrap().iter().map(name).collect();
    assert_eq!(tools, ["mcp__gateway__add", "mcp__gateway__look"]);
    world.all_ended().await;
}

#[tokio::test]
async fn the_next_turn_continues_the_session_in_a_fork_of_it() {
    let world = World::new([ScriptTurn::text("One."), ScriptTurn::text("Two.")]).await;
    let model = world.model();
    let mut talk = Talk::new("First?");
    let end = talk.go_on(&model).await;
    talk.say(Message::user("Second?"));
    let next = talk.go_on(&model).await;
    let [first, second] = &world.starts()[..] else {
        panic!("{:?}", world.starts());
    };
    assert_eq!(end.opaque[0].json["session"], first["session"]);
    assert_eq!(second["resume"], first["session"]);
    assert_eq!(second["at"], end.opaque[0].json["line"]);
    assert_ne!(second["session"], first["session"]);
    assert_eq!(next.notes, []);
    let messages = roles(&world.server.requests()[1]);
    assert_eq!(
        messages,
        ["user: First?", "assistant: One.", "user: Second?"]
    );
}

#[tokio::test]
async fn two_forks_of_a_conversation_do_not_disturb_each_other() {
    let turns = ["One.", "Two.", "Three."].map(ScriptTurn::text);
    let world = World::new(turns).await;
    let model = world.model();
    let mut talk = Talk::new("First?");
    talk.go_on(&model).await;
    let mut fork = talk.clone();
    talk.say(Message::user("Second?"));
    talk.go_on(&model).await;
    fork.say(Message::user("Third?"));
    fork.go_on(&model).await;
    let messages = roles(&world.server.requests()[2]);
    assert_eq!(
        messages,
        ["user: First?", "assistant: One.", "user: Third?"]
    );
}

#[tokio::test]
async fn a_changed_conversation_begins_a_session_with_all_of_it_as_text() {
    let world = World::new([ScriptTurn::text("One."), ScriptTurn::text("Two.")]).await;
    let model = world.model();
    let mut talk = Talk::new("First?");
    talk.go_on(&model).await;
    talk.change(0, Message::user("Something else?"));
    talk.say(Message::user("Second?"));
    let end = talk.go_on(&model).await;
    let note = Note::new(
        NoteKind::Approximated,
        NoteEffect::Quality,
        "history_as_text",
        "messages",
    );
    assert_eq!(end.notes, [note]);
    assert_eq!(world.starts()[1]["resume"], Value::Null);
    let content = &world.server.requests()[1]["messages"][0]["content"];
    let transcript = content[0]["text"].as_str().unwrap();
    assert_eq!(
        transcript,
        "This is the conversation so far, as a transcript:\n\n\
         <user>\nSomething else?\n</user>\n\n\
         <assistant>\nOne.\n</assistant>\n\n\
         It ends here. What follows continues it."
    );
    assert_eq!(content[1]["text"], "Second?");
}

#[tokio::test]
async fn a_session_that_is_gone_begins_anew_with_the_conversation_as_text() {
    let world = World::new([ScriptTurn::text("One."), ScriptTurn::text("Two.")]).await;
    let model = jackfield_provider_claude_code::ClaudeCode::new(world.config("forgets"));
    let mut talk = Talk::new("First?");
    talk.go_on(&model).await;
    talk.say(Message::user("Second?"));
    let end = talk.go_on(&model).await;
    assert_eq!(end.notes.len(), 1);
    assert_eq!(world.starts().len(), 3);
    assert_eq!(world.server.requests().len(), 2);
}

#[tokio::test]
async fn a_session_in_passing_leaves_no_file_and_a_later_turn_begins_anew() {
    let world = World::new([ScriptTurn::text("One."), ScriptTurn::text("Two.")]).await;
    let model = world.model();
    let mut talk = Talk::new("First?");
    talk.in_passing = true;
    talk.go_on(&model).await;
    talk.say(Message::user("Second?"));
    let end = talk.go_on(&model).await;
    let codes: Vec<&str> = end.notes.iter().map(|note| &*note.code).collect();
    assert_eq!(codes, ["history_as_text"]);
    assert_eq!(world.starts().len(), 2);
    world.all_ended().await;
    assert_eq!(world.files(), 0);
}

#[tokio::test]
async fn settings_that_it_lacks_are_noted_and_those_it_has_are_taken() {
    let world = World::new([ScriptTurn::text("One.")]).await;
    let model = world.model();
    let mut talk = Talk::new("First?");
    talk.request.settings = std::sync::Arc::new(Settings {
        effort: Some(Effort::High),
        temperature: Some(0.5),
        ..Settings::default()
    });
    let end = talk.go_on(&model).await;
    let paths: Vec<&str> = end.notes.iter().map(|note| &*note.path).collect();
    assert_eq!(paths, ["settings.temperature"]);
}

#[tokio::test]
async fn an_answer_with_a_schema_is_json_alone() {
    let answer = ScriptTurn::text("Here it is.").and_call("StructuredOutput", &json!({ "n": 7 }));
    let world = World::new([answer]).await;
    let model = world.model();
    let mut talk = Talk::new("Which number?");
    talk.request.settings = std::sync::Arc::new(Settings {
        response_format: ResponseFormat::JsonSchema {
            description: None,
            name: "number".into(),
            schema: std::sync::Arc::new(json!({ "type": "object" })),
            strict: None,
        },
        ..Settings::default()
    });
    let end = talk.go_on(&model).await;
    assert_eq!(talk.last().to_text(), "{\"n\":7}");
    assert_eq!(talk.last().blocks.len(), 1);
    assert_eq!(end.finish, FinishReason::Stop);
    // The next turn goes on with the session.
    assert_eq!(end.opaque.len(), 1);
}

#[tokio::test]
async fn what_claude_code_changes_of_tools_is_noted() {
    let world = World::new([ScriptTurn::text("One.")]).await;
    let model = world.model();
    let mut talk = Talk::new("First?");
    let mut tools = talk.request.tools.to_vec();
    std::sync::Arc::make_mut(&mut tools[0]).description = "long ".repeat(1000).into();
    std::sync::Arc::make_mut(&mut tools[1]).strict = Some(true);
    talk.request.tools = std::sync::Arc::new(tools);
    let end = talk.go_on(&model).await;
    let notes: Vec<(&str, &str)> = end
        .notes
        .iter()
        .map(|note| (&*note.path, &*note.code))
        .collect();
    assert_eq!(
        notes,
        [
            ("tools[0].description", "description_cut"),
            ("tools[1].strict", "strict_not_sent")
        ]
    );
}

fn name(tool: &Value) -> &str {
    tool["name"].as_str().unwrap()
}

/// The messages of a request, with the first text of each.
fn roles(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap().iter();
    let shown = messages.map(|message| {
        let role = message["role"].as_str().unwrap();
        format!(
            "{role}: {}",
            message["content"][0]["text"].as_str().unwrap()
        )
    });
    shown.collect()
}
