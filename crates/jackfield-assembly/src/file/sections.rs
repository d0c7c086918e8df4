//! Reads the tables of limits, budget, policy, settings and others.

use std::path::PathBuf;
use std::sync::Arc;

use jackfield_domain::limits::{Limits, OnLimit};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::policy::{PolicyRule, RuleVerdict, UnknownRule};
use jackfield_domain::price::Money;
use jackfield_domain::settings::{Effort, ThinkingMode, Verbosity};
use jackfield_domain::tool::UnknownPolicy;
use jackfield_engine::{SecondMessage, TurnOptions};
use jackfield_provider_kit::guarded::Allowed;
use toml::de::DeValue;

use crate::approvals::ApprovalsConfig;
use crate::config::{Config, Network};
use crate::document::Section;
use crate::file::{Trust, extensions, response_format, trust_help};
use crate::journal::{JournalConfig, JournalKind};
use crate::place::{ConfigProblem, ValueSource};
use crate::values::{
    at_least_one, between, duration, filled, flag, money, one_of, shared, size, texts, whole,
};

/// Reads `[budget]`.
pub(crate) fn budget(config: &mut Config, mut section: Section<'_>) {
    let allowance = &mut config.options.allowance;
    section.set("active", duration, &mut allowance.active);
    if let Some(((cost, currency), place)) = section.take("cost", cost) {
        allowance.cost = Some(cost);
        config.cost_place = currency.map(|currency| (currency, place));
    }
    section.set("currency", currency, &mut config.currency);
    section.set("tokens", whole::<u64>, &mut allowance.tokens);
    section.finish();
}

/// Reads `[approvals]`.
pub(crate) fn approvals(approvals: &mut ApprovalsConfig, mut section: Section<'_>, trust: Trust) {
    if trust == Trust::Found
        && let Some(place) = section.first_place()
    {
        let help = trust_help(&place);
        let message = "a file that was merely found does not say who lets calls run";
        section.problem(ConfigProblem::new(place, message).with_help(help));
    }
    if let Some((command, place)) = section.take("command", texts) {
        let command = command.iter().map(ToString::to_string).collect();
        (approvals.command, approvals.tool) = (Some((command, place)), None);
    }
    section.set("timeout", duration, &mut approvals.timeout);
    if let Some(tool) = section.take("tool", shared) {
        approvals.tool = Some(tool);
    }
    section.finish();
}

/// Reads `[journal]`.
pub(crate) fn journal(journal: &mut JournalConfig, mut section: Section<'_>, trust: Trust) {
    // A found file could move the conversations to a place where others read them, or have them deleted, without
    // the user's consent.
    if trust == Trust::Found
        && let Some(place) = section.first_place()
    {
        let help = trust_help(&place);
        let message = "a file that was merely found does not say where conversations are kept";
        section.problem(ConfigProblem::new(place, message).with_help(help));
    }
    let bytes = |value: &DeValue<'_>| size(value).map(|bytes| bytes as u64);
    section.set("keep_bytes", bytes, &mut journal.keep_bytes);
    section.set("keep_days", at_least_one, &mut journal.keep_days);
    section.set("max_size", bytes, &mut journal.max_size);
    let kind = one_of(&[
        ("memory", JournalKind::Memory),
        ("sqlite", JournalKind::Sqlite),
    ]);
    if let Some((path, place)) = section.take("path", filled) {
        journal.set_path(PathBuf::from(&*path), place);
    }
    section.set("kind", kind, &mut journal.kind);
    section.finish();
}

/// Parses an amount of money, with an optional currency.
fn cost(value: &DeValue<'_>) -> Result<(Money, Option<Arc<str>>), String> {
    let Some(text) = value.as_str() else {
        return money(value).map(|cost| (cost, None));
    };
    let (amount, unit) = match text.trim().split_once(' ') {
        Some((amount, unit)) => (amount, Some(code(unit.trim())?)),
        None => (text.trim(), None),
    };
    let amount = Money::parse(amount).map_err(|error| error.to_string())?;
    Ok((amount, unit))
}

/// Parses a currency code.
fn currency(value: &DeValue<'_>) -> Result<Arc<str>, String> {
    code(&filled(value)?)
}

fn code(text: &str) -> Result<Arc<str>, String> {
    if text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase()) {
        Ok(text.into())
    } else {
        Err(format!(
            "`{text}` is not the code of a currency, such as \"USD\""
        ))
    }
}

