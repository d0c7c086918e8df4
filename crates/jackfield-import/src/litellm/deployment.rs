//! `model_list`: the deployments, each a model at a provider.

use super::groups::Group;
use super::{Import, below, vendors};
use crate::yaml::{Entry, Node};

/// A model at a provider, as one of the deployments of a group.
#[derive(Clone)]
pub(super) struct Deployment {
    /// How long it may take to begin its reply, in seconds.
    pub(super) first_byte: Option<f64>,
    pub(super) images: Option<bool>,
    /// The line of its share, or its own.
    pub(super) line: usize,
    /// The model, by the provider's name.
    pub(super) model: String,
    /// The place of its share, or its own.
    pub(super) place: String,
    /// The index of the provider.
    pub(super) provider: usize,
    /// LiteLLM's `order`: lower ones come first.
    pub(super) tier: u32,
    pub(super) tools: Option<bool>,
    /// Its share, as LiteLLM has it; a whole number that Jackfield takes once its group is finished.
    pub(super) weight: f64,
}

impl Deployment {
    fn share(&mut self, weight: Option<f64>, place: &str, entry: &Entry) {
        self.weight = weight.unwrap_or(1.0);
        self.line = entry.line;
        self.place = below(place, &entry.key);
    }
}

impl Import<'_> {
    /// Reads `model_list`.
    pub(super) fn model_list(&mut self, models: &Node) {
        for (index, entry) in models.items().iter().enumerate() {
            let place = format!("model_list[{index}]");
            self.repeated(&place, entry);
            let (Some(name), Some(params)) = (
                entry.get("model_name").and_then(Node::text),
                entry.get("litellm_params"),
            ) else {
                let text = "was left out: it has no `model_name`, or no `litellm_params`";
                self.remark(entry.line, place, text);
                continue;
            };
            for other in entry.entries() {
                if !["litellm_params", "model_info", "model_name"].contains(&&*other.key) {
                    self.unknown(&place, other);
                }
            }
            self.deployment(&place, name, params, entry.get("model_info"));
        }
    }

    fn deployment(&mut self, place: &str, group: &str, params: &Node, info: Option<&Node>) {
        let params_place = below(place, "litellm_params");
        self.repeated(&params_place, params);
        let Some((prefix, model)) = self.model(&params_place, params) else {
            return;
        };
        let Some(vendor) = vendors::vendor(&prefix) else {
            let reason = vendors::refusal(&prefix);
            let text = format!("the model was left out: {reason}");
            self.remark(params.line, below(&params_place, "model"), text);
            return;
        };
        let Some(provider) = self.provider(vendor, &params_place, params.line, params) else {
            return;
        };
        let info_entries = info.map(Node::entries).unwrap_or_default();
        let info_place = below(place, "model_info");
        if model.contains('*') || group.contains('*') {
            let name = self.provider_name(provider);
            let text = format!("needs no entry: clients name these models as `{name}/MODEL`");
            self.remark(params.line, place, text);
            return;
        }
        let mode = info.and_then(|info| info.get("mode")).and_then(Node::text);
        if let Some(mode) = mode.filter(|mode| !["chat", "responses"].contains(mode)) {
            let name = self.provider_name(provider);
            let text = format!(
                "has no name of its own: it is no model for chats but for `{mode}`; clients name it as `{name}/{model}` at \
                 the endpoints that `serve.endpoints` opens"
            );
            self.remark(params.line, place, text);
            return;
        }
        let mut deployment = Deployment {
            first_byte: None,
            images: None,
            line: params.line,
            model,
            place: place.to_owned(),
            provider,
            tier: 0,
            tools: None,
            weight: 1.0,
        };
        for entry in params.entries() {
            self.parameter(&params_place, entry, params, &mut deployment);
        }
        for entry in info_entries {
            self.information(&info_place, entry, &mut deployment);
        }
        let name = self.model_name(&deployment);
        self.prices(place, &name, params, info);
        self.window(&info_place, &name, info);
        match self.groups.iter_mut().find(|known| known.name == group) {
            Some(known) => known.deployments.push(deployment),
            None => self.groups.push(Group {
                deployments: vec![deployment],
                line: params.line,
                name: group.to_owned(),
                place: place.to_owned(),
            }),
        }
    }

    /// The provider's prefix and the model's name there.
    fn model(&mut self, place: &str, params: &Node) -> Option<(String, String)> {
        let Some(model) = params.get("model").and_then(Node::text) else {
            self.remark(params.line, place, "was left out: it has no `model`");
            return None;
        };
        let named = params.get("custom_llm_provider").and_then(Node::text);
        let (prefix, model) = match (named, model.split_once('/')) {
            (Some(named), Some((prefix, rest))) if named == prefix => (named, rest),
            (Some(named), _) => (named, model),
            (None, Some((prefix, rest))) => (prefix, rest),
            (None, None) => match vendors::supposed_prefix(model) {
                Some(prefix) => (prefix, model),
                None => {
                    let text = "the model was left out: its name does not say its provider; write it as `provider/model`";
                    self.remark(params.line, below(place, "model"), text);
                    return None;
                }
            },
        };
        // How LiteLLM chooses the API that Jackfield uses anyway.
        let model = model.strip_prefix("responses/").unwrap_or(model);
        Some((prefix.to_owned(), model.to_owned()))
    }

    fn parameter(
        &mut self,
        place: &str,
        entry: &Entry,
        params: &Node,
        deployment: &mut Deployment,
    ) {
        let number = entry.node.number().filter(|number| *number >= 0.0);
        match &*entry.key {
            // Read elsewhere.
            "api_base"
            | "api_key"
            | "base_url"
            | "cache_creation_input_token_cost"
            | "cache_read_input_token_cost"
            | "custom_llm_provider"
            | "input_cost_per_token"
            | "model"
            | "organization"
            | "output_cost_per_token" => {}
            "order" if number.is_some() => deployment.tier = rounded(number),
            "stream_timeout" if number.is_some() => deployment.first_byte = number,
            "weight" if number.is_some() => deployment.share(number, place, entry),
            "rpm" | "tpm" if number.is_some() => {
                let has_better = params.get("weight").is_some()
                    || (entry.key == "tpm" && params.get("rpm").is_some());
                if !has_better {
                    deployment.share(number, place, entry);
                }
                let text = if has_better {
                    "was not carried over: the share of the deployment is given otherwise"
                } else {
                    "is the deployment's share of its route's requests, and no limit: a provider that has enough answers \
                     429, and another target is asked"
                };
                self.remark(entry.line, below(place, &entry.key), text);
            }
            _ => self.unknown(place, entry),
        }
    }

    fn information(&mut self, place: &str, entry: &Entry, deployment: &mut Deployment) {
        match &*entry.key {
            // Read elsewhere, or for LiteLLM's own tables.
            "base_model"
            | "cache_creation_input_token_cost"
            | "cache_read_input_token_cost"
            | "db_model"
            | "id"
            | "input_cost_per_token"
            | "max_input_tokens"
            | "max_output_tokens"
            | "max_tokens"
            | "mode"
            | "output_cost_per_token" => {}
            "supports_function_calling" => {
                deployment.tools = entry.node.truth().filter(|has| !has);
            }
            "supports_vision" => deployment.images = entry.node.truth().filter(|has| !has),
            _ => self.unknown(place, entry),
        }
    }

    fn provider_name(&self, provider: usize) -> String {
        let provider = self.providers.get(provider);
        provider.map_or_else(String::new, |provider| provider.name.clone())
    }

    /// The model as Jackfield names it.
    pub(super) fn model_name(&self, deployment: &Deployment) -> String {
        let provider = self.provider_name(deployment.provider);
        format!("{provider}/{}", deployment.model)
    }
}

/// A number as one that fits: nothing of it is worth an error.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is not negative, and `as` saturates"
)]
pub(super) fn rounded(number: Option<f64>) -> u32 {
    number.unwrap_or_default().round() as u32
}
