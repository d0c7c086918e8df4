//! The sign-in of the page: a key for a cookie, which serves the gateway's own page alone.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use jackfield_domain::digest::Digest;
use jackfield_domain::directory::ClientLookup;
use jackfield_engine::ServerTools;
use jackfield_gateway::{ApiKeys, Gateway, LOGIN_LIFETIME};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{FaultyJournal, JournalRequest};
use serde_json::{Value, json};

use super::harness::{gateway, gateway_over, principal, send};

fn with_key() -> Gateway {
    let client = principal("ann", ServerTools::All);
    gateway([], |config| {
        config.api_keys = ApiKeys::new([(Digest::of(b"right"), client)]);
    })
}

async fn state(gateway: &Gateway, headers: &[(&str, &str)]) -> Value {
    let response = send(gateway, Method::GET, LOGIN, headers).await;
    assert_eq!(response.status(), StatusCode::OK);
    let body = response.into_body().collect().await.expect("a body");
    serde_json::from_slice(&body.to_bytes()).expect("JSON")
}

/// The whole header that sets a cookie, and the cookie that a browser then sends.
fn cookie(response: &Response) -> (String, String) {
    let set = response.headers()["set-cookie"].to_str().expect("text");
    let value = set.split(';').next().expect("a cookie");
    (set.to_owned(), value.to_owned())
}

async fn signed_in(gateway: &Gateway) -> String {
    let headers = [("authorization", "Bearer right")];
    let response = send(gateway, Method::POST, LOGIN, &headers).await;
    assert_eq!(response.status(), StatusCode::OK);
    cookie(&response).1
}

