//! Reads the providers: their addresses, and the sources of their keys.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use jackfield_domain::settings::CacheMode;

use crate::config::{ProviderConfig, ProviderPassthrough};
use crate::document::Section;
use crate::file::{Trust, trust_help};
use crate::form::{self, ValueForm};
use crate::key_source::KeySource;
use crate::place::ConfigProblem;
use crate::values::filled;

/// Reads all providers over the existing ones, key by key.
pub(crate) fn read(
    providers: &mut BTreeMap<Arc<str>, ProviderConfig>,
    section: Section<'_>,
    trust: Trust,
) {
    if let (Trust::Found, Some(place)) = (trust, section.first_place()) {
        let help = trust_help(&place);
        let message =
            "a file that was merely found does not say where conversations and keys are sent";
        section.problem(ConfigProblem::new(place, message).with_help(help));
    }
    let names = section.again();
    for entry in section.entries() {
        if entry.name.is_empty() || entry.name.contains('/') {
            names.problem(ConfigProblem::new(
                entry.place,
                "the name of a provider is not empty and has no `/`",
            ));
            continue;
        }
        if &*entry.name == AGENTS {
            let message = format!("`{AGENTS}` is the name of the permission questions of agents");
            names
                .problem(ConfigProblem::new(entry.place, message).with_help(
                    "give the provider another name, and the present one as its `kind`",
                ));
            continue;
        }
        let table = Section::of(&names, &entry);
        let provider = providers.entry(entry.name).or_default();
        provider.place = Some(entry.place);
        provider_table(provider, table);
    }
}

fn provider_table(provider: &mut ProviderConfig, mut table: Section<'_>) {
    // The registry knows the kinds.
    let kinds = form::of(ValueForm::Words(Vec::new()), filled);
    let variable = form::text("ANTHROPIC_API_KEY");
    form::keys! { let table;
        kind: kinds, "Its kind; default: the provider's own name";
        api_key_env: variable, "The environment variable that holds its key; empty if it needs none";
        api_key_file: form::filled("key"), "The file that holds its key and nothing else";
        api_key_keyring: form::flag(), "Whether the keyring of the operating system holds its key";
    }
    if let Some(kind) = kind {
        provider.kind = Some(kind);
    }
    let passthrough = [
        ("auto", ProviderPassthrough::Auto),
        ("always", ProviderPassthrough::Always),
        ("never", ProviderPassthrough::Never),
    ];
    form::keys! { table over provider;
        passthrough: form::one_of(&passthrough), "Whether requests go to it byte for byte; `auto` is for a vendor's own API";
        base_url: form::filled("https://models.example.com"), "Its address";
        cache: form::one_of(CacheMode::NAMES), "Which cache points its requests have; default: `settings.cache`";
    }
    if let Some(place) = table.place_of("api_key") {
        let problem = ConfigProblem::new(
            place,
            "a key does not belong in a file that is shown, copied and committed",
        );
        table.problem(problem.with_help(
            "put it into an environment variable and name that with `api_key_env`, \
             into a file of its own and name that with `api_key_file`, \
             or into the keyring with `jackfield keys set`; then change the key, if another person may have seen it",
        ));
    }
    let keyring = api_key_keyring.filter(|(is_used, _)| *is_used);
    if let Some((_, place)) = keyring {
        if api_key_env.is_some() || api_key_file.is_some() {
            let message = "there is another source already: a key has one place";
            table.problem(ConfigProblem::new(place, message));
        }
        provider.key = Some(KeySource::Keyring);
    }
    match (api_key_env, api_key_file) {
        (Some(_), Some((_, place))) => {
            table.problem(ConfigProblem::new(
                place,
                "there is `api_key_env` already: a key has one place",
            ));
        }
        (Some((name, _)), None) if name.is_empty() => provider.key = Some(KeySource::None),
        (Some((name, place)), None) => {
            if let Some(problem) = not_a_variable(&name) {
                table.problem(ConfigProblem::new(place, problem));
            }
            provider.key = Some(KeySource::Variable(name));
        }
        (None, Some((path, _))) => provider.key = Some(KeySource::File(PathBuf::from(&*path))),
        (None, None) => {}
    }
    let rest = table.again();
    for entry in table.rest() {
        if let Some(value) = rest.value(&entry, form::any(), "") {
            provider.options.insert(entry.name, (value, entry.place));
        }
    }
}

/// The problem of an invalid variable name. The name is not repeated, as it may be a key.
pub(super) fn not_a_variable(name: &str) -> Option<&'static str> {
    let fits = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let begins = !name.starts_with(|c: char| c.is_ascii_digit());
    (!(fits && begins)).then_some(
        "this is the name of an environment variable, such as \"ANTHROPIC_API_KEY\", and not a key",
    )
}

/// The provider of turns that only ask a person a question of another agent; policy rules name it, too.
const AGENTS: &str = "agents";
