//! The sign-in of the page at an identity provider: whom it lets in, and until when.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use axum::response::Response;
use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use jackfield_domain::digest::Digest;
use jackfield_domain::directory::EntryName;
use jackfield_engine::{KeyOptions, ServerTools, UserUpdate};
use jackfield_gateway::{ApiKeys, Gateway, SignInConfig};
use jackfield_ports::identity_provider::{
    BegunSignIn, Identity, IdentityError, IdentityProvider, SignInSecrets,
};
use jackfield_ports::journal::Journal;
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{FaultyJournal, JournalRequest};
use serde_json::Value;

use super::harness::{gateway, gateway_over, principal, send};

/// A provider that names the person of the answer, `state=…&name=…`. Each sign-in ends well once.
#[derive(Debug, Default)]
struct FakeProvider {
    begun: Mutex<HashMap<String, String>>,
    is_down: bool,
}

#[async_trait]
impl IdentityProvider for FakeProvider {
    async fn begin(&self, redirect: &str) -> Result<BegunSignIn, IdentityError> {
        if self.is_down {
            return Err(IdentityError::Unavailable("it is down".to_owned()));
        }
        let mut begun = self.begun.lock().expect("no panic");
        let state = format!("state-{}", begun.len());
        begun.insert(state.clone(), redirect.to_owned());
        let secrets = SignInSecrets {
            nonce: format!("nonce-of-{state}"),
            verifier: format!("verifier-of-{state}"),
            state,
        };
        Ok(BegunSignIn {
            url: format!("https://id.example/authorize?state={}", secrets.state),
            secrets,
        })
    }

    async fn finish(
        &self,
        secrets: &SignInSecrets,
        redirect: &str,
        answer: &str,
    ) -> Result<Identity, IdentityError> {
        let state = &*secrets.state;
        assert_eq!(secrets.nonce, format!("nonce-of-{state}"));
        assert_eq!(secrets.verifier, format!("verifier-of-{state}"));
        let prefix = format!("state={state}&name=");
        let Some(name) = answer.strip_prefix(&prefix) else {
            return Err(IdentityError::Invalid("it is another sign-in's".to_owned()));
        };
        // The code of an answer can be exchanged once.
        match self.begun.lock().expect("no panic").remove(state) {
            Some(began) => assert_eq!(began, redirect),
            None => return Err(IdentityError::Refused("it was used".to_owned())),
        }
        match name {
            "" => Err(IdentityError::Nameless("nobody".to_owned())),
            "-" => Err(IdentityError::Refused("no".to_owned())),
            name => Ok(Identity {
                name: name.to_owned(),
                subject: "7".to_owned(),
            }),
        }
    }
}

/// A gateway with the users Ann, who is an admin, and Ben.
async fn with_users(change: impl FnOnce(&mut SignInConfig)) -> Gateway {
    let public = Some("https://gateway.example".into());
    with_users_at(public, change).await
}

/// The same, with this address for browsers.
async fn with_users_at(
    public_url: Option<Arc<str>>,
    change: impl FnOnce(&mut SignInConfig),
) -> Gateway {
    let gateway = gateway_at(Arc::new(MemoryJournal::new()), public_url, change);
    add_users(&gateway).await;
    gateway
}

/// A gateway over this journal, with this address for browsers.
fn gateway_at(
    journal: Arc<dyn Journal>,
    public_url: Option<Arc<str>>,
    change: impl FnOnce(&mut SignInConfig),
) -> Gateway {
    let mut sign_in = SignInConfig {
        admins: vec![name("ann")],
        label: "Example".into(),
        models: Some(vec!["claude/*".into()]),
        provider: Arc::new(FakeProvider::default()),
        tools: ServerTools::None,
    };
    change(&mut sign_in);
    gateway_over(journal, [], |config| {
        let key = principal("key", ServerTools::All);
        config.api_keys = ApiKeys::new([(Digest::of(b"right"), key)]);
        config.public_url = public_url;
        config.sign_in = Some(sign_in);
    })
}

async fn add_users(gateway: &Gateway) {
    let directory = gateway.engine().directory().expect("users");
    for user in ["ann", "ben"] {
        let by = "test".into();
        let added = directory.add_user(&by, name(user), None);
        added.await.expect("a user");
    }
}

