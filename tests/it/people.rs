//! Users and keys of the journal: made by commands, and accepted by gateways that run on the same file.

use jackfield_testkit::server::{Response, TestServer};
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Gateway, Kept, McpServer, kept, tool};

async fn said(gateway: &Gateway, secret: &str) -> u16 {
    let body = json!({
        "model": "claude/claude-opus-4-8",
        "messages": [{ "role": "user", "content": "hi" }],
    });
    let asking = gateway.post("/v1/chat/completions", &body);
    let bearer = format!("Bearer {secret}");
    asking
        .header("authorization", &bearer)
        .answered()
        .await
        .status
}

#[tokio::test]
async fn a_person_is_told_of_a_first_key_that_nobody_can_administer_with() {
    let files = Kept::new();
    files.done(&["users", "add", "ann"]).await;
    let warning = "`jackfield keys create ann --admin` makes one";
    let plain = files.done(&["keys", "create", "ann"]).await;
    assert!(plain.err.contains(warning), "{}", plain.err);
    let admin = files.done(&["keys", "create", "ann", "--admin"]).await;
    assert!(!admin.err.contains("warning"), "{}", admin.err);
    let after = files.done(&["keys", "create", "ann"]).await;
    assert!(!after.err.contains("warning"), "{}", after.err);
    // Nor is a key an administrator's that is not accepted any more.
    files.done(&["users", "disable", "ann"]).await;
    files.done(&["users", "add", "ben"]).await;
    let lost = files.done(&["keys", "create", "ben"]).await;
    assert!(lost.err.contains("keys create ben --admin"), "{}", lost.err);
    // The configuration may name one.
    let token = "[serve.tokens.ops]\nenv = \"OPS\"\nadmin = true\n";
    let made = files.run(&["keys", "create", "ben"]).configured(token);
    let made = made.run().await;
    assert_eq!(made.code, Some(0), "{}", made.err);
    assert!(!made.err.contains("warning"), "{}", made.err);
}

#[tokio::test]
async fn an_empty_list_says_so_and_how_to_fill_it() {
    let files = Kept::new();
    for (command, said) in [
        (
            "users",
            "there are no users: `jackfield users add NAME` adds one\n",
        ),
        (
            "teams",
            "there are no teams: `jackfield teams add NAME` adds one\n",
        ),
        (
            "keys",
            "there are no keys: `jackfield keys create USER` makes one\n",
        ),
    ] {
        assert_eq!(files.done(&[command, "list"]).await.out, said);
        let document = files.done(&[command, "list", "--json"]).await.out;
        assert_eq!(document, "[]\n", "{command}");
    }
}

#[tokio::test]
async fn a_limit_that_is_not_named_stays() {
    let files = Kept::new();
    files.done(&["teams", "add", "red"]).await;
    files.done(&["users", "add", "ann", "--team", "red"]).await;
    let (id, _) = files.key(&["ann", "--parallel", "4"]).await;
    for (kind, name) in [("keys", &*id), ("users", "ann"), ("teams", "red")] {
        let limit = async |more: &[&str]| {
            let limited = files.done(&[&[kind, "limit", name], more].concat()).await;
            let (_, now) = limited.err.rsplit_once(" has ").expect("what holds now");
            now.trim_end().to_owned()
        };
        limit(&["--requests-per-minute", "60", "--parallel", "4"]).await;
        let all = "60 requests per minute, 4 at once, 2.5 USD per day";
        assert_eq!(limit(&["--cost-per-day", "2.50"]).await, all);
        let rest = "60 requests per minute, 2.5 USD per day";
        assert_eq!(limit(&["--parallel", "none"]).await, rest);
        let more = [
            "--tokens-per-minute",
            "9",
            "--tokens-per-day",
            "20",
            "--tokens-per-month",
        ];
        limit(&[&more[..], &["30", "--cost-per-month", "40"]].concat()).await;
        let kept = limit(&["--requests-per-minute", "none"]).await;
        for part in [
            "2.5 USD per day",
            "40 USD per month",
            "9 tokens",
            "20 tokens",
            "30 tokens",
        ] {
            assert!(kept.contains(part), "{kept}");
        }
        assert_eq!(limit(&["--none"]).await, "no limits");
        let none = files.run(&[kind, "limit", name]).run().await;
        none.fails(2, "no limit is named", "`--none` all of them");
        let both = ["--none", "--parallel", "2"];
        let both = files
            .run(&[&[kind, "limit", name][..], &both].concat())
            .run()
            .await;
        assert_eq!(both.code, Some(2), "{both:?}");
        let zero = files
            .run(&[kind, "limit", name, "--parallel", "0"])
            .run()
            .await;
        assert_eq!(zero.code, Some(2), "{zero:?}");
    }
}

