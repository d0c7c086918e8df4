//! The settings beside the models.

use super::groups::Named;
use super::{Import, below, named_variable};
use crate::yaml::{Entry, Node};

/// What is written beside providers and names.
#[derive(Default)]
pub(super) struct Settings {
    /// Aliases of groups: the alias, the group, the line.
    pub(super) aliases: Vec<(String, String, usize)>,
    pub(super) content_fallbacks: Fallbacks,
    pub(super) fallbacks: Fallbacks,
    /// How long a target of a route may take to begin its reply, in seconds.
    pub(super) first_byte: Option<f64>,
    /// The variable with the key of the administrator.
    pub(super) master_key: Option<String>,
    pub(super) metrics: bool,
    /// The model that is asked if none is named.
    pub(super) model: Option<String>,
    pub(super) model_retries: Option<u64>,
    pub(super) names: Vec<(String, Named)>,
    pub(super) json_log: bool,
    pub(super) prices: Vec<WrittenPrice>,
    /// The strategy of routes, in Jackfield's word.
    pub(super) strategy: Option<&'static str>,
    pub(super) windows: Vec<(String, u64)>,
}

/// The price of a model, each amount for a million tokens.
pub(super) struct WrittenPrice {
    pub(super) amounts: Vec<(&'static str, String)>,
    pub(super) model: String,
}

/// Which groups are asked when another one fails.
#[derive(Default)]
pub(super) struct Fallbacks {
    /// Those of groups without any of their own: line, place, group.
    pub(super) default: Vec<(usize, String, String)>,
    pub(super) of: Vec<Fallback>,
}

/// The fallbacks of a group.
pub(super) struct Fallback {
    pub(super) from: String,
    pub(super) line: usize,
    pub(super) place: String,
    pub(super) to: Vec<String>,
}

impl Fallbacks {
    /// The fallbacks of this group, in order.
    pub(super) fn of(&self, group: &str) -> Vec<String> {
        match self.of.iter().find(|row| row.from == group) {
            Some(row) => row.to.clone(),
            None => self.default.iter().map(|(.., name)| name.clone()).collect(),
        }
    }
}

impl Import<'_> {
    /// Reads `environment_variables`, whose values may be keys.
    pub(super) fn environment(&mut self, entry: &Entry) {
        for variable in entry.node.entries() {
            let place = below(&entry.key, &variable.key);
            let text = format!(
                "was not carried over: set {} in the environment of Jackfield, if something uses it",
                variable.key
            );
            self.remark(variable.line, place, text);
        }
    }

    /// Reads `general_settings`.
    pub(super) fn general_settings(&mut self, node: &Node) {
        let place = "general_settings";
        self.repeated(place, node);
        for entry in node.entries() {
            if entry.key == "master_key" {
                self.master_key(&below(place, &entry.key), entry);
            } else {
                self.unknown(place, entry);
            }
        }
    }

    fn master_key(&mut self, place: &str, entry: &Entry) {
        let Some(text) = entry.node.text() else {
            return;
        };
        if let Some(name) = named_variable(text) {
            self.settings.master_key = Some(name.to_owned());
        } else {
            self.settings.master_key = Some(MASTER_KEY.to_owned());
            let text =
                format!("the key was left out: put it into the environment variable {MASTER_KEY}");
            self.remark(entry.line, place, text);
        }
        self.remark(entry.line, place, "has to have at least 16 characters");
    }

    /// Reads `litellm_settings`.
    pub(super) fn litellm_settings(&mut self, node: &Node) {
        let place = "litellm_settings";
        self.repeated(place, node);
        for entry in node.entries() {
            if self.shared_setting(place, entry) {
                continue;
            }
            match &*entry.key {
                // What a model does not take is always left out, with a note.
                "drop_params" if entry.node.truth() == Some(true) => {}
                "json_logs" => self.settings.json_log = entry.node.truth() == Some(true),
                "set_verbose" => {
                    if entry.node.truth() == Some(true) {
                        let text = "was not carried over: the variable JACKFIELD_LOG has the level of the log";
                        self.remark(entry.line, below(place, &entry.key), text);
                    }
                }
                "callbacks" | "failure_callback" | "success_callback" => {
                    self.callbacks(&below(place, &entry.key), entry);
                }
                _ => self.unknown(place, entry),
            }
        }
    }

    fn callbacks(&mut self, place: &str, entry: &Entry) {
        for item in entry.node.items() {
            let text = match item.text() {
                Some("prometheus") => {
                    self.settings.metrics = true;
                    continue;
                }
                Some("otel") => {
                    "OpenTelemetry was not carried over: write the collector's address as `serve.otlp.endpoint`"
                }
                _ => {
                    "was not carried over: Jackfield sends traces, metrics and the log by OpenTelemetry alone, see `[serve.otlp]`"
                }
            };
            self.remark(item.line, place, text);
        }
    }

    /// Reads `router_settings`.
    pub(super) fn router_settings(&mut self, node: &Node) {
        let place = "router_settings";
        self.repeated(place, node);
        for entry in node.entries() {
            if self.shared_setting(place, entry) {
                continue;
            }
            match &*entry.key {
                // A request goes only to targets that take what it has.
                "enable_pre_call_checks" => {}
                "model_group_alias" => self.group_aliases(&below(place, &entry.key), &entry.node),
                "routing_strategy" => self.strategy(&below(place, &entry.key), entry),
                "stream_timeout" if entry.node.number().is_some() => {
                    self.settings.first_byte = entry.node.number();
                }
                _ => self.unknown(place, entry),
            }
        }
    }

