//! The body of a request that may be passed through: what the decision needs of it, and the body for the provider.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use jackfield_dialect_gemini::serve::{Address, Method};
use jackfield_ports::upstream::Upstream;

use super::added_usage::{AddedUsage, FIELD};
use super::json::{self, Member};
use super::language::Language;
use super::reply::ModelNames;
use super::{CHAT, ReceivedRequest};

/// The members of a request's body that matter here.
#[derive(Debug)]
pub(super) struct RequestBody<'a> {
    /// The address, in a language that has the model there.
    address: Option<Address>,
    pub(super) text: &'a str,
    pub(super) members: Vec<Member<'a>>,
    /// The model, as the client names it.
    pub(super) model: Cow<'a, str>,
    /// Where the body names it.
    model_range: Option<Range<usize>>,
}

impl<'a> RequestBody<'a> {
    /// Reads a request; `None` unless its body is a JSON object, and it names one model.
    pub(super) fn of(request: &'a ReceivedRequest) -> Option<Self> {
        if Language::of_path(&request.path) != Language::Gemini {
            return Self::read(&request.body);
        }
        let query = request.query.as_deref().unwrap_or_default();
        let address = Address::parse(&format!("{}?{query}", request.path))?;
        // The usage in a list of fragments is not read.
        if address.method == Method::List {
            return None;
        }
        let text = std::str::from_utf8(&request.body).ok()?;
        Some(Self {
            members: json::members(text)?,
            model: Cow::Owned(address.model.clone()),
            model_range: None,
            address: Some(address),
            text,
        })
    }

    /// Reads a body; `None` unless it is a JSON object that names one model.
    pub(super) fn read(body: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(body).ok()?;
        let members = json::members(text)?;
        let model = json::only(&members, "model")?;
        let range = model.range.clone();
        let model = json::string(model.value)?;
        Some(Self {
            address: None,
            text,
            members,
            model,
            model_range: Some(range),
        })
    }

    /// Whether the model is in the address.
    pub(super) const fn is_addressed(&self) -> bool {
        self.address.is_some()
    }

