//! Reads where people sign in to the page.

use std::path::PathBuf;
use std::sync::Arc;

use jackfield_domain::directory::EntryName;
use toml::de::DeValue;
use url::Url;

use crate::document::Section;
use crate::file::providers::not_a_variable;
use crate::file::serve::tools;
use crate::form::{self, ValueForm};
use crate::key_source::KeySource;
use crate::oidc::{OidcConfig, check_issuer};
use crate::place::ConfigProblem;
use crate::values::{filled, texts};

/// Reads `[serve.oidc]`.
pub(super) fn read(oidc: &mut Option<OidcConfig>, mut section: Section<'_>) {
    let issuers = form::of(ValueForm::Text("https://accounts.example.com"), issuer);
    form::keys! { let section;
        issuer: issuers, "The address of the provider of OpenID Connect at which people sign in to the page";
        client_id: form::filled("jackfield"), "The id of the gateway at the provider";
        client_secret_env: form::filled("OIDC_CLIENT_SECRET"), "The environment variable that holds the gateway's secret at the provider";
        client_secret_file: form::filled("/run/secrets/oidc"), "The file that holds the gateway's secret at the provider and nothing else";
        scopes: form::texts("email"), "What is asked for beside openid; default: email or profile, as user_claim needs";
        user_claim: form::filled("email"), "The claim whose value is the name of a user; an email has to be verified";
        name: form::filled("Example"), "What people call the provider";
        admins: form::of(ValueForm::Texts("ann@example.com"), users), "The users that see the conversations of all and manage users and keys";
        models: form::texts("claude/*"), "The models, routes and assistants that people who sign in may use; default: all";
        tools: form::of(ValueForm::Tools, tools), "The server tools that people who sign in may use";
    }
    if let Some((name, place)) = &client_secret_env
        && let Some(problem) = not_a_variable(name)
    {
        section.problem(ConfigProblem::new(place.clone(), problem));
    }
    let variable = client_secret_env.map(|(name, _)| KeySource::Variable(name));
    let client_secret = match (variable, client_secret_file) {
        (Some(_), Some((_, place))) => {
            let message = "there is another source already: the secret has one place";
            section.problem(ConfigProblem::new(place, message));
            KeySource::None
        }
        (Some(variable), None) => variable,
        (None, Some((path, _))) => KeySource::File(PathBuf::from(&*path)),
        (None, None) => KeySource::None,
    };
    match (issuer, client_id) {
        (Some((issuer, place)), Some((client_id, _))) => {
            let host = Url::parse(&issuer).ok();
            let host = host.as_ref().and_then(Url::host_str).unwrap_or_default();
            let claim = user_claim.map_or_else(|| EMAIL.into(), |(claim, _)| claim);
            let needed = if *claim == *EMAIL { EMAIL } else { "profile" };
            *oidc = Some(OidcConfig {
                admins: admins.map_or_else(Vec::new, |(admins, _)| admins),
                claim,
                client_id,
                client_secret,
                label: name.map_or_else(|| host.into(), |(name, _)| name),
                issuer,
                models: models.map(|(models, _)| models),
                place,
                scopes: scopes.map_or_else(|| vec![needed.into()], |(scopes, _)| scopes),
                tools: tools.map(|(tools, _)| tools),
            });
        }
        _ => {
            if let Some(place) = section.first_place() {
                let message = "[serve.oidc] needs both `issuer` and `client_id`";
                section.problem(ConfigProblem::new(place, message));
            }
        }
    }
    section.finish();
}

fn issuer(value: &DeValue<'_>) -> Result<Arc<str>, String> {
    let text = filled(value)?;
    check_issuer(&text)?;
    Ok(text)
}

fn users(value: &DeValue<'_>) -> Result<Vec<EntryName>, String> {
    let names = texts(value)?.into_iter();
    let names = names.map(|name| EntryName::parse(&name).map_err(|error| error.to_string()));
    names.collect()
}

/// The claim by which people are known, unless another one is configured.
const EMAIL: &str = "email";
