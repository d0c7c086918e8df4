//! Why a key was not carried over.

/// The reason for the key at this place: the first row whose end the place has.
pub(super) fn reason(place: &str) -> &'static str {
    let fits = |end: &str| place == end || place.ends_with(&format!(".{end}"));
    let mut rows = REASONS.iter();
    rows.find(|(end, _)| fits(end))
        .map_or("was not carried over: Jackfield has no such key", |row| {
            row.1
        })
}

const SETTING: &str = "was not carried over: Jackfield has it for all models, in `[settings]`, or in an `[assistants.NAME]`";
const CACHE: &str = "was not carried over: Jackfield keeps no answers for other requests";
const REDIS: &str =
    "was not carried over: several gateways share a journal in PostgreSQL, and need no Redis";
const TIMEOUT: &str = "was not carried over: Jackfield bounds how long a model may be silent, with `limits.model_idle`, not how long it replies";
const BREAKER: &str =
    "was not carried over: a route leaves out a target that keeps failing by rules of its own";
const KEYS: &str = "was not carried over: keys of users are in Jackfield's journal; make them with `jackfield keys create`";
const SECRET: &str = "was not carried over: Jackfield has no provider with such credentials";

const REASONS: &[(&str, &str)] = &[
    (
        "include",
        "was not read: import each of these files by itself",
    ),
    (
        "mcp_servers",
        "was not carried over: list them in `mcp-servers.json`",
    ),
    (
        "guardrails",
        "was not carried over: see what your Jackfield's `docs/configuration.md` has for it",
    ),
    (
        "credential_list",
        "was not carried over: name the variable of each key under `[providers]`",
    ),
    (
        "litellm_credential_name",
        "was not carried over: name the variable of the key under `[providers]`",
    ),
    (
        "general_settings.alerting",
        "was not carried over: alerts are rules for Prometheus, see docs/monitoring/alerts.yml",
    ),
    ("general_settings.database_url", KEYS),
    ("general_settings.custom_auth", KEYS),
    ("router_settings.redis_host", REDIS),
    ("router_settings.redis_password", REDIS),
    ("router_settings.redis_port", REDIS),
    ("router_settings.redis_url", REDIS),
    (
        "context_window_fallbacks",
        "was not carried over: a long conversation is compacted, see `[compaction]`",
    ),
    (
        "retry_policy",
        "was not carried over: `limits.model_retries` is for failures of every kind that can be retried",
    ),
    ("allowed_fails_policy", BREAKER),
    ("allowed_fails", BREAKER),
    ("cooldown_time", BREAKER),
    ("disable_cooldowns", BREAKER),
    ("request_timeout", TIMEOUT),
    ("timeout", TIMEOUT),
    ("cache", CACHE),
    ("cache_params", CACHE),
    (
        "ssl_verify",
        "was not carried over: certificates are always checked, against those of the system",
    ),
    (
        "api_version",
        "is not needed: Jackfield uses the API without versions",
    ),
    (
        "litellm_params.max_retries",
        "was not carried over: Jackfield has one number for all models, `limits.model_retries`",
    ),
    (
        "litellm_params.max_parallel_requests",
        "was not carried over: a route has the strategy `least_busy`",
    ),
    (
        "litellm_params.extra_headers",
        "was not carried over: Jackfield sends no further headers to a provider",
    ),
    ("litellm_params.frequency_penalty", SETTING),
    ("litellm_params.max_completion_tokens", SETTING),
    ("litellm_params.max_tokens", SETTING),
    ("litellm_params.presence_penalty", SETTING),
    ("litellm_params.reasoning_effort", SETTING),
    ("litellm_params.response_format", SETTING),
    ("litellm_params.seed", SETTING),
    ("litellm_params.stop", SETTING),
    (
        "litellm_params.tags",
        "was not carried over: a route does not choose by tags; make a route for each",
    ),
    ("litellm_params.temperature", SETTING),
    ("litellm_params.thinking", SETTING),
    ("litellm_params.top_p", SETTING),
    ("litellm_params.aws_access_key_id", SECRET),
    ("litellm_params.aws_secret_access_key", SECRET),
    ("litellm_params.vertex_credentials", SECRET),
];
