//! Reads where the master key of secrets is.

use std::path::PathBuf;

use crate::document::Section;
use crate::file::providers::not_a_variable;
use crate::file::{Trust, trust_help};
use crate::form;
use crate::key_source::KeySource;
use crate::place::{ConfigProblem, ValueSource};

/// Reads `[secrets]`.
pub(crate) fn read(
    secrets: &mut Option<(KeySource, ValueSource)>,
    mut section: Section<'_>,
    trust: Trust,
) {
    // A found file could have secrets encrypted under a key that others know.
    if trust == Trust::Found
        && let Some(place) = section.first_place()
    {
        let help = trust_help(&place);
        let message = "a file that was merely found does not say under which key secrets are kept";
        section.problem(ConfigProblem::new(place, message).with_help(help));
    }
    form::keys! { let section;
        key_env: form::text("JACKFIELD_SECRETS_KEY"), "The environment variable that holds the master key of secrets";
        key_file: form::filled("/run/secrets/jackfield-secrets"), "The file that holds the master key of secrets and nothing else";
        key_keyring: form::flag(), "Whether the keyring of the operating system holds the master key of secrets";
    }
    let variable = key_env.map(|(name, place)| (KeySource::Variable(name), place));
    let file = key_file.map(|(path, place)| (KeySource::File(PathBuf::from(&*path)), place));
    let keyring = key_keyring.filter(|(is_used, _)| *is_used);
    let keyring = keyring.map(|(_, place)| (KeySource::Keyring, place));
    for found in [variable, file, keyring].into_iter().flatten() {
        if let (KeySource::Variable(name), place) = &found
            && let Some(problem) = not_a_variable(name)
        {
            section.problem(ConfigProblem::new(place.clone(), problem));
        }
        // A later file replaces what an earlier one says.
        let is_second = secrets
            .as_ref()
            .is_some_and(|(_, place)| place.origin == found.1.origin);
        if is_second {
            let message = "there is another source already: the key has one place";
            section.problem(ConfigProblem::new(found.1, message));
            break;
        }
        *secrets = Some(found);
    }
    section.finish();
}
