//! Ask OpenAI, over both its APIs, and the servers that are like it.

use jackfield_testservers::openai::{ScriptedOpenAi, VendorQuirks};
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use jackfield_testservers::scripted::ScriptedServer;
use serde_json::{Value, json};

use crate::harness::{Jackfield, KEY, jackfield, kept};

/// The two APIs, as the configuration names them.
const APIS: [&str; 2] = ["chat", "responses"];

fn openai<const N: usize>(arguments: [&str; N], api: &str, server: &ScriptedServer) -> Jackfield {
    let more = format!("providers.openai.api = \"{api}\"");
    at(jackfield(arguments), "openai/gpt-6-sol", server, &more).env("OPENAI_API_KEY", KEY)
}

/// Has this model, and its provider at this server.
fn at(run: Jackfield, model: &str, server: &ScriptedServer, more: &str) -> Jackfield {
    let (provider, _) = model.split_once('/').unwrap_or_default();
    let base_url = server.base_url();
    run.configured(format!(
        "model = \"{model}\"\nproviders.{provider}.base_url = \"{base_url}\"\n{more}\n"
    ))
}

fn paths(server: &ScriptedServer) -> Vec<String> {
    let requests = server.server().requests();
    requests.into_iter().map(|request| request.path).collect()
}

#[tokio::test]
async fn s1_01_hello_calls_no_tool_over_either_api_streamed_or_whole() {
    for api in APIS {
        for turn in [
            ScriptTurn::text("Hello! 你好"),
            ScriptTurn::text("Hello! 你好").whole(),
        ] {
            let server = ScriptedOpenAi::start([turn]).await;
            let ran = openai(["ask", "Hello"], api, &server).run().await;
            ran.answers("Hello! 你好\n");
            ran.says("1 round · 0 calls");
            let path = if api == "chat" {
                "/v1/chat/completions"
            } else {
                "/v1/responses"
            };
            assert_eq!(paths(&server), [path]);
            kept(&server);
        }
    }
}

#[tokio::test]
async fn s1_03_parallel_calls_go_back_in_call_order_over_either_api() {
    let calls = || {
        ScriptTurn::text("Let me calculate.")
            .and_call("calculator", &json!({ "expression": "2^20000 mod 7" }))
            .and_call("calculator", &json!({ "expression": "1+1" }))
    };
    for api in APIS {
        for (calls, answer) in [
            (calls(), ScriptTurn::text("4 and 2.")),
            (calls().whole(), ScriptTurn::text("4 and 2.").whole()),
        ] {
            let server = ScriptedOpenAi::start([calls, answer.when("2")]).await;
            let ran = openai(["ask", "--json", "calculate"], api, &server)
                .run()
                .await;
            assert_eq!(ran.code, Some(0), "{}", ran.err);
            let last = ran.last_event();
            assert_eq!(last["answer"], "4 and 2.");
            let results = [&last["calls"][0]["result"], &last["calls"][1]["result"]];
            assert_eq!(results, ["4", "2"]);
            assert_eq!(outcomes(&server.requests()[1]), ["4", "2"]);
            kept(&server);
        }
    }
}

/// The outcomes that a request tells, in their order.
fn outcomes(request: &Value) -> Vec<String> {
    let sent = request.get("messages").or_else(|| request.get("input"));
    let sent = sent.and_then(Value::as_array).into_iter().flatten();
    let outcomes = sent.filter_map(|item| {
        let is_one = item["role"] == "tool" || item["type"] == "function_call_output";
        let said = item.get("output").or_else(|| item.get("content"))?;
        is_one.then(|| said.as_str().unwrap_or_default().to_owned())
    });
    outcomes.collect()
}

#[tokio::test]
async fn reasoning_goes_back_to_the_model_that_reasoned() {
    let server = ScriptedOpenAi::start(thinking_and_calling()).await;
    let ran = openai(["ask", "19+23?"], "responses", &server).run().await;
    ran.answers("42.\n");
    let request = &server.requests()[1];
    let kinds: Vec<&str> = request["input"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|item| item["type"].as_str())
        .collect();
    let expected = ["reasoning", "function_call", "function_call_output"];
    assert!(kinds.ends_with(&expected), "{kinds:?}");
    kept(&server);
}