#[tokio::test]
async fn a_key_is_exchanged_for_a_cookie_that_no_script_reads() {
    let gateway = with_key();
    let before = state(&gateway, &[]).await;
    assert_eq!(
        (&before["key_needed"], &before["signed_in"]),
        (&json!(true), &json!(false))
    );
    for headers in [&[][..], &[("authorization", "Bearer wrong")]] {
        let refused = send(&gateway, Method::POST, LOGIN, headers).await;
        assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
        assert!(!refused.headers().contains_key("set-cookie"));
    }
    let headers = [
        ("authorization", "Bearer right"),
        ("origin", "https://jackfield.example"),
    ];
    let (set, cookie) = cookie(&send(&gateway, Method::POST, LOGIN, &headers).await);
    for part in [
        "; HttpOnly",
        "; SameSite=Strict",
        "__Host-jackfield_login=",
        "; Path=/;",
        "; Max-Age=43200",
        "; Secure",
    ] {
        assert!(set.contains(part), "{set}");
    }
    assert!(!set.contains("right"), "{set}");
    let after = state(&gateway, &[("cookie", &cookie)]).await;
    assert_eq!(
        (&after["signed_in"], &after["name"]),
        (&json!(true), &json!("ann"))
    );
    let listed = send(
        &gateway,
        Method::GET,
        "/api/v1/sessions",
        &[("cookie", &cookie)],
    )
    .await;
    assert_eq!(listed.status(), StatusCode::OK);
    // The vendors' APIs take keys alone.
    let models = send(&gateway, Method::GET, "/v1/models", &[("cookie", &cookie)]).await;
    assert_eq!(models.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn only_the_own_page_can_act_by_the_cookie() {
    let gateway = with_key();
    let cookie = signed_in(&gateway).await;
    let check = async |method: Method, headers: &[(&str, &str)], expected: StatusCode| {
        let mut all = vec![("cookie", &*cookie), ("host", "here:8350")];
        all.extend(headers);
        let response = send(&gateway, method, "/api/v1/sessions", &all).await;
        assert_eq!(response.status(), expected, "{headers:?}");
    };
    let (created, forbidden, ok) = (StatusCode::CREATED, StatusCode::FORBIDDEN, StatusCode::OK);
    for headers in [
        &[("sec-fetch-site", "cross-site")][..],
        &[("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "none")],
        &[("origin", "http://elsewhere:8350")],
        &[("origin", "http://here:1")],
        &[("origin", "null")],
        &[
            ("origin", "http://here:8350"),
            ("sec-fetch-site", "cross-site"),
        ],
        &[],
    ] {
        check(Method::POST, headers, forbidden).await;
    }
    check(Method::POST, &[("sec-fetch-site", "same-origin")], created).await;
    check(Method::POST, &[("origin", "http://here:8350")], created).await;
    check(Method::GET, &[], ok).await;
    check(Method::GET, &[("sec-fetch-site", "none")], ok).await;
    check(Method::GET, &[("sec-fetch-site", "same-site")], forbidden).await;
    // A key is its own proof.
    let by_key = [
        ("authorization", "Bearer right"),
        ("sec-fetch-site", "cross-site"),
    ];
    check(Method::POST, &by_key, created).await;
}

#[tokio::test]
async fn a_cookie_ends_with_its_time_and_with_a_sign_out() {
    let gateway = with_key();
    let (old, other) = (signed_in(&gateway).await, signed_in(&gateway).await);
    assert_ne!(old, other);
    let headers = [("cookie", &*other), ("sec-fetch-site", "cross-site")];
    let refused = send(&gateway, Method::DELETE, LOGIN, &headers).await;
    assert_eq!(refused.status(), StatusCode::FORBIDDEN);
    let headers = [("cookie", &*other), ("sec-fetch-site", "same-origin")];
    let response = send(&gateway, Method::DELETE, LOGIN, &headers).await;
    assert_eq!(response.status(), StatusCode::NO_CONTENT);
    assert!(cookie(&response).0.contains("Max-Age=0"));
    assert_eq!(
        state(&gateway, &[("cookie", &other)]).await["signed_in"],
        false
    );
    assert_eq!(
        state(&gateway, &[("cookie", &old)]).await["signed_in"],
        true
    );
    let left = state(&gateway, &[("cookie", &old)]).await["remaining_ms"].clone();
    let left = left.as_u64().map(Duration::from_millis);
    assert!(left.is_some_and(|left| left <= LOGIN_LIFETIME && left > LOGIN_LIFETIME / 2));
    let client = ClientLookup::Key(Digest::of(b"right"));
    let over = gateway.engine().log_in(client, Duration::ZERO).await;
    let over = format!("jackfield_login={}", over.expect("a login"));
    assert_eq!(
        state(&gateway, &[("cookie", &over)]).await["signed_in"],
        false
    );
}

#[tokio::test]
async fn a_login_outlives_its_gateway_and_ends_with_its_key() {
    let journal = MemoryJournal::new();
    let next = |key: &'static [u8]| {
        gateway_over(Arc::new(journal.another_process()), [], |config| {
            let client = principal("ann", ServerTools::All);
            config.api_keys = ApiKeys::new([(Digest::of(key), client)]);
        })
    };
    let cookie = signed_in(&next(b"right")).await;
    for (key, expected) in [(&b"right"[..], true), (b"another", false)] {
        let now = state(&next(key), &[("cookie", &cookie)]).await;
        assert_eq!(now["signed_in"], expected);
    }
}

#[tokio::test]
async fn a_journal_that_fails_signs_nobody_out_and_a_browser_forgets_its_cookie() {
    let journal = Arc::new(FaultyJournal::new(Arc::new(MemoryJournal::new())));
    let gateway = gateway_over(Arc::clone(&journal) as _, [], |config| {
        let client = principal("ann", ServerTools::All);
        config.api_keys = ApiKeys::new([(Digest::of(b"right"), client)]);
    });
    let cookie = signed_in(&gateway).await;
    let page = [("cookie", &*cookie), ("sec-fetch-site", "same-origin")];
    let key = [("authorization", "Bearer right")];
    for (method, path, headers) in [
        (Method::GET, LOGIN, &page[..]),
        (Method::GET, "/api/v1/sessions", &page),
        (Method::POST, LOGIN, &key),
        (Method::DELETE, LOGIN, &page),
    ] {
        journal.fail_next(JournalRequest::Logins, 1);
        let response = send(&gateway, method.clone(), path, headers).await;
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        let set = response.headers().get("set-cookie");
        let forgets =
            set.is_some_and(|set| set.to_str().is_ok_and(|set| set.contains("Max-Age=0")));
        assert_eq!(forgets, method == Method::DELETE, "{path}");
    }
    let headers = [("cookie", &*cookie)];
    assert_eq!(state(&gateway, &headers).await["signed_in"], true);
    // A value that no login has had costs nothing.
    journal.fail_next(JournalRequest::Logins, 1);
    let headers = [("cookie", "jackfield_login=made-up"), page[1]];
    let out = send(&gateway, Method::DELETE, LOGIN, &headers).await;
    assert_eq!(out.status(), StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn without_keys_the_page_is_open_at_once() {
    let gateway = gateway([], |_| {});
    let now = state(&gateway, &[]).await;
    assert_eq!(
        (&now["key_needed"], &now["signed_in"]),
        (&json!(false), &json!(true))
    );
    let response = send(&gateway, Method::POST, LOGIN, &[]).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert!(!response.headers().contains_key("set-cookie"));
}

const LOGIN: &str = "/api/v1/login";
