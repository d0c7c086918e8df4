//! Signing in at servers that people have for themselves.

use jackfield_provider_kit::guarded::{Allowed, GuardedSettings};
use jackfield_tools_mcp::Login;
use serde_json::json;

use super::{SignInWorld, soon, visit};

/// Settings that allow this besides public addresses.
fn allowing(allowed: &[&str]) -> GuardedSettings {
    let mut network = GuardedSettings::default();
    network.allowed = Allowed::default();
    for one in allowed {
        network.allowed.allow(one).unwrap();
    }
    network
}

#[tokio::test]
async fn the_server_of_a_person_gives_no_address_a_right_to_be_reached() {
    let world = SignInWorld::new(json!({}));
    let process = world.process_of(false, allowing(&[]));
    let redirect = "https://gateway.example/";
    let fault = soon(process.authorization.begin(redirect)).await;
    let fault = fault.unwrap_err();
    assert!(fault.reason.contains("127.0.0.1"), "{fault}");
    assert!(!fault.advice.contains("`oauth`"), "{fault}");
    // A name of the server is no right, either, wherever it leads.
    let process = world.process_at("https://localhost:1/mcp", false, allowing(&[]));
    let fault = soon(process.authorization.begin(redirect)).await;
    let fault = fault.unwrap_err().to_string();
    assert!(fault.contains("only public"), "{fault}");
    // What is allowed is reached, and no more than that, whatever the server names.
    for (field, named) in [
        (
            "resource",
            json!({ "authorization_servers": ["https://127.0.0.2:1"] }),
        ),
        (
            "issuer",
            json!({ "registration_endpoint": "https://127.0.0.2:1/register" }),
        ),
    ] {
        let world = SignInWorld::new(json!({ field: named }));
        let process = world.process_of(false, allowing(&["127.0.0.1"]));
        let fault = soon(process.authorization.begin(redirect)).await;
        let fault = fault.unwrap_err().to_string();
        assert!(fault.contains("only public"), "{named}: {fault}");
        assert_eq!(world.server.count("registers"), 0);
    }
    let named = json!({ "issuer": { "token_endpoint": "https://127.0.0.2:1/token" } });
    let world = SignInWorld::new(named);
    let process = world.process_of(false, allowing(&["127.0.0.1"]));
    let login = soon(process.authorization.begin(redirect)).await;
    let login = login.unwrap();
    let answer = visit(login.url()).await.unwrap();
    let fault = soon(process.authorization.finish(login, &answer)).await;
    let fault = fault.unwrap_err().to_string();
    assert!(fault.contains("only public"), "{fault}");
    assert_eq!(world.kept(), None);
    let plain = json!({ "issuer": { "token_endpoint": "http://192.0.2.1/token" } });
    let world = SignInWorld::new(plain);
    let process = world.process_of(false, allowing(&["127.0.0.1"]));
    let fault = soon(process.authorization.begin(redirect)).await;
    assert!(fault.unwrap_err().reason.contains("not encrypted"));
}

#[tokio::test]
async fn a_sign_in_is_finished_by_another_process_than_the_one_that_began_it() {
    let world = SignInWorld::new(json!({}));
    let began = world.process_of(false, allowing(&["127.0.0.1"]));
    let login = soon(began.authorization.begin("https://gateway.example/")).await;
    let text = login.unwrap().to_text().unwrap();
    let login = Login::read(&text).unwrap();
    let answer = visit(login.url()).await.unwrap();
    assert!(
        answer.starts_with("https://gateway.example/?code="),
        "{answer}"
    );
    let finished = world.process_of(false, allowing(&["127.0.0.1"]));
    soon(finished.authorization.finish(login, &answer))
        .await
        .unwrap();
    finished.call("greet").await;
    let damaged = Login::read(&text.replace("verifier", "other"));
    let damaged = damaged.unwrap_err().to_string();
    assert_eq!(
        damaged,
        "the sign-in that has begun cannot be read; sign in again"
    );
    world.server.kept();
}
