//! Pages, where no token is required: those of strangers, those of other programs on this machine, and the gateway's own.

use jackfield_domain::digest::Digest;
use jackfield_engine::ServerTools;
use jackfield_gateway::ApiKeys;
use tokio::io::AsyncWriteExt as _;

use super::connections::{Server, answer};
use super::harness::principal;

/// The head and the body of the answer to a request with these lines.
async fn ask(server: &Server, line: &str, headers: &[&str]) -> String {
    let body = if line.starts_with("POST") { "{}" } else { "" };
    let headers: String = headers
        .iter()
        .map(|header| format!("{header}\r\n"))
        .collect();
    let length = body.len();
    let request = format!("{line} HTTP/1.1\r\n{headers}content-length: {length}\r\n\r\n{body}");
    let mut stream = server.connect().await;
    let written = stream.write_all(request.as_bytes()).await;
    written.expect("a request");
    answer(&mut stream).await
}

fn status(answer: &str) -> u16 {
    let status = answer
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    status.expect("a status")
}

/// An open gateway, whose page needs its link.
async fn server() -> Server {
    Server::start(|config| config.page_token = Some(Digest::of(b"token"))).await
}

const HOST: &str = "host: localhost:8350";
const OWN: &str = "origin: http://localhost:8350";
const JSON: &str = "content-type: application/json";
const COOKIE: &str = "cookie: a=b; jackfield_page=token";

#[tokio::test]
async fn programs_that_are_no_browsers_need_nothing() {
    let server = server().await;
    for headers in [
        &[HOST, JSON][..],
        &[HOST],
        // As Node.js sends a request.
        &[HOST, JSON, "sec-fetch-mode: cors"],
        &["host: 127.0.0.1:1", JSON],
        &["host: [::1]", JSON],
    ] {
        let answered = ask(&server, "POST /api/v1/sessions", headers).await;
        assert_eq!(status(&answered), 201, "{headers:?}: {answered}");
    }
    // As curl sends a body without a type. It is read, and names no model.
    let form = "content-type: application/x-www-form-urlencoded";
    let answered = ask(&server, "POST /v1/chat/completions", &[HOST, form]).await;
    assert_eq!(status(&answered), 400, "{answered}");
    assert!(answered.contains("model"), "{answered}");
    server.end().await;
}

#[tokio::test]
async fn a_page_is_answered_from_its_own_origin_with_json_and_the_cookie_of_its_link() {
    let server = server().await;
    let site = |site: &str| format!("sec-fetch-site: {site}");
    let (own_site, same_site) = (site("same-origin"), site("same-site"));
    let (cross_site, no_site) = (site("cross-site"), site("none"));
    for (headers, expected) in [
        (&[HOST, JSON, OWN, COOKIE][..], 201),
        (&[HOST, JSON, &own_site, COOKIE], 201),
        (&[HOST, JSON, OWN, &own_site, COOKIE], 201),
        // Another program's page on this machine.
        (&[HOST, JSON, "origin: http://localhost:3000", COOKIE], 403),
        (&[HOST, JSON, "origin: http://localhost", COOKIE], 403),
        (&[HOST, JSON, "origin: http://127.0.0.1:8350", COOKIE], 403),
        (&[HOST, JSON, &same_site, COOKIE], 403),
        (&[HOST, JSON, OWN, &same_site, COOKIE], 403),
        // A stranger's.
        (&[HOST, JSON, &cross_site, COOKIE], 403),
        (&[HOST, JSON, &no_site, COOKIE], 403),
        (&[HOST, JSON, "origin: null", COOKIE], 403),
        (
            &[HOST, JSON, OWN, "origin: http://evil.example", COOKIE],
            403,
        ),
        (
            &[HOST, JSON, OWN, "origin: http://evil.example", COOKIE],
            403,
        ),
        (&[HOST, JSON, "origin: app://localhost:8350", COOKIE], 403),
        (
            &[
                "host: evil.example",
                JSON,
                "origin: http://evil.example",
                COOKIE,
            ],
            403,
        ),
        // What a page can send without asking.
        (&[HOST, OWN, COOKIE, "content-type: text/plain"], 415),
        (
            &[HOST, OWN, COOKIE, "content-type: Text/Plain;charset=UTF-8"],
            415,
        ),
        (&[HOST, "content-type: text/plain"], 415),
        (
            &[
                HOST,
                OWN,
                COOKIE,
                "content-type: application/x-www-form-urlencoded",
            ],
            415,
        ),
        (
            &[
                HOST,
                OWN,
                COOKIE,
                "content-type: multipart/form-data; boundary=x",
            ],
            415,
        ),
        // Without the link.
        (&[HOST, JSON, OWN], 401),
        (&[HOST, JSON, &own_site], 401),
        (&[HOST, JSON, OWN, "cookie: jackfield_page=another"], 401),
    ] {
        let answered = ask(&server, "POST /api/v1/sessions", headers).await;
        assert_eq!(status(&answered), expected, "{headers:?}: {answered}");
    }
    // A person who types an address.
    for (headers, expected) in [
        (&[HOST, &no_site, COOKIE][..], 200),
        (&[HOST, &no_site], 401),
    ] {
        let answered = ask(&server, "GET /api/v1/sessions", headers).await;
        assert_eq!(status(&answered), expected, "{headers:?}: {answered}");
    }
    // All doors, not the page's alone.
    for line in [
        "POST /v1/messages",
        "POST /mcp",
        "GET /v1/models",
        "GET /metrics",
    ] {
        let answered = ask(&server, line, &[HOST, JSON, OWN]).await;
        assert_eq!(status(&answered), 401, "{line}: {answered}");
        let answered = ask(&server, line, &[HOST, JSON, &cross_site]).await;
        assert_eq!(status(&answered), 403, "{line}: {answered}");
    }
    server.end().await;
}

