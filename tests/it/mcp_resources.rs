//! Resources and prompts of MCP servers in a question and in a chat, over the API, and through `/mcp` of the gateway.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{
    Answer, Gateway, Jackfield, Kept, McpEndpoint, McpServer, Size, Terminal, jackfield, kept,
    without_cache_points,
};
use crate::mcp_inspecting::library;

#[tokio::test]
async fn a_question_has_the_resources_that_it_names_in_both_eras_and_over_both_transports() {
    for era in ["legacy", "modern"] {
        let (local, remote) = (McpServer::new(library(era)), McpEndpoint::new(library(era)));
        let claude = ScriptedClaude::start([ScriptTurn::text("Read.")]).await;
        let question =
            "Compare @near:note://a, @far:note://b. Show @far:note://picture to me@home:x";
        let ask = jackfield(["ask", question]).at(&claude.base_url());
        let servers = [("near", local.entry()), ("far", remote.with(&json!({})))];
        let ran = ask.servers(servers).run().await;
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (Some(0), "Read.\n"),
            "{}",
            ran.err
        );
        let with = "with near:note://a, far:note://b, far:note://picture\n";
        assert!(ran.err.starts_with(with), "{}", ran.err);
        let content = claude.requests()[0]["messages"][0]["content"].clone();
        assert_eq!(
            without_cache_points(content),
            json!([
                { "type": "text", "text": "<resource name=\"note://a\">\nwords of a\n</resource>" },
                { "type": "text", "text": "<resource name=\"note://b\">\nwords of b\n</resource>" },
                { "type": "image", "source":
                    { "type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo=" } },
                { "type": "text", "text": question },
            ]),
            "{era}"
        );
        kept(&claude);
        local.kept_and_gone().await;
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_told_of_before_anything_is_sent() {
    let server = McpServer::new(library("both"));
    for (question, code, said) in [
        (
            "See @near:note://gone",
            2,
            "the server `near`: it refuses: Resource not found",
        ),
        (
            "See @near:note://blob",
            2,
            "is neither text nor PDF nor an image that models read",
        ),
    ] {
        let claude = ScriptedClaude::start([]).await;
        let ask = jackfield(["ask", question]).at(&claude.base_url());
        let ran = ask.servers([("near", server.entry())]).run().await;
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (Some(code), ""),
            "{}",
            ran.err
        );
        ran.says(said);
        assert_eq!(claude.requests().len(), 0);
    }
    // What a pipe says is no word of the person.
    let claude = ScriptedClaude::start([ScriptTurn::text("No.")]).await;
    let ask = jackfield(["ask"]).at(&claude.base_url());
    let ask = ask.servers([("near", server.entry())]);
    let ran = ask.stdin("See @near:note://a").run().await;
    ran.answers("No.\n");
    assert_eq!(server.count("read "), 2);
}

async fn said(terminal: &mut Terminal, line: &str, answer: &str) {
    terminal.line(line).await;
    terminal.shows(answer).await;
    terminal.prompts().await;
}

#[tokio::test]
async fn a_chat_runs_prompts_asks_for_their_arguments_and_completes_them() {
    let server = McpServer::new(library("both"));
    let turns = ["one", "two", "three"].map(ScriptTurn::text);
    let claude = ScriptedClaude::start(turns).await;
    let chat = jackfield(["chat"]).at(&claude.base_url());
    let chat = chat.servers([("notes", server.entry())]);
    let mut terminal = chat.at_terminal(Size(40, 100));
    terminal.prompts().await;
    said(&mut terminal, "/prompt", "notes:greet who how?  Greets.").await;
    said(&mut terminal, "/prompt greet Ann how=loudly", "\none\n").await;
    terminal.line("/notes:greet").await;
    terminal.shows("who (Ann, Anton, Ben)").await;
    terminal.shows("\nvalue:").await;
    said(&mut terminal, "Ben", "\ntwo\n").await;
    terminal.types("/prompt gr\t").await;
    terminal.shows("> /prompt notes:greet").await;
    terminal.types("w\tAnt\t").await;
    terminal.shows("> /prompt notes:greet who=Anton").await;
    said(&mut terminal, "", "\nthree\n").await;
    said(&mut terminal, "/prompt gone", "there is no prompt `gone`").await;
    let texts: Vec<Value> = claude
        .requests()
        .iter()
        .map(|request| {
            let messages = request["messages"].as_array().into_iter().flatten();
            messages.last().expect("a message")["content"].clone()
        })
        .collect();
    for (text, wanted) in texts
        .iter()
        .zip(["Greet Ann.", "Greet Ben.", "Greet Anton."])
    {
        assert!(text.to_string().contains(wanted), "{text}");
    }
    let loud = r#"prompt greet {"how":"loudly","who":"Ann"}"#;
    assert_eq!(server.count(loud), 1);
    kept(&claude);
}

