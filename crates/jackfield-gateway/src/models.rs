//! Resolves the model names of clients.

use std::sync::Arc;

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::request::ModelRef;
use jackfield_engine::near::did_you_mean;

use crate::gateway::Gateway;

impl Gateway {
    /// The model of a name: an alias, `provider/model`, or a bare model name of the default provider.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::NoSuchModel`] with the nearest name. A full name is not checked here: the provider
    /// answers whether the model exists.
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
            None => Some((Arc::clone(&config.default_options.model.provider), name)),
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
                Err(ServeError::new(ServeErrorKind::NoSuchModel, message).at("model"))
            }
        }
    }
}
