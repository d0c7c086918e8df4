//! Explains the effective configuration: each value, and its source.

use std::time::Duration;

use jackfield_domain::limits::Limits;
use jackfield_domain::settings::CacheTtl;
use jackfield_provider_kit::transport::TransportSettings;
use serde_json::{Value, json};

use crate::config::{BUILTINS, COMPACTION_SHARE, Config, DEFAULT_PROMPT};
use crate::document::quoted;
use crate::endpoints;
use crate::place::{Origin, ValueSource};
use crate::prices::CURRENCY;
use crate::redact;
use crate::servers::McpServerEntry;

/// An effective value, and its source.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// Its key, with dots, as in `limits.rounds`.
    pub key: String,
    /// Its source.
    pub place: ValueSource,
    /// The value as it would be written, with secrets redacted.
    pub value: Value,
}

impl Config {
    /// All effective values by key: those of files, environment and flags, and defaults for the rest.
    ///
    /// Keys without a value or default are left out, and secrets are redacted.
    #[must_use]
    pub fn explain(&self) -> Vec<Explanation> {
        let configured = self
            .raw_values
            .0
            .iter()
            .map(|(key, (value, place))| Explanation {
                key: key.clone(),
                place: place.clone(),
                value: redact::value(key, value),
            });
        let defaults = defaults();
        let unset = defaults.into_iter();
        let unset = unset.filter(|(key, _)| !self.raw_values.0.contains_key(key));
        let unset = unset.map(|(key, value)| Explanation {
            key,
            place: Origin::Default.into(),
            value,
        });
        let mut all: Vec<Explanation> = configured.chain(unset).collect();
        all.sort_by(|a, b| a.key.cmp(&b.key));
        all
    }
}

impl McpServerEntry {
    /// The configured address, if it has one, without what may be a secret in it.
    #[must_use]
    pub fn shown_url(&self) -> Option<String> {
        self.url.as_deref().map(redact::text)
    }

    /// The configured command, with secrets in its arguments redacted; empty for a server with an address.
    #[must_use]
    pub fn shown_command(&self) -> Vec<String> {
        if self.url.is_some() {
            return Vec::new();
        }
        let arguments = self.arguments.iter().map(|argument| &**argument);
        let mut shown = vec![redact::text(&self.command)];
        shown.extend(redact::arguments(arguments));
        shown
    }
}

