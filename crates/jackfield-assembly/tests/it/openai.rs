//! Providers that speak a language of OpenAI's, as they are configured and as they are then asked.

use jackfield_assembly::{Assembly, Environment, Flags, Registry};
use jackfield_domain::ids::SessionId;
use jackfield_domain::message::Message;
use jackfield_domain::request::ModelRef;
use jackfield_domain::setup::Opening;
use jackfield_engine::{SendMessage, TurnReport};
use jackfield_testkit::server::{RecordedRequest, Response, TestServer};
use serde_json::json;

use crate::world::{World, lines};

const KEYS: [(&str, &str); 16] = [
    ("ANTHROPIC_API_KEY", "of-claude"),
    ("DEEPSEEK_API_KEY", "of-deepseek"),
    ("MISTRAL_API_KEY", "of-mistral"),
    ("OPENAI_API_KEY", "of-openai"),
    ("HOME_KEY", "of-home"),
    ("WORK_KEY", "of-work"),
    ("ANTHROPIC_FOUNDRY_API_KEY", "of-foundry"),
    ("AWS_BEARER_TOKEN_BEDROCK", "of-bedrock"),
    ("AZURE_OPENAI_API_KEY", "of-azure"),
    ("CEREBRAS_API_KEY", "of-cerebras"),
    ("FIREWORKS_API_KEY", "of-fireworks"),
    ("GROQ_API_KEY", "of-groq"),
    ("HF_TOKEN", "of-huggingface"),
    ("OPENROUTER_API_KEY", "of-openrouter"),
    ("TOGETHER_API_KEY", "of-together"),
    ("XAI_API_KEY", "of-xai"),
];

/// The request that a provider sends, with `URL` in this configuration for where it goes.
async fn sent(provider: &str, text: &str) -> RecordedRequest {
    let server = TestServer::start().await;
    let text = text.replace("URL", &server.base_url());
    let world = World::new().with_user(&text);
    let environment = Environment::from_iter(KEYS);
    let assembled = Registry::default().assemble(&world.load().unwrap(), &environment);
    ask(&server, &assembled.unwrap(), provider).await
}

/// The request for a turn, which fails: that it was sent is all that matters.
async fn ask(server: &TestServer, assembled: &Assembly, provider: &str) -> RecordedRequest {
    let body = json!({ "error": { "message": "no", "type": "invalid_request_error" } });
    server.answer(Response::json(400, body.to_string()));
    turn(assembled, provider).await;
    server.requests().pop().unwrap()
}

async fn turn(assembled: &Assembly, provider: &str) -> TurnReport {
    let mut options = assembled.options.clone();
    options.model = ModelRef {
        model: "some-model".into(),
        provider: provider.into(),
    };
    let message = SendMessage {
        opening: Opening::UserMessage(Message::user("Hello").into()),
        options,
        session: SessionId::parse(provider).unwrap(),
    };
    assembled.engine.send(message, &mut ()).await.unwrap()
}

#[tokio::test]
async fn every_kind_is_asked_where_and_as_it_is_known_to_be() {
    for (kind, path, key) in [
        ("azure", "/openai/v1/responses", Some("Bearer of-azure")),
        (
            "cerebras",
            "/v1/chat/completions",
            Some("Bearer of-cerebras"),
        ),
        ("deepseek", "/chat/completions", Some("Bearer of-deepseek")),
        (
            "fireworks",
            "/v1/chat/completions",
            Some("Bearer of-fireworks"),
        ),
        ("groq", "/v1/chat/completions", Some("Bearer of-groq")),
        (
            "huggingface",
            "/v1/chat/completions",
            Some("Bearer of-huggingface"),
        ),
        ("lm-studio", "/v1/chat/completions", None),
        ("llama-cpp", "/v1/chat/completions", None),
        ("mistral", "/v1/chat/completions", Some("Bearer of-mistral")),
        ("ollama", "/api/chat", None),
        ("openai", "/v1/responses", Some("Bearer of-openai")),
        ("openai-compatible", "/v1/chat/completions", None),
        (
            "openrouter",
            "/v1/chat/completions",
            Some("Bearer of-openrouter"),
        ),
        ("sglang", "/v1/chat/completions", None),
        (
            "together",
            "/v1/chat/completions",
            Some("Bearer of-together"),
        ),
        ("vllm", "/v1/chat/completions", None),
        ("xai", "/v1/chat/completions", Some("Bearer of-xai")),
    ] {
        let seen = sent(kind, &format!("[providers.{kind}]\nbase_url = 'URL'")).await;
        assert_eq!(seen.path, path, "{kind}");
        assert_eq!(seen.header("authorization"), key, "{kind}");
        let named =
            format!("[providers.x]\nkind = '{kind}'\nbase_url = 'URL/deep/'\ntools = false");
        let seen = sent("x", &named).await;
        assert!(seen.path.starts_with("/deep/"), "{kind}: {}", seen.path);
        assert!(!seen.path.contains("/v1"), "{kind}: {}", seen.path);
        assert_eq!(seen.json().get("tools"), None, "{kind}");
    }
}

