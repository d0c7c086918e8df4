//! Reads the tables of limits, budget, policy, settings and others.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::caller::tags::TagNames;
use jackfield_domain::compaction::CompactionPolicy;
use jackfield_domain::limits::{Limits, OnLimit};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::Extension;
use jackfield_domain::policy::{PolicyRule, RuleVerdict, UnknownRule};
use jackfield_domain::price::Money;
use jackfield_domain::settings::{CacheMode, CacheTtl, Effort, ThinkingMode, Verbosity};
use jackfield_domain::tool::UnknownPolicy;
use jackfield_engine::{SecondMessage, ToolSearch, TurnOptions};
use jackfield_provider_kit::guarded::Allowed;
use toml::de::DeValue;

use crate::approvals::ApprovalsConfig;
use crate::config::{Config, Network, default_rules};
use crate::database::has_password;
use crate::document::Section;
use crate::file::{Trust, extensions, response_format, trust_help};
use crate::form::{self, ValueForm};
use crate::journal::{JournalConfig, JournalKind};
use crate::place::{ConfigProblem, ValueSource};
use crate::prices::{self, Prices};
use crate::values::{at_least_one, duration, filled, money, one_of, size, texts};

/// Reads `[budget]`.
pub(crate) fn budget(config: &mut Config, mut section: Section<'_>, trust: Trust) {
    form::keys! { section over config.options.allowance;
        active: form::duration("5m"), "The time in which something is under way";
        tokens: form::whole::<u64>(0), "Tokens, input and output together";
    }
    form::keys! { section over config;
        currency: form::of(ValueForm::Text("USD"), currency), "The currency of prices and budgets";
    }
    form::keys! { let section;
        cost: form::of(ValueForm::Money, cost), "Money, in the currency of the prices";
        unpriced: form::one_of(UNPRICED), "Whether models without a price may be called beside a budget of money, for which they do not count";
    }
    if let Some((unpriced, place)) = unpriced {
        if unpriced && trust == Trust::Found {
            let help = trust_help(&place);
            let message = "a file that was merely found allows no models without a price";
            section.problem(ConfigProblem::new(place, message).with_help(help));
        }
        config.options.allowance.unpriced = unpriced;
    }
    if let Some(((cost, currency), place)) = cost {
        config.options.allowance.cost = Some(cost);
        config.cost_place = currency.map(|currency| (currency, place));
    }
    section.finish();
}

/// What `unpriced` says.
const UNPRICED: &[(&str, bool)] = &[("allow", true), ("refuse", false)];

/// Reads `[compaction]`.
pub(crate) fn compaction(options: &mut TurnOptions, mut section: Section<'_>) {
    form::keys! { let section;
        at: form::between(0.0, 1.0), "The share of the context window at which a summary replaces the beginning; 0 is never";
    }
    if let Some((share, _)) = at {
        options.compaction = CompactionPolicy::at_share(share);
    }
    section.finish();
}

/// Reads `[tool_search]`.
pub(crate) fn tool_search(search: &mut ToolSearch, mut section: Section<'_>) {
    form::keys! { section over search;
        always: form::texts("builtin/*"), "Server tools that are offered without a search";
        enabled: form::flag(), "Whether models find the other server tools by a search";
    }
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
    form::keys! { let section;
        command: form::texts("may-it-run"), "A program that is asked before a person is, and its arguments";
        tool: form::text("policy/may_it_run"), "A tool that is asked before a person is, as server/tool";
    }
    form::keys! { section over approvals;
        timeout: form::duration("30s"), "How long it has for an answer";
    }
    if let Some((command, place)) = command {
        let command = command.iter().map(ToString::to_string).collect();
        (approvals.command, approvals.tool) = (Some((command, place)), None);
    }
    if let Some(tool) = tool {
        approvals.tool = Some(tool);
    }
    section.finish();
}

/// Reads `[prices]`.
pub(crate) fn prices(prices: &mut Prices, section: Section<'_>, trust: Trust) {
    if let (Trust::Found, Some(place)) = (trust, section.first_place()) {
        let help = trust_help(&place);
        let message = "a file that was merely found does not say what anything costs";
        section.problem(ConfigProblem::new(place, message).with_help(help));
    }
    prices::read(prices, section);
}

