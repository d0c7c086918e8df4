//! Resolves the model names of clients.

use std::sync::Arc;

use jackfield_assembly::did_you_mean;
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::request::ModelRef;

use crate::gateway::Gateway;

impl Gateway {
    /// The model of a name: an alias, `provider/model`, or a bare model name of the default provider.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::NoSuchModel`] with the nearest name. A full name is not checked here: the provider
    /// answers whether the model exists.
    pub(crate) fn model(&self, name: &str) -> Result<ModelRef, ServeError> {
        let shared = &self.shared;
        let config = &shared.config;
        if let Some(model) = config.aliases.get(name) {
            return Ok(model.clone());
        }
        let model = match name.split_once('/') {
            Some((provider, model)) => shared
                .options
                .get_key_value(provider)
                .map(|(provider, _)| (Arc::clone(provider), model)),
            None => Some((Arc::clone(&config.options.model.provider), name)),
        };
        match model {
            Some((provider, model)) if !model.trim().is_empty() => Ok(ModelRef {
                model: model.into(),
                provider,
            }),
            Some(_) | None => {
                let aliases = config.aliases.keys().map(ToString::to_string);
                let providers = shared.options.keys().map(|name| format!("{name}/…"));
                let known: Vec<String> = aliases.chain(providers).collect();
                let message = format!("there is no model `{name}`{}", did_you_mean(name, &known));
                Err(ServeError::new(ServeErrorKind::NoSuchModel, message).at("model"))
            }
        }
    }
}
