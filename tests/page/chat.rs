//! What a person sets, inserts and finds in a session.

use jackfield_testkit::server::Gate;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use serde_json::json;

use crate::browser::Browser;
use crate::harness::{Gateway, Kept, McpServer, kept};

#[tokio::test]
async fn a_person_sets_the_instructions_and_limits_of_a_session() {
    let files = Kept::new();
    let gate = Gate::new();
    let long = ScriptTurn::text("A word after the other. ".repeat(200));
    let claude = ScriptedClaude::start([
        long.pause_after(4_000, &gate),
        ScriptTurn::text("Well.").again(),
    ])
    .await;
    let gateway = Gateway::listening(files.gateway().at(&claude.base_url()).start()).await;
    let mut browser = Browser::start("options", gateway.address());
    browser.asks_for("first").await;
    gate.reached().await;
    browser.done().await;
    browser.asks_for("answer to the first").await;
    gate.open();
    browser.done().await;
    browser.ends().await;
    let requests = claude.requests();
    let has = |nth: usize, words: &str| requests[nth]["system"].to_string().contains(words);
    let instructions: Vec<(bool, bool)> = (0..4)
        .map(|nth| (has(nth, "rhymes"), has(nth, "prose")))
        .collect();
    let (rhymes, prose) = ((true, false), (false, true));
    assert_eq!(instructions, [rhymes, rhymes, prose, prose]);
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_person_inserts_the_prompts_of_servers() {
    let files = Kept::new();
    let text = |role: &str, text: &str| json!({ "role": role, "content": { "type": "text", "text": text } });
    let user = |content| json!({ "role": "user", "content": content });
    let file = |uri: &str, kind: &str, field: &str| json!({ "type": "resource", "resource": { "uri": uri, "mimeType": kind, field: "UEs=" } });
    let notes = McpServer::new(json!({
        "tools": [],
        "prompts": [
            { "name": "greet", "title": "A greeting", "description": "Greets a person.", "arguments": [
                { "name": "who", "title": "Who", "description": "A name.", "required": true }, { "name": "mood" },
            ] },
            { "name": "picture", "description": "Shows a picture." },
            { "name": "talk" },
        ],
        "messages": {
            "greet": [text("user", "Greet {who}, who is {mood}.")],
            "picture": [
                text("user", "Look."),
                user(json!({ "type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo=" })),
                user(file("note://text", "text/plain", "text")),
                user(file("note://zip", "application/zip", "blob")),
            ],
            "talk": [text("user", "Hello?"), text("assistant", "Yes?"),
                user(json!({ "type": "resource_link", "uri": "note://guide", "name": "Guide" }))],
        },
        "completions": { "who": ["Ann", "Mia", "Mick"], "mood": ["glad"] },
    }));
    let mut hostile = vec![json!({
        "name": "0", "title": "\u{202e}<b>title</b>", "description": "long ".repeat(200_000),
    })];
    hostile.extend((1..10_000).map(|nth| json!({ "name": nth.to_string() })));
    let evil = McpServer::new(json!({ "tools": [], "prompts": hostile }));
    let claude = ScriptedClaude::start([ScriptTurn::text("Done.").again()]).await;
    let gone = json!({ "command": "no-such-program-anywhere" });
    let run = files.gateway();
    let run = run.servers([
        ("evil", evil.trusted()),
        ("gone", gone),
        ("notes", notes.trusted()),
    ]);
    let gateway = Gateway::listening(run.at(&claude.base_url()).start()).await;
    Browser::start("prompts", gateway.address()).ends().await;
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_person_searches_in_a_session() {
    let files = Kept::new();
    let server = McpServer::of("search", &json!([{ "text": "Rain until noon." }]));
    let first = ScriptTurn::reply([
        ScriptPart::Thinking {
            signature: "signed".to_owned(),
            text: "The person means porto.".to_owned(),
        },
        ScriptPart::Text("**Por**to is in Portugal.".to_owned()),
    ]);
    let claude = ScriptedClaude::start([
        first,
        ScriptTurn::call("shop__search", &json!({ "for": "porto" })),
        ScriptTurn::text("It rains in PORTO."),
        ScriptTurn::text("A town: porto."),
    ])
    .await;
    let run = files.gateway().servers([("shop", server.trusted())]);
    let policy = "[policy.tools]\n\"*\" = \"allow\"\n";
    let gateway = Gateway::listening(run.at_with(&claude.base_url(), policy).start()).await;
    Browser::start("found", gateway.address()).ends().await;
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn an_answer_has_code_in_colours_and_formulas() {
    let files = Kept::new();
    let answer = "```rust\nfn main() { println!(\"<b>\"); }\n```\n\nIt is $x^2$, from $5 to $10, and\n\n\
                  \\[a+b\\]\n\n[good\u{202e}moc.live](https://evil.example/)";
    let claude = ScriptedClaude::start([ScriptTurn::text(answer)]).await;
    let gateway = Gateway::listening(files.gateway().at(&claude.base_url()).start()).await;
    Browser::start("shapes", gateway.address()).ends().await;
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_person_brings_conversations_of_another_program_along() {
    let files = Kept::new();
    let claude = ScriptedClaude::start([ScriptTurn::text("Then we go on.")]).await;
    let gateway = Gateway::listening(files.gateway().at(&claude.base_url()).start()).await;
    Browser::start("imports", gateway.address()).ends().await;
    let asked = claude.requests()[0]["messages"].to_string();
    assert!(asked.contains("A question on Travel"), "{asked}");
    kept(&claude);
    gateway.end().await;
}
