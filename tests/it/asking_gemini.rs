//! Ask Gemini.

use jackfield_testservers::gemini::ScriptedGemini;
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use jackfield_testservers::scripted::ScriptedServer;
use serde_json::{Value, json};

use crate::harness::{Gateway, Jackfield, KEY, Kept, jackfield, kept};

fn gemini<const N: usize>(arguments: [&str; N], server: &ScriptedServer) -> Jackfield {
    let base_url = server.base_url();
    jackfield(arguments)
        .configured(format!("providers.gemini.base_url = \"{base_url}\"\n"))
        .env("GEMINI_API_KEY", KEY)
}

#[tokio::test]
async fn hello_is_answered_streamed_or_whole() {
    for turn in [
        ScriptTurn::text("Hello! 你好"),
        ScriptTurn::text("Hello! 你好").whole(),
    ] {
        let server = ScriptedGemini::start([turn]).await;
        let ran = gemini(["ask", "-m", "gemini/gemini-3.8-flash", "Hello"], &server)
            .run()
            .await;
        ran.answers("Hello! 你好\n");
        ran.says("1 round · 0 calls");
        let seen = server.server().requests();
        let path = "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse";
        assert_eq!(seen[0].path, path);
        assert_eq!(seen[0].header("x-goog-api-key"), Some(KEY));
        kept(&server);
    }
}

#[tokio::test]
async fn the_only_key_chooses_the_model_whichever_variable_holds_it() {
    for variable in ["GEMINI_API_KEY", "GOOGLE_API_KEY"] {
        let server = ScriptedGemini::start([ScriptTurn::text("Hello!")]).await;
        let base_url = server.base_url();
        let ran = jackfield(["ask", "Hello"])
            .configured(format!("providers.gemini.base_url = \"{base_url}\"\n"))
            .env("ANTHROPIC_API_KEY", "")
            .env(variable, KEY)
            .run()
            .await;
        ran.answers("Hello!\n");
        kept(&server);
    }
}

/// The signature stands on the first of the parallel calls, and comes back on it; the server refuses anything else.
#[tokio::test]
async fn parallel_calls_go_back_in_their_order_with_the_signature() {
    let thinking = ScriptPart::Thinking {
        signature: "c2VjcmV0".to_owned(),
        text: "Two sums.".to_owned(),
    };
    let calls = ScriptTurn::reply([thinking])
        .and_call("calculator", &json!({ "expression": "2^20000 mod 7" }))
        .and_call("calculator", &json!({ "expression": "1+1" }));
    let server = ScriptedGemini::start([calls, ScriptTurn::text("4 and 2.").when("2")]).await;
    let ask = [
        "ask",
        "--json",
        "-m",
        "gemini/gemini-3.8-flash",
        "calculate",
    ];
    let ran = gemini(ask, &server).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.last_event()["answer"], "4 and 2.");
    let request = &server.requests()[1];
    let parts = |n: usize| request["contents"][n]["parts"].clone();
    let (said, results) = (parts(1), parts(2));
    let said = said.as_array().expect("parts");
    let signatures: Vec<&Value> = said
        .iter()
        .filter(|part| part.get("functionCall").is_some())
        .map(|part| &part["thoughtSignature"])
        .collect();
    assert_eq!(signatures, [&json!("c2VjcmV0"), &Value::Null]);
    let results = results.as_array().expect("parts");
    let responses: Vec<&Value> = results
        .iter()
        .map(|part| &part["functionResponse"]["response"]["output"])
        .collect();
    assert_eq!(responses, ["4", "2"]);
    kept(&server);
}

#[tokio::test]
async fn a_missing_and_a_wrong_key_say_where_to_get_one() {
    let ran = jackfield(["ask", "-m", "gemini/gemini-3.8-flash", "Hello"])
        .run()
        .await;
    ran.stops(3, "GEMINI_API_KEY is not set");
    let refusal = json!({ "error": {
        "code": 400,
        "message": "API key not valid. Please pass a valid API key.",
        "status": "INVALID_ARGUMENT",
        "details": [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com" }],
    } });
    let server = ScriptedGemini::start([ScriptTurn::status(400, &refusal)]).await;
    let ran = gemini(["ask", "-m", "gemini/gemini-3.8-flash", "Hello"], &server)
        .run()
        .await;
    ran.stops(3, "aistudio.google.com/apikey");
    kept(&server);
}

#[tokio::test]
async fn the_models_of_a_key_are_listed_with_their_windows() {
    let server = ScriptedGemini::start([]).await;
    let ran = gemini(["models", "--json", "gemini"], &server).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("gemini-3.8-flash"), "{}", ran.out);
    assert!(ran.out.contains("1048576"), "{}", ran.out);
}

