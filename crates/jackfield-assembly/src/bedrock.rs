//! The factory of providers of the kind `bedrock`: over its Converse API, or over those in OpenAI's form.

use std::sync::Arc;

use jackfield_ports::chat_model::{BoxError, ChatModel};
use jackfield_ports::upstream::Upstream;
use jackfield_provider_bedrock::client::Bedrock;
use jackfield_provider_bedrock::config::{BedrockConfig, checked_region, region_of};
use jackfield_provider_bedrock::credentials::{Credentials, SigningKeys};
use jackfield_provider_bedrock::profile::ModelProfile;
use jackfield_provider_kit::by_model::ByModel;

use crate::factory::{ProviderFactory, ProviderSettings};
use crate::openai::OpenAiFactory;
use crate::quirks;

/// Builds models behind Bedrock; within it is the factory for its APIs in OpenAI's form.
pub(crate) struct BedrockFactory(pub(crate) OpenAiFactory);

impl ProviderFactory for BedrockFactory {
    fn key_variable(&self) -> Option<&str> {
        self.0.key_variable()
    }

    /// The keys of an account sign requests, where there is no key of Bedrock alone.
    fn further_key_variables(&self) -> &[&str] {
        &[SECRET_KEY]
    }

    fn variables(&self) -> &[&str] {
        &[
            ACCESS_KEY,
            "AWS_DEFAULT_REGION",
            "AWS_REGION",
            SECRET_KEY,
            "AWS_SESSION_TOKEN",
        ]
    }

    fn key_page(&self) -> Option<&str> {
        self.0.key_page()
    }

    fn options(&self) -> &[&str] {
        &[
            "api",
            "like",
            "organization",
            "path",
            "profile",
            "project",
            "quirks",
            "region",
            "tools",
        ]
    }

    fn build(&self, settings: ProviderSettings) -> Result<Arc<dyn ChatModel>, BoxError> {
        if is_converse(&settings)? {
            let config = configure(&settings)?;
            return Ok(Arc::new(Bedrock::new(config, settings.transport)?));
        }
        self.0.build(in_openai_form(settings)?)
    }

    /// No client speaks Converse.
    fn upstream(&self, settings: &ProviderSettings) -> Result<Option<Arc<dyn Upstream>>, BoxError> {
        if is_converse(settings)? {
            return Ok(None);
        }
        self.0.upstream(&in_openai_form(settings.clone())?)
    }

    fn is_own_api(&self, settings: &ProviderSettings) -> bool {
        let is_converse = is_converse(settings);
        is_converse.is_ok_and(|is_converse| !is_converse) && self.0.is_own_api(settings)
    }
}

fn is_converse(settings: &ProviderSettings) -> Result<bool, BoxError> {
    let api = settings.options.get("api").map(|api| api.as_str());
    match api {
        None | Some(Some("converse")) => Ok(true),
        Some(Some("chat" | "responses")) => Ok(false),
        Some(_) => Err("api is \"converse\", \"chat\" or \"responses\"".into()),
    }
}

/// The configuration with these settings.
fn configure(settings: &ProviderSettings) -> Result<BedrockConfig, BoxError> {
    let mut options = OPENAI_ONLY.iter();
    if let Some(name) = options.find(|name| settings.options.contains_key(**name)) {
        return Err(format!("{name} is for `api = \"chat\"`").into());
    }
    let region = region(settings)?;
    let mut config = match (&settings.base_url, &region) {
        (Some(base_url), _) => BedrockConfig::new(base_url)?,
        (None, Some(region)) => BedrockConfig::in_region(region)?,
        (None, None) => {
            return Err(
                "region is not set: write `region = \"us-east-1\"`, or set AWS_REGION".into(),
            );
        }
    };
    config.cache = settings.cache;
    config.missing_key.clone_from(&settings.missing_key);
    match credentials(settings, region) {
        Ok(credentials) => config.credentials = credentials,
        Err(why) => config.missing_key = Some(why.to_owned()),
    }
    if let Some(like) = settings.options.get("like") {
        let like = like.as_str().ok_or("like is the name of a model")?;
        config.profile = ByModel::always(ModelProfile::of(like));
    }
    if let Some(table) = settings.options.get("quirks") {
        config.profile = quirks::over(config.profile, table)?;
    }
    if let Some(tools) = settings.options.get("tools") {
        config.tools = tools.as_bool().ok_or("tools is true or false")?;
    }
    Ok(config)
}

