//! What the mappers write keeps the vendor's rules.

use std::sync::Arc;

use jackfield_dialect_openai::profile::Profile;
use jackfield_dialect_openai::{chat, responses};
use jackfield_dialect_rules::openai::{self, Violation};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::Settings;
use jackfield_domain::tool::{InputFormat, ToolDefinition};
use jackfield_testkit::arb as kit;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

fn owner(dialect: &str) -> StateOwner {
    StateOwner {
        dialect: dialect.into(),
        endpoint: "https://api.example".into(),
        model: "model-a".into(),
    }
}

fn profile() -> impl Strategy<Value = Profile> + Clone {
    select(vec![
        Profile::OPENAI,
        Profile::OPENAI_WITHOUT_REASONING,
        Profile::COMPATIBLE,
        Profile::DEEPSEEK,
        Profile::LLAMA_CPP,
        Profile::MISTRAL,
        Profile::OLLAMA,
        Profile::VLLM,
    ])
}

/// Without the fields that the generators invent, which no vendor knows.
fn plain(request: ModelRequest) -> ModelRequest {
    let tools = request.tools.iter().map(|tool| {
        Arc::new(ToolDefinition {
            extensions: Vec::new(),
            ..(**tool).clone()
        })
    });
    let settings = Settings {
        extensions: Vec::new(),
        ..(*request.settings).clone()
    };
    ModelRequest {
        settings: Arc::new(settings),
        tools: Arc::new(tools.collect()),
        ..request
    }
}

/// With these schemas in place of those of its tools.
fn of_schemas(request: ModelRequest, schemas: Vec<Value>) -> ModelRequest {
    let schemas = schemas.into_iter().cycle();
    let tools = request.tools.iter().zip(schemas).map(|(tool, schema)| {
        Arc::new(ToolDefinition {
            input: InputFormat::Json(Arc::new(schema)),
            ..(**tool).clone()
        })
    });
    ModelRequest {
        tools: Arc::new(tools.collect()),
        ..request
    }
}

fn in_chat(request: &ModelRequest, profile: &Profile, stream: bool) -> Vec<Violation> {
    let owner = owner(chat::DIALECT);
    match chat::request::to_wire(request, &owner, profile, stream) {
        Ok((body, _)) => {
            let body: Value = serde_json::to_value(&body).expect("JSON");
            openai::chat::check(&body, profile)
        }
        Err(_) => Vec::new(),
    }
}

fn in_responses(request: &ModelRequest, profile: &Profile, stream: bool) -> Vec<Violation> {
    let owner = owner(responses::DIALECT);
    match responses::request::to_wire(request, &owner, profile, stream) {
        Ok((body, _)) => {
            let body: Value = serde_json::to_value(&body).expect("JSON");
            openai::responses::check(&body, profile)
        }
        Err(_) => Vec::new(),
    }
}

proptest! {
    #[test]
    fn requests_to_chat_completions_keep_the_rules(request in kit::model_request(), profile in profile(), stream: bool) {
        prop_assert_eq!(in_chat(&plain(request), &profile, stream), []);
    }

    #[test]
    fn tools_of_any_schema_keep_the_rules(request in kit::model_request(), schemas in vec(kit::broken_schema(), 1..4), profile in profile()) {
        let request = of_schemas(plain(request), schemas);
        prop_assert_eq!(in_chat(&request, &profile, true), []);
        prop_assert_eq!(in_responses(&request, &profile, true), []);
    }

    #[test]
    fn requests_to_responses_keep_the_rules(request in kit::model_request(), profile in profile(), stream: bool) {
        prop_assert_eq!(in_responses(&plain(request), &profile, stream), []);
    }
}