/// Bedrock's own API and those in OpenAI's form, with a bearer key or the keys of an account.
#[tokio::test]
async fn bedrock_is_asked_over_its_own_api() {
    let table = "[providers.bedrock]\nbase_url = 'URL'\nregion = 'eu-west-1'\n";
    let seen = sent("bedrock", table).await;
    assert_eq!(seen.path, "/model/some-model/converse-stream");
    assert_eq!(seen.header("authorization"), Some("Bearer of-bedrock"));
    let seen = sent("bedrock", &format!("{table}api = 'responses'")).await;
    assert_eq!(seen.path, "/openai/v1/responses");
    assert_eq!(seen.header("authorization"), Some("Bearer of-bedrock"));
    let account = [
        ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
        ("AWS_REGION", "us-west-2"),
        ("AWS_SECRET_ACCESS_KEY", "secret-1"),
        ("AWS_SESSION_TOKEN", "token-1"),
    ];
    let server = TestServer::start().await;
    for (more, region) in [("", "us-west-2"), ("region = 'eu-west-1'", "eu-west-1")] {
        let text = format!(
            "[providers.bedrock]\nbase_url = '{}'\n{more}",
            server.base_url()
        );
        let loaded = World::new().with_user(&text).load().unwrap();
        let assembled = Registry::default().assemble(&loaded, &Environment::from_iter(account));
        let seen = ask(&server, &assembled.unwrap(), "bedrock").await;
        let authorization = seen.header("authorization").unwrap();
        let scope = format!("/{region}/bedrock/aws4_request");
        assert!(authorization.contains(&scope), "{authorization}");
        assert_eq!(seen.header("x-amz-security-token"), Some("token-1"));
        assert!(!format!("{seen:?}").contains("secret-1"));
    }
}

/// A secret key signs, and is no bearer key.
#[tokio::test]
async fn a_secret_key_is_never_sent() {
    let account = [("AWS_SECRET_ACCESS_KEY", "secret-1")];
    for (more, missing) in [
        ("", "AWS_ACCESS_KEY_ID is not set"),
        ("api = 'chat'", "AWS_BEARER_TOKEN_BEDROCK is not set"),
    ] {
        let server = TestServer::start().await;
        let base_url = server.base_url();
        let text =
            format!("[providers.bedrock]\nbase_url = '{base_url}'\nregion = 'us-east-1'\n{more}");
        let loaded = World::new().with_user(&text).load().unwrap();
        let assembled = Registry::default().assemble(&loaded, &Environment::from_iter(account));
        let report = format!("{:?}", turn(&assembled.unwrap(), "bedrock").await);
        assert!(report.contains(missing), "{report}");
        assert!(server.requests().is_empty(), "{more}");
    }
}

/// Claude Messages at the clouds: the same language, with the key in the header that each wants.
#[tokio::test]
async fn claude_is_asked_at_the_clouds() {
    for (kind, header, value) in [
        ("claude-bedrock", "authorization", "Bearer of-bedrock"),
        ("claude-foundry", "x-api-key", "of-foundry"),
    ] {
        let named = format!("[providers.{kind}]\nbase_url = 'URL/anthropic/'");
        let seen = sent(kind, &named).await;
        assert_eq!(seen.path, "/anthropic/v1/messages", "{kind}");
        assert_eq!(seen.header(header), Some(value), "{kind}");
        let both = ["authorization", "x-api-key"].map(|name| seen.header(name).is_some());
        assert_ne!(both, [true; 2], "{kind}");
    }
}

#[tokio::test]
async fn two_accounts_of_one_provider_stand_side_by_side() {
    let server = TestServer::start().await;
    let account = |name: &str, key: &str| {
        format!(
            "[providers.{name}]\nkind = 'openai'\nbase_url = '{}'\napi_key_env = '{key}'\n\
             organization = 'org-{name}'\nproject = 'proj-{name}'\n",
            server.base_url()
        )
    };
    let world = World::new().with_user(account("home", "HOME_KEY") + &account("work", "WORK_KEY"));
    let environment = Environment::from_iter(KEYS);
    let assembled = Registry::default()
        .assemble(&world.load().unwrap(), &environment)
        .unwrap();
    for name in ["home", "work", "home"] {
        let seen = ask(&server, &assembled, name).await;
        let header = |name: &str| seen.header(name).map(str::to_owned);
        assert_eq!(header("authorization"), Some(format!("Bearer of-{name}")));
        assert_eq!(header("openai-organization"), Some(format!("org-{name}")));
        assert_eq!(header("openai-project"), Some(format!("proj-{name}")));
    }
}