#[tokio::test]
async fn a_chat_has_the_resources_that_a_message_names() {
    let server = McpServer::new(library("both"));
    let claude = ScriptedClaude::start([ScriptTurn::text("seen")]).await;
    let chat = jackfield(["chat"]).at(&claude.base_url());
    let chat = chat.servers([("notes", server.entry())]);
    let mut terminal = chat.at_terminal(Size(40, 100));
    terminal.prompts().await;
    terminal.types("see @notes:note://a\t").await;
    said(&mut terminal, "", "\nseen\n").await;
    let screen = terminal.screen();
    assert!(screen.contains("\nwith notes:note://a\n"), "{screen}");
    assert!(!screen.contains("is no file here"), "{screen}");
    let content = claude.requests()[0]["messages"][0]["content"].clone();
    let words = "<resource name=\"note://a\">\nwords of a\n</resource>";
    assert_eq!(content[0]["text"], words);
    kept(&claude);
}

/// A server that asks who reads, before each resource and prompt.
fn curious() -> McpServer {
    let mut script = library("modern");
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
    let params = json!({ "message": "Who reads?", "requestedSchema": schema });
    script["asks_first"] = json!({ "who": { "method": "elicitation/create", "params": params } });
    McpServer::new(script)
}

#[tokio::test]
async fn a_person_answers_what_a_server_asks_before_a_resource_or_a_prompt() {
    let server = curious();
    let turns = ["one", "two", "three"].map(ScriptTurn::text);
    let claude = ScriptedClaude::start(turns).await;
    let question = "see @notes:note://a";
    let ask = jackfield(["ask", question]).at(&claude.base_url());
    let mut terminal = ask
        .servers([("notes", server.entry())])
        .at_terminal(Size(40, 100));
    terminal.shows("The server `notes` asks:").await;
    terminal
        .shows("Who reads?\n    name: string\nthe fields as JSON, or [n]o")
        .await;
    terminal.line("Ann").await;
    terminal.shows("one").await;
    assert_eq!(terminal.ends().await, Some(0));

    let chat = jackfield(["chat"]).at(&claude.base_url());
    let chat = chat.servers([("notes", server.entry())]);
    let mut terminal = chat.at_terminal(Size(40, 100));
    terminal.prompts().await;
    for (said, answer) in [(question, "two"), ("/prompt greet Bob", "three")] {
        terminal.line(said).await;
        terminal
            .until("asked", |screen| screen.ends_with("answer:"))
            .await;
        terminal.line("Ann").await;
        terminal.shows(&format!("\n{answer}\n")).await;
        terminal.prompts().await;
    }
    let answer = r#"answered "state-1" {"who":{"action":"accept","content":{"name":"Ann"}}}"#;
    assert_eq!(server.count(answer), 3);
    terminal.line(question).await;
    terminal
        .until("asked", |screen| screen.ends_with("answer:"))
        .await;
    terminal.line("n").await;
    terminal.shows("it refuses: nobody said who").await;
    kept(&claude);
}

#[tokio::test]
async fn without_a_person_a_server_that_asks_before_a_resource_gets_no_answer() {
    let server = curious();
    let claude = ScriptedClaude::start([]).await;
    let ask = jackfield(["ask", "see @notes:note://a"]).at(&claude.base_url());
    let ran = ask.servers([("notes", server.entry())]).run().await;
    assert_eq!(ran.code, Some(8), "{}", ran.err);
    ran.says("it asked, and got no answer: Who reads?");
}

