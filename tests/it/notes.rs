//! Notes, private and shared: the scenarios with the demo's model, and the server as other programs start it.

use serde_json::{Value, json};

use crate::harness::{binary, jackfield, shell};

#[tokio::test]
async fn s5_04_all_notes_about_react_friends_too() {
    let ran = jackfield(["demo", "All notes about React, friends' too"])
        .run()
        .await;
    ran.answers(
        "Let me look at the notes.\n\n\
         Your notes:\n\
         Note 1, \"React hooks\", 2026-11-01: Hooks run in the same order in each render. Never call one in a \
         condition.\n\
         Notes of friends:\n\
         Note 4, \"Заметки о React\", shared by Olga, 2026-11-04: Состояние держим как можно ближе к тому, кто \
         его показывает.\n\
         Note 2, \"React 性能\", shared by Lin, 2026-11-02: 用 memo 之前先测量。React 的重渲染通常很便宜。\n",
    );
}

#[tokio::test]
async fn s5_04_chinese_words_of_any_length_and_russian_in_any_case_are_found() {
    for (question, title) in [
        ("关于机器学习的笔记", "机器学习课程"),
        ("关于笔记的笔记", "读书笔记"),
        ("Заметки про ТЕТРАДИ", "Покупки"),
    ] {
        let ran = jackfield(["demo", question]).run().await;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(ran.out.contains(title), "{question}: {}", ran.out);
    }
}

#[tokio::test]
async fn s1_05_recent_notes_then_the_first_one_in_full() {
    let question = "Show my recent notes, then the first one in full";
    let ran = jackfield(["demo", "--json", question]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let ended = ran.last_event();
    let calls = ended["calls"].as_array().expect("calls").iter();
    let calls: Vec<(&Value, &Value)> = calls
        .map(|call| (&call["name"], &call["arguments"]))
        .collect();
    let expected = [
        (&json!("list_recent_notes"), &json!({})),
        (&json!("get_note"), &json!({ "id": 7 })),
    ];
    assert_eq!(calls, expected, "{ended}");
    let answer = ended["answer"].as_str().unwrap_or_default();
    assert!(
        answer.ends_with("《设计数据密集型应用》第三章：存储与检索。"),
        "{answer}"
    );
}

#[tokio::test]
async fn two_people_share_a_file_and_each_sees_what_is_theirs() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("notes.db");
    let server = |person: &str, only: &str, prefix: &str| {
        json!({
            "command": binary(),
            "args": ["notes-server", file, "--person", person, "--only", only],
            "prefix": prefix, "trust": true,
        })
    };
    let call = async |person: &str, tool: &str, arguments: Value| {
        let line = format!("exec \"$jackfield\" tools call {tool} '{arguments}'");
        let servers = [
            ("private", server(person, "private", "private_")),
            ("shared", server(person, "shared", "shared_")),
        ];
        shell(&line).servers(servers).run().await
    };
    let note = json!({ "title": "Plan", "text": "Meet at noon", "shared_with": ["bob"] });
    let added = call("ann", "private_add_note", note).await;
    assert_eq!(added.code, Some(0), "{}", added.err);
    let secret = json!({ "title": "Diary", "text": "Meet nobody" });
    call("ann", "private_add_note", secret).await;
    let query = json!({ "query": "meet" });
    let of_bob = call("bob", "shared_search_shared_notes", query.clone()).await;
    assert!(
        of_bob.out.contains("\"Plan\", shared by ann"),
        "{}",
        of_bob.out
    );
    assert!(!of_bob.out.contains("Diary"), "{}", of_bob.out);
    let friend = json!({ "friend": "ann" });
    let of_ann = call("bob", "shared_list_by_friend", friend).await;
    assert!(
        of_ann.out.contains("Plan") && !of_ann.out.contains("Diary"),
        "{}",
        of_ann.out
    );
    let own = call("ann", "private_search_notes", query).await;
    assert!(
        own.out.contains("Plan") && own.out.contains("Diary"),
        "{}",
        own.out
    );
    let diary = call("bob", "shared_get_shared_note", json!({ "id": 2 })).await;
    assert!(diary.out.contains("there is no note 2") || diary.err.contains("there is no note 2"));
}
