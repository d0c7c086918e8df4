//! What turns of our own pay for their input before a model whose vendor bills by prefix, in shares of the ideal.

use std::time::Duration;

use jackfield_domain::usage::Usage;
use jackfield_prices::Catalogue;
use jackfield_testkit::laws::beginnings::changed_beginning;
use jackfield_testkit::server::Gate;
use jackfield_testservers::bedrock::ScriptedBedrock;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::gemini::ScriptedGemini;
use jackfield_testservers::openai::ScriptedOpenAi;
use jackfield_testservers::prompt_cache::PromptCache;
use jackfield_testservers::script::{Script, ScriptPart, ScriptTurn};
use jackfield_testservers::scripted::ScriptedServer;
use serde_json::{Value, json};

use crate::api;
use crate::harness::{Gateway, Jackfield, KEY, Kept, Size, jackfield, kept};

const GPT: &str = "openai/gpt-6-sol";

/// About 20,000 tokens of tools and system prompt, and an assistant; a turn may have 50 rounds.
fn large(more: &str) -> String {
    let mut text = format!(
        "{more}\n[limits]\nrounds = 50\n[policy.tools]\n\"builtin/*\" = \"allow\"\n[system]\nprompt = \"{}\"\n",
        "Be careful. ".repeat(1_700)
    );
    for n in 0..20 {
        let about = "It tells of one more thing. ".repeat(107);
        text.push_str(&format!(
            "[web.tools.tool_{n}]\ndescription = \"{about}\"\nurl = \"http://127.0.0.1:9/{n}\"\n"
        ));
    }
    text.push_str("[assistants.helper]\nkept = true\n");
    text
}

/// A cache with the list prices of the model that the turns here ask.
fn priced() -> PromptCache {
    let listing = Catalogue::built_in().get("claude", "claude-opus-5-5");
    PromptCache::new(listing.expect("a listed model").price.rates)
}

/// Whole turns of this many rounds each: all but the last call the calculator.
fn rounds(rounds: usize, calls: usize) -> Script {
    Script::by(move |request| {
        if request.nth % rounds == rounds - 1 {
            return Some(ScriptTurn::text("It is done."));
        }
        Some(called(request.nth, calls))
    })
}

/// A reply that calls the calculator.
fn called(nth: usize, calls: usize) -> ScriptTurn {
    let calls = (0..calls).map(|call| ScriptPart::Call {
        arguments: json!({ "expression": format!("{nth}+{call}") }).to_string(),
        id: None,
        name: "calculator".to_owned(),
    });
    ScriptTurn::reply(calls)
}

async fn ask(home: &Kept, claude: &ScriptedClaude, more: &str, text: &str) {
    let asked = home.run(&["ask", "--session", "one", text]);
    let ran = asked.at_with(&claude.base_url(), &large(more)).run().await;
    ran.answers("It is done.\n");
}

#[track_caller]
fn is_cheap(cache: &PromptCache, way: &str) {
    let times = cache.times_the_ideal();
    assert!(times <= 1.15, "{way}: {times:.3}: {:#?}", cache.bills());
}

#[tokio::test]
async fn turns_of_one_five_and_forty_rounds_pay_little_more_than_the_ideal() {
    for (count, calls) in [(1, 1), (5, 1), (40, 1), (4, 30)] {
        let (home, cache) = (Kept::new(), priced());
        let claude = ScriptedClaude::billing(rounds(count, calls), &cache).await;
        ask(&home, &claude, "", "Calculate.").await;
        ask(&home, &claude, "", "Once more.").await;
        kept(&claude);
        assert_eq!(cache.bills().len(), 2 * count);
        assert!(cache.bills()[0].input > 20_000, "{:?}", cache.bills()[0]);
        is_cheap(&cache, &format!("{count} rounds of {calls} calls, twice"));
    }
}

#[tokio::test]
async fn without_points_of_ours_they_pay_for_the_beginning_again_and_again() {
    for (mode, more) in [
        ("client", "settings.cache = \"client\""),
        ("off", "providers.claude.cache = \"off\""),
    ] {
        let (home, cache) = (Kept::new(), priced());
        let claude = ScriptedClaude::billing(rounds(5, 1), &cache).await;
        ask(&home, &claude, more, "Calculate.").await;
        ask(&home, &claude, more, "Once more.").await;
        kept(&claude);
        let times = cache.times_the_ideal();
        eprintln!("{mode}: {times:.3} times the ideal");
        assert!(times > 4.0, "{mode}: {times:.3}");
    }
}

#[tokio::test]
async fn a_chat_pays_little_more_than_the_ideal() {
    let cache = priced();
    let claude = ScriptedClaude::billing(rounds(5, 2), &cache).await;
    let chat = jackfield(["chat"]).at_with(&claude.base_url(), &large(""));
    let mut terminal = chat.at_terminal(Size(40, 80));
    terminal.prompts().await;
    for line in ["Calculate.", "Once more.", "And again."] {
        terminal.line(line).await;
        terminal.shows("\nIt is done.\n").await;
        terminal.prompts().await;
    }
    terminal.types("\u{4}").await;
    assert_eq!(terminal.ends().await, Some(0));
    kept(&claude);
    assert_eq!(cache.bills().len(), 15);
    is_cheap(&cache, "chat");
}

