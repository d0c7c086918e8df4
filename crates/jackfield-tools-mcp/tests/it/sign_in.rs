//! Signing in at servers over HTTP.
#![expect(clippy::unwrap_used, reason = "a test ends where its world fails")]

use std::any::Any;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use bytes::Bytes;
use jackfield_domain::failure::Disposition;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::Toolbox as _;
use jackfield_provider_kit::guarded::GuardedSettings;
use jackfield_provider_kit::transport::{Transport, TransportSettings};
use jackfield_tools_mcp::{
    AuthSettings, Authorization, Login, McpToolbox, RedirectListener, ServerFault, TokenStore,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::{Scripted, run, script, soon};

mod parts;
mod people;

/// A server with a sign-in, and what our processes keep of it.
struct SignInWorld {
    server: Scripted,
    store: Arc<SharedStore>,
}

/// A process: a toolbox with its sign-in.
struct Process {
    authorization: Arc<Authorization>,
    toolbox: Arc<McpToolbox>,
}

impl SignInWorld {
    fn new(sign_in: Value) -> Self {
        let mut script = script("greet", &json!([{ "text": "hello" }]));
        script["http"] = json!({ "answers": "json", "sign_in": sign_in });
        Self::of(script)
    }

    fn of(script: Value) -> Self {
        Self {
            server: Scripted::over_http_with(script, |_, settings| {
                // A probe may take the renewal of a token along.
                settings.probe = Duration::from_secs(60);
            }),
            store: Arc::default(),
        }
    }

    fn url(&self) -> String {
        self.server.http.as_ref().unwrap().url()
    }

    fn process(&self) -> Process {
        self.process_of(true, GuardedSettings::default())
    }

    /// A process, whose server the administrator has configured or another person.
    fn process_of(&self, is_configured: bool, network: GuardedSettings) -> Process {
        self.process_at(&self.url(), is_configured, network)
    }

    fn process_at(&self, url: &str, is_configured: bool, network: GuardedSettings) -> Process {
        let settings = AuthSettings {
            advice: "sign in with `login`".to_owned(),
            client_id: None,
            client_metadata_url: None,
            client_secret: None,
            is_configured,
            network,
            scope: None,
            url: url.to_owned(),
        };
        let store = Arc::clone(&self.store) as Arc<dyn TokenStore>;
        let authorization = Arc::new(Authorization::new(settings, store).unwrap());
        let toolbox = self.server.another().authorized(Arc::clone(&authorization));
        Process {
            authorization,
            toolbox: Arc::new(toolbox),
        }
    }

    /// A process with a sign-in.
    async fn signed_in(&self) -> Process {
        let process = self.process();
        process.sign_in().await.unwrap();
        process
    }

    fn kept(&self) -> Option<String> {
        self.store.text.lock().unwrap().clone()
    }

    fn end_access(&self) {
        self.server.http.as_ref().unwrap().end_access();
    }
}

impl Process {
    /// Signs in, with this test as the browser.
    async fn sign_in(&self) -> Result<(), ServerFault> {
        let listener = RedirectListener::bind(None, false).await.unwrap();
        let login = soon(self.authorization.begin(listener.uri())).await?;
        let next = visit(login.url()).await.unwrap();
        let (redirect, _) = tokio::join!(listener.redirect(&login), visit(&next));
        soon(self.authorization.finish(login, &redirect.unwrap())).await
    }

    /// The failure of a call, which has to be proved not to have been sent.
    async fn failure(&self, tool: &str) -> String {
        let ended = soon(self.toolbox.call(
            &run(tool, json!({})),
            &CallContext::default(),
            &mut (),
        ))
        .await;
        let failure = ended.unwrap_err().failure;
        assert_eq!(failure.disposition, Disposition::NotSent, "{failure:?}");
        failure.message
    }

    async fn call(&self, tool: &str) {
        let ended = soon(self.toolbox.call(
            &run(tool, json!({})),
            &CallContext::default(),
            &mut (),
        ))
        .await;
        ended.unwrap();
    }
}

/// Opens an address as a browser does, and returns where it is sent.
async fn visit(url: &str) -> Option<String> {
    let browser = Transport::new(TransportSettings::default()).unwrap();
    let request = http::Request::get(url).body(Bytes::new()).unwrap();
    let answer = soon(browser.send(request)).await.unwrap();
    answer.header("location").map(str::to_owned)
}

/// Keeps a sign-in for several processes, which this test is all of.
#[derive(Default)]
struct SharedStore {
    lock: Arc<tokio::sync::Mutex<()>>,
    text: Mutex<Option<String>>,
}

#[async_trait]
impl TokenStore for SharedStore {
    async fn lock(&self) -> io::Result<Box<dyn Any + Send>> {
        Ok(Box::new(Arc::clone(&self.lock).lock_owned().await))
    }

    async fn load(&self) -> io::Result<Option<String>> {
        Ok(self.text.lock().unwrap().clone())
    }

    async fn store(&self, text: &str) -> io::Result<()> {
        assert!(self.lock.try_lock().is_err(), "written without the lock");
        *self.text.lock().unwrap() = Some(text.to_owned());
        Ok(())
    }

    async fn remove(&self) -> io::Result<bool> {
        Ok(self.text.lock().unwrap().take().is_some())
    }
}

#[tokio::test]
async fn a_server_that_wants_a_sign_in_says_what_to_do() {
    let world = SignInWorld::new(json!({}));
    let process = world.process();
    let fault = soon(process.toolbox.start()).await.unwrap_err();
    let host = world.url();
    let host = host.trim_start_matches("http://").trim_end_matches("/mcp");
    assert_eq!(
        fault,
        ServerFault {
            advice: "sign in with `login`, or give it a key in its `headers`".to_owned(),
            reason: format!("{host} wants a sign-in"),
        }
    );
    assert!(process.authorization.needs_person());
    assert!(process.failure("greet").await.contains("wants a sign-in"));
    assert!(world.server.effects().is_empty());
}

#[tokio::test]
async fn a_server_that_refuses_a_forgotten_session_is_not_taken_for_one_that_wants_a_sign_in() {
    let refusal = json!({
        "status": 401, "type": "text/plain", "body": "Unauthorized: Session not found",
    });
    let mut script = script("greet", &json!([{ "text": "hello" }]));
    script["http"] = json!({ "answers": "json", "faults": { "tools/call": [refusal] } });
    script["era"] = json!("legacy");
    let world = SignInWorld::of(script);
    let process = world.process();
    process.call("greet").await;
    assert!(!process.authorization.needs_person());
    assert_eq!(world.server.count("a session is begun"), 2);
    assert_eq!(world.server.effects().len(), 1);
}

#[tokio::test]
async fn a_person_signs_in_once_and_every_process_uses_it() {
    let world = SignInWorld::new(json!({}));
    let process = world.signed_in().await;
    process.call("greet").await;
    world.process().call("greet").await;
    assert_eq!(world.server.count("registers"), 1);
    assert_eq!(world.server.count("asks for `read`"), 1);
    assert_eq!(world.server.count("gives "), 1);
    assert!(!process.authorization.needs_person());
    world.server.kept();
}

#[tokio::test]
async fn a_process_notices_that_a_person_has_signed_in_elsewhere() {
    let world = SignInWorld::new(json!({}));
    let waiting = world.process();
    waiting.failure("greet").await;
    world.process().sign_in().await.unwrap();
    waiting.call("greet").await;
}

#[tokio::test]
async fn an_ended_token_is_renewed_once_and_each_refused_call_is_made_once() {
    let world = SignInWorld::new(json!({}));
    let process = world.signed_in().await;
    process.call("greet").await;
    world.end_access();
    let mut calls = JoinSet::new();
    for _ in 0..8 {
        let toolbox = Arc::clone(&process.toolbox);
        calls.spawn(async move {
            let ended =
                soon(toolbox.call(&run("greet", json!({})), &CallContext::default(), &mut ()))
                    .await;
            ended.map_err(|error| error.failure)
        });
    }
    for ended in calls.join_all().await {
        ended.unwrap();
    }
    assert_eq!(world.server.count("gives refresh_token"), 1);
    assert_eq!(world.server.effects().len(), 9);
    world.server.kept();
}

#[tokio::test]
async fn a_token_that_another_process_has_renewed_is_not_renewed_again() {
    let world = SignInWorld::new(json!({}));
    let processes = [world.signed_in().await, world.process()];
    for process in &processes {
        process.call("greet").await;
    }
    world.end_access();
    for process in &processes {
        process.call("greet").await;
    }
    assert_eq!(world.server.count("gives refresh_token"), 1);
    assert_eq!(world.server.effects().len(), 4);
}

#[tokio::test]
async fn a_call_in_flight_is_not_made_again_when_the_token_is_renewed() {
    // The first call is held until there is another one.
    let mut script = script("work", &json!([{ "hold": 2 }]));
    script["http"] = json!({ "answers": "json", "sign_in": {} });
    let world = SignInWorld::of(script);
    let process = world.signed_in().await;
    let toolbox = Arc::clone(&process.toolbox);
    let working = tokio::spawn(async move {
        let ended = soon(toolbox.call(
            &run("work", json!({ "nth": 1 })),
            &CallContext::default(),
            &mut (),
        ))
        .await;
        ended.map_err(|error| error.failure)
    });
    world.server.until("call work", 1).await;
    world.end_access();
    process.call("work").await;
    working.await.unwrap().unwrap();
    assert_eq!(world.server.count("gives refresh_token"), 1);
    assert_eq!(world.server.effects().len(), 2);
    world.server.kept();
}

#[tokio::test]
async fn a_sign_in_that_has_ended_needs_a_person_and_no_message_has_a_token() {
    for sign_in in [json!({}), json!({ "refreshes": false })] {
        let world = SignInWorld::new(sign_in);
        let process = world.signed_in().await;
        process.call("greet").await;
        world.server.http.as_ref().unwrap().end_sign_ins();
        let message = process.failure("greet").await;
        assert!(message.contains("the sign-in at"), "{message}");
        assert!(message.contains("has ended"), "{message}");
        assert!(message.contains("sign in with `login` again"), "{message}");
        for token in ["access-", "refresh-"] {
            assert!(!message.contains(token), "{message}");
        }
        assert!(process.authorization.needs_person());
        process.sign_in().await.unwrap();
        process.call("greet").await;
        assert_eq!(world.server.effects().len(), 2);
    }
}

#[tokio::test]
async fn a_refusal_that_repeats_the_refresh_token_is_shown_without_it() {
    // With the second one, the message is cut in the middle of the token.
    for padding in [0, 277] {
        let words = format!("{}{{refresh_token}} is over", "x".repeat(padding));
        let body = json!({ "error": "invalid_grant", "error_description": words }).to_string();
        let world = SignInWorld::new(json!({ "token_fault": { "status": 400, "body": body } }));
        let process = world.signed_in().await;
        process.call("greet").await;
        world.end_access();
        let message = process.failure("greet").await;
        assert!(message.contains("has ended: invalid_grant ("), "{message}");
        assert!(message.contains("[redacte"), "{message}");
        assert!(!message.contains("refresh-"), "{message}");
    }
}

#[tokio::test]
async fn a_token_that_is_always_refused_ends_the_call_after_one_renewal() {
    let mut script = script("greet", &json!([{ "text": "hello" }]));
    let refused = json!({ "status": 401 });
    script["http"] = json!({
        "answers": "json",
        "sign_in": {},
        "faults": { "tools/call": [refused, refused, refused] },
    });
    let world = SignInWorld::of(script);
    let process = world.signed_in().await;
    let message = process.failure("greet").await;
    assert!(message.contains("does not accept the sign-in"), "{message}");
    assert_eq!(world.server.count("gives refresh_token"), 1);
    assert!(world.server.effects().is_empty());
}

#[tokio::test]
async fn a_call_that_needs_more_says_so_and_the_next_sign_in_asks_for_it() {
    let world = SignInWorld::new(json!({ "scopes": { "greet": "write" } }));
    let process = world.signed_in().await;
    let message = process.failure("greet").await;
    assert!(
        message.contains("does not cover this, which needs `write`; sign in with `login` again, which asks for it"),
        "{message}"
    );
    process.sign_in().await.unwrap();
    process.call("greet").await;
    assert_eq!(world.server.count("asks for `read write`"), 1);
    assert_eq!(world.server.effects().len(), 1);
}

#[tokio::test]
async fn a_token_that_ends_at_once_is_renewed_before_it_is_used() {
    let world = SignInWorld::new(json!({ "expires_in": 0 }));
    let process = world.signed_in().await;
    process.call("greet").await;
    assert!(world.server.count("gives refresh_token") >= 1);
    assert_eq!(world.server.effects().len(), 1);
    world.server.kept();
}

#[tokio::test]
async fn a_renewal_that_fails_for_now_keeps_the_sign_in() {
    let fault = json!({ "status": 503, "body": "busy" });
    let world = SignInWorld::new(json!({ "token_fault": fault }));
    let process = world.signed_in().await;
    process.call("greet").await;
    let kept = world.kept();
    world.end_access();
    let message = process.failure("greet").await;
    assert!(message.contains("503"), "{message}");
    assert!(message.contains("try again later"), "{message}");
    assert!(!process.authorization.needs_person());
    assert_eq!(world.kept(), kept);
}

#[tokio::test]
async fn a_request_that_is_cancelled_during_a_renewal_does_not_lose_the_new_tokens() {
    let world = SignInWorld::new(json!({ "holds_renewals": true }));
    let process = world.signed_in().await;
    process.call("greet").await;
    let before = world.kept();
    world.end_access();
    let toolbox = Arc::clone(&process.toolbox);
    let cancelled = tokio::spawn(async move {
        let _unseen = toolbox
            .call(&run("greet", json!({})), &CallContext::default(), &mut ())
            .await;
    });
    world.server.until("gives refresh_token", 1).await;
    cancelled.abort();
    assert!(cancelled.await.unwrap_err().is_cancelled());
    // This aborts every request of the connection.
    soon(process.toolbox.stop()).await;
    world.server.http.as_ref().unwrap().release_renewals();
    soon(async {
        while world.kept() == before {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    world.process().call("greet").await;
    assert_eq!(world.server.count("gives refresh_token"), 1);
    assert_eq!(world.server.effects().len(), 2);
    world.server.kept();
}

#[tokio::test]
async fn a_token_that_cannot_be_renewed_is_used_until_its_end() {
    let fault = json!({ "status": 503, "body": "busy" });
    let world = SignInWorld::new(json!({ "expires_in": 3600, "token_fault": fault }));
    world.signed_in().await;
    let ends_in = |seconds: i64| {
        let text = world.kept().unwrap();
        let mut kept: Value = serde_json::from_str(&text).unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let ends = i64::try_from(now.as_secs()).unwrap() + seconds;
        kept["tokens"]["expires_at"] = json!(ends);
        kept["tokens"]["issued_at"] = json!(ends - 3600);
        *world.store.text.lock().unwrap() = Some(kept.to_string());
    };
    // It is about to end, so each request tries to renew it.
    ends_in(50);
    world.process().call("greet").await;
    ends_in(-1);
    let message = world.process().failure("greet").await;
    assert!(message.contains("503"), "{message}");
    assert_eq!(world.server.effects().len(), 1);
    world.server.kept();
}

#[tokio::test]
async fn signing_out_forgets_and_revokes() {
    let world = SignInWorld::new(json!({}));
    let process = world.signed_in().await;
    process.call("greet").await;
    let signed_out = soon(process.authorization.sign_out()).await;
    assert_eq!(signed_out, Ok(Some(Ok(()))));
    assert_eq!(world.server.count("revokes"), 1);
    assert_eq!(world.kept(), None);
    assert_eq!(soon(process.authorization.sign_out()).await, Ok(None));
    assert!(process.failure("greet").await.contains("wants a sign-in"));
}

/// What is wrong with the answer to a sign-in.
async fn wrong_answer(sign_in: Value, change: impl Fn(&Login, String) -> String) -> String {
    let world = SignInWorld::new(sign_in);
    let process = world.process();
    let authorization = &process.authorization;
    let login = soon(authorization.begin("http://127.0.0.1:1/callback")).await;
    let login = login.unwrap();
    let redirect = visit(login.url()).await.unwrap();
    let redirect = change(&login, redirect);
    let fault = soon(authorization.finish(login, &redirect)).await;
    assert_eq!(world.server.count("gives "), 0);
    assert_eq!(world.kept(), None);
    fault.unwrap_err().reason
}

#[tokio::test]
async fn an_answer_that_is_not_to_this_sign_in_is_not_used() {
    let whole = |_: &Login, redirect: String| redirect;
    assert_eq!(
        wrong_answer(json!({ "iss": "https://other.example" }), whole).await,
        "the answer to the sign-in is from another server, `https://other.example`, and was not used"
    );
    assert_eq!(
        wrong_answer(json!({ "iss": null }), whole).await,
        "the answer to the sign-in does not say which server it is from, and was not used"
    );
    let other = |_: &Login, redirect: String| redirect.replace("state=", "state=x");
    assert_eq!(
        wrong_answer(json!({}), other).await,
        "the answer to the sign-in belongs to another one"
    );
    let refused = |_: &Login, redirect: String| {
        redirect.replace(
            "code=",
            "error=access_denied&error_description=no%0Anever&c=",
        )
    };
    assert_eq!(
        wrong_answer(json!({}), refused).await,
        "the sign-in was refused: access_denied (nonever)"
    );
    let without = |_: &Login, redirect: String| redirect.replace("code=", "c=");
    assert_eq!(
        wrong_answer(json!({}), without).await,
        "the answer to the sign-in has no code"
    );
    let used = |_: &Login, redirect: String| redirect.replace("code=code", "code=other");
    let reason = wrong_answer(json!({}), used).await;
    assert!(
        reason.ends_with("gives no token: invalid_grant (it is scripted)"),
        "{reason}"
    );
}

#[tokio::test]
async fn metadata_that_leads_astray_is_refused_with_the_reason() {
    let cases = [
        (
            json!({ "resource": { "resource": "https://evil.example/mcp" } }),
            "its metadata is about another server, `https://evil.example/mcp`",
        ),
        (
            json!({ "resource": { "resource": null } }),
            "its metadata names no resource",
        ),
        (
            json!({ "resource": { "authorization_servers": [] } }),
            "its metadata names no authorization server",
        ),
        (
            json!({ "resource": { "authorization_servers": ["http://10.0.0.1"] } }),
            "`http://10.0.0.1` as its authorization server, which is not encrypted",
        ),
        (
            json!({ "resource": { "authorization_servers": ["https://10.0.0.1"] } }),
            "10.0.0.1 is private (RFC 1918), and only public addresses are reached",
        ),
        (
            json!({ "resource": { "authorization_servers": ["https://169.254.169.254/latest"] } }),
            "and only public addresses are reached",
        ),
        (
            json!({ "resource": { "authorization_servers": ["file:///etc/passwd"] } }),
            "which is no address of the web",
        ),
        (
            json!({ "issuer": { "issuer": "https://other.example" } }),
            "the metadata of its authorization server is that of another one",
        ),
        (
            json!({ "issuer": { "code_challenge_methods_supported": null } }),
            "does not say that it checks PKCE with S256",
        ),
        (
            json!({ "issuer": { "token_endpoint": "http://192.0.2.1/token" } }),
            "`http://192.0.2.1/token` as its token_endpoint, which is not encrypted",
        ),
        (
            json!({ "issuer": { "authorization_endpoint": null } }),
            "its authorization server names no `authorization_endpoint`",
        ),
        (
            json!({ "issuer": { "registration_endpoint": null } }),
            "its authorization server registers no clients by itself",
        ),
    ];
    for (sign_in, words) in cases {
        let world = SignInWorld::new(sign_in.clone());
        let fault = world.process().sign_in().await.unwrap_err();
        assert!(fault.reason.contains(words), "{sign_in}: {fault}");
        assert!(!fault.advice.is_empty());
    }
}

#[tokio::test]
async fn a_request_that_is_no_answer_does_not_end_the_wait_for_one() {
    let world = SignInWorld::new(json!({}));
    let process = world.process();
    let listener = RedirectListener::bind(None, false).await.unwrap();
    let login = soon(process.authorization.begin(listener.uri())).await;
    let login = login.unwrap();
    let base = listener.uri().to_owned();
    let next = visit(login.url()).await.unwrap();
    let browser = async {
        let strange = [
            base.replace("/callback", "/favicon.ico"),
            format!("{base}?code=x&state=y"),
        ];
        for strange in strange {
            visit(&strange).await;
        }
        visit(&next).await
    };
    let (redirect, _) = tokio::join!(listener.redirect(&login), browser);
    assert_eq!(redirect.unwrap(), next);
    // Its port is wanted again, which is taken as long as it is open.
    let port = |uri: &str| uri.split(':').nth(2).map(str::to_owned);
    let other = RedirectListener::bind(Some(&base), false).await.unwrap();
    assert_ne!(port(other.uri()), port(&base));
    assert!(RedirectListener::bind(Some(&base), true).await.is_err());
    let elsewhere = RedirectListener::bind(Some("http://192.0.2.1:80/"), true).await;
    assert!(elsewhere.is_err());
}

#[tokio::test]
async fn a_redirect_is_waited_for_at_the_address_that_it_names() {
    // Its port is taken at that address alone. Where there is no IPv6, the address cannot be listened at, either.
    let taken = std::net::TcpListener::bind("[::1]:0");
    let port = taken
        .as_ref()
        .map(|taken| taken.local_addr().unwrap().port());
    let wanted = format!("http://[::1]:{}/callback", port.unwrap_or(8765));
    let bound = RedirectListener::bind(Some(&wanted), true).await;
    assert!(bound.is_err(), "{bound:?}");
    drop(taken);
}
