//! The tools, as a model calls them, and the contract of a toolbox.

use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::time::WallTime;
use jackfield_engine::{DirectCall, Engine, ToolboxStatus, TurnOptions};
use jackfield_ports::toolbox::Toolbox;
use jackfield_testkit::contract::toolbox::{SampleCall, ToolboxHarness};
use jackfield_tools_notes::{NewNote, Notebook, Notes};
use serde_json::{Value, json};

jackfield_testkit::toolbox_contract!(Written, except: {
    a_call_runs_its_tool_once => "a file of notes does not count who reads it",
    a_crash_of_a_tool_ends_its_call_alone => "no arguments make a tool of notes crash",
    a_failed_call_is_not_tried_again => "a file of notes does not count who reads it",
    a_read_only_call_has_no_effect => "the tests of the tools compare what they read",
    a_repetition_after_a_restart_has_no_further_effect => "no tool of notes is `Idempotent`",
    a_repetition_has_no_further_effect => "no tool of notes is `Idempotent`",
    a_repetition_has_the_same_outcome => "no tool of notes is `Idempotent`",
    an_outcome_after_the_drop_is_handed_on => "no tool of notes runs until it is cancelled",
    another_key_is_another_call => "no tool of notes is `Idempotent`",
    dropping_a_call_cancels_it => "no tool of notes runs until it is cancelled",
});

/// Notes of Ann, and one that Bob shares with her.
struct Written(Notebook);

impl Written {
    fn new() -> Self {
        let notebook = Notebook::in_memory().expect("memory");
        let add = |owner: &str, title: &str, text: &str, friend: Option<&str>, at: i64| {
            let note = NewNote {
                shared_with: friend.into_iter().map(str::to_owned).collect(),
                text: text.to_owned(),
                title: title.to_owned(),
            };
            let at = WallTime::from_millis(1_782_907_200_000 + at);
            notebook.add(owner, &note, at).expect("a note");
        };
        add("Ann", "React", "Hooks run in order.", None, 1);
        add("Bob", "React, too", "State lives above.", Some("Ann"), 2);
        add("Bob", "Diary", "React badly to rain.", None, 3);
        Self(notebook)
    }

    fn notes(&self) -> Notes {
        Notes::new(self.0.clone(), "Ann")
    }
}

#[async_trait]
impl ToolboxHarness for Written {
    async fn fresh() -> Self {
        Self::new()
    }

    fn toolbox(&self) -> Arc<dyn Toolbox> {
        Arc::new(self.notes())
    }

    fn working(&self) -> SampleCall {
        SampleCall::new("search_notes", json!({ "query": "react" }))
    }

    fn read_only(&self) -> Vec<SampleCall> {
        vec![SampleCall::new("list_shared_notes", json!({}))]
    }

    fn failing(&self) -> Option<SampleCall> {
        Some(SampleCall::new("get_note", json!({ "id": 99 })))
    }
}

/// The text and the structured content of a call.
async fn call(notes: Notes, name: &str, arguments: Value) -> (String, Value) {
    let trusted = ToolboxStatus {
        prefix: Some("".into()),
        server: None,
        trusted: true,
    };
    let journal = Arc::new(jackfield_store_memory::MemoryJournal::default());
    let engine = Engine::builder(journal).toolbox_as(Arc::new(notes), trusted);
    let engine = engine.build();
    let options = TurnOptions::new(jackfield_domain::request::ModelRef {
        model: "none".into(),
        provider: "none".into(),
    });
    let offered = engine.tools(&options).await;
    let tool = offered.catalog.tool(name).expect("the tool");
    let call = DirectCall::new(arguments.as_object().expect("an object").clone());
    let result = engine.call_offered(&options, tool, call).await;
    let structured = result.structured.as_deref().cloned();
    (result.to_text(), structured.unwrap_or_default())
}