#[tokio::test]
async fn an_assistant_of_an_openai_client_pays_little_more_than_the_ideal() {
    let (home, cache) = (Kept::new(), priced());
    let claude = ScriptedClaude::billing(rounds(5, 2), &cache).await;
    let gateway = gateway(&home, &claude, "").await;
    let mut messages = vec![json!({ "role": "user", "content": "Calculate." })];
    for _ in 0..3 {
        let body = json!({ "model": "helper", "messages": messages });
        let answer = gateway.post("/v1/chat/completions", &body).answered().await;
        let said = answer.is(200)["choices"][0]["message"]["content"].clone();
        assert_eq!(said, "It is done.");
        messages.push(json!({ "role": "assistant", "content": said }));
        messages.push(json!({ "role": "user", "content": "Once more." }));
    }
    gateway.end().await;
    kept(&claude);
    is_cheap(&cache, "an assistant of an OpenAI client");
}

#[tokio::test]
async fn a_session_of_two_gateways_in_turn_pays_little_more_than_the_ideal() {
    let (home, cache) = (Kept::new(), priced());
    let claude = ScriptedClaude::billing(rounds(5, 2), &cache).await;
    let mut session = None;
    for n in 0..4 {
        let gateway = gateway(&home, &claude, "").await;
        if session.is_none() {
            session = Some(api::session(&gateway).await);
        }
        let path = session.as_deref().expect("a session");
        let body = json!({ "message": format!("Calculate {n}.") });
        api::post(&gateway, path, &body).await.is(200);
        gateway.end().await;
    }
    kept(&claude);
    assert_eq!(cache.bills().len(), 20);
    is_cheap(&cache, "two gateways in turn");
}

#[tokio::test]
async fn a_turn_that_goes_on_after_kill_9_reads_what_was_cached() {
    let (home, cache, gate) = (Kept::new(), priced(), Gate::new());
    let stalled = gate.clone();
    let script = Script::by(move |request| {
        Some(match request.nth {
            // Its reply is lost with the process.
            5 => called(5, 2).pause_after(0, &stalled),
            nth if nth < 10 => called(nth, 2),
            _ => ScriptTurn::text("It is done."),
        })
    });
    let claude = ScriptedClaude::billing(script, &cache).await;
    let asked = home.run(&["ask", "--session", "one", "Calculate."]);
    let running = asked.at_with(&claude.base_url(), &large("")).start();
    gate.reached().await;
    running.kill();
    running.end().await;
    gate.open();
    let resumed = home.run(&["sessions", "resume", "one"]);
    let resumed = resumed.at_with(&claude.base_url(), &large("")).run().await;
    assert_eq!(resumed.code, Some(0), "{}", resumed.err);
    kept(&claude);
    assert!(cache.bills().len() >= 11);
    is_cheap(&cache, "a resumed turn");
}

#[tokio::test]
async fn an_hour_is_kept_for_turns_that_wait_for_people() {
    for (ttl, is_read) in [("5m", false), ("1h", true)] {
        let (home, cache) = (Kept::new(), priced());
        let claude = ScriptedClaude::billing(rounds(2, 1), &cache).await;
        let more = format!("settings.cache_ttl = \"{ttl}\"");
        ask(&home, &claude, &more, "Calculate.").await;
        cache.wait(Duration::from_mins(50));
        ask(&home, &claude, &more, "Once more.").await;
        kept(&claude);
        let later = cache.bills()[2];
        assert_eq!(later.cache_read > 0, is_read, "{ttl}: {later:?}");
    }
}

#[tokio::test]
async fn turns_before_bedrock_pay_little_more_than_the_ideal() {
    for (count, calls) in [(1, 1), (5, 1), (40, 1), (4, 30)] {
        let (home, cache) = (Kept::new(), priced());
        let server = ScriptedBedrock::billing(rounds(count, calls), &cache).await;
        for text in ["Calculate.", "Once more."] {
            let asked = home.run(&["ask", "--session", "one", text]);
            let configuration = format!(
                "model = \"bedrock/us.anthropic.claude-opus-5-5\"\n{}\n\
                 [providers.bedrock]\nbase_url = \"{}\"\nregion = \"us-east-1\"\n",
                large(""),
                server.base_url()
            );
            let asked = asked.configured(configuration);
            let asked = asked.env("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-any");
            asked.run().await.answers("It is done.\n");
        }
        kept(&server);
        assert_eq!(cache.bills().len(), 2 * count);
        is_cheap(
            &cache,
            &format!("Bedrock, {count} rounds of {calls} calls, twice"),
        );
    }
}

/// The configuration of an OpenAI provider at this server.
fn at_openai(server: &ScriptedServer, more: &str) -> String {
    let base_url = server.base_url();
    format!("model = \"{GPT}\"\n{more}\n[providers.openai]\nbase_url = \"{base_url}\"\n")
}

/// The keys of the conversation in the requests to an OpenAI server.
fn keys(server: &ScriptedServer) -> Vec<Value> {
    let requests = server.requests().into_iter();
    requests
        .map(|body| body["prompt_cache_key"].clone())
        .collect()
}

