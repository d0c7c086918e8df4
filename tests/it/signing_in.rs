//! Signing in to the page at a provider of OpenID Connect: what the gateway as a process makes of it.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::openid::{CLIENT_ID, CLIENT_SECRET, OpenIdFlaw, ScriptedOpenId};
use serde_json::Value;

use crate::harness::{Answer, Gateway, Kept};

/// A gateway whose people sign in at this provider.
async fn gateway(files: &Kept, provider: &ScriptedOpenId) -> Gateway {
    let claude = ScriptedClaude::start([]).await;
    let config = format!(
        "[serve.oidc]\nissuer = \"{}\"\nclient_id = \"{CLIENT_ID}\"\nclient_secret_env = \"SECRET_THERE\"\n\
         admins = [\"ann@example.com\"]\nname = \"Example\"\n",
        provider.issuer()
    );
    let serve = files.gateway().at_with(&claude.base_url(), &config);
    Gateway::listening(serve.env("SECRET_THERE", CLIENT_SECRET).start()).await
}

/// A sign-in to its end: the cookie that it began with, and the answers of the gateway on the way back.
async fn signs_in(gateway: &Gateway, provider: &ScriptedOpenId) -> (String, String, Answer) {
    let begun = gateway.get("/api/v1/login/oidc").answered().await;
    assert_eq!(begun.status, 303, "{begun:?}");
    let set = begun.header("set-cookie");
    let cookie = set.split(';').next().expect("a cookie").to_owned();
    let back = provider.sign_in(begun.header("location"));
    let place = format!("http://{}", gateway.address());
    let path = back.strip_prefix(&place).expect("this gateway").to_owned();
    let answer = gateway.get(&path).header("cookie", &cookie);
    let answer = answer.answered().await;
    (cookie, path, answer)
}

async fn login(gateway: &Gateway, cookie: &str) -> Value {
    let asking = gateway.get("/api/v1/login").header("cookie", cookie);
    asking.answered().await.is(200)
}

#[tokio::test]
async fn a_person_signs_in_at_a_provider_until_the_user_is_disabled() {
    let files = Kept::new();
    let provider = ScriptedOpenId::start().await;
    let gateway = gateway(&files, &provider).await;
    // No key is there, and still the gateway is not open.
    assert_eq!(gateway.get("/api/v1/sessions").answered().await.status, 401);
    let state = login(&gateway, "").await;
    assert_eq!(
        (&state["key_needed"], &state["oidc"]),
        (&true.into(), &"Example".into())
    );
    let (_, _, answer) = signs_in(&gateway, &provider).await;
    assert_eq!(answer.header("location"), "/#/sign-in/unknown_user");

    files.done(&["users", "add", "ann@example.com"]).await;
    let (begun, path, answer) = signs_in(&gateway, &provider).await;
    assert_eq!(answer.header("location"), "/");
    // The browser forgets the cookie; who kept it finds that the code was used.
    let again = gateway.get(&path).header("cookie", &begun).answered().await;
    assert_eq!(again.header("location"), "/#/sign-in/refused", "a replay");
    // Of the cookies that are set, this is the last one.
    let cookie = answer.header("set-cookie").split(';').next();
    let cookie = cookie.expect("a cookie").to_owned();
    let state = login(&gateway, &cookie).await;
    assert_eq!(state["name"], "ann@example.com/sign-in", "{state}");
    assert_eq!(state["admin"], true);
    files.done(&["users", "disable", "ann@example.com"]).await;
    assert_eq!(login(&gateway, &cookie).await["signed_in"], false);
    let (_, _, answer) = signs_in(&gateway, &provider).await;
    assert_eq!(answer.header("location"), "/#/sign-in/disabled");
    gateway.end().await;
}

#[tokio::test]
async fn what_a_provider_does_wrong_is_said_and_keys_go_on_working() {
    let files = Kept::new();
    let provider = ScriptedOpenId::start().await;
    files.done(&["users", "add", "ann@example.com"]).await;
    let key = files
        .run(&["keys", "create", "ann@example.com"])
        .run()
        .await;
    let bearer = format!("Bearer {}", key.out.trim());
    let gateway = gateway(&files, &provider).await;
    for (flaw, word) in [
        (OpenIdFlaw::Expired, "invalid"),
        (OpenIdFlaw::ForeignSignature, "invalid"),
        (OpenIdFlaw::WrongAudience, "invalid"),
        (OpenIdFlaw::WrongNonce, "invalid"),
        (OpenIdFlaw::EndlessKeys, "unavailable"),
    ] {
        provider.set_flaw(flaw);
        let (_, _, answer) = signs_in(&gateway, &provider).await;
        assert_eq!(
            answer.header("location"),
            format!("/#/sign-in/{word}"),
            "{flaw:?}"
        );
    }
    let begun = gateway.get("/api/v1/login/oidc").answered().await;
    let state = begun.header("location").split("&state=").nth(1);
    let state = state.and_then(|rest| rest.split('&').next());
    let cookie = begun.header("set-cookie").split(';').next();
    drop(provider);
    let answer = format!(
        "/api/v1/login/oidc/callback?code=code-1&state={}",
        state.expect("a state")
    );
    let dead = gateway.get(&answer);
    let dead = dead.header("cookie", cookie.expect("a cookie"));
    assert_eq!(
        dead.answered().await.header("location"),
        "/#/sign-in/unavailable"
    );
    let listed = gateway
        .get("/api/v1/sessions")
        .header("authorization", &bearer);
    assert_eq!(listed.answered().await.status, 200);
    gateway.running.terminate();
    let ran = gateway.running.end().await;
    for secret in [CLIENT_SECRET, "of-ann", "code-1"] {
        assert!(!ran.err.contains(secret), "{}", ran.err);
    }
    assert!(ran.err.contains("ExpiredSignature"), "{}", ran.err);
}
