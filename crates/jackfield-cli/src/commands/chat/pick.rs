//! Picks a model or a session from a numbered list.

use std::sync::Arc;

use jackfield_assembly::{Assembly, Config, Origin, preferred_models};
use jackfield_domain::ids::SessionId;
use jackfield_domain::request::ModelRef;
use jackfield_engine::TurnOptions;

use super::elsewhere::ChatSnapshot;
use super::{Conversation, missing_key};
use crate::commands::doctor::chosen;
use crate::commands::sessions::find;
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::reach::reach_all;
use crate::render::{self, chat as show};

impl Conversation {
    /// The models of the numbered list: each alias, the current model, and the preferred one of each vendor with a
    /// key.
    pub(super) fn model_choices(&self) -> Vec<(Option<Arc<str>>, ModelRef)> {
        let aliases = self.config.aliases.iter();
        let aliases = aliases.map(|(alias, model)| (Some(Arc::clone(alias)), model.clone()));
        let mut choices: Vec<(Option<Arc<str>>, ModelRef)> = aliases.collect();
        let with_key = |model: &ModelRef| self.assembled.keys_found.contains(&model.provider);
        let preferred = preferred_models().filter(with_key);
        for model in [self.assembled.options.model.clone()]
            .into_iter()
            .chain(preferred)
        {
            if !choices.iter().any(|(_, known)| *known == model) {
                choices.push((None, model));
            }
        }
        choices
    }

    /// Takes another model, by its name or its number in the list.
    pub(super) fn switch_model(&mut self, name: &str) {
        let place = Origin::Flag("/model").into();
        let usual = self.model_choices();
        let choices = if self.listed_models.is_empty() {
            &usual
        } else {
            &self.listed_models
        };
        let by_number = nth(choices, name).map(|(_, model)| model.clone());
        let assistant = self.config.assistant(name);
        let model = assistant.as_ref().map(|assistant| {
            let TurnOptions { model, route, .. } = &assistant.options;
            Ok((model.clone(), route.clone()))
        });
        let named = model.unwrap_or_else(|| self.config.named_model(name, &place));
        let (model, route) = match named {
            Ok(named) => named,
            Err(problem) => match by_number {
                Some(model) => (model, None),
                None => {
                    let mut fault = CommandError::new(Exit::Configuration, problem.to_string());
                    fault.help.extend(problem.help);
                    return self.report(&fault);
                }
            },
        };
        if route.is_none()
            && let Some(fault) = missing_key(&self.assembled, &model)
        {
            return self.report(&fault);
        }
        let full_name = match &route {
            Some(route) => format!("the route {route}"),
            None => format!("{}/{}", model.provider, model.model),
        };
        match assistant {
            Some(assistant) => {
                render::remark(&format!("from now on: {name}, with {full_name}"));
                let TurnOptions {
                    can_supersede,
                    policy,
                    ..
                } = &self.assembled.options;
                self.assembled.options = TurnOptions {
                    can_supersede: *can_supersede,
                    policy: policy.clone(),
                    ..self.assembled.options_of(&assistant)
                };
            }
            None => {
                render::remark(&format!("from now on: {full_name}"));
                self.assembled.switch(&self.config, model, route);
            }
        }
    }

    /// Shows the models of the numbered list, and those of servers that no list of usual models has.
    pub(super) async fn show_models(&mut self) {
        let mut choices = self.model_choices();
        let mut names: Vec<Arc<str>> = self.config.providers.keys().cloned().collect();
        let mut asked = usable_providers(&self.config, &self.assembled);
        asked.retain(|name| !preferred_models().any(|model| model.provider == *name));
        for (provider, reached) in reach_all(&self.assembled, asked).await {
            let listed = reached.listed.unwrap_or_default();
            if (1..=MAX_MODELS).contains(&listed.len()) {
                names.retain(|name| *name != provider);
            }
            for listed in listed.into_iter().take(MAX_MODELS) {
                let model = ModelRef {
                    model: listed.id,
                    provider: Arc::clone(&provider),
                };
                if !choices.iter().any(|(_, known)| *known == model) {
                    choices.push((None, model));
                }
            }
        }
        let missing = &self.assembled.missing_keys;
        let names = names.iter();
        let providers = names.map(|name| (&**name, missing.contains_key(name)));
        let providers: Vec<(&str, bool)> = providers.collect();
        let current = &self.assembled.options.model;
        self.print(|out| show::models(out, current, &choices, &providers));
        self.listed_models = choices;
    }

    pub(super) async fn show_sessions(&mut self) {
        match find::listed(&self.assembled.engine, None, MAX_SESSIONS).await {
            Ok(rows) => {
                self.listed = rows.iter().map(|row| row.session.clone()).collect();
                let session = &self.session;
                self.print(|out| render::sessions::choices(out, &rows, session));
            }
            Err(fault) => self.report(&fault),
        }
    }

    /// Continues another session, by its number in the last list, or its id.
    ///
    /// # Errors
    ///
    /// [`CommandError`] if the answers cannot be written.
    pub(super) async fn switch_session(&mut self, name: &str) -> Result<(), CommandError> {
        match self.take_session(name).await {
            Ok(()) => self.show_recent().await,
            Err(fault) => {
                self.report(&fault);
                Ok(())
            }
        }
    }

    async fn take_session(&mut self, name: &str) -> Result<(), CommandError> {
        let engine = &self.assembled.engine;
        let session: SessionId = match nth(&self.listed, name) {
            Some(session) => session.clone(),
            None => find::session(engine, name).await?,
        };
        self.hold = engine.hold(&session).await?;
        self.snapshot = ChatSnapshot::default();
        self.left = Some(std::mem::replace(&mut self.session, session));
        Ok(())
    }
}

/// The providers in use that a model can be taken of: their keys are not missing.
pub(super) fn usable_providers(config: &Config, assembled: &Assembly) -> Vec<Arc<str>> {
    let mut names = chosen(config, assembled);
    names.retain(|name| !assembled.missing_keys.contains_key(name));
    names
}

/// The item of this number, from 1.
fn nth<'a, T>(all: &'a [T], number: &str) -> Option<&'a T> {
    let number: usize = number.trim().parse().ok()?;
    all.get(number.checked_sub(1)?)
}

/// How many models of a provider are listed.
const MAX_MODELS: usize = 30;
/// How many sessions are listed.
const MAX_SESSIONS: usize = 15;
