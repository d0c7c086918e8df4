//! How OpenAI answers, in whichever language: what the renderers of both have in common.

use bytes::Bytes;
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::transport::{Transport, TransportSettings};
use jackfield_provider_openai::client::OpenAi;
use jackfield_provider_openai::config::{Api, OpenAiConfig};
use jackfield_testkit::contract::chat_model::{
    Manner, ScriptedFailure, ScriptedFailureKind, WireReply,
};
use serde_json::{Value, json};

pub(crate) const MODEL: &str = "gpt-6-sol";

/// A model behind this address, in this language, with this key.
pub(crate) fn model(base_url: &str, api: Api, key: &str) -> OpenAi {
    let mut config = config(base_url, api);
    config.key = Some(Secret::new(key));
    connect(config)
}

pub(crate) fn config(base_url: &str, api: Api) -> OpenAiConfig {
    let mut config = OpenAiConfig::new(base_url).unwrap();
    config.api = api;
    config
}

pub(crate) fn connect(config: OpenAiConfig) -> OpenAi {
    let transport = Transport::new(TransportSettings::default()).unwrap();
    OpenAi::new(config, transport).unwrap()
}

/// The list of models: one page, the same in both languages (OpenAPI description 2.3.0).
pub(crate) fn models(ids: &[&str]) -> WireReply {
    let model = |id: &&str| json!({ "id": id, "object": "model", "created": 1_793_491_200, "owned_by": "openai" });
    let models: Vec<Value> = ids.iter().map(model).collect();
    WireReply::json(200, json!({ "object": "list", "data": models }).to_string())
}

/// The answer with a failure: the same in both languages (openai-python 3.54.0, errors page 2026-11).
pub(crate) fn failed(failure: &ScriptedFailure) -> WireReply {
    let (status, kind, code) = match failure.kind {
        ScriptedFailureKind::Forbidden => (
            403,
            "request_forbidden",
            Some("unsupported_country_region_territory"),
        ),
        ScriptedFailureKind::InvalidRequest => (400, "invalid_request_error", None),
        ScriptedFailureKind::ModelNotFound => {
            (404, "invalid_request_error", Some("model_not_found"))
        }
        ScriptedFailureKind::Overloaded => (503, "server_error", Some("server_is_overloaded")),
        ScriptedFailureKind::RateLimited(_) => (429, "requests", Some("rate_limit_exceeded")),
        ScriptedFailureKind::ServerError => (500, "server_error", None),
        ScriptedFailureKind::Unauthenticated => {
            (401, "invalid_request_error", Some("invalid_api_key"))
        }
    };
    let body = error(kind, code, &failure.message).to_string();
    let wire = WireReply::json(status, body).header("x-request-id", "req_1");
    match failure.kind {
        ScriptedFailureKind::RateLimited(Some(delay)) => {
            wire.header("retry-after", delay.as_secs().to_string())
        }
        ScriptedFailureKind::Forbidden
        | ScriptedFailureKind::InvalidRequest
        | ScriptedFailureKind::ModelNotFound
        | ScriptedFailureKind::Overloaded
        | ScriptedFailureKind::RateLimited(None)
        | ScriptedFailureKind::ServerError
        | ScriptedFailureKind::Unauthenticated => wire,
    }
}

/// The body of an error.
pub(crate) fn error(kind: &str, code: Option<&str>, message: &str) -> Value {
    json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
}

/// An event without a name.
pub(crate) fn data(json: &Value) -> Bytes {
    format!("data: {json}\n\n").into()
}

/// The id of the call at this place.
pub(crate) fn id(manner: Manner, first: &str, own: &str) -> Option<String> {
    if manner == Manner::IdEmpty {
        return Some(String::new());
    }
    if manner == Manner::IdMissing {
        return None;
    }
    let id = if manner == Manner::IdSame { first } else { own };
    Some(id.to_owned())
}

/// The number of what stands at this place.
pub(crate) fn index(manner: Manner, place: usize) -> Option<i64> {
    let place = i64::try_from(place).unwrap();
    if manner == Manner::IndexMissing {
        return None;
    }
    if manner == Manner::IndexNegative {
        return Some(-1);
    }
    if manner == Manner::IndexOneBased {
        return Some(place + 1);
    }
    Some(if manner == Manner::IndexReused {
        0
    } else {
        place
    })
}

/// Puts a field in, if there is one.
pub(crate) fn set(object: &mut Value, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        object[name] = value.into();
    }
}
