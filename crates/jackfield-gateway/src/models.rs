//! Resolves the model names of clients.

use std::sync::Arc;

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::request::ModelRef;
use jackfield_engine::TurnOptions;
use jackfield_engine::near::{DID_YOU_MEAN, did_you_mean};

use crate::config::{AssistantConfig, DEFAULT_ASSISTANT};
use crate::gateway::Gateway;

/// What a client names as a model.
#[derive(Clone, Debug)]
pub struct RequestedModel<'a> {
    /// The assistant, if the name is that of one.
    pub assistant: Option<&'a AssistantConfig>,
    /// The model; that of the first target, if the name is that of a route.
    pub model: ModelRef,
    /// The route, if the name is that of one, or of an assistant with one.
    pub route: Option<Arc<str>>,
}

impl Gateway {
    /// The assistant of requests that name no model, or their model alone if there is no such assistant.
    #[must_use]
    pub fn default_model(&self) -> RequestedModel<'_> {
        let config = &self.shared.config;
        let assistant = config.assistants.get(DEFAULT_ASSISTANT);
        let options = assistant.map_or(&config.default_options, |assistant| &assistant.options);
        RequestedModel {
            assistant,
            model: options.model.clone(),
            route: options.route.clone(),
        }
    }

    /// What a name stands for: an alias, an assistant, a route, `provider/model`, or a bare model name of the default
    /// provider.
    ///
    /// # Errors
    ///
    /// As for [`model`](Self::model).
    pub fn requested_model(&self, name: &str) -> Result<RequestedModel<'_>, ServeError> {
        let config = &self.shared.config;
        let assistant = config.assistants.get(name);
        let assistant = assistant.filter(|_| !config.aliases.contains_key(name));
        let model = self.model(name)?;
        let route = match assistant {
            Some(assistant) => assistant.options.route.clone(),
            None if config.aliases.contains_key(name) => None,
            None => self
                .engine()
                .route(name)
                .map(|route| Arc::clone(&route.name)),
        };
        Ok(RequestedModel {
            assistant,
            model,
            route,
        })
    }

    /// The model of a name: an alias, an assistant, a route's first target, `provider/model`, or a bare model name of the default provider.
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
        if let Some(assistant) = config.assistants.get(name) {
            return Ok(assistant.options.model.clone());
        }
        if let Some(route) = self.engine().route(name)
            && let Some(first) = route.targets.first()
        {
            return Ok(first.model.clone());
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
                let names = config.aliases.keys().chain(config.assistants.keys());
                let routes = self.engine().routes();
                let routes = routes.iter().map(|status| &status.route.name);
                let names = names.chain(routes).map(ToString::to_string);
                let providers = config.options.keys().map(|name| format!("{name}/…"));
                let known: Vec<String> = names.chain(providers).collect();
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

    /// The options of turns with a requested model: those of the assistant, or else of the provider.
    #[must_use]
    pub fn options_for(&self, requested: &RequestedModel<'_>) -> Option<TurnOptions> {
        let of_provider = self.options_of(&requested.model.provider);
        match requested.assistant {
            Some(assistant) => Some(assistant.options.clone()),
            None => of_provider.map(|options| TurnOptions {
                model: requested.model.clone(),
                route: requested.route.clone(),
                ..options
            }),
        }
    }
}

fn no_such_model(message: String) -> ServeError {
    ServeError::new(ServeErrorKind::NoSuchModel, message).at("model")
}

/// How the model names of a vendor begin, and the kind of its provider.
const VENDORS: &[(&str, &str)] = &[
    ("claude-", "claude"),
    ("deepseek-", "deepseek"),
    ("gemini-", "gemini"),
    ("gpt-", "openai"),
    ("mistral-", "mistral"),
];