#[tokio::test]
async fn options_change_how_a_server_is_asked() {
    let openai = |more: &str| {
        format!(
            "[settings]\nmax_output_tokens = 70\ntemperature = 0.5\n[providers.openai]\nbase_url = 'URL'\n{more}"
        )
    };
    let seen = sent("openai", &openai("")).await;
    assert_eq!(seen.json()["max_output_tokens"], 70);
    // A model of an unknown name has the plain profile: it takes a temperature.
    assert_eq!(seen.json()["temperature"], 0.5);
    let seen = sent("openai", &openai("api = 'chat'\npath = '/api'")).await;
    assert_eq!(seen.path, "/api/chat/completions");
    assert_eq!(seen.json()["max_completion_tokens"], 70);
    let seen = sent("openai", &openai("path = ''")).await;
    assert_eq!(seen.path, "/responses");
    let seen = sent("openai", &openai("api = 'chat'\nprofile = 'vllm'")).await;
    assert_eq!(seen.json()["max_tokens"], 70);
    assert_eq!(seen.json()["temperature"], 0.5);
    let quirks =
        "api = 'chat'\n[providers.openai.quirks]\nmax_tokens = 'max_tokens'\nsampling = true";
    let seen = sent("openai", &openai(quirks)).await;
    assert_eq!(seen.json()["max_tokens"], 70);
    assert_eq!(seen.json()["temperature"], 0.5);
}

#[tokio::test]
async fn quirks_of_a_server_that_speaks_claude_change_how_it_is_asked() {
    let claude = |more: &str| {
        format!("settings.temperature = 0.5\n[providers.claude]\nbase_url = 'URL'\n{more}")
    };
    let seen = sent("claude", &claude("")).await;
    assert_eq!(seen.json().get("temperature"), None);
    let seen = sent("claude", &claude("quirks.sampling = true")).await;
    assert_eq!(seen.json()["temperature"], 0.5);
    let seen = sent("claude", &claude("quirks.api_version = '2023-06-01'")).await;
    assert_eq!(seen.header("anthropic-version"), Some("2023-06-01"));
}

#[test]
fn every_provider_with_an_address_stands_without_being_configured() {
    let flags = |model: &str| Flags {
        model: Some(model.to_owned()),
        ..Flags::default()
    };
    for (provider, key) in [
        ("cerebras", Some("CEREBRAS_API_KEY")),
        ("claude", Some("ANTHROPIC_API_KEY")),
        ("deepseek", Some("DEEPSEEK_API_KEY")),
        ("fireworks", Some("FIREWORKS_API_KEY")),
        ("gemini", Some("GEMINI_API_KEY")),
        ("groq", Some("GROQ_API_KEY")),
        ("huggingface", Some("HF_TOKEN")),
        ("lm-studio", None),
        ("llama-cpp", None),
        ("mistral", Some("MISTRAL_API_KEY")),
        ("ollama", None),
        ("openai", Some("OPENAI_API_KEY")),
        ("openrouter", Some("OPENROUTER_API_KEY")),
        ("sglang", None),
        ("together", Some("TOGETHER_API_KEY")),
        ("vllm", None),
        ("xai", Some("XAI_API_KEY")),
    ] {
        let config = World::new()
            .load_with(&flags(&format!("{provider}/x")))
            .unwrap();
        let assemble = |environment: Environment| {
            let assembled = Registry::default().assemble(&config, &environment);
            let assembled = assembled.unwrap();
            let found: Vec<String> = assembled
                .keys_found
                .iter()
                .map(ToString::to_string)
                .collect();
            (found, assembled.missing_keys.get(provider).cloned())
        };
        let (found, missing) = assemble(Environment::from_iter([("", "")]));
        assert_eq!(found, [""; 0], "{provider}");
        let variable = missing
            .as_ref()
            .and_then(|missing| missing.variable.as_deref());
        assert_eq!(variable, key, "{provider}");
        if let Some(key) = key {
            assert!(missing.unwrap().page.unwrap().starts_with("https://"));
            let (found, missing) = assemble(Environment::from_iter([(key, "k")]));
            assert_eq!((found, missing), (vec![provider.to_owned()], None));
        }
    }
    let error = World::new()
        .load_with(&flags("openai-compatible/x"))
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("there is no provider `openai-compatible`")
    );
}