/// The harness looks for `KEY` in all that is written: here it is the client's, too.
#[tokio::test]
async fn a_key_in_the_address_is_in_no_log() {
    let server = ScriptedGemini::start([ScriptTurn::text("Hi.")]).await;
    let base_url = server.base_url();
    let tokens = "[serve.tokens.ann]\nenv = \"ANN\"\n";
    let kept_files = Kept::new();
    let serve = kept_files
        .gateway()
        .configured(format!(
            "model = \"gemini/gemini-3.8-flash\"\nproviders.gemini.base_url = \"{base_url}\"\n{tokens}"
        ))
        .env("GEMINI_API_KEY", KEY)
        .env("ANN", KEY)
        .env("JACKFIELD_LOG", "trace");
    let gateway = Gateway::listening(serve.start()).await;
    let path = format!("/v1beta/models/gemini/gemini-3.8-flash:generateContent?key={KEY}");
    let body = json!({ "contents": [{ "role": "user", "parts": [{ "text": "Hello" }] }] });
    let answer = gateway.post(&path, &body).answered().await.is(200);
    let said = &answer["candidates"][0]["content"]["parts"][0]["text"];
    assert_eq!(said, "Hi.");
    let nothing = format!("/v1beta/nothing?key={KEY}x");
    gateway.post(&nothing, &body).answered().await.is(404);
    gateway.running.terminate();
    let ran = gateway.running.end().await;
    assert_eq!(ran.code, Some(0));
    // Both requests are in the log, without what followed their paths.
    assert!(
        ran.err.contains("gemini-3.8-flash:generateContent"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("/v1beta/nothing"), "{}", ran.err);
    kept(&server);
}

/// The model's name is changed in the address and back in the reply, and a key that the vendor rejects is the gateway's.
#[tokio::test]
async fn a_request_is_passed_through_and_a_rejected_key_stays_the_gateways_affair() {
    let refusal = json!({ "error": {
        "code": 400,
        "message": "API key not valid. Please pass a valid API key.",
        "status": "INVALID_ARGUMENT",
        "details": [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com" }],
    } });
    // The beginning of an error says whose affair it is, and what is behind it is not cut.
    let large = json!({ "error": {
        "code": 400,
        "message": "no ".repeat(70_000),
        "status": "INVALID_ARGUMENT",
    } });
    let turns = [
        ScriptTurn::text("Hi."),
        ScriptTurn::status(400, &refusal),
        ScriptTurn::status(400, &large),
    ];
    let server = ScriptedGemini::start(turns).await;
    let base_url = server.base_url();
    let kept_files = Kept::new();
    let serve = kept_files
        .gateway()
        .configured(format!("providers.gemini.base_url = \"{base_url}\"\n"))
        .env("GEMINI_API_KEY", KEY);
    let gateway = Gateway::listening(serve.start()).await;
    let path = "/v1beta/models/gemini/gemini-3.8-flash:generateContent";
    let body = json!({ "contents": [{ "role": "user", "parts": [{ "text": "Hello" }] }] });
    let ask = || {
        gateway
            .post(path, &body)
            .header("x-jackfield-tools", "none")
    };
    let asked = ask().answered().await;
    assert_eq!(asked.header("x-jackfield-path"), "passthrough");
    let answer = asked.is(200);
    assert_eq!(answer["modelVersion"], "gemini/gemini-3.8-flash");
    let sent = &server.server().requests()[0];
    assert_eq!(sent.path, "/v1beta/models/gemini-3.8-flash:generateContent");
    assert_eq!(*sent.body, *body.to_string().as_bytes());
    let refused = ask().answered().await.is(502);
    let reason = &refused["error"]["details"][0]["reason"];
    assert_eq!(reason, "provider_refuses_key");
    assert_eq!(ask().answered().await.is(400), large);
    kept(&server);
}