fn name(text: &str) -> EntryName {
    EntryName::parse(text).expect("a name")
}

async fn get(gateway: &Gateway, path: &str, headers: &[(&str, &str)]) -> Response {
    send(gateway, Method::GET, path, headers).await
}

async fn json(response: Response) -> Value {
    let body = response.into_body().collect().await.expect("a body");
    serde_json::from_slice(&body.to_bytes()).expect("JSON")
}

fn location(response: &Response) -> &str {
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
    assert_eq!(response.headers()["cache-control"], "no-store");
    response.headers()["location"].to_str().expect("text")
}

/// The cookies that a response sets, as whole headers.
fn cookies(response: &Response) -> Vec<String> {
    let set = response.headers().get_all("set-cookie").into_iter();
    set.map(|set| set.to_str().expect("text").to_owned())
        .collect()
}

/// What a browser sends of a cookie.
fn sent(set: &str) -> String {
    set.split(';').next().expect("a cookie").to_owned()
}

/// Begins a sign-in; the state, and the cookie of the browser.
async fn begun(gateway: &Gateway) -> (String, String) {
    let response = get(gateway, BEGIN, &[("host", "127.0.0.1:8350")]).await;
    let (_, state) = location(&response).split_once("state=").expect("a state");
    (state.to_owned(), sent(&cookies(&response)[0]))
}

/// The answer of the provider that this person signed in.
async fn came_back(gateway: &Gateway, cookie: &str, state: &str, name: &str) -> Response {
    let path = format!("{CALLBACK}?state={state}&name={name}");
    let headers = [("cookie", cookie), ("sec-fetch-site", "cross-site")];
    get(gateway, &path, &headers).await
}

/// Signs a person in; the cookie of the login.
async fn signed_in(gateway: &Gateway, name: &str) -> String {
    let (state, cookie) = begun(gateway).await;
    let response = came_back(gateway, &cookie, &state, name).await;
    assert_eq!(location(&response), "/");
    sent(&cookies(&response)[1])
}

async fn login(gateway: &Gateway, cookie: &str) -> Value {
    json(get(gateway, LOGIN, &[("cookie", cookie)]).await).await
}

#[tokio::test]
async fn a_person_is_signed_in_as_the_user_of_its_name() {
    let gateway = with_users(|_| {}).await;
    let before = login(&gateway, "").await;
    assert_eq!(
        (&before["signed_in"], &before["oidc"]),
        (&false.into(), &"Example".into())
    );
    let response = get(&gateway, BEGIN, &[]).await;
    let set = cookies(&response).remove(0);
    for part in [
        "__Host-jackfield_sign_in=",
        "; Path=/;",
        "; HttpOnly",
        "; SameSite=Lax",
        "; Secure",
        "; Max-Age=600",
    ] {
        assert!(set.contains(part), "{set}");
    }
    let (state, cookie) = begun(&gateway).await;
    let response = came_back(&gateway, &cookie, &state, "ben").await;
    let set = cookies(&response);
    for part in [
        "; Path=/;",
        "; HttpOnly",
        "; SameSite=Strict",
        "; Secure",
        "; Max-Age=43200",
    ] {
        assert!(set[1].contains(part), "{set:?}");
    }
    assert!(set[0].contains("Max-Age=0"), "{set:?}");
    let ben = sent(&set[1]);
    let now = login(&gateway, &ben).await;
    assert_eq!(
        (&now["name"], &now["admin"]),
        (&"ben/sign-in".into(), &false.into())
    );
    assert_eq!(now["user"], "ben");
    let ann = signed_in(&gateway, "ann").await;
    assert_eq!(login(&gateway, &ann).await["admin"], true);
    // What they may do is theirs.
    let users = get(&gateway, "/api/v1/users", &[("cookie", &ann)]).await;
    assert_eq!(users.status(), StatusCode::OK);
    let users = get(&gateway, "/api/v1/users", &[("cookie", &ben)]).await;
    assert_eq!(users.status(), StatusCode::FORBIDDEN);
    let headers = [("cookie", &*ben), ("sec-fetch-site", "same-origin")];
    let made = send(&gateway, Method::POST, "/api/v1/sessions", &headers).await;
    assert_eq!(made.status(), StatusCode::CREATED);
    // They are those of its keys, and of no one else.
    let directory = gateway.engine().directory().expect("users");
    let by = "test".into();
    let user = name("ben");
    let key = directory.create_key(&by, &user, KeyOptions::default());
    let (_, secret) = key.await.expect("a key");
    for (token, sessions) in [(secret.reveal(), 1), ("right", 0)] {
        let token = format!("Bearer {token}");
        let headers = [("authorization", &*token)];
        let listed = json(get(&gateway, "/api/v1/sessions", &headers).await).await;
        let listed = listed["sessions"].as_array().expect("sessions").len();
        assert_eq!(listed, sessions);
    }
}