/// Reads `[limits]`.
pub(crate) fn limits(limits: &mut Limits, mut section: Section<'_>) {
    section.set("approval", duration, &mut limits.approval);
    section.set("client_tool", duration, &mut limits.client_tool);
    section.set("model_idle", duration, &mut limits.model_idle);
    section.set("model_retries", whole::<u32>, &mut limits.model_retries);
    let on_limit = one_of(&[("answer", OnLimit::Answer), ("error", OnLimit::Error)]);
    section.set("on_limit", on_limit, &mut limits.on_limit);
    section.set("parallel_calls", at_least_one, &mut limits.parallel_calls);
    section.set("repeats", at_least_one, &mut limits.repeats);
    section.set("retry_after", duration, &mut limits.retry_after);
    section.set("rounds", at_least_one, &mut limits.rounds);
    section.set("shown", size, &mut limits.shown);
    section.set("stored", size, &mut limits.stored);
    section.set("tool_call", duration, &mut limits.tool_call);
    section.finish();
}

/// Reads `[network]`.
pub(crate) fn network(network: &mut Network, mut section: Section<'_>, trust: Trust) {
    if let Some((allowed, place)) = section.take("allow_private", allowed) {
        if trust == Trust::Found {
            let help = trust_help(&place);
            let message = "a file that was merely found allows no addresses";
            section.problem(ConfigProblem::new(place, message).with_help(help));
        }
        network.allow_private = allowed;
    }
    section.set("connect_timeout", duration, &mut network.connect_timeout);
    section.set("keep_http", flag, &mut network.keep_http);
    if let Some((proxy, place)) = section.take("proxy", filled) {
        if trust == Trust::Found {
            let help = trust_help(&place);
            let message = "a file that was merely found does not say where conversations are sent";
            section.problem(ConfigProblem::new(place.clone(), message).with_help(help));
        }
        network.proxy = Some((proxy, place));
    }
    section.finish();
}

/// Parses networks, addresses and names.
fn allowed(value: &DeValue<'_>) -> Result<Allowed, String> {
    let mut allowed = Allowed::default();
    for text in texts(value)? {
        allowed.allow(&text).map_err(|error| error.to_string())?;
    }
    Ok(allowed)
}

/// Reads `[policy]`, `[policy.tools]` and `[policy.unknown_of]`.
pub(crate) fn policy(options: &mut TurnOptions, mut section: Section<'_>, trust: Trust) {
    section.set(
        "tools_after_first_round",
        flag,
        &mut options.tools_after_first_round,
    );
    if let Some((unknown, place)) = section.take("unknown", one_of(UNKNOWN)) {
        if (trust, unknown) == (Trust::Found, UnknownPolicy::Retry) {
            section.problem(looser(place));
        }
        options.when_unknown = unknown;
    }
    let rules = section.section("tools");
    let table = rules.again();
    // In a found file, `ask` yields to the user's rules, and `deny` overrides them.
    let mut weak = 0;
    for entry in rules.entries() {
        let verdict = one_of(&[
            ("allow", RuleVerdict::Allow),
            ("ask", RuleVerdict::Ask),
            ("deny", RuleVerdict::Deny),
        ]);
        let Some(verdict) = table.value(&entry, verdict) else {
            continue;
        };
        let rule = PolicyRule {
            pattern: entry.name,
            verdict,
        };
        match (trust, verdict) {
            (Trust::Found, RuleVerdict::Allow) => table.problem(looser(entry.place)),
            (Trust::Found, RuleVerdict::Ask) => {
                options.policy.rules.insert(weak, rule);
                weak += 1;
            }
            (Trust::Found, RuleVerdict::Deny) | (Trust::Named | Trust::Own, _) => {
                options.policy.rules.push(rule);
            }
        }
    }
    unknown_of(
        &mut options.unknown_rules,
        section.section("unknown_of"),
        trust,
    );
    section.finish();
}