#[tokio::test]
async fn files_come_without_the_link_and_the_token_is_traded_for_a_cookie() {
    let server = server().await;
    let cross_site = "sec-fetch-site: cross-site";
    for path in [
        "/",
        "/ui/main.js",
        "/api/v1/docs",
        "/api/v1/openapi.json",
        "/healthz",
    ] {
        let answered = ask(&server, &format!("GET {path}"), &[HOST, cross_site]).await;
        assert_eq!(status(&answered), 200, "{path}");
    }
    let login = |server, headers: Vec<&'static str>| async move {
        ask(server, "GET /api/v1/login", &headers).await
    };
    let before = login(&server, vec![HOST, OWN]).await;
    assert!(before.contains(r#""signed_in":false"#), "{before}");
    assert!(before.contains(r#""link_needed":true"#), "{before}");
    for (token, expected) in [("another", 401), ("token", 200)] {
        let token = format!("authorization: Bearer {token}");
        let answered = ask(&server, "POST /api/v1/login", &[HOST, JSON, OWN, &token]).await;
        assert_eq!(status(&answered), expected, "{answered}");
        let set = "set-cookie: jackfield_page=token; Path=/api/v1; Max-Age=2592000; HttpOnly; SameSite=Strict\r\n";
        assert_eq!(answered.contains(set), expected == 200, "{answered}");
    }
    let foreign = [
        "authorization: Bearer token",
        "origin: http://localhost:3000",
    ];
    let answered = ask(
        &server,
        "POST /api/v1/login",
        &[HOST, JSON, foreign[0], foreign[1]],
    )
    .await;
    assert_eq!(status(&answered), 403, "{answered}");
    let after = login(&server, vec![HOST, OWN, COOKIE]).await;
    assert!(after.contains(r#""signed_in":true"#), "{after}");
    assert!(after.contains(r#""link_needed":false"#), "{after}");
    server.end().await;
}

#[tokio::test]
async fn a_request_with_two_hosts_is_refused_everywhere() {
    let keyed = Server::start(|config| {
        let client = principal("ann", ServerTools::All);
        config.api_keys = ApiKeys::new([(Digest::of(b"right"), client)]);
    });
    for server in [server().await, keyed.await] {
        for (line, headers) in [
            ("GET /v1/models", &[HOST, HOST][..]),
            ("GET /v1/models", &[HOST, "host: evil.example"]),
            ("GET http://evil.example/v1/models", &[HOST]),
        ] {
            let answered = ask(&server, line, headers).await;
            assert_eq!(status(&answered), 400, "{line} {headers:?}: {answered}");
        }
        server.end().await;
    }
}

#[tokio::test]
async fn every_answer_says_what_browsers_may_do_with_it() {
    let tls = Server::start(|config| {
        config.page_token = Some(Digest::of(b"token"));
        config.public_url = Some("https://jackfield.example".into());
        let client = principal("ann", ServerTools::All);
        config.api_keys = ApiKeys::new([(Digest::of(b"right"), client)]);
    });
    let tls = tls.await;
    for line in [
        "GET /v1/models",
        "GET /api/v1/sessions",
        "GET /nothing",
        "GET /healthz",
    ] {
        let answered = ask(&tls, line, &["host: jackfield.example"]).await;
        for header in [
            "x-content-type-options: nosniff",
            "cache-control: no-store",
            "strict-transport-security: max-age=15552000",
        ] {
            assert!(answered.contains(header), "{line}: {answered}");
        }
        // Other programs of this machine may speak without TLS.
        let answered = ask(&tls, line, &["host: localhost"]).await;
        assert!(!answered.contains("strict-transport"), "{line}: {answered}");
    }
    let key = ["authorization: Bearer right", "host: jackfield.example"];
    let answered = ask(&tls, "POST /api/v1/login", &key).await;
    let set = "set-cookie: __Host-jackfield_login=";
    assert!(answered.contains(set), "{answered}");
    assert!(answered.contains("; Path=/; "), "{answered}");
    assert!(
        answered.contains("; SameSite=Strict; Secure\r\n"),
        "{answered}"
    );
    let value = answered
        .split(set)
        .nth(1)
        .and_then(|rest| rest.split(';').next());
    let value = value.expect("a value");
    for (name, expected) in [("__Host-jackfield_login", true), ("jackfield_login", false)] {
        let cookie = format!("cookie: {name}={value}");
        let answered = ask(&tls, "GET /api/v1/login", &[key[1], &cookie]).await;
        let said = format!(r#""signed_in":{expected}"#);
        assert!(answered.contains(&said), "{name}: {answered}");
    }
    tls.end().await;
}