#[tokio::test]
async fn the_api_lists_reads_makes_and_completes_and_a_message_has_resources() {
    let server = McpServer::new(library("both"));
    let claude = ScriptedClaude::start([ScriptTurn::text("Read.")]).await;
    let sessions = Kept::new();
    let serve = sessions.gateway().at(&claude.base_url());
    let serve = serve.servers([("notes", server.trusted())]);
    let gateway = Gateway::listening(serve.start()).await;
    let said = library("both");
    let get = |path: &str| {
        gateway
            .get(&format!("/api/v1/servers/notes/{path}"))
            .answered()
    };
    let listed = get("resources").await.is(200);
    let wanted = json!({
        "resources": said["resources"], "templates": said["templates"], "problems": [],
    });
    assert_eq!(listed, wanted);
    let read = get("resources/contents?uri=note%3A%2F%2Fb").await.is(200);
    assert_eq!(read["contents"], said["contents"]["note://b"]);
    assert_eq!(get("prompts").await.is(200)["prompts"], said["prompts"]);
    let post = |path: &str, body: Value| {
        let asking = gateway.post(&format!("/api/v1/servers/notes/{path}"), &body);
        asking.answered()
    };
    let prompt = json!({ "name": "greet", "arguments": { "who": "Ann" } });
    let made = post("prompts", prompt).await.is(200);
    assert_eq!(made["messages"][0]["content"]["text"], "Greet Ann.");
    let complete = json!({ "prompt": "greet", "argument": "who", "value": "An" });
    let completed = post("complete", complete).await.is(200);
    let wanted = json!({ "values": ["Ann", "Anton"], "has_more": false, "total": 2 });
    assert_eq!(completed, wanted);
    for (answer, status, code) in [
        (
            get("resources/contents?uri=note%3A%2F%2Fgone").await,
            404,
            "not_found",
        ),
        (
            post("prompts", json!({ "name": "greet" })).await,
            400,
            "invalid",
        ),
        (
            gateway.get("/api/v1/servers/gone/prompts").answered().await,
            404,
            "not_found",
        ),
    ] {
        let kind = answer.is(status)["type"].to_string();
        assert!(kind.contains(code), "{kind}");
    }

    let session = gateway
        .post("/api/v1/sessions", &json!({}))
        .answered()
        .await;
    let session = session.is(201)["id"].as_str().expect("an id").to_owned();
    let turns = format!("/api/v1/sessions/{session}/turns");
    let resource = |uri: &str| json!({ "type": "resource", "server": "notes", "uri": uri });
    let message =
        json!({ "content": [resource("note://a"), { "type": "text", "text": "What is it?" }] });
    let turn = gateway.post(&turns, &message).answered().await.is(200);
    assert_eq!(turn["answer"], "Read.", "{turn}");
    assert_eq!(
        without_cache_points(claude.requests()[0]["messages"][0]["content"].clone()),
        json!([
            { "type": "text", "text": "<resource name=\"note://a\">\nwords of a\n</resource>" },
            { "type": "text", "text": "What is it?" },
        ])
    );
    let many: Vec<Value> = (0..33).map(|_| resource("note://a")).collect();
    let many = json!({ "content": many });
    gateway.post(&turns, &many).answered().await.is(413);
    let gone = json!({ "content": [resource("note://gone")] });
    gateway.post(&turns, &gone).answered().await.is(404);
    assert_eq!(claude.requests().len(), 1);
    kept(&claude);
    gateway.end().await;
}

/// Asks `/mcp` in the newest revision.
async fn modern(gateway: &Gateway, method: &str, params: Value) -> Answer {
    gateway.modern(1, method, params).answered().await
}

/// Asks `/mcp` in a session of an older revision.
async fn legacy(gateway: &Gateway, method: &str, params: Value) -> Value {
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "slice", "version": "1" },
    } });
    let accept = "application/json, text/event-stream";
    let begun = gateway.post("/mcp", &hello).header("accept", accept);
    let begun = begun.answered().await;
    let capabilities = begun.is(200)["result"]["capabilities"].clone();
    assert!(capabilities["resources"].is_object() && capabilities["prompts"].is_object());
    let session = begun.header("mcp-session-id").to_owned();
    let body = json!({ "jsonrpc": "2.0", "id": 2, "method": method, "params": params });
    let asking = gateway
        .post("/mcp", &body)
        .header("accept", accept)
        .header("mcp-session-id", &session);
    asking.answered().await.is(200)
}

