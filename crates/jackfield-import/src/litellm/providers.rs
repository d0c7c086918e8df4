//! Deployments by account: one provider for each kind, address and key.

use std::collections::BTreeSet;

use url::Url;

use super::vendors::{Kind, Vendor, kind};
use super::{Import, named_variable, vendors};
use crate::yaml::{Node, Value};

/// A provider of the configuration that is written.
pub(super) struct Provider {
    /// Its address, unless it is the kind's own.
    pub(super) base_url: Option<String>,
    pub(super) key: Key,
    pub(super) kind: &'static Kind,
    /// Where its key stands in the file, for remarks: a line, and the place.
    pub(super) key_places: Vec<(usize, String)>,
    pub(super) name: String,
    pub(super) organization: Option<String>,
    /// The variable that takes the key; it is chosen when all providers are known.
    pub(super) variable: Option<String>,
}

/// Where a provider's key comes from. It has no `Debug`, as it may hold a key.
#[derive(Clone, Eq, PartialEq)]
pub(super) enum Key {
    /// It stands in the file: kept to tell accounts apart, and never written.
    Literal(String),
    None,
    /// The environment variable of this name.
    Variable(String),
}

impl Provider {
    /// The variables that could take a key that stands in the file, the best first.
    fn variables(&self) -> impl Iterator<Item = String> + use<> {
        let is_usual = self.name == self.kind.name && !self.kind.key.is_empty();
        let usual = is_usual.then(|| self.kind.key.to_owned());
        let name = self.name.to_ascii_uppercase().replace('-', "_");
        let own = format!("{name}_API_KEY");
        let numbered = (2..).map(move |number| format!("{name}_API_KEY_{number}"));
        usual.into_iter().chain([own]).chain(numbered)
    }
}

