//! A sign-in at a scripted provider, which is strict, and lies as a test says.

#![expect(clippy::expect_used, reason = "a test that cannot go on has to fail")]

use std::sync::Arc;
use std::time::Duration;

use jackfield_oidc::{InvalidIssuer, OidcClient, OidcSettings, check_issuer};
use jackfield_ports::credential::Credential;
use jackfield_ports::identity_provider::{Identity, IdentityError, IdentityProvider as _};
use jackfield_provider_kit::guarded::GuardedSettings;
use jackfield_testservers::openid::{
    CLIENT_ID, CLIENT_SECRET, OpenIdFlaw, SLOW_CODE, ScriptedOpenId,
};
use serde_json::json;
use tokio::task::JoinSet;

fn client(issuer: &str, claim: &str) -> OidcClient {
    let settings = OidcSettings {
        claim: claim.into(),
        client_id: CLIENT_ID.into(),
        client_secret: Some(Credential::new(CLIENT_SECRET)),
        issuer: issuer.into(),
        scopes: vec!["email".into()],
    };
    OidcClient::new(settings, GuardedSettings::default()).expect("an issuer on this machine")
}

/// A sign-in to its end.
async fn signed_in(provider: &ScriptedOpenId, claim: &str) -> Result<Identity, IdentityError> {
    let client = client(&provider.issuer(), claim);
    let begun = client.begin(REDIRECT).await?;
    let back = provider.sign_in(&begun.url);
    let (place, answer) = back.split_once('?').expect("a query");
    assert_eq!(place, REDIRECT);
    client.finish(&begun.secrets, REDIRECT, answer).await
}

#[test]
fn an_issuer_is_encrypted_or_on_this_machine() {
    for issuer in [
        "https://accounts.example.com",
        "https://id.example.com/realms/team",
        "http://127.0.0.1:9000",
        "http://[::1]:9000/",
        "http://localhost",
    ] {
        assert!(check_issuer(issuer).is_ok(), "{issuer}");
    }
    for issuer in [
        "",
        "accounts.example.com",
        "http://accounts.example.com",
        "ftp://accounts.example.com",
        "https://ann@accounts.example.com",
        "https://accounts.example.com?realm=team",
        "https://accounts.example.com#team",
    ] {
        assert_eq!(check_issuer(issuer), Err(InvalidIssuer), "{issuer}");
    }
}

#[tokio::test]
async fn a_person_is_known_by_a_verified_address_in_lower_case() {
    let provider = ScriptedOpenId::start().await;
    let identity = signed_in(&provider, "email").await.expect("an identity");
    assert_eq!(identity.name, "ann@example.com");
    assert_eq!(identity.subject, "00u1");
}

#[tokio::test]
async fn claims_may_be_at_an_address_of_their_own() {
    let provider = ScriptedOpenId::start().await;
    let claims = json!({ "email": "ann@example.com", "email_verified": "true" });
    provider.set_claims(claims, true);
    let identity = signed_in(&provider, "email").await.expect("an identity");
    assert_eq!(identity.name, "ann@example.com");
    provider.set_flaw(OpenIdFlaw::ForeignUserInfo);
    let refused = signed_in(&provider, "email").await;
    assert!(
        matches!(refused, Err(IdentityError::Invalid(_))),
        "{refused:?}"
    );
}

#[tokio::test]
async fn an_address_that_is_not_verified_is_no_name() {
    let provider = ScriptedOpenId::start().await;
    for claims in [
        json!({ "email": "ann@example.com" }),
        json!({ "email": "ann@example.com", "email_verified": false }),
        json!({ "email": "ann@example.com", "email_verified": "false" }),
        json!({ "email": "ann@example.com", "email_verified": 1 }),
        json!({ "email": "", "email_verified": true }),
        json!({ "preferred_username": "ann" }),
    ] {
        provider.set_claims(claims.clone(), false);
        let refused = signed_in(&provider, "email").await;
        let is_nameless = matches!(refused, Err(IdentityError::Nameless(_)));
        assert!(is_nameless, "{claims}: {refused:?}");
    }
    // Another claim is taken as it is.
    let identity = signed_in(&provider, "preferred_username").await;
    assert_eq!(identity.expect("an identity").name, "ann");
}

#[tokio::test]
async fn a_proof_that_lies_is_refused() {
    let provider = ScriptedOpenId::start().await;
    for (flaw, why) in [
        (OpenIdFlaw::Critical, "has to be understood"),
        (OpenIdFlaw::EmptySubject, "names no person"),
        (OpenIdFlaw::Expired, "ExpiredSignature"),
        (OpenIdFlaw::ForeignSignature, "InvalidSignature"),
        (OpenIdFlaw::ManyAudiences, "another client"),
        (OpenIdFlaw::SharedSecret, "HS256 is not taken"),
        (OpenIdFlaw::Unsigned, "none"),
        (OpenIdFlaw::WrongAudience, "InvalidAudience"),
        (OpenIdFlaw::WrongIssuer, "InvalidIssuer"),
        (OpenIdFlaw::WrongNonce, "another sign-in"),
    ] {
        provider.set_flaw(flaw);
        let refused = signed_in(&provider, "email").await;
        let Err(IdentityError::Invalid(text)) = &refused else {
            panic!("{flaw:?}: {refused:?}");
        };
        assert!(text.contains(why), "{flaw:?}: {text}");
    }
}