    /// The path of the request for this model, by the provider's name for it.
    pub(super) fn path_for<'p>(&self, path: &'p str, model: &str) -> Cow<'p, str> {
        match &self.address {
            None => Cow::Borrowed(path),
            Some(address) => Cow::Owned(address.path_of(model)),
        }
    }

    /// Whether it asks for a stream.
    fn is_stream(&self) -> bool {
        match &self.address {
            None => self.is_true("stream"),
            Some(address) => address.method == Method::Events,
        }
    }

    /// Whether a member says `true`.
    pub(super) fn is_true(&self, key: &str) -> bool {
        json::is_true(&self.members, key)
    }

    /// Whether a member is there, and not `null`.
    pub(super) fn is_set(&self, key: &str) -> bool {
        json::is_set(&self.members, key)
    }

    /// Whether a member says `false`.
    pub(super) fn is_false(&self, key: &str) -> bool {
        let mut members = self.members.iter();
        members.any(|member| member.key == key && member.value == "false")
    }

    /// The text of a member that is there once.
    pub(super) fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        json::string(json::only(&self.members, key)?.value)
    }

    /// Whether it brings tools.
    pub(super) fn has_tools(&self) -> bool {
        let mut members = self.members.iter();
        members.any(|member| member.key == "tools" && !["null", "[]"].contains(&member.value))
    }

    /// Whether it has images, by the names that they have in the vendors' languages.
    pub(super) fn has_images(&self) -> bool {
        let names = ["\"image/", "\"image\"", "\"image_url\"", "\"input_image\""];
        names.iter().any(|name| self.text.contains(name))
    }

    /// Whether a chat stream of this model has to be asked for its usage, and can be.
    pub(super) fn needs_usage(
        &self,
        path: &str,
        language: Language,
        (upstream, model): (&dyn Upstream, &str),
    ) -> bool {
        language == Language::Chat
            && path == CHAT
            && self.is_true("stream")
            && !self.includes_usage()
            && upstream.takes_field(model, FIELD)
    }

    /// The end user that it names, as turns in this language read it.
    pub(super) fn end_user(&self, language: Language) -> Option<Cow<'a, str>> {
        let text =
            |members: &[Member<'a>], key: &str| json::string(json::only(members, key)?.value);
        match language {
            Language::Chat | Language::Responses => {
                text(&self.members, "safety_identifier").or_else(|| text(&self.members, "user"))
            }
            Language::Gemini => None,
            Language::Claude => {
                let metadata = json::only(&self.members, "metadata")?;
                text(&json::members(metadata.value)?, "user_id")
            }
        }
    }

    /// Whether a chat stream reports its usage.
    pub(super) fn includes_usage(&self) -> bool {
        let options = json::only(&self.members, FIELD);
        let options = options.and_then(|options| json::members(options.value));
        options.is_some_and(|options| json::is_true(&options, "include_usage"))
    }

    /// What the provider gets: the body with this name of the model, and, if `adds_usage` is set, with a demand for
    /// usage in the stream. `body` is the body that was read.
    pub(super) fn for_upstream(&self, body: &Bytes, model: &str, adds_usage: bool) -> UpstreamBody {
        let body = self.edited(body, model, adds_usage);
        UpstreamBody {
            added_usage: adds_usage.then(|| self.added_usage(model)).flatten(),
            body,
            end_user: None,
            is_stream: self.is_stream(),
            path: self.address.as_ref().map(|address| address.path_of(model)),
            change: (*self.model != *model).then(|| ModelNames::new(&self.model, model)),
            removes_usage: adds_usage,
            response: self.asked_response(),
        }
    }

    /// The response that its provider keeps, if this is a request for one.
    fn asked_response(&self) -> Option<AskedResponse> {
        let is_background = self.is_true("background");
        let is_kept = is_background || !self.is_false("store");
        is_kept.then(|| AskedResponse {
            is_background,
            model: (*self.model).into(),
        })
    }

    /// The demand for usage in the body for this model, if the client's body has no such field.
    fn added_usage(&self, model: &str) -> Option<AddedUsage> {
        if self.members.iter().any(|member| member.key == FIELD) {
            return None;
        }
        let range = self.model_range.as_ref()?;
        let length = if self.model == model {
            range.len()
        } else {
            serde_json::Value::from(model).to_string().len()
        };
        let start = range.start + length;
        Some(AddedUsage {
            model: model.into(),
            range: start..start + ADDED.len(),
        })
    }

    fn edited(&self, body: &Bytes, model: &str, adds_usage: bool) -> Bytes {
        let mut edits = Vec::new();
        edits.extend(self.counted_model(model));
        let model_json = serde_json::Value::from(model).to_string();
        let mut model_edit = String::new();
        if self.model != model {
            model_edit.push_str(&model_json);
        }
        if adds_usage {
            match json::only(&self.members, FIELD) {
                Some(options) => edits.push(usage_edit(options)),
                None => {
                    if model_edit.is_empty() {
                        let range = self.model_range.clone();
                        let own = range.and_then(|range| self.text.get(range));
                        model_edit.push_str(own.unwrap_or_default());
                    }
                    model_edit.push_str(ADDED);
                }
            }
        }
        if let (false, Some(range)) = (model_edit.is_empty(), &self.model_range) {
            edits.push((range.clone(), model_edit));
        }
        if edits.is_empty() {
            return body.clone();
        }
        json::replace(self.text, edits).into()
    }

    /// The change of the model in the request whose tokens are counted (`countTokens`): Google refuses another one than
    /// that of the address.
    fn counted_model(&self, model: &str) -> Option<(Range<usize>, String)> {
        let address = self.address.as_ref()?;
        if address.method != Method::Count || *self.model == *model {
            return None;
        }
        let names = ["generateContentRequest", "generate_content_request"];
        let counted = names
            .iter()
            .find_map(|name| json::only(&self.members, name))?;
        let members = json::members(counted.value)?;
        let named = json::only(&members, "model")?;
        let value = json::string(named.value)?;
        let prefix = if value.starts_with("models/") {
            "models/"
        } else {
            ""
        };
        let start = counted.range.start + named.range.start;
        let text = serde_json::Value::from(format!("{prefix}{model}")).to_string();
        Some((start..start + named.range.len(), text))
    }
}

/// A body for a provider, and what it means for the reply.
#[derive(Debug)]
pub(super) struct UpstreamBody {
    /// The demand for usage in it, if it is not the client's.
    pub(super) added_usage: Option<AddedUsage>,
    pub(super) body: Bytes,
    /// The model's names, if they differ.
    pub(super) change: Option<ModelNames>,
    /// The end user, if the request names one.
    pub(super) end_user: Option<Arc<str>>,
    /// Whether it asks for a stream.
    pub(super) is_stream: bool,
    /// The path, if it names the model.
    pub(super) path: Option<String>,
    /// Whether it asks for usage that the client did not ask for.
    pub(super) removes_usage: bool,
    /// The response that its provider keeps, if it is a request for one.
    pub(super) response: Option<AskedResponse>,
}

/// What a request says of the response that its provider is to keep.
#[derive(Clone, Debug)]
pub(super) struct AskedResponse {
    pub(super) is_background: bool,
    /// The model, by the client's name.
    pub(super) model: Arc<str>,
}

/// The field that asks for usage, behind the model.
const ADDED: &str = r#","stream_options":{"include_usage":true}"#;

/// The change of `stream_options` that asks for usage.
fn usage_edit(options: &Member<'_>) -> (Range<usize>, String) {
    let Some(members) = json::members(options.value) else {
        return (
            options.range.clone(),
            r#"{"include_usage":true}"#.to_owned(),
        );
    };
    if let Some(own) = members.iter().find(|member| member.key == "include_usage") {
        let start = options.range.start + own.range.start;
        return (start..start + own.range.len(), "true".to_owned());
    }
    let comma = if members.is_empty() { "" } else { "," };
    let place = options.range.start + 1;
    (place..place, format!(r#""include_usage":true{comma}"#))
}