/// The defaults by key, as they would be written in a file.
pub(crate) fn defaults() -> Vec<(String, Value)> {
    let config = Config::default();
    let Limits {
        approval,
        client_tool,
        model_retries,
        model_idle,
        on_limit,
        parallel_calls,
        repeats,
        retry_after,
        rounds,
        shown,
        stored,
        tool_call,
    } = config.options.limits;
    let model = &config.options.model;
    let serve = config.serve.limits;
    let search = &config.options.tool_search;
    let builtins = format!("policy.tools.{}", quoted(BUILTINS));
    let defaults = vec![
        (&*builtins, json!("allow")),
        ("approvals.timeout", time(config.approvals.timeout)),
        ("budget.currency", json!(CURRENCY)),
        ("compaction.at", json!(COMPACTION_SHARE)),
        ("journal.kind", json!(config.journal.kind.name())),
        ("limits.approval", time(approval)),
        ("limits.client_tool", time(client_tool)),
        ("limits.model_idle", time(model_idle)),
        ("limits.model_retries", json!(model_retries)),
        ("limits.on_limit", json!(on_limit.as_str())),
        ("limits.parallel_calls", json!(parallel_calls)),
        ("limits.repeats", json!(repeats)),
        ("limits.retry_after", time(retry_after)),
        ("limits.rounds", json!(rounds)),
        ("limits.shown", size(shown)),
        ("limits.stored", size(stored)),
        ("limits.tool_call", time(tool_call)),
        ("mcp.elicitation", json!(config.questions.elicitation)),
        ("mcp.list_lifetime", time(config.list_lifetime)),
        ("mcp.sampling", json!(config.questions.sampling)),
        ("mcp.start_wait", time(config.start_wait)),
        (
            "model",
            json!(format!("{}/{}", model.provider, model.model)),
        ),
        ("network.allow_private", json!([])),
        (
            "network.connect_timeout",
            time(TransportSettings::default().connect_timeout),
        ),
        (
            "policy.tools_after_first_round",
            json!(config.options.tools_after_first_round),
        ),
        (
            "policy.unknown",
            json!(config.options.when_unknown.as_str()),
        ),
        ("serve.access_log", json!(config.serve.access_log)),
        ("serve.approvals", json!(config.serve.approvals.as_str())),
        ("serve.bind", json!(config.serve.bind.to_string())),
        ("serve.disconnect", json!(config.serve.disconnect.as_str())),
        ("serve.endpoints", json!(endpoints::DEFAULT)),
        ("serve.extensions", json!(config.serve.extensions)),
        ("serve.keep_alive", time(config.serve.keep_alive)),
        ("serve.limits.body", size(serve.body)),
        ("serve.limits.body_time", time(serve.body_time)),
        ("serve.limits.connections", json!(serve.connections)),
        ("serve.limits.drain", time(serve.drain)),
        ("serve.limits.header_time", time(serve.header_time)),
        ("serve.limits.headers", json!(serve.headers)),
        ("serve.limits.recovered_turns", json!(serve.recovered_turns)),
        ("serve.limits.streams", json!(serve.streams)),
        ("serve.limits.tools", json!(serve.tools)),
        ("serve.limits.whole_reply", time(serve.whole_reply)),
        ("serve.limits.write_time", time(serve.write_time)),
        ("serve.log", json!(config.serve.log.as_str())),
        ("serve.approve", json!(config.serve.approve)),
        ("serve.ask", json!(config.serve.ask)),
        (
            "serve.budget_warning",
            json!(f64::from(config.serve.budget_warning) / 100.0),
        ),
        ("serve.log_content", json!(config.serve.log_content)),
        ("serve.metrics", json!(config.serve.metrics)),
        ("serve.passthrough", json!("auto")),
        ("serve.responses", json!("kept")),
        ("serve.offer", json!("none")),
        ("serve.show_tools", json!(config.serve.show_tools)),
        (
            "serve.stream_arguments",
            json!(config.serve.stream_arguments),
        ),
        ("serve.tools", json!("all")),
        ("serve.whole_replies", json!(config.serve.whole_replies)),
        ("session.keep_asks", json!(config.keep_asks)),
        (
            "session.second_message",
            json!(config.options.if_busy.as_str()),
        ),
        ("settings.cache", json!(config.cache_mode.as_str())),
        ("settings.cache_ttl", json!(CacheTtl::FiveMinutes.as_str())),
        ("settings.response_format", json!("text")),
        (
            "settings.strict",
            config
                .options
                .strict
                .map_or(json!(false), |effect| json!(effect.as_str())),
        ),
        ("system.prompt", json!(DEFAULT_PROMPT)),
        ("tool_cache.bytes", size(config.tool_cache.bytes)),
        ("tool_cache.entries", json!(config.tool_cache.entries)),
        ("tags.names", json!([])),
        ("tool_search.always", json!(search.always)),
        ("tool_search.enabled", json!(search.enabled)),
        ("trusted_projects", json!([])),
    ];
    let owned = defaults
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value));
    owned.collect()
}

fn time(time: Duration) -> Value {
    // In one unit, as people write it.
    let seconds = time.as_secs();
    let text = match seconds {
        _ if time.subsec_nanos() > 0 => humantime::format_duration(time).to_string(),
        seconds if seconds > 0 && seconds % 3600 == 0 => format!("{}h", seconds / 3600),
        seconds if seconds > 0 && seconds % 60 == 0 => format!("{}m", seconds / 60),
        seconds => format!("{seconds}s"),
    };
    text.into()
}

fn size(bytes: usize) -> Value {
    const KIB: usize = 1 << 10;
    const MIB: usize = 1 << 20;
    match bytes {
        _ if bytes > 0 && bytes.is_multiple_of(MIB) => format!("{}MiB", bytes / MIB).into(),
        _ if bytes > 0 && bytes.is_multiple_of(KIB) => format!("{}KiB", bytes / KIB).into(),
        _ => bytes.into(),
    }
}
