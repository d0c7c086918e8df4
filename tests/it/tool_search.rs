//! Tool search behind the gateway: what the model's server is sent, request by request.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::openai::ScriptedOpenAi;
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use jackfield_testservers::scripted::ScriptedServer;
use serde_json::{Value, json};

use crate::harness::{Gateway, Jackfield, KEY, Kept, McpServer, kept, tool, without_cache_points};

/// The turns of a session with two questions: the first searches and calls what it found, the second calls it again.
fn script() -> [ScriptTurn; 5] {
    [
        ScriptTurn::call("find_tools", &json!({ "query": "forecast" })),
        ScriptTurn::call("box__forecast", &json!({})),
        ScriptTurn::text("It is sunny."),
        ScriptTurn::call("box__forecast", &json!({})),
        ScriptTurn::text("Still."),
    ]
}

/// What the configuration has in each of these sessions, behind this.
fn configuration(more: &str) -> String {
    format!("policy.tools.\"*\" = \"allow\"\n{more}[assistants.finder]\ntool_search = true\n")
}

/// The requests of the session with Claude.
async fn requests(more: &str) -> Vec<Value> {
    let claude = ScriptedClaude::start(script()).await;
    let sessions = Kept::new();
    let serve = sessions.gateway();
    let serve = serve.at_with(&claude.base_url(), &configuration(more));
    converse(serve, &claude).await
}

/// The requests of the session with OpenAI, on Responses.
async fn requests_to_openai(more: &str) -> Vec<Value> {
    let mut script = script();
    let thinking = ScriptPart::Thinking {
        signature: "c2VjcmV0".to_owned(),
        text: "There may be a tool.".to_owned(),
    };
    script[0] =
        ScriptTurn::reply([thinking]).and_call("find_tools", &json!({ "query": "forecast" }));
    let openai = ScriptedOpenAi::start(script).await;
    let sessions = Kept::new();
    let more = format!(
        "model = \"openai/gpt-6.2-sol\"\nproviders.openai.api = \"responses\"\n\
         providers.openai.base_url = \"{}\"\n{}",
        openai.base_url(),
        configuration(more)
    );
    let serve = sessions.gateway().configured(more);
    converse(serve.env("OPENAI_API_KEY", KEY), &openai).await
}

/// Holds the session at a gateway, and returns the requests to the model's server.
async fn converse(serve: Jackfield, model: &ScriptedServer) -> Vec<Value> {
    let script = json!({
        "many": 12,
        "tools": [tool("forecast")],
        "calls": { "forecast": [{ "text": "sunny" }] },
    });
    let server = McpServer::new(script);
    let serve = serve.servers([("box", server.trusted())]);
    let gateway = Gateway::listening(serve.start()).await;
    let mut session: Option<String> = None;
    for (question, answer) in [("And the weather?", "It is sunny."), ("Now?", "Still.")] {
        let body = json!({
            "model": "finder", "messages": [{ "role": "user", "content": question }],
        });
        let mut asked = gateway.post("/v1/chat/completions", &body);
        if let Some(session) = &session {
            asked = asked.header("x-session-id", session);
        }
        let answered = asked.answered().await;
        let said = answered.is(200)["choices"][0]["message"]["content"].clone();
        assert_eq!(said, answer);
        session = Some(answered.header("x-session-id").to_owned());
    }
    gateway.end().await;
    assert_eq!(server.count("call forecast"), 2, "{:?}", server.log());
    kept(model);
    model.requests()
}

fn names(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().into_iter().flatten();
    tools.filter_map(|tool| tool["name"].as_str()).collect()
}

fn content(request: &Value, place: usize) -> &Value {
    &request["messages"][place]["content"][0]["content"]
}

#[tokio::test]
async fn found_tools_are_appended_to_those_of_the_request_before() {
    let requests = requests("providers.claude.quirks.tool_references = false\n").await;
    let first = ["calculator", "current_datetime", "find_tools"];
    assert_eq!(names(&requests[0]), first);
    let all = [&first[..], &["box__forecast"]].concat();
    for request in &requests[1..] {
        assert_eq!(names(request), all);
        let tools = |request: &Value| without_cache_points(request["tools"].clone());
        let (before, now) = (tools(&requests[0]), tools(request));
        let before = before.to_string();
        // Byte for byte, up to the end of the list.
        assert!(now.to_string().starts_with(before.trim_end_matches(']')));
    }
    let found = content(&requests[1], 2).to_string();
    assert!(found.contains("box__forecast"), "{found}");
}

#[tokio::test]
async fn claude_loads_found_tools_by_references_and_its_tools_stay_as_they_are() {
    let requests = requests("").await;
    let tools = requests[0]["tools"].as_array().expect("tools");
    assert_eq!(tools.len(), 16);
    let loaded = tools.iter().filter(|tool| tool["defer_loading"] != true);
    let loaded: Vec<_> = loaded.filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(loaded, ["calculator", "current_datetime", "find_tools"]);
    for request in &requests[1..] {
        assert_eq!(request["tools"], requests[0]["tools"]);
        let found = json!([{ "type": "tool_reference", "tool_name": "box__forecast" }]);
        assert_eq!(*content(request, 2), found);
    }
}

