//! The sign-in of the scripted MCP server.
#![expect(clippy::unwrap_used, reason = "a test ends where its world fails")]

use jackfield_testservers::mcp::http::ScriptedMcpHttp;
use serde_json::json;

use crate::http::{get, send};

/// What the token endpoint says to this verifier: the status, and the error if there is one.
async fn answered(verifier: &str) -> (u16, Option<String>) {
    let server = ScriptedMcpHttp::start(json!({ "http": { "sign_in": {} } })).unwrap();
    let url = server.url();
    let base = url.trim_end_matches("/mcp");
    // RFC 7636, appendix B.
    let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
    let asked = format!(
        "/authorize?response_type=code&client_id=one&redirect_uri=http://127.0.0.1:1/&state=s\
         &code_challenge={challenge}&code_challenge_method=S256&resource={url}"
    );
    let head = get(base, &asked).await.head;
    let (_, rest) = head.split_once("?code=").unwrap();
    let (code, _) = rest.split_once('&').unwrap();
    let form = format!(
        "grant_type=authorization_code&client_id=one&redirect_uri=http://127.0.0.1:1/\
         &resource={url}&code={code}&code_verifier={verifier}"
    );
    let answer = send(base, "POST", "/token", &[], &form).await;
    let error = answer.json()["error"].as_str().map(str::to_owned);
    (answer.status, error)
}

#[tokio::test]
async fn a_code_is_exchanged_for_the_verifier_of_its_challenge_alone() {
    let right = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    assert_eq!(answered(right).await, (200, None));
    let refused = (400, Some("invalid_grant".to_owned()));
    let wrong = right.replace("dBj", "dBk");
    for verifier in [&*wrong, "", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"] {
        assert_eq!(answered(verifier).await, refused, "{verifier}");
    }
}
