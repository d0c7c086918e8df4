//! The models that clients may name.

use std::sync::Arc;

use jackfield_assembly::did_you_mean;
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::request::ModelRef;

use crate::gateway::Gateway;

impl Gateway {
    /// The model of a name: an alias, `provider/model`, or a model of the default provider by its bare name.
    ///
    /// # Errors
    ///
    /// [`ServeErrorKind::NoSuchModel`] with the nearest name. Whether a provider has a model that is named in
    /// full, it says itself.
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