/// Reads `[tags]`.
pub(crate) fn tags(tags: &mut TagNames, mut section: Section<'_>, trust: Trust) {
    if let (Trust::Found, Some(place)) = (trust, section.first_place()) {
        let help = trust_help(&place);
        let message = "a file that was merely found does not say what is recorded of requests";
        section.problem(ConfigProblem::new(place, message).with_help(help));
    }
    let parse = |value: &DeValue<'_>| {
        let names = texts(value)?;
        TagNames::parse(names.iter().map(|name| &**name)).map_err(|error| error.to_string())
    };
    form::keys! { let section;
        names: form::of(ValueForm::Texts("team"), parse), "The names of the tags that are recorded of requests, at most 8";
    }
    if let Some((names, _)) = names {
        *tags = names;
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
    let bytes = |example| form::of(ValueForm::Size(example), bytes);
    // The registry knows further kinds.
    let kinds = ValueForm::Words(vec!["memory", "postgres", "sqlite"]);
    form::keys! { let section;
        path: form::filled("~/notes/jackfield.db"), "The file that conversations are kept in";
    }
    if let Some((path, place)) = path {
        journal.set_path(PathBuf::from(&*path), place);
    }
    form::keys! { section over journal;
        keep_bytes: bytes("1GiB"), "How much conversations may have together before the oldest are deleted";
        keep_days: form::positive(), "How many days a conversation is kept after its last turn";
        max_size: bytes("10GB"), "How large the file of the conversations may become";
    }
    form::keys! { let section;
        kind: form::of(kinds, filled), "What conversations are kept in";
    }
    if let Some((kind, place)) = kind {
        (journal.kind, journal.kind_place) = (JournalKind::from_name(&kind), Some(place));
    }
    // A kind of a program's own may have options of these names.
    if !matches!(journal.kind, JournalKind::Other(_)) {
        database(journal, &mut section);
    }
    match journal.kind {
        JournalKind::Memory | JournalKind::Postgres | JournalKind::Sqlite => section.finish(),
        JournalKind::Other(_) => {
            let rest = section.again();
            for entry in section.rest() {
                if let Some(value) = rest.value(&entry, form::any(), "") {
                    journal.options.insert(entry.name, (value, entry.place));
                }
            }
        }
    }
}

/// Reads the keys of a PostgreSQL journal. An address selects it.
fn database(journal: &mut JournalConfig, section: &mut Section<'_>) {
    form::keys! { let section;
        url: form::filled("postgres://jackfield@db.example.com/jackfield"), "The address of the PostgreSQL database that conversations are kept in, without a password";
        url_env: form::filled("DATABASE_URL"), "The environment variable with that address, perhaps with a password";
        password_env: form::filled("PGPASSWORD"), "The environment variable with the password of the database";
        schema: form::filled("jackfield"), "The schema that has the tables; default: `jackfield`";
        listen_url: form::filled("postgres://jackfield@db.example.com/jackfield"), "The address for notifications between processes, past a pooler in transaction mode; default: none, and processes look every 250 ms";
        lease: form::of(ValueForm::Duration("10s"), parse_lease), "How long a process counts as alive after the database last heard of it; default: 10s";
        connections: form::positive(), "How many connections a process has to the database at most; default: 10";
    }
    let database = &mut journal.database;
    if let Some((name, _)) = password_env {
        database.password_env = Some(name);
    }
    if let Some((lease, _)) = lease {
        database.lease = Some(lease);
    }
    if let Some((name, _)) = schema {
        database.schema = Some(name);
    }
    if let Some((most, _)) = connections {
        database.connections = Some(most);
    }
    if let Some((url, place)) = listen_url {
        if has_password(&url) {
            section.problem(password_in_file(place));
            return;
        }
        database.listen_url = Some(url);
    }
    if let Some((name, place)) = url_env {
        database.url_env = Some(name);
        (journal.kind, journal.kind_place) = (JournalKind::Postgres, Some(place));
    }
    let Some((url, place)) = url else {
        return;
    };
    if has_password(&url) {
        section.problem(password_in_file(place));
        return;
    }
    journal.set_url(&url, place);
}

