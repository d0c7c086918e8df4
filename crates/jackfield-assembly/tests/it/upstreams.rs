//! The upstreams of the configured providers.

use std::sync::Arc;

use jackfield_assembly::{Assembly, Environment, ProviderFactory, ProviderSettings, Registry};
use jackfield_ports::chat_model::{BoxError, ChatModel};
use jackfield_ports::upstream::RawRequest;
use jackfield_testkit::fakes::ScriptedModel;
use jackfield_testkit::server::{Response, TestServer};

use crate::world::World;

/// Makes models that say nothing, and no upstreams.
struct Foreign;

impl ProviderFactory for Foreign {
    fn build(&self, _settings: ProviderSettings) -> Result<Arc<dyn ChatModel>, BoxError> {
        Ok(ScriptedModel::new().port())
    }
}

fn assembled(registry: &Registry, text: &str) -> Assembly {
    let world = World::new().with_user(text);
    let environment = Environment::from_iter([("OPENAI_API_KEY", "of-openai")]);
    let assembled = registry.assemble(&world.load().unwrap(), &environment);
    assembled.unwrap()
}

#[test]
fn each_provider_serves_what_its_server_has() {
    let text = "[providers.any]\nkind = 'openai-compatible'\nbase_url = 'http://127.0.0.1:1'\n\
                [providers.likely]\nkind = 'openai-compatible'\nbase_url = 'http://127.0.0.1:1'\n\
                profile = 'vllm'\n\
                [providers.other]\nkind = 'openai-compatible'\nbase_url = 'http://127.0.0.1:1'\n\
                api = 'responses'\n\
                [providers.deepseek]\n[providers.mistral]\n[providers.openai]\n";
    let assembled = assembled(&Registry::default(), text);
    let own = |provider: &str| assembled.upstreams[provider].is_passthrough;
    assert!(own("claude") && own("openai"), "a vendor's own API");
    assert!(!own("any") && !own("deepseek") && !own("likely"));
    let open = "/v1/audio/speech /v1/audio/transcriptions /v1/audio/translations /v1/embeddings /v1/images/* \
                /v1/moderations";
    let chat = format!("/v1/chat/completions {open}");
    let all = format!("/v1/chat/completions /v1/responses /v1/responses/* {open}");
    for (provider, expected) in [
        ("any", &*chat),
        ("claude", "/v1/messages /v1/messages/count_tokens"),
        ("deepseek", &chat),
        ("likely", &all),
        ("mistral", &chat),
        ("openai", &all),
        ("other", &format!("/v1/responses /v1/responses/* {open}")),
    ] {
        let upstream = &assembled.upstreams[provider];
        assert_eq!(
            upstream.upstream.endpoints().join(" "),
            expected,
            "{provider}"
        );
    }
    assert!(!format!("{assembled:?}").contains("of-openai"));
}

#[test]
fn an_endpoint_is_open_where_the_configuration_names_it() {
    let text = "[serve]\nendpoints = ['/v1/rerank']\n\
                [serve.tokens.a]\nenv = 'A'\n[serve.tokens.a.endpoints]\n'/v1/files/*' = 'claude'\n\
                [serve.tokens.b]\nenv = 'B'\n[serve.tokens.b.endpoints]\n'/v1/files/*' = 'claude'\n\
                '/v1/batches' = 'openai'\n[providers.openai]\n";
    let assembled = assembled(&Registry::default(), text);
    for (provider, expected) in [
        (
            "claude",
            "/v1/messages /v1/messages/count_tokens /v1/files/*",
        ),
        (
            "openai",
            "/v1/chat/completions /v1/responses /v1/responses/* /v1/rerank /v1/batches",
        ),
    ] {
        let upstream = &assembled.upstreams[provider].upstream;
        assert_eq!(upstream.endpoints().join(" "), expected);
    }
    let world = World::new().with_user(
        "[serve.tokens.a]\nenv = 'A'\nendpoints.'/v1/files' = 'opneai'\n[providers.openai]\n",
    );
    let environment = Environment::from_iter([("A", "a-0123456789abcdef")]);
    let assembled = Registry::default().assemble(&world.load().unwrap(), &environment);
    let message = assembled.unwrap_err().to_string();
    assert!(
        message.contains("there is no provider `opneai`; did you mean `openai`?"),
        "{message}"
    );
}

#[test]
fn a_factory_of_a_third_party_needs_no_upstream() {
    let registry = Registry::empty().provider("foreign", Arc::new(Foreign));
    let assembled = assembled(&registry, "[providers.foreign]\n");
    assert!(assembled.providers.contains_key("foreign"));
    assert!(assembled.upstreams.is_empty());
}

#[tokio::test]
async fn a_request_is_sent_to_the_configured_server_with_the_configured_key() {
    let server = TestServer::start().await;
    server.answer(Response::json(200, "{}"));
    let url = server.base_url();
    let text = format!("[providers.openai]\nbase_url = '{url}/api'\nproject = 'p'\n");
    let assembled = assembled(&Registry::default(), &text);
    let request = RawRequest {
        credential: None,
        body: "{}".into(),
        headers: Default::default(),
        method: Default::default(),
        path: "/v1/embeddings".to_owned(),
        query: None,
    };
    let reply = assembled.upstreams["openai"]
        .upstream
        .send(request)
        .await
        .unwrap();
    assert_eq!(reply.status.as_u16(), 200);
    let seen = server.request(0).await;
    assert_eq!(seen.path, "/api/embeddings");
    assert_eq!(seen.header("authorization"), Some("Bearer of-openai"));
    assert_eq!(seen.header("openai-project"), Some("p"));
}