#[tokio::test]
async fn a_sign_in_is_of_one_browser_and_ends_once() {
    let gateway = with_users(|_| {}).await;
    let (state, cookie) = begun(&gateway).await;
    let (other_state, other_cookie) = begun(&gateway).await;
    // In a browser that did not begin it, an attacker's link is no sign-in.
    let response = came_back(&gateway, "", &state, "ann").await;
    assert_eq!(location(&response), "/#/sign-in/expired");
    for (cookie, state, name) in [
        (&other_cookie, &state, "ann"),
        (&cookie, &other_state, "ann"),
    ] {
        let response = came_back(&gateway, cookie, state, name).await;
        assert_eq!(location(&response), "/#/sign-in/invalid");
        assert!(cookies(&response)[0].contains("Max-Age=0"));
        assert_eq!(cookies(&response).len(), 1, "no login");
    }
    let response = came_back(&gateway, &cookie, &state, "ann").await;
    assert_eq!(location(&response), "/");
    let response = came_back(&gateway, &cookie, &state, "ann").await;
    assert_eq!(location(&response), "/#/sign-in/refused");
    assert_eq!(cookies(&response).len(), 1, "no login");
    for cookie in [
        "jackfield_sign_in=",
        "jackfield_sign_in=a.b",
        "jackfield_sign_in=a.b.%2e",
    ] {
        let response = came_back(&gateway, cookie, &state, "ann").await;
        assert_eq!(location(&response), "/#/sign-in/expired", "{cookie}");
    }
}

#[tokio::test]
async fn another_gateway_over_the_same_journal_finishes_a_sign_in_and_knows_the_login() {
    let provider = Arc::new(FakeProvider::default());
    let journal = MemoryJournal::new();
    let [one, other] = [journal.another_process(), journal].map(|journal| {
        let journal = Arc::new(journal);
        let provider = Arc::clone(&provider);
        let public = Some("https://gateway.example".into());
        gateway_at(journal, public, |config| config.provider = provider)
    });
    add_users(&one).await;
    let (state, cookie) = begun(&one).await;
    let response = came_back(&other, &cookie, &state, "ben").await;
    assert_eq!(location(&response), "/");
    let ben = sent(&cookies(&response)[1]);
    for gateway in [&one, &other] {
        assert_eq!(login(gateway, &ben).await["user"], "ben");
    }
    let headers = [("cookie", &*ben), ("sec-fetch-site", "same-origin")];
    let out = send(&one, Method::DELETE, LOGIN, &headers).await;
    assert_eq!(out.status(), StatusCode::NO_CONTENT);
    for gateway in [&one, &other] {
        assert_eq!(login(gateway, &ben).await["signed_in"], false);
    }
}

#[tokio::test]
async fn a_login_that_cannot_be_stored_is_told_by_the_page() {
    let journal = Arc::new(FaultyJournal::new(Arc::new(MemoryJournal::new())));
    let public = Some("https://gateway.example".into());
    let gateway = gateway_at(Arc::clone(&journal) as _, public, |_| {});
    add_users(&gateway).await;
    let (state, cookie) = begun(&gateway).await;
    journal.fail_next(JournalRequest::Logins, 1);
    let response = came_back(&gateway, &cookie, &state, "ann").await;
    assert_eq!(location(&response), "/#/sign-in/unavailable");
    let set = cookies(&response);
    assert!(set.len() == 1 && set[0].contains("Max-Age=0"), "{set:?}");
}