#[tokio::test]
async fn clients_of_both_eras_get_the_resources_and_prompts_of_all_servers_each_under_its_own_name()
{
    for era in ["legacy", "modern"] {
        let (one, other) = (McpServer::new(library(era)), McpServer::new(library(era)));
        let sessions = Kept::new();
        let servers = [("my_notes", one.trusted()), ("other", other.trusted())];
        let gateway = Gateway::listening(sessions.gateway().servers(servers).start()).await;
        let listed = modern(&gateway, "resources/list", json!({})).await.is(200);
        let uris = |result: &Value, list: &str, field: &str| {
            let all = result["result"][list]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let all = all
                .iter()
                .map(|one| one[field].as_str().unwrap_or_default().to_owned());
            all.collect::<Vec<_>>()
        };
        assert_eq!(
            uris(&listed, "resources", "uri"),
            [
                "my.notes+note://a",
                "my.notes+note://picture",
                "other+note://a",
                "other+note://picture"
            ],
            "{era}"
        );
        assert_eq!(listed["result"]["resources"][0]["title"], "The a");
        let listed = legacy(&gateway, "resources/templates/list", json!({})).await;
        let templates = uris(&listed, "resourceTemplates", "uriTemplate");
        assert_eq!(templates, ["my.notes+note://{name}", "other+note://{name}"]);
        let listed = legacy(&gateway, "prompts/list", json!({})).await;
        assert_eq!(
            uris(&listed, "prompts", "name"),
            ["my_notes__greet", "other__greet"]
        );

        let read = json!({ "uri": "my.notes+note://b" });
        let wanted = json!([{ "uri": "my.notes+note://b", "text": "words of b" }]);
        let got = modern(&gateway, "resources/read", read.clone())
            .await
            .is(200);
        assert_eq!(got["result"]["contents"], wanted, "{era}");
        let got = legacy(&gateway, "resources/read", read).await;
        assert_eq!(got["result"]["contents"], wanted, "{era}");
        assert_eq!((one.count("read "), other.count("read ")), (2, 0));
        // A link in a result has the URI of its server.
        let got = legacy(&gateway, "resources/read", json!({ "uri": "note://a" })).await;
        assert_eq!(got["result"]["contents"][0]["text"], "words of a");
        let gone = json!({ "uri": "other+note://gone" });
        let got = legacy(&gateway, "resources/read", gone.clone()).await;
        assert!(
            [-32002, -32602]
                .map(Value::from)
                .contains(&got["error"]["code"]),
            "{got}"
        );
        let got = modern(&gateway, "resources/read", gone).await.is(200);
        assert_eq!(got["error"]["code"], -32602, "{got}");

        let get = json!({ "name": "other__greet", "arguments": { "who": "Ann" } });
        let messages =
            json!([{ "role": "user", "content": { "type": "text", "text": "Greet Ann." } }]);
        let got = modern(&gateway, "prompts/get", get.clone()).await.is(200);
        assert_eq!(got["result"]["resultType"], "complete");
        assert_eq!(got["result"]["messages"], messages, "{era}");
        let got = legacy(&gateway, "prompts/get", get).await;
        assert_eq!(got["result"]["messages"], messages, "{era}");
        let complete = json!({
            "ref": { "type": "ref/prompt", "name": "other__greet" },
            "argument": { "name": "who", "value": "An" },
        });
        let got = legacy(&gateway, "completion/complete", complete).await;
        assert_eq!(
            got["result"]["completion"]["values"],
            json!(["Ann", "Anton"])
        );
        gateway.end().await;
        one.kept_and_gone().await;
        other.kept_and_gone().await;
    }
}

#[tokio::test]
async fn a_token_for_single_tools_and_a_server_whose_tools_may_not_run_give_no_resources() {
    let server = McpServer::new(library("both"));
    // One that is not trusted, and one of which only some tools are offered.
    let (stranger, partly) = (server.entry(), {
        let mut entry = server.trusted();
        entry["tools"] = json!({ "allow": ["find"] });
        entry
    });
    let sessions = Kept::new();
    let tokens = "[policy.tools]\n\"closed/*\" = \"deny\"\n\
        [serve.tokens.all]\nenv = \"ALL\"\ntools = [\"notes/*\", \"closed/*\", \"stranger/*\", \"partly/*\"]\n\
        [serve.tokens.one]\nenv = \"ONE\"\ntools = [\"notes/find\"]\n";
    let serve: Jackfield = sessions.gateway().configured(tokens);
    let (all, one) = ("all-0123456789abcdef", "one-0123456789abcdef");
    let servers = [
        ("notes", server.trusted()),
        ("closed", server.trusted()),
        ("stranger", stranger),
        ("partly", partly),
    ];
    let serve = serve.env("ALL", all).env("ONE", one).servers(servers);
    let gateway = Gateway::listening(serve.start()).await;
    let asked = |token: &str, method: &str, uri: &str| {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({ "_meta": meta, "uri": uri });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let asking = gateway.post("/mcp", &body);
        asking
            .header("accept", "application/json, text/event-stream")
            .header("authorization", &format!("Bearer {token}"))
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method)
            .header("mcp-name", uri)
            .answered()
    };
    let listed = asked(all, "resources/list", "").await.is(200);
    let listed = listed["result"]["resources"].as_array().cloned();
    let listed: Vec<Value> = listed
        .into_iter()
        .flatten()
        .map(|one| one["uri"].clone())
        .collect();
    assert_eq!(listed, ["notes+note://a", "notes+note://picture"]);
    for (uri, may) in [
        ("notes+note://a", true),
        ("closed+note://a", false),
        ("stranger+note://a", false),
        ("partly+note://a", false),
    ] {
        let read = asked(all, "resources/read", uri).await.is(200);
        assert_eq!(read["error"].is_null(), may, "{uri} {read}");
        let refused = asked(one, "resources/read", uri).await.is(404);
        assert_eq!(refused["error"]["code"], -32601);
    }
    asked(one, "resources/list", "").await.is(404);
    assert_eq!(server.count("read "), 1);
    gateway.end().await;
}
