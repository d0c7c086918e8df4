//! The names of routes: what each leads to, and what is wrong with one.

use std::collections::BTreeSet;
use std::sync::Arc;

use jackfield_domain::request::ModelRef;

use super::Config;
use crate::place::{ConfigProblem, ValueSource};

impl Config {
    /// Resolves a name of a model as [`model`](Self::model) does, or of a route, with the model whose provider's
    /// options its turns have.
    ///
    /// # Errors
    ///
    /// A problem at this place, with the nearest name.
    pub fn named_model(
        &self,
        name: &str,
        place: &ValueSource,
    ) -> Result<(ModelRef, Option<Arc<str>>), ConfigProblem> {
        match self.route(name) {
            Some((route, model)) => Ok((model, Some(route))),
            None => self.model(name, place).map(|model| (model, None)),
        }
    }

    /// Resolves the targets of routes, and checks their names.
    pub(crate) fn resolve_routes(&mut self) -> Vec<ConfigProblem> {
        let mut problems = Vec::new();
        let mut routes = std::mem::take(&mut self.routes);
        let names: BTreeSet<Arc<str>> = routes.keys().cloned().collect();
        for (name, route) in &mut routes {
            let place = route.place.clone();
            let problem = |message: String, help: &str| {
                ConfigProblem::new(place.clone(), message).with_help(help)
            };
            if self.aliases.contains_key(name) {
                problems.push(problem(format!("`{name}` is an alias, too"), RENAME));
            }
            if self.assistants.contains_key(name) {
                problems.push(problem(format!("`{name}` is an assistant, too"), RENAME));
            }
            if route.targets.is_empty() {
                let help = "name its models, as in `targets = [\"claude/claude-opus-5-5\"]`";
                problems.push(problem(
                    format!("the route `{name}` leads to nothing"),
                    help,
                ));
            }
            let mut seen = BTreeSet::new();
            for target in route.targets.iter_mut().chain(&mut route.content_filter) {
                if target.name == *name {
                    let message = format!("the route `{name}` leads to itself");
                    problems.push(problem(message, MODELS));
                    continue;
                }
                if names.contains(&target.name) {
                    let message = format!("`{}` is a route, too", target.name);
                    problems.push(problem(message, MODELS));
                    continue;
                }
                match self.model(&target.name, &place) {
                    Ok(model) => target.model = model,
                    Err(wrong) => {
                        problems.push(wrong);
                        continue;
                    }
                }
                if !seen.insert(target.model.clone()) {
                    let help = "name each model once; `weight` gives one a larger share, and \
                                another key of the same account is another provider";
                    let message = format!("`{}` is there twice", target.name);
                    problems.push(problem(message, help));
                }
            }
        }
        self.routes = routes;
        problems
    }

    /// The route of this name, with the model whose provider's options its turns have.
    #[must_use]
    pub fn route(&self, name: &str) -> Option<(Arc<str>, ModelRef)> {
        let (name, route) = self.routes.get_key_value(name)?;
        Some((Arc::clone(name), route.first_model()?.clone()))
    }
}

const MODELS: &str = "the targets of a route are models: aliases, or provider/model";
const RENAME: &str = "both are names of models: rename one of them";