#[tokio::test]
async fn keys_of_the_command_line_open_a_gateway_that_runs_until_they_are_revoked() {
    let files = Kept::new();
    let claude = ScriptedClaude::start([ScriptTurn::text("Hi.").again()]).await;
    // With no key it is open to every program on this machine.
    let running = files.gateway().at(&claude.base_url()).start();
    let gateway = Gateway::listening(running).await;
    assert_eq!(said(&gateway, "anything").await, 200);

    files.done(&["teams", "add", "research"]).await;
    files
        .done(&["users", "add", "ann", "--team", "research"])
        .await;
    let made = files
        .done(&["keys", "create", "ann", "--label", "laptop"])
        .await;
    let first = made.out.trim().to_owned();
    assert!(
        first.starts_with("jk_") && !made.err.contains(&first),
        "{made:?}"
    );
    let (id, second) = files.key(&["ann", "--expires", "90d"]).await;
    // The gateway was not restarted.
    assert_eq!(said(&gateway, "anything").await, 401);
    assert_eq!(said(&gateway, &first).await, 200);
    assert_eq!(said(&gateway, &second).await, 200);

    let rotated = files.done(&["keys", "rotate", &id]).await;
    let third = rotated.out.trim();
    for secret in [&*second, third] {
        assert_eq!(said(&gateway, secret).await, 200);
    }
    files
        .done(&["keys", "rotate", &id, "--overlap", "0s"])
        .await;
    assert_eq!(said(&gateway, third).await, 401);
    files.done(&["keys", "revoke", &id]).await;
    assert_eq!(said(&gateway, &first).await, 200);
    files.done(&["users", "disable", "ann"]).await;
    assert_eq!(said(&gateway, &first).await, 401);
    files.done(&["users", "enable", "ann"]).await;
    assert_eq!(said(&gateway, &first).await, 200);
    gateway.end().await;

    // The next gateway finds them.
    let running = files.gateway().at(&claude.base_url()).start();
    let gateway = Gateway::listening(running).await;
    assert_eq!(said(&gateway, "anything").await, 401);
    assert_eq!(said(&gateway, &first).await, 200);
    gateway.end().await;

    let listed = files.done(&["keys", "list"]).await;
    let revoked = listed.out.lines().find(|line| line.starts_with(&id));
    assert!(
        revoked.expect("the key").contains("revoked"),
        "{}",
        listed.out
    );
    let log = files.done(&["users", "log"]).await;
    let actions = ["created team", "created user", "created key", "created key"];
    let actions = actions
        .into_iter()
        .chain(["rotated key", "rotated key", "revoked key"]);
    let actions = actions.chain(["disabled user", "enabled user"]);
    let actions: Vec<&str> = actions.collect();
    assert_eq!(log.out.lines().count(), actions.len(), "{}", log.out);
    for (line, action) in log.out.lines().zip(actions) {
        assert!(
            line.contains(action) && line.contains("by the command line"),
            "{line}"
        );
    }
    // Nothing but the answers of `keys create` and `keys rotate` has a secret, and the file has none.
    let bytes = std::fs::read(files.file()).expect("the journal");
    for secret in [&*first, &*second, third] {
        let secret = secret.trim_start_matches("jk_");
        for shown in [&log.out, &listed.out] {
            assert!(!shown.contains(secret), "{shown}");
        }
        let mut windows = bytes.windows(secret.len());
        assert!(!windows.any(|window| window == secret.as_bytes()));
    }
}

