//! The endpoints of providers, beside those for messages, that are open to clients.

use std::sync::Arc;

use jackfield_ports::upstream::endpoint_covers;
use toml::de::DeValue;

use crate::place::{ConfigProblem, ValueSource};
use crate::values::{filled, texts};
use jackfield_engine::near::did_you_mean;

/// An endpoint that a token opens.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct TokenEndpoint {
    /// Its path; with `/*` at its end, all below it.
    pub path: Arc<str>,
    /// Where it is configured.
    pub place: ValueSource,
    /// The provider that its requests go to.
    pub provider: Arc<str>,
}

/// Parses the endpoints that are open to all clients.
pub(crate) fn for_all(value: &DeValue<'_>) -> Result<Vec<Arc<str>>, String> {
    let paths = texts(value)?;
    for path in &paths {
        check(path)?;
        if let Some(data) = data_at(path) {
            return Err(format!(
                "data of the account lie at `{data}`, which all clients would share: name `{path}` in `endpoints` \
                 of a token"
            ));
        }
    }
    Ok(paths)
}

/// Checks the path of an endpoint.
pub(crate) fn check(path: &str) -> Result<(), String> {
    let inner = path.strip_suffix("/*").unwrap_or(path);
    let segments = inner.strip_prefix("/v1/").map(|rest| rest.split('/'));
    let is_word = |segment: &str| {
        let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        !segment.is_empty() && segment.bytes().all(is_usual)
    };
    if !segments.is_some_and(|mut segments| segments.all(is_word)) {
        return Err(format!(
            "`{path}` is no endpoint: one is `/v1/` and names, such as `/v1/embeddings`, or all below a name, \
             such as `/v1/images/*`"
        ));
    }
    if OWN.contains(&path) || OWN_BELOW.iter().any(|own| is_at_or_below(path, own)) {
        return Err(format!("`{path}` is an endpoint of the gateway itself"));
    }
    Ok(())
}

/// The provider of an endpoint that a token opens.
pub(crate) fn provider(value: &DeValue<'_>) -> Result<Arc<str>, String> {
    filled(value)
}

/// Those of these endpoints at providers that are not among `providers`.
pub(crate) fn problems<'a>(
    endpoints: impl Iterator<Item = &'a TokenEndpoint>,
    providers: &[&str],
) -> Vec<ConfigProblem> {
    let unknown = endpoints.filter(|one| !providers.contains(&&*one.provider));
    let problems = unknown.map(|endpoint| {
        let hint = did_you_mean(&endpoint.provider, providers);
        let message = format!("there is no provider `{}`{hint}", endpoint.provider);
        ConfigProblem::new(endpoint.place.clone(), message)
    });
    problems.collect()
}

/// The place of an endpoint where data of the account lie, if it is open with it.
fn data_at(endpoint: &str) -> Option<&'static str> {
    let folder = endpoint.strip_suffix("/*").unwrap_or(endpoint);
    let mut places = DATA.into_iter();
    places.find(|data| is_at_or_below(folder, data) || endpoint_covers(endpoint, data))
}

fn is_at_or_below(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The endpoints that are open to all clients by default: what they do leaves nothing behind in the account.
pub(crate) const DEFAULT: [&str; 6] = [
    "/v1/audio/speech",
    "/v1/audio/transcriptions",
    "/v1/audio/translations",
    "/v1/embeddings",
    "/v1/images/*",
    "/v1/moderations",
];

/// The endpoints that the gateway answers itself.
const OWN: [&str; 5] = [
    "/v1/*",
    "/v1/chat/completions",
    "/v1/messages",
    "/v1/messages/*",
    "/v1/messages/count_tokens",
];

/// The folders whose endpoints the gateway answers itself.
const OWN_BELOW: [&str; 2] = ["/v1/models", "/v1/responses"];

/// Where data of the account lie (APIs of OpenAI and Anthropic, 2026-10).
const DATA: [&str; 22] = [
    "/v1/agents",
    "/v1/assistants",
    "/v1/audio/voice_consents",
    "/v1/audio/voices",
    "/v1/batches",
    "/v1/chat",
    "/v1/chatkit",
    "/v1/containers",
    "/v1/conversations",
    "/v1/environments",
    "/v1/evals",
    "/v1/files",
    "/v1/fine_tuning",
    "/v1/messages/batches",
    "/v1/organization",
    "/v1/organizations",
    "/v1/realtime",
    "/v1/skills",
    "/v1/threads",
    "/v1/uploads",
    "/v1/vector_stores",
    "/v1/videos",
];