impl Import<'_> {
    /// Chooses the variable of each provider: a key that stands in the file gets one that no other provider reads.
    pub(super) fn finish_keys(&mut self) {
        for provider in &mut self.providers {
            if let Key::Variable(name) = &provider.key {
                provider.variable = Some(name.clone());
            }
        }
        let taken = self.providers.iter().filter_map(|one| one.variable.clone());
        let mut taken: BTreeSet<String> = taken.collect();
        let mut remarks = Vec::new();
        for provider in &mut self.providers {
            if !matches!(provider.key, Key::Literal(_)) {
                continue;
            }
            let Some(variable) = provider.variables().find(|name| !taken.contains(name)) else {
                continue;
            };
            let text = format!(
                "the key was left out: put it into the environment variable {variable}, or store it with `jackfield keys \
                 set {}`",
                provider.name
            );
            for (line, place) in provider.key_places.drain(..) {
                remarks.push((line, place, text.clone()));
            }
            taken.insert(variable.clone());
            provider.variable = Some(variable);
        }
        for (line, place, text) in remarks {
            self.remark(line, place, text);
        }
    }

    /// The provider of a deployment of this vendor, by its index; `None` if it cannot be used, which is remarked.
    pub(super) fn provider(
        &mut self,
        vendor: &Vendor,
        place: &str,
        line: usize,
        params: &Node,
    ) -> Option<usize> {
        let mut kind = kind(vendor.kind)?;
        let address = given(params, "api_base").or_else(|| given(params, "base_url"));
        let base_url = match address {
            Some(node) => Some(self.address(&format!("{place}.api_base"), node)?),
            None if vendor.prefix == "azure" => {
                Some(self.looked_up("AZURE_API_BASE", &format!("{place}.api_base"), line)?)
            }
            None => None,
        };
        let base_url = base_url.filter(|address| !is_own(kind, address));
        if vendor.prefix == "openai" && base_url.is_some() {
            kind = vendors::kind("openai-compatible")?;
        }
        if base_url.is_none() && kind.address.is_none() {
            let text = "the model was left out: its server has no address, which `api_base` gives";
            self.remark(line, place, text);
            return None;
        }
        let key = match given(params, "api_key") {
            Some(node) => self.key(&format!("{place}.api_key"), node),
            None if kind.name == "openai-compatible" && vendor.prefix == "openai" => {
                let text = "no key is sent to this address, where LiteLLM would send OPENAI_API_KEY: name a variable in \
                            the provider's `api_key_env` if the server wants one";
                self.remark(line, place, text);
                Key::None
            }
            None if vendor.key.is_empty() => Key::None,
            None => Key::Variable(vendor.key.to_owned()),
        };
        let organization = params.get("organization").and_then(Node::text);
        let organization = organization
            .filter(|_| !["claude", "gemini"].contains(&kind.name))
            .map(str::to_owned);
        if let Some(node) = params.get("organization")
            && organization
                .as_deref()
                .is_some_and(|one| one.starts_with("os.environ/"))
        {
            let text = "was not carried over: write the organization itself under the provider";
            self.remark(node.line, format!("{place}.organization"), text);
        }
        let organization = organization.filter(|one| !one.starts_with("os.environ/"));
        let known = self.providers.iter().position(|one| {
            one.kind.name == kind.name
                && one.base_url == base_url
                && one.key == key
                && one.organization == organization
        });
        let index = known.unwrap_or_else(|| {
            let name = self.free_provider_name(kind.name);
            self.providers.push(Provider {
                base_url,
                key,
                key_places: Vec::new(),
                kind,
                name,
                organization,
                variable: None,
            });
            self.providers.len() - 1
        });
        if let (Some(provider), Some(node)) = (self.providers.get_mut(index), params.get("api_key"))
        {
            let place = format!("{place}.api_key");
            provider.key_places.push((node.line, place));
        }
        Some(index)
    }

    fn free_provider_name(&self, kind: &str) -> String {
        let is_free = |name: &String| self.providers.iter().all(|one| one.name != *name);
        let numbered = (2..).map(|number| format!("{kind}-{number}"));
        let mut names = std::iter::once(kind.to_owned()).chain(numbered);
        names.find(is_free).unwrap_or_default()
    }

    fn key(&mut self, place: &str, node: &Node) -> Key {
        let Some(text) = node.text() else {
            let text = "was taken for no key, as it is no text: name a variable in the provider's `api_key_env` if the \
                        server wants one";
            self.remark(node.line, place, text);
            return Key::None;
        };
        if let Some(name) = named_variable(text) {
            return Key::Variable(name.to_owned());
        }
        if vendors::stands_for_no_key(text) {
            let text = "was taken for no key: name a variable in the provider's `api_key_env` if the server wants one";
            self.remark(node.line, place, text);
            return Key::None;
        }
        Key::Literal(text.to_owned())
    }

    /// The address that a value is, or that the variable it names has; `None` with a remark if there is none.
    fn address(&mut self, place: &str, node: &Node) -> Option<String> {
        let text = node.text().unwrap_or_default();
        match named_variable(text) {
            Some(name) => self.looked_up(name, place, node.line),
            None => self.checked(text, place, node.line),
        }
    }

    fn looked_up(&mut self, name: &str, place: &str, line: usize) -> Option<String> {
        if let Some(text) = (self.variable)(name).filter(|text| !text.is_empty()) {
            let address = self.checked(&text, place, line)?;
            let text = format!(
                "the address is written as {name} has it now: Jackfield's `base_url` names no variable"
            );
            self.remark(line, place, text);
            return Some(address);
        }
        let text = format!(
            "the model was left out: Jackfield's `base_url` names no variable; set {name} to the address, and import again"
        );
        self.remark(line, place, text);
        None
    }

    fn checked(&mut self, text: &str, place: &str, line: usize) -> Option<String> {
        let url = Url::parse(text.trim())
            .ok()
            .filter(|url| url.has_host() && ["http", "https"].contains(&url.scheme()));
        let Some(url) = url else {
            let text =
                "the model was left out: this is no address that begins with http:// or https://";
            self.remark(line, place, text);
            return None;
        };
        let has_login = !url.username().is_empty() || url.password().is_some();
        if has_login || url.query().is_some() || url.fragment().is_some() {
            let text = "the model was left out: its address has a login, a `?` or a `#`, where keys may stand";
            self.remark(line, place, text);
            return None;
        }
        Some(url.as_str().trim_end_matches('/').to_owned())
    }
}

/// The value of a parameter; one that is null counts as absent, as in LiteLLM.
fn given<'n>(params: &'n Node, name: &str) -> Option<&'n Node> {
    let node = params.get(name)?;
    (!matches!(node.value, Value::Null)).then_some(node)
}

/// Whether this is the kind's own address, however it is written.
fn is_own(kind: &Kind, address: &str) -> bool {
    let plain = |address: &str| {
        let address = address.trim_end_matches('/').trim_end_matches("/v1");
        address.replace("//localhost", "//127.0.0.1")
    };
    kind.address.is_some_and(|own| plain(own) == plain(address))
}
