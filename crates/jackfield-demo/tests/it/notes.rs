//! Questions about notes, in three languages.

use std::sync::Arc;

use jackfield_domain::outcome::ToolResult;
use jackfield_domain::tool::ToolDefinition;
use serde_json::{Value, json};

use crate::asking::{Talk, calls, definition};

/// The tools of notes, each with the arguments that it takes.
fn tools() -> Vec<Arc<ToolDefinition>> {
    let limit = json!({ "type": "integer" });
    let list = json!({ "type": "object", "properties": { "limit": limit } });
    let search = json!({
        "type": "object",
        "properties": { "query": { "type": "string" }, "limit": limit },
        "required": ["query"],
    });
    let get = json!({
        "type": "object", "properties": { "id": { "type": "integer" } }, "required": ["id"],
    });
    vec![
        definition("get_note", get.clone()),
        definition("get_shared_note", get),
        definition("list_recent_notes", list.clone()),
        definition("list_shared_notes", list),
        definition("search_notes", search.clone()),
        definition("search_shared_notes", search),
    ]
}

fn asking(text: &str) -> Talk {
    let mut talk = Talk::asking(text);
    talk.request.tools = Arc::new(tools());
    talk
}

#[test]
fn a_question_about_notes_searches_where_it_should() {
    let own = |query: &str| ("search_notes".to_owned(), json!({ "query": query }));
    let shared = |query: &str| ("search_shared_notes".to_owned(), json!({ "query": query }));
    let recent = || ("list_recent_notes".to_owned(), json!({}));
    let cases: [(&str, Vec<(String, Value)>); 9] = [
        (
            "All notes about React, friends' too",
            vec![own("React"), shared("React")],
        ),
        ("Notes of friends about React", vec![shared("React")]),
        ("Find my notes about React.", vec![own("React")]),
        ("关于机器学习的笔记", vec![own("机器学习")]),
        (
            "所有关于React的笔记，朋友的也要",
            vec![own("React"), shared("React")],
        ),
        ("Заметки о React", vec![own("React")]),
        (
            "Все заметки про React, и друзей тоже",
            vec![own("React"), shared("React")],
        ),
        ("Show my recent notes", vec![recent()]),
        ("我的笔记", vec![recent()]),
    ];
    for (text, expected) in cases {
        assert_eq!(calls(&asking(text).reply()), expected, "{text}");
    }
}

#[test]
fn the_first_note_of_a_list_is_read_in_full() {
    for (text, before) in [
        (
            "Show my recent notes, then the first one in full",
            "Let me look at the notes.",
        ),
        (
            "Покажи мои заметки, а потом первую целиком",
            "Сейчас посмотрю заметки.",
        ),
        ("看看我的笔记，然后第一条全文", "我来看一下笔记。"),
    ] {
        let mut talk = asking(text);
        let first = talk.reply();
        assert_eq!(first.text, before);
        assert_eq!(calls(&first), [("list_recent_notes".to_owned(), json!({}))]);
        let list = "Note 7, \"Tea\", 2026-11-01: Green\nNote 3, \"Bread\", 2026-11-01: Rye";
        talk.outcomes(&first, vec![ToolResult::text(list)]);
        let second = talk.reply();
        assert_eq!(
            calls(&second),
            [("get_note".to_owned(), json!({ "id": 7 }))]
        );
        talk.outcomes(&second, vec![ToolResult::text("Note 7\n\nGreen tea.")]);
        let answer = talk.reply();
        assert!(answer.calls.is_empty());
        assert!(
            answer.text.ends_with("Note 7\n\nGreen tea."),
            "{}",
            answer.text
        );
    }
}

#[test]
fn the_answer_keeps_own_notes_and_those_of_friends_apart() {
    let mut talk = asking("All notes about React, friends' too");
    let saying = talk.reply();
    let outcomes = [
        "Note 1, \"React\", 2026-11-01: Hooks",
        "Note 2, \"State\", shared by Lin, 2026-11-01: Above",
    ];
    talk.outcomes(&saying, outcomes.map(ToolResult::text).to_vec());
    let [own, shared] = outcomes;
    let expected = format!("Your notes:\n{own}\nNotes of friends:\n{shared}");
    assert_eq!(talk.reply().text, expected);
}