/// The credentials: the keys of an account, if its secret one is the key, and else a bearer key. The error is why
/// requests cannot be signed.
fn credentials(
    settings: &ProviderSettings,
    region: Option<String>,
) -> Result<Option<Credentials>, &'static str> {
    let Some(key) = &settings.key else {
        return Ok(None);
    };
    if !is_secret_key(settings) {
        return Ok(Some(Credentials::Bearer(key.clone())));
    }
    let access_key = settings.variables.get(ACCESS_KEY);
    let access_key =
        access_key.ok_or("AWS_ACCESS_KEY_ID is not set, which belongs to AWS_SECRET_ACCESS_KEY")?;
    let base_url = settings.base_url.as_deref();
    let region = region.or_else(|| base_url.and_then(region_of).map(str::to_owned));
    Ok(Some(Credentials::Signing(SigningKeys {
        access_key_id: access_key.expose().to_owned(),
        region: region.ok_or("region is not set, which signatures are for")?,
        secret_access_key: key.clone(),
        session_token: settings.variables.get("AWS_SESSION_TOKEN").cloned(),
    })))
}

/// Whether the key is the secret key of an account, which is never sent.
fn is_secret_key(settings: &ProviderSettings) -> bool {
    let secret = settings.variables.get(SECRET_KEY);
    let secret = secret.map(|secret| secret.expose());
    secret.is_some() && settings.key.as_ref().map(|key| key.expose()) == secret
}

/// The region: the setting, that of the address, or that of the environment.
fn region(settings: &ProviderSettings) -> Result<Option<String>, BoxError> {
    let region = match settings.options.get("region") {
        Some(region) => Some(
            region
                .as_str()
                .ok_or("region is a text such as \"us-east-1\"")?,
        ),
        None => {
            let of_address = settings.base_url.as_deref().and_then(region_of);
            let variables = ["AWS_REGION", "AWS_DEFAULT_REGION"].into_iter();
            let mut set = variables.filter_map(|name| settings.variables.get(name));
            of_address.or_else(|| set.next().map(|region| region.expose()))
        }
    };
    let region = region.map(checked_region).transpose()?;
    Ok(region.map(str::to_owned))
}

/// The settings of an API in OpenAI's form: with the address of the region, and without a key that only signs.
fn in_openai_form(mut settings: ProviderSettings) -> Result<ProviderSettings, BoxError> {
    if settings.base_url.is_none()
        && let Some(region) = region(&settings)?
    {
        // That of `bedrock.js` in `openai` 6.49.0 (2026-11).
        let base_url = format!("https://bedrock-mantle.{region}.api.aws/openai/v1");
        settings.base_url = Some(base_url.into());
    }
    settings.options.remove("region");
    if settings.options.contains_key("like") {
        return Err("like is for `api = \"converse\"`".into());
    }
    if is_secret_key(&settings) {
        settings.key = None;
        let why = "AWS_BEARER_TOKEN_BEDROCK is not set, and keys of an account sign requests of `api = \"converse\"` alone";
        settings.missing_key = Some(why.to_owned());
    }
    Ok(settings)
}

const ACCESS_KEY: &str = "AWS_ACCESS_KEY_ID";
const SECRET_KEY: &str = "AWS_SECRET_ACCESS_KEY";
/// Options of the APIs in OpenAI's form.
const OPENAI_ONLY: &[&str] = &["organization", "path", "profile", "project"];
