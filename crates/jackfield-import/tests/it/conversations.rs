//! Conversations of ChatGPT and Open WebUI: read as they were shown, and nothing in one harms the others.

use jackfield_import::conversations::{
    Conversation, Export, LeftOut, Source, Speaker, Unread, UnreadReason, decode,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn all(export: &Value) -> Vec<Result<Conversation, Unread>> {
    let text = export.to_string();
    Export::split(&text).unwrap().iter().collect()
}

fn one(conversation: &Value) -> Conversation {
    all(&json!([conversation])).remove(0).unwrap()
}

fn said(conversation: &Conversation) -> Vec<(Speaker, &str)> {
    let messages = conversation.messages.iter();
    messages.map(|said| (said.by, &*said.text)).collect()
}

fn node(id: &str, parent: &str, message: &Value) -> (String, Value) {
    let node = json!({ "id": id, "parent": parent, "children": [], "message": message });
    (id.to_owned(), node)
}

fn text(role: &str, text: &str) -> Value {
    json!({
        "author": { "role": role },
        "content": { "content_type": "text", "parts": [text] },
        "recipient": "all",
    })
}

fn chatgpt(nodes: impl IntoIterator<Item = (String, Value)>, last: &str) -> Value {
    let mapping: serde_json::Map<String, Value> = nodes.into_iter().collect();
    json!({
        "title": "Plans",
        "create_time": 1_746_230_400.25,
        "conversation_id": "c-1",
        "current_node": last,
        "mapping": mapping,
    })
}

#[test]
fn a_conversation_of_chatgpt_is_read_along_the_shown_branch() {
    let read = one(&chatgpt(
        [
            node("root", "", &Value::Null),
            node("system", "root", &text("system", "")),
            node("asked", "system", &text("user", "Hello?")),
            node("old", "asked", &text("assistant", "An older answer.")),
            node("new", "asked", &text("assistant", "Hello!")),
            node("more", "new", &text("assistant", "And more.")),
            node("again", "more", &text("user", "Thanks.")),
        ],
        "again",
    ));
    assert_eq!(
        said(&read),
        [
            (Speaker::User, "Hello?"),
            (Speaker::Assistant, "Hello!\n\nAnd more."),
            (Speaker::User, "Thanks."),
        ]
    );
    assert_eq!(read.title.as_deref(), Some("Plans"));
    assert_eq!(read.created, Some(1_746_230_400_250));
    assert_eq!(read.id, "c-1");
    assert_eq!(read.source, Source::ChatGpt);
    assert_eq!(
        read.left_out.into_iter().collect::<Vec<_>>(),
        [(LeftOut::OtherVersion, 1)]
    );
}

#[test]
fn content_that_is_not_text_is_counted_by_kind() {
    let with = |role: &str, content: Value, more: Value| {
        let mut message = json!({ "author": { "role": role }, "content": content });
        let (Value::Object(message_fields), Value::Object(more)) = (&mut message, more) else {
            unreachable!()
        };
        message_fields.extend(more);
        message
    };
    let picture =
        json!({ "content_type": "image_asset_pointer", "asset_pointer": "file-service://a" });
    let read = one(&chatgpt(
        [
            node("0", "", &text("system", "Be brief.")),
            node(
                "1",
                "0",
                &with(
                    "user",
                    json!({ "content_type": "user_editable_context", "user_profile": "a" }),
                    json!({ "metadata": { "is_visually_hidden_from_conversation": true } }),
                ),
            ),
            node(
                "2",
                "1",
                &with(
                    "user",
                    json!({ "content_type": "multimodal_text", "parts": [picture, picture, "These?", 7] }),
                    json!({ "metadata": { "attachments": [
                        { "name": "a.png", "mime_type": "image/png" },
                        { "name": "a.pdf", "mime_type": "application/pdf" },
                    ] } }),
                ),
            ),
            node(
                "3",
                "2",
                &with(
                    "assistant",
                    json!({ "content_type": "thoughts", "thoughts": [] }),
                    json!({}),
                ),
            ),
            node(
                "4",
                "3",
                &with(
                    "assistant",
                    json!({ "content_type": "code", "language": "unknown", "text": "search()" }),
                    json!({ "recipient": "browser" }),
                ),
            ),
            node(
                "5",
                "4",
                &with(
                    "tool",
                    json!({ "content_type": "tether_quote", "text": "…" }),
                    json!({}),
                ),
            ),
            node(
                "6",
                "5",
                &with(
                    "tool",
                    json!({ "content_type": "multimodal_text", "parts": [picture] }),
                    json!({}),
                ),
            ),
            node(
                "7",
                "6",
                &with(
                    "user",
                    json!({ "content_type": "multimodal_text", "parts": [
                        { "content_type": "audio_transcription", "text": "Spoken." },
                        { "content_type": "audio_asset_pointer" },
                    ] }),
                    json!({}),
                ),
            ),
            node(
                "8",
                "7",
                &text(
                    "assistant",
                    "In \u{e200}entity\u{e202}[\"city\",\"Paris\"]\u{e201}.\u{e200}cite\u{e202}turn0search1\u{e201} Yes\u{e204}.",
                ),
            ),
        ],
        "8",
    ));
    assert_eq!(
        said(&read),
        [
            (Speaker::User, "These?\n\nSpoken."),
            (Speaker::Assistant, "In Paris. Yes."),
        ]
    );
    let left: Vec<String> = read
        .left_out
        .iter()
        .map(|(what, count)| what.counted(*count))
        .collect();
    assert_eq!(
        left,
        [
            "1 file",
            "2 messages of instructions",
            "3 pictures",
            "1 piece of reasoning",
            "1 recording",
            "1 call of a tool",
            "1 result of a tool",
            "1 piece of an unknown kind",
        ]
    );
}

#[test]
fn a_tree_with_a_circle_a_missing_parent_or_no_end_is_read_as_far_as_it_goes() {
    let circle = one(&chatgpt(
        [
            node("a", "b", &text("user", "A")),
            node("b", "a", &text("assistant", "B")),
        ],
        "b",
    ));
    assert_eq!(said(&circle).len(), 2);
    let missing = one(&chatgpt(
        [node("a", "gone", &text("user", "A"))],
        "elsewhere",
    ));
    assert_eq!(said(&missing), [(Speaker::User, "A")]);
}

#[test]
fn a_hundred_thousand_messages_are_read() {
    let nodes = (0..100_000_u32).map(|nth| {
        let role = if nth % 2 == 0 { "user" } else { "assistant" };
        let parent = nth.checked_sub(1).map(|nth| nth.to_string());
        node(
            &nth.to_string(),
            &parent.unwrap_or_default(),
            &text(role, "x"),
        )
    });
    assert_eq!(one(&chatgpt(nodes, "99999")).messages.len(), 100_000);
}

#[test]
fn a_conversation_of_open_webui_is_read_from_its_tree_or_its_list() {
    let message = |role: &str, parent: Option<&str>, content: &str| json!({ "role": role, "parentId": parent, "childrenIds": [], "content": content });
    let reply = "<details type=\"reasoning\" done=\"true\">\n<summary>Thought</summary>\nhm\n</details>\nFour.";
    let mut picture = message("user", Some("2"), "And this?");
    picture["files"] = json!([{ "type": "image", "url": "data:" }, { "type": "file" }]);
    let mut exported = json!({
        "id": "w-1",
        "title": "Sums",
        "created_at": "1746230400",
        "chat": {
            "title": "Sums",
            "history": { "currentId": "3", "messages": {
                "1": message("user", None, "2 + 2?"),
                "2": message("assistant", Some("1"), reply),
                "3": picture,
                "4": message("assistant", Some("1"), "Five."),
            } },
            "messages": [message("user", None, "Only in the list.")],
        },
    });
    let read = one(&exported);
    assert_eq!(read.source, Source::OpenWebUi);
    assert_eq!(read.created, Some(1_746_230_400_000));
    assert_eq!(
        said(&read),
        [
            (Speaker::User, "2 + 2?"),
            (Speaker::Assistant, "Four."),
            (Speaker::User, "And this?"),
        ]
    );
    let left: Vec<&str> = read.left_out.keys().map(|what| what.as_str()).collect();
    assert_eq!(left, ["file", "other_version", "picture", "reasoning"]);
    exported["chat"]["history"] = Value::Null;
    assert_eq!(
        said(&one(&exported)),
        [(Speaker::User, "Only in the list.")]
    );
}

#[test]
fn one_conversation_that_cannot_be_read_leaves_the_others() {
    let good = chatgpt([node("a", "", &text("user", "A"))], "a");
    let empty = chatgpt([node("a", "", &text("user", " "))], "a");
    let read = all(&json!([7, good, { "title": "x" }, empty, good]));
    let why: Vec<_> = read
        .iter()
        .map(|one| {
            one.as_ref()
                .map(|_| ())
                .map_err(|unread| unread.why.clone())
        })
        .collect();
    assert_eq!(
        why,
        [
            Err(UnreadReason::Foreign),
            Ok(()),
            Err(UnreadReason::Foreign),
            Err(UnreadReason::Empty),
            Ok(()),
        ]
    );
}

#[test]
fn a_file_that_breaks_off_gives_what_it_has() {
    let good = chatgpt([node("a", "", &text("user", "A"))], "a");
    let whole = json!([good, good]).to_string();
    let cut = &whole[..whole.len() - 5];
    let export = Export::split(cut).unwrap();
    assert_eq!((export.len(), export.is_empty()), (1, false));
    assert!(export.broken().is_some());
    for malformed in ["", "7", "[", "{", "\"text\"", "PK\u{3}\u{4}"] {
        assert!(Export::split(malformed).is_err(), "{malformed}");
    }
}

#[test]
fn a_byte_order_mark_and_half_a_character_do_no_harm() {
    let mut file = b"\xef\xbb\xbf".to_vec();
    let good = chatgpt([node("a", "", &text("user", "HALF"))], "a");
    let halves = r"\\ud800 \ud83d \ude00 \ud83d\ude00 \uD83D";
    let text = json!([good]).to_string().replace("HALF", halves);
    file.extend(text.bytes());
    let text = decode(&file);
    let read = Export::split(&text)
        .unwrap()
        .iter()
        .next()
        .unwrap()
        .unwrap();
    let expected = "\\ud800 \u{fffd} \u{fffd} \u{1f600} \u{fffd}";
    assert_eq!(said(&read), [(Speaker::User, expected)]);
}

#[test]
fn deep_nesting_is_refused_for_its_conversation_only() {
    let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let text = format!("[{{\"mapping\": {deep}}}, {{\"mapping\": {{}}}}]");
    let read: Vec<_> = Export::split(&text).unwrap().iter().collect();
    assert!(matches!(&read[0], Err(unread) if matches!(unread.why, UnreadReason::Malformed(_))));
    assert!(matches!(&read[1], Err(unread) if unread.why == UnreadReason::Empty));
}

fn arbitrary() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        prop::sample::select(vec![
            "mapping",
            "chat",
            "message",
            "messages",
            "history",
            "parent",
            "parentId",
            "content",
            "parts",
            "author",
            "role",
            "text",
            "currentId",
            "current_node",
            "children",
            "metadata",
            "a",
            "b",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop::sample::select(vec!["user", "assistant", "tool", "a", "b", "text"])
            .prop_map(Value::from),
        "(\u{e200}|\u{e201}|\u{e202}|<details type=\"|</details>|[a-z])*".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn arbitrary_json_is_read_or_refused(value in arbitrary()) {
        let text = json!([{ "mapping": value, "chat": value }, { "chat": value }, value]).to_string();
        let export = Export::split(&text).unwrap();
        for read in export.iter().flatten() {
            prop_assert!(!read.messages.is_empty());
            for (one, next) in read.messages.iter().zip(read.messages.iter().skip(1)) {
                prop_assert_ne!(one.by, next.by);
            }
            prop_assert!(read.messages.iter().all(|said| !said.text.trim().is_empty()));
        }
    }

    #[test]
    fn arbitrary_nodes_are_read_or_refused(nodes in prop::collection::vec(("[a-d]", "[a-e]", arbitrary()), 0..8)) {
        let nodes = nodes.iter().map(|(id, parent, message)| node(id, parent, message));
        let export = chatgpt(nodes, "a");
        let read = all(&json!([export, { "chat": { "history": { "messages": export["mapping"] } } }]));
        prop_assert_eq!(read.len(), 2);
    }

    #[test]
    fn arbitrary_text_is_read_or_refused(text in ".*", bytes in any::<Vec<u8>>()) {
        for text in [&*text, &*decode(&bytes), &format!("[{text}"), &format!("[{{\"mapping\":{{\"{text}\":\"\\u{text}")] {
            if let Ok(export) = Export::split(text) {
                prop_assert_eq!(export.iter().count(), export.len());
            }
        }
    }
}
