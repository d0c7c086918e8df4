//! The provider of the kind `gemini`, as it is configured and as it is then asked.

use jackfield_assembly::{Environment, Registry};
use jackfield_domain::ids::SessionId;
use jackfield_domain::message::Message;
use jackfield_domain::request::ModelRef;
use jackfield_domain::setup::Opening;
use jackfield_engine::SendMessage;
use jackfield_testkit::server::{RecordedRequest, Response, TestServer};
use serde_json::{Value, json};

use crate::world::World;

/// The request for a turn with this configuration, and these variables; the turn fails.
async fn sent(text: &str, variables: &[(&str, &str)]) -> RecordedRequest {
    let server = TestServer::start().await;
    let base_url = format!("providers.gemini.base_url = '{}'\n", server.base_url());
    let world = World::new().with_user(&(base_url + text));
    let environment = Environment::from_iter(variables.iter().copied());
    let assembled = Registry::default().assemble(&world.load().unwrap(), &environment);
    let assembled = assembled.unwrap();
    let mut options = assembled.options.clone();
    options.model = ModelRef {
        model: "gemini-3.8-flash".into(),
        provider: "gemini".into(),
    };
    let message = SendMessage {
        opening: Opening::UserMessage(Message::user("Hello").into()),
        options,
        session: SessionId::parse("a").unwrap(),
    };
    let body = json!({ "error": { "code": 400, "message": "no", "status": "INVALID_ARGUMENT" } });
    server.answer(Response::json(400, body.to_string()));
    assembled.engine.send(message, &mut ()).await.unwrap();
    server.requests().pop().unwrap()
}

#[tokio::test]
async fn either_variable_of_the_vendor_has_the_key() {
    let (new, old) = (("GEMINI_API_KEY", "new"), ("GOOGLE_API_KEY", "old"));
    for (variables, key) in [
        (vec![new], "new"),
        (vec![old], "old"),
        (vec![old, new], "new"),
        (vec![("GEMINI_API_KEY", " "), old], "old"),
    ] {
        let seen = sent("", &variables).await;
        assert_eq!(
            seen.header("x-goog-api-key"),
            Some(key),
            "with {variables:?}"
        );
        assert!(!seen.path.contains(key), "{}", seen.path);
        assert!(
            seen.path
                .starts_with("/v1beta/models/gemini-3.8-flash:streamGenerateContent"),
            "{}",
            seen.path
        );
    }
    // One that is configured excludes both.
    let configured = "providers.gemini.api_key_env = 'MINE'";
    let seen = sent(configured, &[new, ("MINE", "mine")]).await;
    assert_eq!(seen.header("x-goog-api-key"), Some("mine"));
}

#[tokio::test]
async fn quirks_override_what_follows_from_the_name() {
    let key = [("GEMINI_API_KEY", "k")];
    let thinking = "settings.effort = 'low'\n";
    let config = |seen: &RecordedRequest| seen.json()["generationConfig"]["thinkingConfig"].clone();
    let seen = sent(thinking, &key).await;
    assert_eq!(config(&seen)["thinkingLevel"], json!("LOW"), "{seen:?}");
    let budget = format!("{thinking}providers.gemini.quirks.thinking = 'budget'");
    let seen = config(&sent(&budget, &key).await);
    assert!(seen["thinkingBudget"].is_u64(), "{seen}");
    let none = format!("{thinking}providers.gemini.quirks.thinking = 'none'");
    assert_eq!(config(&sent(&none, &key).await), Value::Null);
}

#[test]
fn options_of_other_kinds_are_unknown() {
    for option in [
        "betas = ['x']",
        "path = '/v1'",
        "quirks.seed = true",
        "tools = 1",
    ] {
        let world = World::new().with_user(format!("[providers.gemini]\n{option}"));
        let assembled = Registry::default().assemble(
            &world.load().unwrap(),
            &Environment::from_iter([("GEMINI_API_KEY", "k")]),
        );
        let error = assembled.unwrap_err().to_string();
        let name = option.split(' ').next().unwrap();
        let name = name.rsplit('.').next().unwrap();
        assert!(error.contains(name), "{error}");
    }
}
