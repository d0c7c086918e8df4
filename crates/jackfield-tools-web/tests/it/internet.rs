//! The web search, with each engine's own answers, and pages as text.

use std::time::Duration;

use jackfield_domain::ids::ToolboxId;
use jackfield_domain::outcome::ToolResult;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::{ToolEnd, Toolbox as _};
use jackfield_provider_kit::guarded::{GuardedClient, GuardedSettings};
use jackfield_provider_kit::secret::Secret;
use jackfield_testkit::server::{Gate, Response, TestServer};
use jackfield_tools_web::{InternetTools, SearchEngine};
use serde_json::{Value, json};

use crate::world::{client, run};

fn tools() -> InternetTools {
    InternetTools::new(ToolboxId::parse("internet").unwrap())
}

async fn call(tools: &InternetTools, tool: &str, arguments: &Value) -> ToolResult {
    match tools
        .call(&run(tool, arguments), &CallContext::default(), &mut ())
        .await
    {
        Ok(ToolEnd::Finished(result)) => result,
        other => panic!("{other:?}"),
    }
}

fn answer(body: &Value) -> Response {
    let response = Response::new(200).header("content-type", "application/json");
    response.send(body.to_string().into_bytes())
}

const KEY: &str = "key-0123456789";

/// An entry of an answer, in the fields of its engine.
fn entry(url: &str, text: &str, date: &str) -> Value {
    json!({ "title": "T", url: "https://example.org/1", text: "About rust.", date: "2026-11-01" })
}

#[tokio::test]
async fn every_engine_gives_the_same_form_of_result() {
    let key = || Secret::new(KEY);
    let sear = SearchEngine::SearXng("http://127.0.0.1".parse().unwrap());
    let cases = [
        (
            SearchEngine::Tavily(key()),
            json!({ "results": [entry("url", "content", "published_date"), { "title": "no address" }] }),
            "POST /search ",
        ),
        (
            SearchEngine::SerpApi(key()),
            json!({ "organic_results": [entry("link", "snippet", "date")] }),
            "GET /search.json?engine=google&q=rust+%E7%AC%94%E8%AE%B0&api_key=key-0123456789 ",
        ),
        (
            SearchEngine::Brave(key()),
            json!({ "web": { "results": [entry("url", "description", "age")] } }),
            "GET /res/v1/web/search?q=rust+%E7%AC%94%E8%AE%B0&count=3 ",
        ),
        (
            sear,
            json!({ "results": [entry("url", "content", "publishedDate")] }),
            "GET /search?q=rust+%E7%AC%94%E8%AE%B0&format=json ",
        ),
    ];
    for (engine, body, head) in cases {
        let server = TestServer::start().await;
        server.answer(answer(&body));
        let tools = tools().searching(engine, client());
        let tools = tools.at(server.base_url().parse().unwrap());
        let arguments = json!({ "query": "rust 笔记", "limit": 3 });
        let result = call(&tools, "web_search", &arguments).await;
        assert_eq!(
            result.to_text(),
            "1. T (2026-11-01)\nhttps://example.org/1\nAbout rust."
        );
        let source = json!({
            "title": "T", "url": "https://example.org/1", "text": "About rust.",
            "published": "2026-11-01",
        });
        let structured = json!({ "query": "rust 笔记", "results": [source] });
        assert_eq!(result.structured.as_deref(), Some(&structured));
        let request = &server.requests()[0];
        let line = format!("{} {} ", request.method, request.path);
        assert_eq!(line, head);
    }
}

#[tokio::test]
async fn the_key_is_in_no_result_and_an_error_is_one() {
    let server = TestServer::start().await;
    let refusal = format!("{{\"error\": \"unknown key {KEY}\"}}");
    let refused = Response::new(401).header("content-type", "application/json");
    server.answer(refused.send(refusal.into_bytes()));
    let tools = tools().searching(SearchEngine::Tavily(Secret::new(KEY)), client());
    let tools = tools.at(server.base_url().parse().unwrap());
    let result = call(&tools, "web_search", &json!({ "query": "x" })).await;
    assert!(result.is_error);
    let text = result.to_text();
    assert!(text.contains("401") && !text.contains(KEY), "{text}");
    server.answer(
        Response::new(200)
            .header("content-type", "application/json")
            .send(b"[".to_vec()),
    );
    let result = call(&tools, "web_search", &json!({ "query": "x" })).await;
    assert!(result.is_error, "{result:?}");
    server.answer(answer(&json!({ "results": [] })));
    let result = call(&tools, "web_search", &json!({ "query": "x" })).await;
    assert_eq!(result.to_text(), "Nothing was found for \"x\".");
    for arguments in [
        json!({}),
        json!({ "query": " " }),
        json!({ "query": "x", "limit": 0 }),
    ] {
        assert!(call(&tools, "web_search", &arguments).await.is_error);
    }
}

#[tokio::test]
async fn a_tool_that_is_not_set_up_is_not_offered() {
    let names = async |tools: InternetTools| -> Vec<String> {
        let list = tools.list().await.unwrap();
        list.iter().map(|tool| tool.name.to_string()).collect()
    };
    assert!(names(tools()).await.is_empty());
    assert_eq!(names(tools().reading_pages(client())).await, ["read_page"]);
    let engine = SearchEngine::Brave(Secret::new(KEY));
    assert_eq!(
        names(tools().searching(engine, client())).await,
        ["web_search"]
    );
}

#[tokio::test]
async fn a_page_is_read_as_text_and_an_address_of_this_machine_is_not() {
    let server = TestServer::start().await;
    let html = "<html><head><title>Tea</title><script>x</script></head><p>Green &amp; black</p>";
    let page = Response::new(200).header("content-type", "text/html; charset=utf-8");
    server.answer(page.send(html.as_bytes().to_vec()));
    let url = json!({ "url": format!("{}/tea", server.base_url()) });
    let read = call(&tools().reading_pages(client()), "read_page", &url).await;
    assert_eq!(read.to_text(), "Tea\n\nGreen & black");
    let public = GuardedClient::new(GuardedSettings::default()).unwrap();
    let public = tools().reading_pages(public);
    for address in [
        url["url"].as_str().unwrap_or_default(),
        "http://169.254.169.254/",
        "file:///etc/passwd",
        "tea",
    ] {
        let refused = call(&public, "read_page", &json!({ "url": address })).await;
        assert!(refused.is_error, "{address}: {refused:?}");
    }
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up_in_time() {
    let server = TestServer::start().await;
    let never = Gate::new();
    let silent = Response::new(200).header("content-type", "text/html");
    server.answer(silent.send("<p>").pause(&never).send("</p>"));
    let mut asked = run("read_page", &json!({ "url": server.base_url() }));
    asked.time_limit = Duration::from_millis(50);
    let tools = tools().reading_pages(client());
    let Ok(ToolEnd::Finished(result)) = tools.call(&asked, &CallContext::default(), &mut ()).await
    else {
        panic!("no outcome");
    };
    assert!(
        result.is_error && result.to_text().contains("0.05 s"),
        "{result:?}"
    );
}