#[tokio::test]
async fn own_and_shared_notes_are_kept_apart_and_the_friend_is_named() {
    let written = Written::new();
    let query = json!({ "query": "react" });
    let (own, _) = call(written.notes(), "search_notes", query.clone()).await;
    assert_eq!(own, "Note 1, \"React\", 2026-07-01: Hooks run in order.");
    let (shared, structured) = call(written.notes(), "search_shared_notes", query).await;
    let expected = "Note 2, \"React, too\", shared by Bob, 2026-07-01: State lives above.";
    assert_eq!(shared, expected);
    assert_eq!(structured["notes"][0]["owner"], "Bob");
    let friend = json!({ "friend": "bob" });
    let (of_bob, _) = call(written.notes(), "list_by_friend", friend).await;
    assert_eq!(of_bob, expected);
    let (whole, _) = call(written.notes(), "get_shared_note", json!({ "id": 2 })).await;
    assert_eq!(
        whole,
        "Note 2, \"React, too\", shared by Bob, 2026-07-01\n\nState lives above."
    );
}

#[tokio::test]
async fn a_private_note_of_another_person_is_as_if_it_were_not_there() {
    let written = Written::new();
    for tool in ["get_note", "get_shared_note"] {
        let (of_bob, _) = call(written.notes(), tool, json!({ "id": 3 })).await;
        let (missing, _) = call(written.notes(), tool, json!({ "id": 99 })).await;
        assert_eq!(of_bob.replace('3', "99"), missing);
    }
}

#[tokio::test]
async fn a_note_is_added_found_and_read() {
    let written = Written::new();
    let note = json!({ "title": "笔记", "text": "学习机器学习", "shared_with": ["bob"] });
    let (saved, structured) = call(written.notes(), "add_note", note).await;
    assert_eq!(saved, "Saved as note 4, shared with Bob: 笔记");
    let expected = json!({ "id": 4, "title": "笔记", "shared_with": ["Bob"] });
    assert_eq!(structured, expected);
    let private = json!({ "title": "Tea", "text": "Green" });
    let (saved, _) = call(written.notes(), "add_note", private).await;
    assert_eq!(saved, "Saved as note 5: Tea");
    let (found, structured) =
        call(written.notes(), "search_notes", json!({ "query": "机器" })).await;
    assert!(found.contains("学习机器学习"), "{found}");
    assert_eq!(structured["notes"][0]["shared_with"], json!(["Bob"]));
    let bob = Notes::new(written.0.clone(), "Bob");
    let (shared, _) = call(bob, "list_shared_notes", json!({})).await;
    assert!(shared.contains("shared by Ann"), "{shared}");
}

#[tokio::test]
async fn a_note_that_is_too_long_or_has_too_many_readers_is_refused() {
    let written = Written::new();
    let friends =
        |count: usize| -> Vec<String> { (0..count).map(|nth| format!("f{nth}")).collect() };
    for (length, friends, refusal) in [
        (20_000, friends(20), None),
        (
            20_001,
            friends(0),
            Some("`text` may have at most 20000 characters"),
        ),
        (
            1,
            friends(21),
            Some("a note can be shared with at most 20 friends"),
        ),
        (
            1,
            vec!["f".repeat(201)],
            Some("a name may have at most 200 characters"),
        ),
    ] {
        let note = json!({ "title": "t", "text": "字".repeat(length), "shared_with": friends });
        let (answer, _) = call(written.notes(), "add_note", note).await;
        match refusal {
            None => assert!(answer.starts_with("Saved as note 4"), "{answer}"),
            Some(refusal) => assert_eq!(answer, refusal),
        }
    }
    let specs = written.notes().list().await.expect("a list");
    let add = specs.iter().find(|spec| &*spec.name == "add_note");
    let input = format!("{:?}", add.expect("the tool").input);
    for bound in ["at most 20000 characters", "at most 20;"] {
        assert!(input.contains(bound), "{input}");
    }
}

#[tokio::test]
async fn each_half_of_the_tools_can_be_offered_alone() {
    let written = Written::new();
    let names = async |notes: Notes| -> Vec<String> {
        let tools = notes.list().await.expect("a list");
        tools.iter().map(|tool| tool.name.to_string()).collect()
    };
    let private = names(written.notes().private_only()).await;
    assert_eq!(
        private,
        ["search_notes", "get_note", "list_recent_notes", "add_note"]
    );
    let shared = names(written.notes().shared_only()).await;
    assert_eq!(
        shared,
        [
            "search_shared_notes",
            "get_shared_note",
            "list_shared_notes",
            "list_by_friend"
        ]
    );
}