#[tokio::test]
async fn whom_the_gateway_does_not_know_is_not_signed_in() {
    let gateway = with_users(|_| {}).await;
    disable(&gateway, "ben").await;
    for (name, code) in [
        ("cem", "unknown_user"),
        ("Ann", "unknown_user"),
        ("user:ann", "unknown_user"),
        ("ann/../ben", "unknown_user"),
        ("ben", "disabled"),
        ("", "nameless"),
        ("-", "refused"),
    ] {
        let (state, cookie) = begun(&gateway).await;
        let response = came_back(&gateway, &cookie, &state, name).await;
        assert_eq!(location(&response), format!("/#/sign-in/{code}"), "{name}");
        assert_eq!(cookies(&response).len(), 1, "no login: {name}");
    }
}

#[tokio::test]
async fn a_login_ends_with_its_user_and_with_a_sign_out() {
    let gateway = with_users(|_| {}).await;
    let (ann, ben) = (
        signed_in(&gateway, "ann").await,
        signed_in(&gateway, "ben").await,
    );
    disable(&gateway, "ben").await;
    assert_eq!(login(&gateway, &ben).await["signed_in"], false);
    let listed = get(&gateway, "/api/v1/sessions", &[("cookie", &ben)]).await;
    assert_eq!(listed.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(login(&gateway, &ann).await["signed_in"], true);
    let headers = [("cookie", &*ann), ("sec-fetch-site", "same-origin")];
    let out = send(&gateway, Method::DELETE, LOGIN, &headers).await;
    assert_eq!(out.status(), StatusCode::NO_CONTENT);
    assert_eq!(login(&gateway, &ann).await["signed_in"], false);
}

#[tokio::test]
async fn the_provider_sends_browsers_back_to_this_machine_or_to_the_public_address() {
    let gateway = with_users_at(None, |_| {}).await;
    for (host, expected) in [
        ("127.0.0.1:8350", true),
        ("localhost:1", true),
        ("localhost", true),
        ("[::1]:8350", true),
        ("[::1]", true),
        ("evil.example:8350", false),
        ("localhost.evil.example", false),
        ("127.0.0.1:8350@evil.example", false),
        ("", false),
    ] {
        let response = get(&gateway, BEGIN, &[("host", host)]).await;
        let goes = location(&response).starts_with("https://id.example/");
        assert_eq!(goes, expected, "{host}");
    }
    let response = get(&gateway, BEGIN, &[]).await;
    assert_eq!(location(&response), "/#/sign-in/wrong_address");
    // Without TLS, the browser would not send a cookie for TLS alone.
    let response = get(&gateway, BEGIN, &[("host", "localhost:1")]).await;
    assert!(!cookies(&response)[0].contains("Secure"));
}

#[tokio::test]
async fn keys_go_on_working_while_the_provider_is_down() {
    let gateway = with_users(|config| {
        config.provider = Arc::new(FakeProvider {
            is_down: true,
            ..FakeProvider::default()
        });
    })
    .await;
    let response = get(&gateway, BEGIN, &[]).await;
    assert_eq!(location(&response), "/#/sign-in/unavailable");
    let by_key = send(
        &gateway,
        Method::POST,
        LOGIN,
        &[("authorization", "Bearer right")],
    )
    .await;
    assert_eq!(by_key.status(), StatusCode::OK);
}

#[tokio::test]
async fn without_a_provider_there_is_nothing_to_sign_in_at() {
    let gateway = gateway([], |_| {});
    for path in [BEGIN, CALLBACK] {
        let response = get(&gateway, path, &[]).await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{path}");
    }
    assert_eq!(login(&gateway, "").await["oidc"], Value::Null);
}

async fn disable(gateway: &Gateway, user: &str) {
    let directory = gateway.engine().directory().expect("users");
    let update = UserUpdate {
        is_disabled: Some(true),
        ..UserUpdate::default()
    };
    let by = "test".into();
    let user = name(user);
    let updated = directory.update_user(&by, &user, &update);
    updated.await.expect("a user");
}

const LOGIN: &str = "/api/v1/login";
const BEGIN: &str = "/api/v1/login/oidc";
const CALLBACK: &str = "/api/v1/login/oidc/callback";