/// A thought, a call, and the answer.
fn thinking_and_calling() -> [ScriptTurn; 2] {
    let thinking = ScriptPart::Thinking {
        signature: "c2VjcmV0".to_owned(),
        text: "A sum.".to_owned(),
    };
    [
        ScriptTurn::reply([thinking]).and_call("calculator", &json!({ "expression": "19+23" })),
        ScriptTurn::text("42.").when("42"),
    ]
}

#[tokio::test]
async fn tools_over_chat_completions_are_asked_for_without_effort() {
    let turns = || {
        [
            ScriptTurn::call("calculator", &json!({ "expression": "19+23" })),
            ScriptTurn::text("42."),
        ]
    };
    let server = ScriptedOpenAi::start(turns()).await;
    let ran = openai(["ask", "19+23?"], "chat", &server).run().await;
    ran.answers("42.\n");
    assert_eq!(server.requests()[0]["reasoning_effort"], "none");
    kept(&server);
    // Otherwise the vendor refuses them, and says where they can be had.
    let server = ScriptedOpenAi::start(turns()).await;
    let ask = jackfield(["ask", "19+23?"]).env("OPENAI_API_KEY", KEY);
    let more = "providers.openai = { api = \"chat\", quirks = { tools_without_effort = false } }";
    let more = more.replace(
        "{ api",
        &format!("{{ base_url = \"{}\", api", server.base_url()),
    );
    let ran = ask
        .configured(format!("model = \"openai/gpt-6-sol\"\n{more}\n"))
        .run()
        .await;
    ran.stops(4, "To use function tools, use /v1/responses");
    assert_eq!(server.violations().len(), 1);
    assert_eq!(server.unused(), 2);
}

#[tokio::test]
async fn a_model_without_tools_on_chat_completions_is_asked_over_responses() {
    let model = "openai/gpt-6-astra";
    let ask = || jackfield(["ask", "19+23?"]).env("OPENAI_API_KEY", KEY);
    let server = ScriptedOpenAi::start([ScriptTurn::text("42.")]).await;
    let ran = at(ask(), model, &server, "providers.openai.api = \"chat\"")
        .run()
        .await;
    ran.stops(4, "set `api = \"responses\"` for its provider");
    assert_eq!(server.requests().len(), 0);
    let off = "providers.openai.api = \"responses\"\nsettings.effort = \"none\"";
    let ran = at(ask(), model, &server, off).run().await;
    ran.answers("42.\n");
    assert_eq!(server.requests()[0]["reasoning"]["effort"], "low");
    kept(&server);
}

#[tokio::test]
async fn a_quota_that_is_used_up_is_told_and_not_tried_again() {
    let refusal = json!({ "error": {
        "message": "You exceeded your current quota, please check your plan and billing details.",
        "type": "insufficient_quota",
        "param": null,
        "code": "insufficient_quota",
    }});
    for api in APIS {
        let server = ScriptedOpenAi::start([ScriptTurn::status(429, &refusal)]).await;
        let ran = openai(["ask", "hello"], api, &server).run().await;
        ran.stops(4, "You exceeded your current quota");
        assert_eq!(server.requests().len(), 1);
        kept(&server);
    }
}

#[tokio::test]
async fn two_accounts_of_one_provider_stand_side_by_side() {
    let home = ScriptedOpenAi::start([ScriptTurn::text("from home")]).await;
    let work = ScriptedOpenAi::start([ScriptTurn::text("from work")]).await;
    for (model, server, answer, key) in [
        ("home/gpt-6.2-sol", &home, "from home\n", "sk-home"),
        ("work/gpt-6.2-sol", &work, "from work\n", "sk-work"),
    ] {
        let configuration = format!(
            "[providers.home]\nkind = \"openai\"\nbase_url = \"{}\"\napi_key_env = \"HOME_KEY\"\n\
             [providers.work]\nkind = \"openai\"\nbase_url = \"{}\"\napi_key_env = \"WORK_KEY\"\nproject = \"proj_1\"\n",
            home.base_url(),
            work.base_url(),
        );
        let ask = jackfield(["ask", "--model", model, "hello"]).configured(configuration);
        let ask = ask.env("HOME_KEY", "sk-home").env("WORK_KEY", "sk-work");
        ask.run().await.answers(answer);
        let request = server.server().request(0).await;
        let bearer = format!("Bearer {key}");
        assert_eq!(request.header("authorization"), Some(bearer.as_str()));
        let project = (key == "sk-work").then_some("proj_1");
        assert_eq!(request.header("openai-project"), project);
        kept(server);
    }
}