#[tokio::test]
async fn the_api_manages_users_for_an_admin_alone_and_people_never_meet() {
    let files = Kept::new();
    let claude = ScriptedClaude::start([ScriptTurn::text("Hi.").again()]).await;
    files.done(&["users", "add", "root"]).await;
    let (_, root) = files.key(&["root", "--admin"]).await;
    let running = files.gateway().at(&claude.base_url()).start();
    let gateway = Gateway::listening(running).await;
    let ask = async |secret: &str, verb: &str, path: &str, body: Value| {
        let bearer = format!("Bearer {secret}");
        let asking = gateway.raw(verb, path).header("authorization", &bearer);
        asking.body(body.to_string()).answered().await
    };
    let mut people = Vec::new();
    for name in ["ann", "ben"] {
        ask(&root, "POST", "/api/v1/users", json!({ "name": name }))
            .await
            .is(201);
        let key = ask(&root, "POST", "/api/v1/keys", json!({ "user": name }))
            .await
            .is(201);
        let secret = key["secret"].as_str().expect("text").to_owned();
        let session = ask(&secret, "POST", "/api/v1/sessions", json!({}))
            .await
            .is(201);
        let session = format!("/api/v1/sessions/{}", session["id"].as_str().expect("text"));
        let turn = json!({ "message": "hi" });
        ask(&secret, "POST", &format!("{session}/turns"), turn)
            .await
            .is(200);
        people.push((
            secret,
            session,
            format!("/api/v1/keys/{}", key["id"].as_str().expect("text")),
        ));
    }
    for ((secret, ..), (_, session, key)) in people.iter().zip(people.iter().rev()) {
        for path in [session, &format!("{session}/export"), key] {
            ask(secret, "GET", path, json!({})).await.is(404);
        }
        for path in ["/api/v1/users", "/api/v1/changes"] {
            ask(secret, "GET", path, json!({})).await.is(403);
        }
        let usage = ask(secret, "GET", "/api/v1/usage", json!({})).await.is(200);
        assert_eq!(usage["total"]["turns"], 1);
    }
    let usage = ask(&root, "GET", "/api/v1/usage", json!({})).await.is(200);
    assert_eq!(usage["total"]["turns"], 2);
    gateway.end().await;
    let log = files.done(&["users", "log", "--json"]).await;
    let log: Value = serde_json::from_str(&log.out).expect("JSON");
    let by = log[3]["by"].as_str().expect("text");
    assert!(
        by.starts_with("root/k") && by.ends_with(", by the API"),
        "{by}"
    );
}