/// Parses a lease: it has to outlast a pause of the database or of the process.
fn parse_lease(value: &DeValue<'_>) -> Result<Duration, String> {
    let lease = duration(value)?;
    if (SHORTEST_LEASE..=LONGEST_LEASE).contains(&lease) {
        return Ok(lease);
    }
    Err("it has to be between 2s and 10m".to_owned())
}

fn password_in_file(place: ValueSource) -> ConfigProblem {
    let message = "a password does not belong in a file that is shown, copied and committed";
    ConfigProblem::new(place, message).with_help(
        "put the whole address into an environment variable and name that with `url_env`, or the password alone \
         with `password_env`; then change the password, if another person may have seen it",
    )
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
    form::keys! { section over limits;
        approval: form::duration("24h"), "How long a person has for an approval";
        client_tool: form::duration("2m"), "How long a caller has for the result of its own tool";
        model_idle: form::duration("2m"), "How long a model may say nothing";
        model_retries: form::whole::<u32>(0), "How many times a model call is tried again";
        on_limit: form::one_of(OnLimit::NAMES), "What happens at a limit";
        parallel_calls: form::positive(), "How many tool calls run at once";
        repeats: form::positive(), "How often the same call may have the same outcome";
        retry_after: form::duration("1m"), "The longest that a server may tell us to wait";
        rounds: form::positive(), "How many rounds a turn may have, the last one without tools";
        shown: form::size("256KiB"), "How much of a tool's outcome the model is shown";
        stored: form::size("4MiB"), "How much of a tool's outcome is kept";
        tool_call: form::duration("30s"), "How long a tool call may take";
    }
    section.finish();
}