#[tokio::test]
async fn deepseek_gets_its_reasoning_back() {
    let server = ScriptedOpenAi::like(VendorQuirks::DeepSeek, thinking_and_calling()).await;
    let ask = jackfield(["ask", "19+23?"]).env("DEEPSEEK_API_KEY", KEY);
    let ran = at(ask, "deepseek/deepseek-flash", &server, "").run().await;
    ran.answers("42.\n");
    assert_eq!(paths(&server), ["/chat/completions"; 2]);
    let told = server.requests()[1].to_string();
    assert!(told.contains("\"reasoning_content\":\"A sum.\""), "{told}");
    kept(&server);
}

#[tokio::test]
async fn ollama_is_not_told_what_it_would_not_hear() {
    // It ignores `tool_choice`: in the last round there is nothing to call.
    let server = ScriptedOpenAi::like(
        VendorQuirks::Ollama,
        [
            ScriptTurn::call("calculator", &json!({ "expression": "19+23" })),
            ScriptTurn::text("42."),
        ],
    )
    .await;
    let ask = jackfield(["ask", "--max-rounds", "2", "19+23?"]);
    let ran = at(
        ask,
        "ollama/qwen3",
        &server,
        "providers.ollama.api = \"chat\"",
    )
    .run()
    .await;
    ran.answers("42.\n");
    let requests = server.requests();
    assert!(requests[0]["tools"].is_array(), "{}", requests[0]);
    for name in ["tool_choice", "parallel_tool_calls"] {
        assert!(requests.iter().all(|request| request.get(name).is_none()));
    }
    assert_eq!(requests[1].get("tools"), None);
    kept(&server);
}

#[tokio::test]
async fn mistral_gets_ids_of_nine_characters_whoever_gave_them() {
    let call = ScriptPart::Call {
        arguments: "{\"expression\":\"19+23\"}".to_owned(),
        id: Some("call_that_is_too_long".to_owned()),
        name: "calculator".to_owned(),
    };
    let turns = [
        ScriptTurn::reply([call]),
        ScriptTurn::call("calculator", &json!({ "expression": "1+1" })),
        ScriptTurn::text("42 and 2."),
    ];
    let server = ScriptedOpenAi::like(VendorQuirks::Mistral, turns).await;
    let ask = jackfield(["ask", "19+23, 1+1?"]).env("MISTRAL_API_KEY", KEY);
    let ran = at(ask, "mistral/mistral-large-latest", &server, "")
        .run()
        .await;
    ran.answers("42 and 2.\n");
    assert_eq!(outcomes(&server.requests()[2]), ["42", "2"]);
    kept(&server);
}

/// Groq refuses the model's own words so, with the status 400.
#[tokio::test]
async fn a_reply_that_the_server_could_not_read_is_asked_for_once_more() {
    let unusable = || {
        let body = json!({ "error": {
            "message": "Failed to call a function.", "type": "invalid_request_error",
            "code": "tool_use_failed", "failed_generation": "<function=read{1",
        } });
        ScriptTurn::status(400, &body)
    };
    let server = ScriptedOpenAi::start([unusable(), ScriptTurn::text("Hello!")]).await;
    let ran = openai(["ask", "Hello"], "chat", &server).run().await;
    ran.answers("Hello!\n");
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0], requests[1]);
    kept(&server);
    let server = ScriptedOpenAi::start([unusable(), unusable()]).await;
    let ran = openai(["ask", "Hello"], "chat", &server).run().await;
    ran.fails(
        4,
        "The model wrote: <function=read{1",
        "ask again, or take another model",
    );
    kept(&server);
}