#[test]
fn what_cannot_be_is_told() {
    for (text, expected) in [
        (
            "kind = 'openai-compatible'",
            "base_url is not set: the kind `openai-compatible` has no address of its own",
        ),
        (
            "kind = 'bedrock'",
            "region is not set: write `region = \"us-east-1\"`, or set AWS_REGION",
        ),
        (
            "kind = 'bedrock'\napi = 'responses'",
            "base_url is not set: the kind `bedrock` has no address of its own",
        ),
        (
            "kind = 'bedrock'\napi = 'native'",
            "api is \"converse\", \"chat\" or \"responses\"",
        ),
        (
            "kind = 'bedrock'\nregion = 'us-east-1.example'",
            "region is the name of one, such as `us-east-1`",
        ),
        (
            "kind = 'bedrock'\nregion = 'us-east-1'\nquirks.seed = false",
            "there is no quirk `seed`; there are: auto_cache_points, cache_points, forced_any, forced_tool, hour_cache_points, images_in_results, reasoning, \
             result_status, streams_tools, structured_output",
        ),
        (
            "kind = 'claude-bedrock'",
            "base_url is not set: that of the kind `claude-bedrock` is such as `https://bedrock-mantle.us-east-1.api.aws/anthropic`",
        ),
        (
            "kind = 'openai'\nbase_url = 'https://host/v1/chat/completions'",
            "base_url ends in `/chat/completions`: give the address without it",
        ),
        (
            "kind = 'openai'\napi = 'completions'",
            "api is \"responses\" or \"chat\"",
        ),
        (
            "kind = 'openai'\napi = 'native'",
            "api is \"responses\" or \"chat\"",
        ),
        (
            "kind = 'ollama'\nquirks.seed = false",
            "quirks is for `api = \"chat\"`",
        ),
        (
            "kind = 'ollama'\napi = 'chat'\nnum_ctx = 8192",
            "num_ctx is for `api = \"native\"`",
        ),
        (
            "kind = 'ollama'\nnum_ctx = 0",
            "num_ctx is a number of tokens, such as 16384",
        ),
        (
            "kind = 'ollama'\nkeep_alive = true",
            "keep_alive is a number of seconds, or a text such as \"30m\"",
        ),
        (
            "kind = 'openai'\norganization = 7",
            "organization is a text in quotes",
        ),
        (
            "kind = 'openai'\ntools = 'txt'",
            "tools is true, false, or one of \"auto\", \"native\", \"text\"; did you mean `text`?",
        ),
        (
            "kind = 'claude'\ntools_of = 'text'",
            "this is a table of model names",
        ),
        (
            "kind = 'ollama'\ntools_of = { 'gemma*' = true }",
            "`gemma*` is one of \"auto\", \"native\", \"text\"",
        ),
        (
            "kind = 'ollama'\ntools = false\ntools_of = { 'gemma*' = 'text' }",
            "`tools = false` leaves none of these models any tools",
        ),
        (
            "kind = 'openai'\nprofile = 'olama'",
            "there is no profile `olama`; did you mean `ollama`?",
        ),
        (
            "kind = 'openai'\nquirks = 7",
            "quirks is a table of what the server takes",
        ),
        (
            "kind = 'openai'\nquirks.tool_chioce = 'ignored'",
            "there is no quirk `tool_chioce`; did you mean `tool_choice`?",
        ),
        (
            "kind = 'openai'\nquirks.tool_choice = 'ignore'",
            "quirks.tool_choice: `ignore` is unknown; did you mean `ignored`?",
        ),
        (
            "kind = 'openai'\nquirks.tool_choice = true",
            "quirks.tool_choice: this is one of ignored, named, subset, words",
        ),
        (
            "kind = 'openai'\nquirks.sampling = 'yes'",
            "quirks.sampling: this is true or false",
        ),
        (
            "kind = 'openai'\nquirks.efforts = ['low', 'hihg']",
            "quirks.efforts: `hihg` is unknown; did you mean `high`?",
        ),
        (
            "kind = 'claude'\nquirks.samplng = true",
            "there is no quirk `samplng`; did you mean `sampling`?",
        ),
        (
            "kind = 'olama'",
            "there is no kind of provider `olama`; did you mean `ollama`?",
        ),
        (
            "kind = 'openai'\nprofil = 'vllm'",
            "unknown; did you mean `profile`?",
        ),
    ] {
        let world = World::new().with_user(format!("[providers.x]\n{text}"));
        let error = Registry::default()
            .assemble(&world.load().unwrap(), &Environment::from_iter(KEYS))
            .unwrap_err();
        let found = lines(&error, &world.home());
        assert!(found[0].ends_with(expected), "{text}: {found:?}");
    }
}