#[tokio::test]
async fn openai_loads_found_tools_by_results_and_its_tools_stay_as_they_are() {
    let requests = requests_to_openai("").await;
    assert_eq!(names(&requests[0]), ["calculator", "current_datetime"]);
    let tools = requests[0]["tools"].as_array().expect("tools");
    let searches = tools.iter().filter(|tool| tool["type"] == "tool_search");
    assert_eq!(searches.count(), 1, "{tools:?}");
    for request in &requests[1..] {
        assert_eq!(request["tools"], requests[0]["tools"]);
        let items = request["input"].as_array().expect("items");
        let search = items
            .iter()
            .position(|item| item["type"] == "tool_search_call");
        let search = search.expect("the search");
        assert_eq!(items[search - 1]["type"], "reasoning");
        let found = &items[search + 1];
        assert_eq!(found["type"], "tool_search_output");
        assert_eq!(names(found), ["box__forecast"]);
        assert_eq!(found["tools"][0]["defer_loading"], true);
    }
}

#[tokio::test]
async fn openai_without_its_own_form_gets_found_tools_appended() {
    let requests = requests_to_openai("providers.openai.quirks.tool_search = false\n").await;
    let first = ["calculator", "current_datetime", "find_tools"];
    assert_eq!(names(&requests[0]), first);
    let all = [&first[..], &["box__forecast"]].concat();
    for request in &requests[1..] {
        assert_eq!(names(request), all);
    }
}

/// Definitions of 300 tools, each as long as those of usual MCP servers: 25 things, and what is done to them.
fn many() -> Vec<Value> {
    let things = [
        "alert",
        "article",
        "branch",
        "build",
        "calendar",
        "channel",
        "comment",
        "contact",
        "customer",
        "dashboard",
        "device",
        "document",
        "event",
        "folder",
        "image",
        "invoice",
        "issue",
        "label",
        "message",
        "order",
        "project",
        "release",
        "report",
        "ticket",
        "user",
    ];
    let actions = [
        "archive", "assign", "copy", "create", "delete", "export", "get", "list", "move",
        "restore", "search", "update",
    ];
    let text = |about: String| json!({ "type": "string", "description": about });
    let tools = things.iter().flat_map(|thing| {
        actions.iter().map(move |action| {
            let description = format!(
                "Use this tool to {action} one {thing} or several of them. It needs the permission to \
                 {action} in the workspace, and returns what became of each {thing} as JSON."
            );
            let schema = json!({
                "type": "object",
                "properties": {
                    "id": text(format!("The id of the {thing}, as returned by list_{thing}.")),
                    "workspace": text("The workspace, by its name in the address.".to_owned()),
                    "fields": {
                        "type": "array",
                        "items": { "type": "string" },
                        "description": format!("The fields of the {thing} to return; all by default."),
                    },
                    "limit": {
                        "type": "integer", "minimum": 1, "maximum": 100, "default": 20,
                        "description": "The most entries of a page.",
                    },
                    "cursor": text("The cursor of the page before, for the next one.".to_owned()),
                },
                "required": ["workspace"],
            });
            json!({
                "name": format!("{action}_{thing}"), "description": description, "inputSchema": schema,
            })
        })
    });
    tools.collect()
}

/// The bytes of the requests of a turn that assigns a ticket, with these tools.
async fn sizes(search: bool) -> Vec<usize> {
    let script = json!({ "tools": many(), "calls": { "assign_ticket": [{ "text": "assigned" }] } });
    let server = McpServer::new(script);
    let call = ScriptTurn::call("work__assign_ticket", &json!({ "workspace": "home" }));
    let answer = ScriptTurn::text("Done.");
    let find = ScriptTurn::call("find_tools", &json!({ "query": "assign a ticket" }));
    let turns = if search {
        vec![find, call, answer]
    } else {
        vec![call, answer]
    };
    let claude = ScriptedClaude::start(turns).await;
    let sessions = Kept::new();
    let more = format!(
        "tool_search.enabled = {search}\nproviders.claude.quirks.tool_references = false\n\
         policy.tools.\"*\" = \"allow\"\n"
    );
    let ran = sessions.run(&["ask", "Assign the ticket to Ann."]);
    let ran = ran.at_with(&claude.base_url(), &more);
    let ran = ran.servers([("work", server.entry())]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    kept(&claude);
    let requests = claude.requests();
    requests.iter().map(|body| body.to_string().len()).collect()
}

/// The figures of `docs/benchmarks.md`; `--nocapture` shows them.
#[tokio::test]
async fn a_search_among_300_tools_sends_a_twentieth() {
    let (plain, searched) = (sizes(false).await, sizes(true).await);
    println!("bytes of requests: {plain:?} with all tools, {searched:?} with a search");
    assert_eq!((plain.len(), searched.len()), (2, 3));
    assert!(searched[0] * 20 < plain[0]);
    let sum = |sizes: &[usize]| sizes.iter().sum::<usize>();
    assert!(sum(&searched) * 20 < sum(&plain));
}