#[tokio::test]
async fn an_answer_to_another_sign_in_is_refused_and_nothing_is_exchanged() {
    let provider = ScriptedOpenId::start().await;
    let client = client(&provider.issuer(), "email");
    let begun = client.begin(REDIRECT).await.expect("a sign-in");
    let other = client.begin(REDIRECT).await.expect("a sign-in");
    let back = provider.sign_in(&other.url);
    let (_, answer) = back.split_once('?').expect("a query");
    let before = provider.requests();
    for answer in [
        answer.to_owned(),
        String::new(),
        "code=code-1".to_owned(),
        format!(
            "code=code-1&state={}&iss=https://other.example",
            begun.secrets.state
        ),
        format!("state={}", begun.secrets.state),
    ] {
        let refused = client.finish(&begun.secrets, REDIRECT, &answer).await;
        assert!(
            matches!(refused, Err(IdentityError::Invalid(_))),
            "{answer}: {refused:?}"
        );
    }
    assert_eq!(provider.requests(), before);
    // The code is good for one exchange.
    assert!(
        client
            .finish(&other.secrets, REDIRECT, answer)
            .await
            .is_ok()
    );
    let again = client.finish(&other.secrets, REDIRECT, answer).await;
    assert!(matches!(again, Err(IdentityError::Refused(_))), "{again:?}");
}

#[tokio::test]
async fn an_answer_to_no_sign_in_makes_no_request() {
    let provider = ScriptedOpenId::start().await;
    let other = client(&provider.issuer(), "email");
    let begun = other.begin(REDIRECT).await.expect("a sign-in");
    let before = provider.requests();
    // This process has asked for no metadata yet.
    let client = client(&provider.issuer(), "email");
    let refused = client.finish(&begun.secrets, REDIRECT, "code=code-1&state=x");
    let refused = refused.await;
    assert!(
        matches!(refused, Err(IdentityError::Invalid(_))),
        "{refused:?}"
    );
    assert_eq!(provider.requests(), before);
}

#[tokio::test]
async fn strangers_keep_nobody_out() {
    const STRANGERS: usize = 40;
    let provider = ScriptedOpenId::start().await;
    let client = Arc::new(client(&provider.issuer(), "email"));
    let mut strangers = JoinSet::new();
    for _ in 0..STRANGERS {
        let client = Arc::clone(&client);
        strangers.spawn(async move {
            let begun = client.begin(REDIRECT).await.expect("a sign-in");
            let answer = format!("code={SLOW_CODE}&state={}", begun.secrets.state);
            let _refused = client.finish(&begun.secrets, REDIRECT, &answer).await;
        });
    }
    // One for the metadata, and the codes.
    while provider.requests() < 1 + STRANGERS {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let begun = client.begin(REDIRECT).await.expect("a sign-in");
    let back = provider.sign_in(&begun.url);
    let (_, answer) = back.split_once('?').expect("a query");
    let identity = client.finish(&begun.secrets, REDIRECT, answer).await;
    assert_eq!(identity.expect("an identity").name, "ann@example.com");
    strangers.shutdown().await;
}

#[tokio::test]
async fn a_refusal_at_the_provider_is_passed_on_without_secrets() {
    let provider = ScriptedOpenId::start().await;
    let client = client(&provider.issuer(), "email");
    let begun = client.begin(REDIRECT).await.expect("a sign-in");
    let answer = format!(
        "state={}&error=access_denied&error_description=No",
        begun.secrets.state
    );
    let refused = client.finish(&begun.secrets, REDIRECT, &answer).await;
    let expected = "the provider refuses: access_denied (No)".to_owned();
    assert_eq!(refused, Err(IdentityError::Refused(expected)));
    // The provider repeats the client's secret.
    let answer = format!("state={}&code=wrong", begun.secrets.state);
    let Err(IdentityError::Refused(text)) = client.finish(&begun.secrets, REDIRECT, &answer).await
    else {
        panic!("it is not refused");
    };
    assert!(
        text.contains("invalid_grant") && !text.contains(CLIENT_SECRET),
        "{text}"
    );
}

#[tokio::test]
async fn a_provider_that_does_not_answer_as_it_should_is_unavailable() {
    let provider = ScriptedOpenId::start().await;
    for flaw in [OpenIdFlaw::EndlessKeys, OpenIdFlaw::ForeignMetadata] {
        provider.set_flaw(flaw);
        let failed = signed_in(&provider, "email").await;
        assert!(
            matches!(failed, Err(IdentityError::Unavailable(_))),
            "{flaw:?}: {failed:?}"
        );
    }
    let client = client(&provider.issuer(), "email");
    drop(provider);
    let failed = client.begin(REDIRECT).await;
    assert!(
        matches!(failed, Err(IdentityError::Unavailable(_))),
        "{failed:?}"
    );
}

#[tokio::test]
async fn nothing_secret_is_printed() {
    let provider = ScriptedOpenId::start().await;
    let client = client(&provider.issuer(), "email");
    let begun = client.begin(REDIRECT).await.expect("a sign-in");
    let printed = format!("{client:?} {begun:?}");
    for secret in [
        CLIENT_SECRET,
        &begun.secrets.nonce,
        &begun.secrets.state,
        &begun.secrets.verifier,
    ] {
        assert!(!printed.contains(secret), "{printed}");
    }
}

const REDIRECT: &str = "https://gateway.example/api/v1/login/oidc/callback";