#[tokio::test]
async fn a_programs_key_gets_no_call_allowed_and_another_key_of_its_user_does() {
    let files = Kept::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text("It is 42."),
    ])
    .await;
    files.done(&["users", "add", "ann"]).await;
    let (_, person) = files.key(&["ann"]).await;
    let (id, program) = files.key(&["ann", "--no-approvals"]).await;
    let server = McpServer::new(json!({
        "tools": [tool("book")],
        "calls": { "book": [
            { "elicit": { "message": "Really?", "requestedSchema": { "type": "object", "properties": {} } } },
            { "reply": { "content": [{ "type": "text", "text": "asked" }], "isError": false } },
        ] },
    }));
    let asks = "[policy.tools]\n\"*\" = \"ask\"\n\"box/*\" = \"allow\"\n";
    let run = files.gateway().at_with(&claude.base_url(), asks);
    let run = run.servers([("box", server.trusted())]);
    let gateway = Gateway::listening(run.start()).await;
    let none = json!({});
    let session = gateway
        .api(&program, "POST", "/api/v1/sessions", none.clone())
        .await
        .is(201);
    let turns = format!(
        "/api/v1/sessions/{}/turns",
        session["id"].as_str().expect("text")
    );
    let message = json!({ "message": "What is 6*7?" });
    let turn = gateway.api(&program, "POST", &turns, message).await.is(200);
    assert_eq!(turn["status"], "waiting", "{turn}");
    let wait = turn["waits"][0]["id"].as_str().expect("text");
    let allow = format!("/api/v1/approvals/{wait}/allow");
    let deny = format!("/api/v1/approvals/{wait}/deny");
    for (method, path) in [
        ("GET", "/api/v1/approvals"),
        ("GET", "/api/v1/approvals/events"),
        ("POST", &*allow),
        ("POST", &*deny),
    ] {
        let refused = gateway.api(&program, method, path, none.clone()).await;
        let said = refused.is(403).to_string();
        assert!(said.contains("`--no-approvals`"), "{said}");
    }
    // So the page leaves them out.
    let login = gateway.api(&program, "GET", "/api/v1/login", none.clone());
    let login = login.await;
    assert_eq!(login.is(200)["no_approvals"], true);
    let listed = gateway
        .api(&person, "GET", "/api/v1/approvals", none.clone())
        .await;
    assert_eq!(listed.is(200)["approvals"][0]["id"], wait);
    gateway
        .api(&person, "POST", &allow, none.clone())
        .await
        .is(200);
    let events = turns.replace("/turns", "/events?until=rest");
    gateway.api(&program, "GET", &events, none).await;
    kept(&claude);
    // What a server asks does not reach the program either.
    for (key, is_asked) in [(&program, false), (&person, true)] {
        let call = json!({ "name": "box__book", "arguments": {}, "_meta": { "elicitation": { "form": {} } } });
        let bearer = format!("Bearer {key}");
        let asking = gateway.modern(1, "tools/call", call);
        let answer = asking.header("authorization", &bearer).answered().await;
        let said = answer.body;
        assert_eq!(said.contains("Really?"), is_asked, "{said}");
    }
    let listed = files.done(&["keys", "list"]).await.out;
    let line = listed.lines().find(|line| line.starts_with(&id));
    assert!(
        line.is_some_and(|line| line.contains("no approvals")),
        "{listed}"
    );
    let both = ["keys", "create", "ann", "--admin", "--no-approvals"];
    assert_eq!(files.run(&both).run().await.code, Some(2));
    let (_, admin) = files.key(&["ann", "--admin"]).await;
    let both = json!({ "user": "ann", "admin": true, "no_approvals": true });
    let refused = gateway.api(&admin, "POST", "/api/v1/keys", both).await;
    assert_eq!(refused.is(400)["pointer"], "/no_approvals");
    gateway.end().await;
}

#[tokio::test]
async fn a_command_says_what_is_wrong_and_what_to_do() {
    let files = Kept::new();
    for (arguments, cause, help) in [
        (
            &["keys", "create", "ann"][..],
            "there is no user `ann`",
            "jackfield users add",
        ),
        (
            &["keys", "revoke", "k0"],
            "there is no key `k0`",
            "jackfield keys list",
        ),
        (
            &["users", "add", "ann", "--team", "x"],
            "there is no team `x`",
            "jackfield teams add",
        ),
    ] {
        let ran = files.run(arguments).run().await;
        ran.fails(2, cause, help);
    }
    files
        .run(&["users", "add", "Ann"])
        .run()
        .await
        .stops(2, "`Ann` cannot be a name");
    files.done(&["users", "add", "ann"]).await;
    files
        .run(&["users", "add", "ann"])
        .run()
        .await
        .stops(2, "there is a user `ann` already");
    let past = ["keys", "create", "ann", "--expires", "2001-01-01"];
    files
        .run(&past)
        .run()
        .await
        .fails(2, "has passed", "a day to come");
}