/// Reads `[network]`.
pub(crate) fn network(network: &mut Network, mut section: Section<'_>, trust: Trust) {
    let networks = form::of(ValueForm::Texts("10.0.0.0/8"), allowed);
    form::keys! { let section;
        allow_private: networks, "What tools may reach although it is not public";
        proxy: form::filled("http://proxy.example:8080"), "A proxy for everything but this machine";
    }
    if let Some((allowed, place)) = allow_private {
        if trust == Trust::Found {
            let help = trust_help(&place);
            let message = "a file that was merely found allows no addresses";
            section.problem(ConfigProblem::new(place, message).with_help(help));
        }
        network.allow_private = allowed;
    }
    form::keys! { section over network;
        connect_timeout: form::duration("10s"), "How long a connection may take to be made";
    }
    let about = "Has no effect: connections are kept for the next request";
    let _ignored = section.take("keep_http", form::flag(), about);
    if let Some((proxy, place)) = proxy {
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
pub(crate) fn allowed(value: &DeValue<'_>) -> Result<Allowed, String> {
    let mut allowed = Allowed::default();
    for text in texts(value)? {
        allowed.allow(&text).map_err(|error| error.to_string())?;
    }
    Ok(allowed)
}

/// Reads `[policy]`, `[policy.tools]` and `[policy.unknown_of]`.
pub(crate) fn policy(options: &mut TurnOptions, mut section: Section<'_>, trust: Trust) {
    form::keys! { section over options;
        tools_after_first_round: form::flag(), "Whether rounds after the first may use tools";
    }
    form::keys! { let section;
        unknown: form::one_of(UnknownPolicy::NAMES), "What to do about a call that may have taken effect";
    }
    if let Some((unknown, place)) = unknown {
        if (trust, unknown) == (Trust::Found, UnknownPolicy::Retry) {
            section.problem(looser(place));
        }
        options.when_unknown = unknown;
    }
    let rules = section.section("tools");
    let table = rules.again();
    // In a found file, `ask` yields to the user's rules but not to the default ones, and `deny` overrides both.
    let mut weak = default_rules().len().min(options.policy.rules.len());
    for entry in rules.entries() {
        let verdict = form::one_of(&[
            ("allow", RuleVerdict::Allow),
            ("ask", RuleVerdict::Ask),
            ("deny", RuleVerdict::Deny),
        ]);
        let about = "A rule for the tools that fit the pattern";
        let Some(verdict) = table.value(&entry, verdict, about) else {
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
        let about = "The same for the tools that fit the pattern";
        let Some(answer) = table.value(&entry, form::one_of(UnknownPolicy::NAMES), about) else {
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

/// Reads `[session]`.
pub(crate) fn session(config: &mut Config, mut section: Section<'_>) {
    form::keys! { section over config;
        keep_asks: form::flag(), "Whether the session of an `ask` without --session is kept";
    }
    let second = form::one_of(SecondMessage::NAMES);
    let about = "What becomes of a message to a session that is at work";
    section.set("second_message", second, about, &mut config.options.if_busy);
    section.finish();
}

/// The problem of a looser policy in a found file.
fn looser(place: ValueSource) -> ConfigProblem {
    let help = trust_help(&place);
    let message = "a file that was merely found may ask or deny, but not allow";
    ConfigProblem::new(place, message).with_help(help)
}

/// Reads `[settings]`.
pub(crate) fn settings(
    options: &mut TurnOptions,
    extensions: &mut Vec<(Extension, ValueSource)>,
    mut section: Section<'_>,
    trust: Trust,
) {
    let about = "Fields that only one dialect knows, by dialect";
    let fields = section.free("extensions", about);
    extensions::read(extensions, fields, trust);
    let thinking = form::of(ValueForm::Thinking, thinking);
    let strict = form::of(ValueForm::Strict, strict);
    form::keys! { section over options.settings;
        cache: form::one_of(CacheMode::NAMES), "Which cache points requests have";
        cache_ttl: form::one_of(CacheTtl::NAMES), "How long a provider keeps what our own cache points cover";
        effort: form::one_of(Effort::NAMES), "How hard the model should think";
        end_user: form::filled("u-17"), "A stable name of the end user; no personal data";
        frequency_penalty: form::between(-2.0, 2.0), "Against repetition in proportion to frequency";
        max_output_tokens: form::positive(), "The most output tokens of one reply, reasoning included";
        parallel_calls: form::flag(), "Whether one reply may hold several calls";
        presence_penalty: form::between(-2.0, 2.0), "Against any repetition";
        response_format: form::of(ValueForm::ResponseFormat, response_format::read), "The form of the answer";
        seed: form::whole::<i64>(i64::MIN), "For sampling that can be repeated";
        service_tier: form::text("standard_only"), "The provider's name of a price and speed class";
        stop: form::texts("END"), "Texts that end the reply";
        temperature: form::between(0.0, 2.0), "Sampling temperature";
        thinking: thinking, "Whether the model thinks before it answers, or the most tokens for it";
        thinking_shown: form::flag(), "Whether the text of the thinking is sent";
        top_k: form::positive(), "Sampling among the k likeliest tokens";
        top_p: form::between(0.0, 1.0), "Sampling among the likeliest tokens of this probability together";
        verbosity: form::one_of(Verbosity::NAMES), "How much the model should say";
    }
    form::keys! { section over options;
        strict: strict, "Refuses to ask the model where this, or something worse, would get lost";
    }
    section.finish();
}

/// Parses a mode of thinking, or the most tokens for it.
fn thinking(value: &DeValue<'_>) -> Result<ThinkingMode, String> {
    if value.is_integer() {
        return at_least_one(value).map(ThinkingMode::Budget);
    }
    one_of(&[
        ("adaptive", ThinkingMode::Adaptive),
        ("off", ThinkingMode::Off),
    ])(value)
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
    let effects: Vec<_> = NoteEffect::NAMES.iter().rev().copied().collect();
    one_of(&effects)(value).map(Some)
}

/// Below it, a pause of the database or of the process would end leases.
const SHORTEST_LEASE: Duration = Duration::from_secs(2);
/// Above it, the turns of a lost process would wait too long.
const LONGEST_LEASE: Duration = Duration::from_secs(600);
