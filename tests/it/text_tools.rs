//! Models without tools: they are given them as text, and write their calls as text.

use jackfield_testservers::openai::{ScriptedOpenAi, VendorQuirks};
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Gateway, Kept, jackfield, kept};

const CHAT: &str = "/v1/chat/completions";

/// Ollama, whose models are given tools like this.
async fn ollama(turns: impl IntoIterator<Item = ScriptTurn>) -> ScriptedOpenAi {
    let turns: Vec<ScriptTurn> = turns.into_iter().collect();
    ScriptedOpenAi::like(VendorQuirks::Ollama, turns).await
}

fn configuration(server: &ScriptedOpenAi, tools: &str) -> String {
    format!(
        "model = \"ollama/gemma3\"\n[providers.ollama]\napi = \"chat\"\nbase_url = \"{}\"\n{tools}\n",
        server.base_url()
    )
}

/// A call as such models write it.
fn call(name: &str, arguments: &Value) -> String {
    let call = json!({ "name": name, "arguments": arguments });
    format!("<tool_call>\n{call}\n</tool_call>")
}

/// The roles and texts of a request's messages.
fn messages(request: &Value) -> Vec<(String, String)> {
    let sent = request["messages"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    sent.map(|message| (text(&message["role"]), text(&message["content"])))
        .collect()
}

#[tokio::test]
async fn a_model_without_tools_calls_them_in_words() {
    let sum = call("calculator", &json!({ "expression": "19+23" }));
    for tools in [
        "tools = \"text\"",
        "tools_of = { \"*\" = \"native\", \"gemma*\" = \"text\" }",
    ] {
        let server = ollama([
            ScriptTurn::text(format!("Let me see.\n{sum}")),
            ScriptTurn::text("It is 42.").when("42"),
        ])
        .await;
        let ask = jackfield(["ask", "--json", "19+23?"]);
        let ran = ask.configured(configuration(&server, tools)).run().await;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let last = ran.last_event();
        assert_eq!(last["answer"], "It is 42.");
        assert_eq!(last["calls"][0]["result"], "42");
        let noted = |code: &str| {
            let mut notes = last["notes"].as_array().into_iter().flatten();
            notes.any(|note| note["code"] == code)
        };
        assert!(
            noted("tools_as_text") && noted("call_read_from_text"),
            "{last}"
        );
        let requests = server.requests();
        assert!(
            requests
                .iter()
                .all(|request| request.get("tools").is_none())
        );
        let first = messages(&requests[0]);
        assert_eq!(first[0].0, "system");
        assert!(first[0].1.contains("\"name\":\"calculator\""), "{first:?}");
        // What follows is what the model itself would have read.
        let second = messages(&requests[1]);
        assert_eq!(second[..2], first[..]);
        let said = [
            (
                "assistant",
                "Let me see.\n<tool_call>\n{\"name\": \"calculator\", \"arguments\": {\"expression\":\"19+23\"}}\n</tool_call>",
            ),
            (
                "user",
                "<tool_response>\n{\"name\": \"calculator\", \"content\": \"42\"}\n</tool_response>",
            ),
        ];
        let said = said.map(|(role, text)| (role.to_owned(), text.to_owned()));
        assert_eq!(second[2..], said);
        kept(&server);
    }
}

/// What Ollama answers if a model's template knows no tools.
fn refusal() -> ScriptTurn {
    let message = "registry.ollama.ai/library/gemma3:4b does not support tools";
    let body = json!({ "error": { "message": message, "type": "api_error", "param": null, "code": null } });
    ScriptTurn::status(400, &body)
}

#[tokio::test]
async fn a_server_that_refuses_tools_is_asked_in_words_at_once() {
    let sum = call("calculator", &json!({ "expression": "19+23" }));
    let server = ollama([
        refusal(),
        ScriptTurn::text(&*sum),
        ScriptTurn::text("It is 42.").when("42"),
    ])
    .await;
    let kept_file = Kept::new();
    // It is the default for this kind.
    let configuration = configuration(&server, "");
    let ask = kept_file.run(&["ask", "19+23?"]);
    let ran = ask.configured(&configuration).run().await;
    ran.answers("It is 42.\n");
    let has_tools = |request: &Value| request.get("tools").is_some();
    let requests = server.requests();
    assert_eq!(
        requests.iter().map(has_tools).collect::<Vec<_>>(),
        [true, false, false]
    );
    kept(&server);
    let shown = kept_file.run(&["sessions", "export", "last"]);
    let shown = shown.configured(&configuration).run().await;
    assert!(shown.out.contains("\"tools_unsupported\""), "{}", shown.out);
    let replayed = kept_file.run(&["replay", "last"]);
    let replayed = replayed.configured(&configuration).run().await;
    assert_eq!(replayed.code, Some(0), "{}{}", replayed.out, replayed.err);
}

#[tokio::test]
async fn a_server_that_refuses_tools_is_not_asked_again_where_that_is_not_wanted() {
    let server = ollama([refusal()]).await;
    let ask = jackfield(["ask", "19+23?"]);
    let native = configuration(&server, "tools = \"native\"");
    let ran = ask.configured(native).run().await;
    ran.fails(4, "does not support tools", "set `tools = \"text\"`");
    kept(&server);
}

#[tokio::test]
async fn a_call_that_the_server_left_in_the_text_is_a_call() {
    let server = ollama([
        ScriptTurn::text("[TOOL_CALLS]calculator[ARGS]{\"expression\": \"19+23\"}"),
        ScriptTurn::text("It is 42.").when("42"),
    ])
    .await;
    let ask = jackfield(["ask", "19+23?"]);
    let ran = ask.configured(configuration(&server, "")).run().await;
    ran.answers("It is 42.\n");
    // The server takes calls in its own form.
    let second = &server.requests()[1];
    assert_eq!(
        second["messages"][2]["tool_calls"][0]["function"]["name"],
        "calculator"
    );
    assert_eq!(second["messages"][3]["role"], "tool");
    kept(&server);
}

#[tokio::test]
async fn a_call_out_of_a_reply_that_was_cut_off_is_not_run() {
    let sum = call("calculator", &json!({ "expression": "19+23" }));
    let cut = ScriptTurn::text(&*sum).finish(jackfield_domain::reply::FinishReason::Length);
    let server = ollama([cut]).await;
    let ask = jackfield(["ask", "--json", "19+23?"]);
    let ran = ask
        .configured(configuration(&server, "tools = \"text\""))
        .run()
        .await;
    let last = ran.last_event();
    assert_eq!(last["calls"], json!([]), "{last}");
    assert_eq!(last["answer"], *sum);
    kept(&server);
}

#[tokio::test]
async fn a_client_of_the_gateway_gets_calls_as_of_any_model() {
    let look = call("look", &json!({ "at": "the sky" }));
    let server = ollama([
        ScriptTurn::text(format!("{look}\n{look}")),
        ScriptTurn::text("It is blue.").when("blue"),
    ])
    .await;
    let sessions = Kept::new();
    let serve = sessions
        .gateway()
        .configured(configuration(&server, "tools = \"text\""));
    let gateway = Gateway::listening(serve.start()).await;
    let asked = json!({
        "model": "ollama/gemma3",
        "stream": true,
        "messages": [{ "role": "user", "content": "Which colour?" }],
        "tools": [{ "type": "function", "function": {
            "name": "look", "parameters": { "type": "object" },
        } }],
    });
    let said = gateway.post(CHAT, &asked).answered().await;
    let calls: Vec<Value> = said
        .json_events()
        .iter()
        .flat_map(|event| {
            let calls = &event["choices"][0]["delta"]["tool_calls"];
            calls.as_array().cloned().unwrap_or_default()
        })
        .filter(|call| call["id"].is_string())
        .collect();
    assert_eq!(calls.len(), 2, "{}", said.text());
    assert_eq!(calls[0]["function"]["name"], "look");
    assert_ne!(calls[0]["id"], calls[1]["id"]);
    assert!(!said.text().contains("tool_call>"), "{}", said.text());
    let made: Vec<Value> = calls
        .iter()
        .map(|call| {
            json!({ "id": call["id"], "type": "function", "function": {
                "name": "look", "arguments": "{\"at\":\"the sky\"}",
            } })
        })
        .collect();
    let mut history = vec![
        asked["messages"][0].clone(),
        json!({ "role": "assistant", "content": null, "tool_calls": made }),
    ];
    history.extend(
        calls
            .iter()
            .map(|call| json!({ "role": "tool", "tool_call_id": call["id"], "content": "blue" })),
    );
    let mut answered = asked.clone();
    answered["messages"] = history.into();
    let answer = gateway.post(CHAT, &answered).answered().await;
    assert_eq!(answer.said(), "It is blue.");
    gateway.end().await;
    kept(&server);
}