#[tokio::test]
async fn a_session_keeps_its_key_when_a_summary_replaces_its_beginning() {
    let almost_full = Usage {
        input: 25_000,
        output: 2,
        ..Usage::default()
    };
    let server = ScriptedOpenAi::start([
        ScriptTurn::text("Yes.").using(almost_full),
        ScriptTurn::text("They said hello.").when("Summarize the conversation above"),
        ScriptTurn::text("No."),
        ScriptTurn::text("Another."),
    ])
    .await;
    let home = Kept::new();
    let window = format!("{}[models.\"{GPT}\"]\ncontext_window = 26000\n", large(""));
    let long = "hello... ".repeat(2_000);
    for (session, text, said) in [
        ("one", &*long, "Yes.\n"),
        ("one", "And now?", "No.\n"),
        ("another", &*long, "Another.\n"),
    ] {
        let asked = home.run(&["ask", "--session", session, text]);
        let asked = asked.configured(at_openai(&server, &window));
        asked.env("OPENAI_API_KEY", KEY).run().await.answers(said);
    }
    kept(&server);
    let [first, summary, later, other] = &keys(&server)[..] else {
        panic!("{:#?}", keys(&server));
    };
    assert_eq!(*summary, Value::Null);
    assert!(
        first.is_string() && first == later && first != other,
        "{first} {later} {other}"
    );
    assert_ne!(
        server.requests()[0]["input"][0],
        server.requests()[2]["input"][0]
    );
}

#[tokio::test]
async fn requests_with_a_whole_conversation_share_a_key_although_each_has_a_session() {
    let server = ScriptedOpenAi::start(rounds(2, 1)).await;
    let home = Kept::new();
    let serve = home.gateway().configured(at_openai(&server, &large("")));
    let serve = serve.env("OPENAI_API_KEY", KEY);
    let gateway = Gateway::listening(serve.start()).await;
    let mut messages = vec![json!({ "role": "user", "content": "Calculate." })];
    for _ in 0..2 {
        let body = json!({ "model": GPT, "messages": messages });
        let answer = gateway.post("/v1/chat/completions", &body).answered().await;
        let said = answer.is(200)["choices"][0]["message"]["content"].clone();
        messages.push(json!({ "role": "assistant", "content": said }));
        messages.push(json!({ "role": "user", "content": "Once more." }));
    }
    gateway.end().await;
    kept(&server);
    let keys = keys(&server);
    assert_eq!(keys.len(), 4);
    assert!(
        keys[0].is_string() && keys.iter().all(|key| *key == keys[0]),
        "{keys:?}"
    );
}

/// Each request is the beginning of the next, also in the next turn, whose process is another one.
#[tokio::test]
async fn requests_of_a_session_begin_alike_before_each_vendor() {
    let cache = priced();
    let script = || rounds(4, 3);
    let claude = ScriptedClaude::billing(script(), &cache).await;
    let bedrock = ScriptedBedrock::billing(script(), &cache).await;
    let (chat, responses) = (
        ScriptedOpenAi::start(script()).await,
        ScriptedOpenAi::start(script()).await,
    );
    let gemini = ScriptedGemini::start(script()).await;
    let vendors: [(&str, &ScriptedServer, &str); 5] = [
        ("claude/claude-opus-5-5", &claude, ""),
        (
            "bedrock/us.anthropic.claude-opus-5-5",
            &bedrock,
            "region = \"us-east-1\"",
        ),
        ("openai/gpt-6-sol", &chat, "api = \"chat\""),
        ("openai/gpt-6-sol", &responses, "api = \"responses\""),
        ("gemini/gemini-3.8-flash", &gemini, ""),
    ];
    for (model, server, more) in vendors {
        let home = Kept::new();
        let (provider, _) = model.split_once('/').expect("a provider");
        for text in ["Calculate.", "Once more."] {
            let asked = home.run(&["ask", "--session", "one", text]);
            let configuration = format!(
                "model = \"{model}\"\n{}\n[providers.{provider}]\nbase_url = \"{}\"\n{more}\n",
                large(""),
                server.base_url()
            );
            let asked = asked.configured(configuration);
            let asked = asked.env("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-any");
            let asked = asked.env("OPENAI_API_KEY", KEY).env("GEMINI_API_KEY", KEY);
            asked.run().await.answers("It is done.\n");
        }
        kept(server);
        let requests = server.requests();
        assert_eq!(requests.len(), 8, "{model}");
        for (before, next) in requests.iter().zip(&requests[1..]) {
            assert_eq!(changed_beginning(before, next), None, "{model} {more}");
        }
    }
    for server in [&chat, &responses] {
        let key = server.requests()[0]["prompt_cache_key"].clone();
        assert!(key.is_string(), "{key}");
    }
}

async fn gateway(home: &Kept, claude: &ScriptedClaude, more: &str) -> Gateway {
    let serve: Jackfield = home.gateway();
    let serve = serve.at_with(&claude.base_url(), &large(more));
    Gateway::listening(serve.start()).await
}
