//! Resolves the model names of clients.

use std::sync::Arc;

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::request::ModelRef;
use jackfield_engine::near::{DID_YOU_MEAN, did_you_mean};

use crate::gateway::Gateway;

impl Gateway {
    /// The model of a name: an alias, `provider/model`, or a bare model name of the default provider.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::NoSuchModel`] with the nearest name, also for a bare name of another vendor. Otherwise
    /// the provider answers whether the model exists.
    pub fn model(&self, name: &str) -> Result<ModelRef, ServeError> {
        let config = &self.shared.config;
        if let Some(model) = config.aliases.get(name) {
            return Ok(model.clone());
        }
        let model = match name.split_once('/') {
            Some((provider, model)) => config
                .options
                .get_key_value(provider)
                .map(|(provider, _)| (Arc::clone(provider), model)),
            None => {
                self.check_vendor(name)?;
                Some((Arc::clone(&config.default_options.model.provider), name))
            }
        };
        match model {
            Some((provider, model)) if !model.trim().is_empty() => Ok(ModelRef {
                model: model.into(),
                provider,
            }),
            Some(_) | None => {
                let aliases = config.aliases.keys().map(ToString::to_string);
                let providers = config.options.keys().map(|name| format!("{name}/…"));
                let known: Vec<String> = aliases.chain(providers).collect();
                let message = format!("there is no model `{name}`{}", did_you_mean(name, &known));
                Err(no_such_model(message))
            }
        }
    }

    /// Refuses a bare name of another vendor's model: the default provider does not have it.
    fn check_vendor(&self, name: &str) -> Result<(), ServeError> {
        let config = &self.shared.config;
        let default = &config.default_options.model.provider;
        let vendor = VENDORS.iter().find(|(begin, _)| name.starts_with(begin));
        let (Some((_, vendor)), Some(summary)) = (vendor, config.providers.get(default)) else {
            return Ok(());
        };
        if !summary.at_vendor || *summary.kind == **vendor {
            return Ok(());
        }
        let mut others = config.providers.iter();
        let other = others.find(|(_, other)| *other.kind == **vendor);
        let aliases: Vec<&Arc<str>> = config.aliases.keys().collect();
        let hint = match other {
            Some((other, _)) => format!("{DID_YOU_MEAN}`{other}/{name}`?"),
            None => did_you_mean(name, &aliases),
        };
        let message = format!(
            "there is no model `{name}` at `{default}`, which is asked where no provider is named{hint}"
        );
        Err(no_such_model(message))
    }
}

fn no_such_model(message: String) -> ServeError {
    ServeError::new(ServeErrorKind::NoSuchModel, message).at("model")
}

/// How the model names of a vendor begin, and the kind of its provider.
const VENDORS: &[(&str, &str)] = &[
    ("claude-", "claude"),
    ("deepseek-", "deepseek"),
    ("gpt-", "openai"),
    ("mistral-", "mistral"),
];