    fn strategy(&mut self, place: &str, entry: &Entry) {
        let name = entry.node.text().unwrap_or_default();
        let short = name.trim_end_matches("-v2");
        self.settings.strategy = match short {
            "simple-shuffle" => None,
            "least-busy" => Some("least_busy"),
            "cost-based-routing" => Some("cheapest"),
            _ => {
                let text = "was not carried over: routes are \"weighted\" instead; Jackfield's strategies do not look at \
                            latency or use";
                self.remark(entry.line, place, text);
                None
            }
        };
    }

    fn group_aliases(&mut self, place: &str, node: &Node) {
        for entry in node.entries() {
            let model = entry
                .node
                .text()
                .or_else(|| entry.node.get("model")?.text());
            if let Some(model) = model {
                let row = (entry.key.clone(), model.to_owned(), entry.line);
                self.settings.aliases.push(row);
            } else {
                self.unknown(place, entry);
            }
            if entry.node.get("hidden").and_then(Node::truth) == Some(true) {
                let text = "is listed in `/v1/models`, too: Jackfield hides no names";
                self.remark(entry.line, below(place, &entry.key), text);
            }
        }
    }

    /// Reads a setting that both of LiteLLM's tables have; false if it is another one.
    fn shared_setting(&mut self, place: &str, entry: &Entry) -> bool {
        let at = below(place, &entry.key);
        match &*entry.key {
            "content_policy_fallbacks" => {
                let rows = self.fallbacks(&at, &entry.node);
                self.settings.content_fallbacks.of.extend(rows);
            }
            "default_fallbacks" => {
                for item in entry.node.items() {
                    if let Some(name) = item.text() {
                        let row = (item.line, at.clone(), name.to_owned());
                        self.settings.fallbacks.default.push(row);
                    }
                }
            }
            "fallbacks" => {
                let rows = self.fallbacks(&at, &entry.node);
                self.settings.fallbacks.of.extend(rows);
            }
            "num_retries"
                if entry
                    .node
                    .text()
                    .is_some_and(|text| text.parse::<u64>().is_ok()) =>
            {
                let number = entry.node.text().and_then(|text| text.parse().ok());
                self.settings.model_retries = number;
            }
            _ => return false,
        }
        true
    }

    fn fallbacks(&mut self, place: &str, node: &Node) -> Vec<Fallback> {
        let mut rows = Vec::new();
        for entry in node.items().iter().flat_map(Node::entries) {
            let mut to = Vec::new();
            for item in entry.node.items() {
                if let Some(name) = item.text() {
                    to.push(name.to_owned());
                } else {
                    let text = "a fallback with parameters of its own was not carried over: make it an entry of `model_list`";
                    self.remark(item.line, below(place, &entry.key), text);
                }
            }
            rows.push(Fallback {
                from: entry.key.clone(),
                line: entry.line,
                place: below(place, &entry.key),
                to,
            });
        }
        rows
    }

    /// Reads the prices of a deployment's model, which the first deployment with any sets.
    pub(super) fn prices(&mut self, place: &str, model: &str, params: &Node, info: Option<&Node>) {
        let found = |key: &str| params.get(key).or_else(|| info?.get(key));
        let (input, output) = (
            found("input_cost_per_token"),
            found("output_cost_per_token"),
        );
        let Some(any) = input.or(output) else {
            return;
        };
        let mut amounts = Vec::new();
        for (theirs, ours) in PRICES {
            if let Some(node) = found(theirs) {
                match node.number().and_then(for_a_million) {
                    Some(amount) => amounts.push((*ours, amount)),
                    None => self.remark(
                        node.line,
                        below(place, theirs),
                        "was left out: this is no price",
                    ),
                }
            }
        }
        let has = |name: &str| amounts.iter().any(|(one, _)| *one == name);
        if !(has("input") && has("output")) {
            let text = "the price was left out: it needs `input_cost_per_token` and `output_cost_per_token`";
            self.remark(any.line, place, text);
            return;
        }
        match self
            .settings
            .prices
            .iter()
            .find(|known| known.model == model)
        {
            Some(known) if known.amounts == amounts => {}
            Some(_) => {
                let text = format!(
                    "has another price than a deployment of `{model}` before it, whose price counts"
                );
                self.remark(any.line, place, text);
            }
            None => self.settings.prices.push(WrittenPrice {
                amounts,
                model: model.to_owned(),
            }),
        }
    }

    /// Reads the context window of a deployment's model.
    pub(super) fn window(&mut self, place: &str, model: &str, info: Option<&Node>) {
        let Some(node) = info.and_then(|info| info.get("max_input_tokens")) else {
            return;
        };
        let window = node.text().and_then(|text| text.parse::<u64>().ok());
        match window.filter(|window| *window > 0) {
            Some(window)
                if !self
                    .settings
                    .windows
                    .iter()
                    .any(|(known, _)| known == model) =>
            {
                self.settings.windows.push((model.to_owned(), window));
            }
            Some(_) => {}
            None => self.remark(
                node.line,
                below(place, "max_input_tokens"),
                "was left out: this is no number of tokens",
            ),
        }
    }
}

/// The price of a million tokens from that of one, with at most six decimals.
fn for_a_million(price: f64) -> Option<String> {
    let amount = price * 1_000_000.0;
    if !(0.0..=1_000_000.0).contains(&amount) {
        return None;
    }
    let text = format!("{amount:.6}");
    let text = text.trim_end_matches('0');
    Some(if text.ends_with('.') {
        format!("{text}0")
    } else {
        text.to_owned()
    })
}

/// The variable of a master key that stands in the file.
const MASTER_KEY: &str = "LITELLM_MASTER_KEY";

const PRICES: &[(&str, &str)] = &[
    ("input_cost_per_token", "input"),
    ("output_cost_per_token", "output"),
    ("cache_read_input_token_cost", "cache_read"),
    ("cache_creation_input_token_cost", "cache_write"),
];