#[tokio::test]
async fn a_gateway_for_other_machines_needs_a_key_of_either_kind() {
    let files = Kept::new();
    let serve = || {
        files
            .run(&["serve", "--bind", "0.0.0.0:0"])
            .at("http://127.0.0.1:9")
    };
    serve()
        .run()
        .await
        .fails(3, "no token is configured", "openssl rand");
    files.done(&["users", "add", "ann"]).await;
    files.done(&["keys", "create", "ann"]).await;
    let gateway = Gateway::listening(serve().start()).await;
    gateway.end().await;
}

#[tokio::test]
async fn two_gateways_share_the_limits_of_a_key_and_say_what_is_left() {
    let files = Kept::new();
    let claude = ScriptedClaude::start([ScriptTurn::text("Hi.").again()]).await;
    files.done(&["users", "add", "ann"]).await;
    let limits = ["ann", "--requests-per-minute", "3"];
    let (id, secret) = files.key(&limits).await;
    let mut gateways = Vec::new();
    for _ in 0..2 {
        let running = files.gateway().at(&claude.base_url()).start();
        gateways.push(Gateway::listening(running).await);
    }
    let ask = async |gateway: &Gateway, path: &str| {
        let body = json!({
            "model": "claude/claude-opus-4-8",
            "max_tokens": 100,
            "messages": [{ "role": "user", "content": "hi" }],
        });
        let asking = gateway.post(path, &body).header("x-api-key", &secret);
        asking.answered().await
    };
    let openai = "/v1/chat/completions";
    let headers = |answer: &crate::harness::Answer, names: [&str; 2]| {
        names.map(|name| answer.headers.get(name).cloned().unwrap_or_default())
    };
    for (nth, left) in [(0, "2"), (1, "1")] {
        let answer = ask(&gateways[nth], openai).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let names = [
            "x-ratelimit-limit-requests",
            "x-ratelimit-remaining-requests",
        ];
        assert_eq!(headers(&answer, names), ["3", left]);
    }
    let answer = ask(&gateways[0], "/v1/messages").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let names = [
        "anthropic-ratelimit-requests-limit",
        "anthropic-ratelimit-requests-remaining",
    ];
    assert_eq!(headers(&answer, names), ["3", "0"]);
    for gateway in &gateways {
        let refused = ask(gateway, openai).await;
        assert_eq!(refused.status, 429, "{refused:?}");
        let names = [
            "x-ratelimit-remaining-requests",
            "x-ratelimit-limit-requests",
        ];
        assert_eq!(headers(&refused, names), ["0", "3"]);
        assert!(refused.headers.contains_key("retry-after"), "{refused:?}");
    }
    // The limit is taken away while they run.
    let limited = files.done(&["keys", "limit", &id, "--none"]).await;
    let told = format!(
        "before: the key {id} had 3 requests per minute\nnow: the key {id} has no limits\n"
    );
    assert_eq!(limited.err, told);
    for gateway in gateways {
        assert_eq!(ask(&gateway, openai).await.status, 200);
        gateway.end().await;
    }
}

#[tokio::test]
async fn a_key_of_some_models_reaches_no_other_by_further_endpoints() {
    let files = Kept::new();
    let openai = TestServer::start().await;
    files.done(&["users", "add", "ann"]).await;
    let (_, secret) = files.key(&["ann", "--model", "openai/small*"]).await;
    let config = format!(
        "[providers.openai]\nbase_url = \"{}/v1\"\n",
        openai.base_url()
    );
    let gateway = files.gateway().configured(config);
    let gateway = gateway.env("OPENAI_API_KEY", "sk-of-openai-0123").start();
    let gateway = Gateway::listening(gateway).await;
    let ask = async |model: &str| {
        let body = json!({ "model": model, "input": "hi" });
        let asking = gateway.post("/v1/embeddings", &body);
        asking.header("x-api-key", &secret).answered().await.status
    };
    assert_eq!(ask("openai/large").await, 403);
    openai.answer(Response::json(200, "{}"));
    assert_eq!(ask("openai/small-1").await, 200);
    assert_eq!(openai.requests().len(), 1);
    gateway.end().await;
}