/// Reads `[policy.unknown_of]`.
fn unknown_of(rules: &mut Vec<UnknownRule>, section: Section<'_>, trust: Trust) {
    let table = section.again();
    // Rules of a found file yield to the user's.
    let mut weak = 0;
    for entry in section.entries() {
        let Some(answer) = table.value(&entry, one_of(UNKNOWN)) else {
            continue;
        };
        let rule = UnknownRule {
            answer,
            pattern: entry.name,
        };
        match (trust, answer) {
            (Trust::Found, UnknownPolicy::Retry) => table.problem(looser(entry.place)),
            (Trust::Found, UnknownPolicy::Ask | UnknownPolicy::Report) => {
                rules.insert(weak, rule);
                weak += 1;
            }
            (Trust::Named | Trust::Own, _) => rules.push(rule),
        }
    }
}

/// The policies for calls with an unknown outcome.
const UNKNOWN: &[(&str, UnknownPolicy)] = &[
    ("ask", UnknownPolicy::Ask),
    ("report", UnknownPolicy::Report),
    ("retry", UnknownPolicy::Retry),
];

/// Reads `[session]`.
pub(crate) fn session(options: &mut TurnOptions, mut section: Section<'_>) {
    let second = one_of(&[
        ("cancel", SecondMessage::Cancel),
        ("queue", SecondMessage::Queue),
        ("refuse", SecondMessage::Refuse),
    ]);
    section.set("second_message", second, &mut options.if_busy);
    section.finish();
}

/// The problem of a looser policy in a found file.
fn looser(place: ValueSource) -> ConfigProblem {
    let help = trust_help(&place);
    let message = "a file that was merely found may ask or deny, but not allow";
    ConfigProblem::new(place, message).with_help(help)
}

/// Reads `[settings]`.
pub(crate) fn settings(config: &mut Config, mut section: Section<'_>, trust: Trust) {
    extensions::read(&mut config.extensions, section.section("extensions"), trust);
    let settings = &mut config.options.settings;
    let effort = one_of(&[
        ("none", Effort::None),
        ("minimal", Effort::Minimal),
        ("low", Effort::Low),
        ("medium", Effort::Medium),
        ("high", Effort::High),
        ("extra_high", Effort::ExtraHigh),
        ("max", Effort::Max),
    ]);
    section.set("effort", effort, &mut settings.effort);
    section.set("end_user", filled, &mut settings.end_user);
    section.set(
        "frequency_penalty",
        between(-2.0, 2.0),
        &mut settings.frequency_penalty,
    );
    section.set(
        "max_output_tokens",
        at_least_one,
        &mut settings.max_output_tokens,
    );
    section.set("parallel_calls", flag, &mut settings.parallel_calls);
    section.set(
        "presence_penalty",
        between(-2.0, 2.0),
        &mut settings.presence_penalty,
    );
    section.set(
        "response_format",
        response_format::read,
        &mut settings.response_format,
    );
    section.set("seed", whole::<i64>, &mut settings.seed);
    section.set("service_tier", shared, &mut settings.service_tier);
    section.set("stop", texts, &mut settings.stop);
    section.set("strict", strict, &mut config.options.strict);
    section.set("temperature", between(0.0, 2.0), &mut settings.temperature);
    let thinking = |value: &DeValue<'_>| {
        if value.is_integer() {
            return at_least_one(value).map(ThinkingMode::Budget);
        }
        one_of(&[
            ("adaptive", ThinkingMode::Adaptive),
            ("off", ThinkingMode::Off),
        ])(value)
    };
    section.set("thinking", thinking, &mut settings.thinking);
    section.set("thinking_shown", flag, &mut settings.thinking_shown);
    section.set("top_k", at_least_one, &mut settings.top_k);
    section.set("top_p", between(0.0, 1.0), &mut settings.top_p);
    let verbosity = one_of(&[
        ("high", Verbosity::High),
        ("low", Verbosity::Low),
        ("medium", Verbosity::Medium),
    ]);
    section.set("verbosity", verbosity, &mut settings.verbosity);
    section.finish();
}

/// Parses an effect, or `false`.
fn strict(value: &DeValue<'_>) -> Result<Option<NoteEffect>, String> {
    match value.as_bool() {
        Some(false) => return Ok(None),
        Some(true) => {
            let which = "`true` does not say about what: meaning, quality, cost or cosmetic";
            return Err(which.to_owned());
        }
        None => {}
    }
    let effects = [
        ("meaning", NoteEffect::Meaning),
        ("quality", NoteEffect::Quality),
        ("cost", NoteEffect::Cost),
        ("cosmetic", NoteEffect::Cosmetic),
    ];
    one_of(&effects)(value).map(Some)
}
