//! What a server asks of a person in the middle of a call: forms, addresses to open, messages of the model.
//!
//! Source: MCP specifications of 2025-11-25 and 2026-07-28, "Elicitation" and "Sampling", read 2026-11-26.

use std::sync::Arc;

use jackfield_domain::failure::{Disposition, ToolFailure, ToolFailureKind};
use jackfield_domain::wait::{ElicitationAnswer, Question};
use jackfield_ports::question_handler::Askable;
use jackfield_ports::toolbox::ToolEvents;
use rmcp::model::ErrorData;
use serde_json::{Map, Value, json};
use url::Url;

use crate::config::ClientSettings;
use crate::era::Era;
use crate::mapping::sampling;

/// What servers may ask, as they were told: a server of the older era once for all callers, one of the newer era with
/// each request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct AllowedQuestions {
    pub(crate) forms: bool,
    /// Addresses to open.
    pub(crate) pages: bool,
    /// The folders of the caller, where the configuration names none.
    pub(crate) roots: bool,
    pub(crate) sampling: bool,
}

impl AllowedQuestions {
    /// What any caller may be asked. In the older era, a server keeps the folders that it once was told for all callers,
    /// so it is not told those of one.
    pub(crate) const fn of(settings: &ClientSettings) -> Self {
        Self {
            forms: settings.asks,
            pages: settings.asks,
            roots: false,
            sampling: settings.samples,
        }
    }

    /// What this caller may be asked by a server of this era.
    pub(crate) fn within(self, askable: Askable, era: Era) -> Self {
        Self {
            forms: self.forms && askable.forms,
            pages: self.pages && askable.pages,
            roots: askable.roots && era == Era::Stateless,
            sampling: self.sampling && askable.messages,
        }
    }

    pub(crate) const fn has(self, method: QuestionMethod) -> bool {
        match method {
            QuestionMethod::Elicitation => self.forms || self.pages,
            QuestionMethod::Sampling => self.sampling,
        }
    }

    /// Whether a server may ask this.
    fn allows(self, method: QuestionMethod, params: &Value) -> bool {
        match method {
            QuestionMethod::Elicitation if is_page(params) => self.pages,
            QuestionMethod::Elicitation => self.forms,
            QuestionMethod::Sampling => self.sampling,
        }
    }

    /// The client's capabilities. A server may ask for roots if there are any.
    pub(crate) fn capabilities(self, has_roots: bool) -> Value {
        let mut capabilities = json!({});
        if self.has(QuestionMethod::Elicitation) {
            let modes = [("form", self.forms), ("url", self.pages)];
            let modes = modes.into_iter().filter(|(_, allowed)| *allowed);
            let modes = modes.map(|(mode, _)| (mode.to_owned(), json!({})));
            capabilities["elicitation"] = Value::Object(modes.collect());
        }
        if self.sampling {
            capabilities["sampling"] = json!({});
        }
        if has_roots || self.roots {
            capabilities["roots"] = json!({});
        }
        capabilities
    }
}

/// A request of a server that is a question.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum QuestionMethod {
    Elicitation,
    Sampling,
}

impl QuestionMethod {
    pub(crate) fn parse(method: &str) -> Option<Self> {
        match method {
            "elicitation/create" => Some(Self::Elicitation),
            "sampling/createMessage" => Some(Self::Sampling),
            _ => None,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation/create",
            Self::Sampling => "sampling/createMessage",
        }
    }
}

/// Why a server gets no message. Elicitations have an answer for that.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Refusal {
    /// The code of the error for the server.
    pub(crate) code: i32,
    /// The reason in full, for this side.
    pub(crate) reason: String,
}

impl Refusal {
    /// A person said no.
    pub(crate) fn rejected() -> Self {
        Self {
            code: REJECTED,
            reason: "the user rejected the request for a message of the model".to_owned(),
        }
    }

    /// A request that cannot be answered as it is.
    pub(crate) fn invalid(reason: impl Into<String>) -> Self {
        Self {
            code: INVALID,
            reason: reason.into(),
        }
    }

    /// The model gave no message.
    fn failed(reason: impl Into<String>) -> Self {
        Self {
            code: FAILED,
            reason: reason.into(),
        }
    }

    /// The reason for the server. What went wrong at the model is not its business.
    pub(crate) fn public_reason(&self) -> &str {
        match self.code {
            FAILED => "the model gave no message",
            _ => &self.reason,
        }
    }
}

/// Questions of a server, asked one after another.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Questions {
    /// The answers so far, by the server's keys.
    pub(crate) answers: Map<String, Value>,
    /// The questions without an answer, by the server's keys.
    pub(crate) open: Map<String, Value>,
}

impl Questions {
    /// Reads the questions in a server's answer.
    pub(crate) fn from_answer(answer: &Value) -> Self {
        let open = answer.get("inputRequests").and_then(Value::as_object);
        Self {
            answers: Map::new(),
            open: open.cloned().unwrap_or_default(),
        }
    }

    /// Reads the pages that a person has to open before the server runs a call, in an error of the older era; `None` if
    /// it is no such error, or one that cannot be asked.
    pub(crate) fn from_error(error: &ErrorData) -> Option<Self> {
        let pages = error.data.as_ref()?.get("elicitations")?.as_array()?;
        let can_ask = (1..=MAX_PAGES).contains(&pages.len());
        if error.code.0 != PAGES_REQUIRED || !can_ask {
            return None;
        }
        let mut open = Map::new();
        for (n, page) in pages.iter().enumerate() {
            if !is_page(page) || elicitation(page).is_err() {
                return None;
            }
            let method = QuestionMethod::Elicitation.as_str();
            open.insert(n.to_string(), json!({ "method": method, "params": page }));
        }
        Some(Self {
            answers: Map::new(),
            open,
        })
    }

    /// Whether a person said no to one of the questions answered so far.
    pub(crate) fn is_declined(&self) -> bool {
        let mut answers = self.answers.values();
        answers.any(|answer| answer.get("action").and_then(Value::as_str) != Some("accept"))
    }

    /// Whether one is a request for roots.
    pub(crate) fn want_roots(&self) -> bool {
        let mut open = self.open.values();
        open.any(|request| request.get("method").and_then(Value::as_str) == Some(ROOTS))
    }

    /// Answers what needs no person: requests for roots with these, if there are some, and elicitations that were not
    /// allowed.
    ///
    /// # Errors
    ///
    /// If one asks for a message of the model, which was not allowed.
    pub(crate) fn settle(
        &mut self,
        roots: Option<&Value>,
        allowed: AllowedQuestions,
    ) -> Result<(), Refusal> {
        for (key, request) in std::mem::take(&mut self.open) {
            let name = request.get("method").and_then(Value::as_str);
            let method = name.and_then(QuestionMethod::parse);
            let params = request.get("params").unwrap_or(&Value::Null);
            match (method, roots) {
                (Some(QuestionMethod::Elicitation), _)
                    if !allowed.allows(QuestionMethod::Elicitation, params) =>
                {
                    self.answers.insert(key, json!({ "action": "decline" }));
                }
                (Some(QuestionMethod::Sampling), _) if !allowed.sampling => {
                    return Err(Refusal::invalid(NOBODY));
                }
                (None, Some(roots)) if name == Some(ROOTS) => {
                    self.answers.insert(key, roots.clone());
                }
                _ => {
                    self.open.insert(key, request);
                }
            }
        }
        Ok(())
    }

    /// The one question of a request of the server.
    pub(crate) fn of_request(method: QuestionMethod, params: &Value) -> Self {
        let request = json!({ "method": method.as_str(), "params": params });
        let mut open = Map::new();
        open.insert(ONLY.to_owned(), request);
        Self {
            answers: Map::new(),
            open,
        }
    }

    /// The answer to the one question of a request of the server.
    ///
    /// # Errors
    ///
    /// See [`answer`](Self::answer).
    pub(crate) async fn answer_to_request(
        &mut self,
        answer: &ElicitationAnswer,
        events: &mut dyn ToolEvents,
    ) -> Result<Value, Refusal> {
        self.answer(answer, events).await?;
        Ok(self.answers.remove(ONLY).unwrap_or_default())
    }

    /// The next question.
    ///
    /// # Errors
    ///
    /// If the server must not ask it, given the capabilities that we declared.
    pub(crate) fn next(&self, allowed: AllowedQuestions) -> Result<Option<Question>, ToolFailure> {
        let Some((_, request)) = self.open.iter().next() else {
            return Ok(None);
        };
        let name = request.get("method").and_then(Value::as_str);
        let method = name.and_then(QuestionMethod::parse);
        let params = request.get("params").unwrap_or(&Value::Null);
        let question = match method.filter(|method| allowed.allows(*method, params)) {
            Some(QuestionMethod::Elicitation) => elicitation(params),
            Some(QuestionMethod::Sampling) => sampling::question(params),
            None => Err(format!("which is not answered: {NOBODY}")),
        };
        question.map(Some).map_err(|reason| {
            let name = name.unwrap_or("something without a name");
            ToolFailure {
                disposition: Disposition::Unknown,
                kind: ToolFailureKind::ProtocolViolation,
                message: format!("the server asks for `{name}`, {reason}"),
            }
        })
    }

    /// Records the answer to the next question. If that is a request for a message, a yes asks the model for it.
    ///
    /// # Errors
    ///
    /// If there is no message: a person declined it, or the model gave none.
    pub(crate) async fn answer(
        &mut self,
        answer: &ElicitationAnswer,
        events: &mut dyn ToolEvents,
    ) -> Result<(), Refusal> {
        let Some(key) = self.open.keys().next().cloned() else {
            return Ok(());
        };
        // Keeps the server's order of the remaining questions.
        let asked = self.open.shift_remove(&key).unwrap_or_default();
        let method = asked.get("method").and_then(Value::as_str);
        let params = asked.get("params").unwrap_or(&Value::Null);
        let response = match method.and_then(QuestionMethod::parse) {
            Some(QuestionMethod::Sampling) => message(params, answer, events).await?,
            Some(QuestionMethod::Elicitation) | None => response(params, answer),
        };
        self.answers.insert(key, response);
        Ok(())
    }

    /// Records this answer to the next question, as the protocol writes it.
    pub(crate) fn give(&mut self, answer: Value) {
        if let Some(key) = self.open.keys().next().cloned() {
            self.open.shift_remove(&key);
            self.answers.insert(key, answer);
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({ "answers": self.answers, "open": self.open })
    }

    pub(crate) fn from_json(json: &Value) -> Option<Self> {
        Some(Self {
            answers: json.get("answers")?.as_object()?.clone(),
            open: json.get("open")?.as_object()?.clone(),
        })
    }
}

/// A form, or an address that the person has to open.
fn elicitation(params: &Value) -> Result<Question, String> {
    let text = |name: &str| params.get(name).and_then(Value::as_str);
    let message = text("message").ok_or("without a `message`")?;
    match text("mode") {
        None | Some("form") => Ok(Question {
            message: cut(message).into(),
            sampling: None,
            schema: params.get("requestedSchema").cloned().map(Arc::new),
            url: None,
        }),
        Some("url") => {
            let url = text("url").ok_or("without a `url`")?;
            let read = Url::parse(url).map_err(|error| format!("whose `url` is none: {error}"))?;
            let host = read.host_str().filter(|_| is_web(&read));
            let host = host.ok_or("whose `url` is no address of the web")?;
            Ok(Question {
                message: format!("Open a page at {host}: {read}\n{}", indented(message)).into(),
                sampling: None,
                schema: None,
                url: Some(read.as_str().into()),
            })
        }
        Some(other) => {
            let mode: String = other.chars().take(80).collect();
            Err(format!("in the mode `{mode}`, which is not known"))
        }
    }
}

/// The server's words below ours, each line of them recognisable as the server's.
fn indented(text: &str) -> String {
    let lines: Vec<String> = cut(text).lines().map(|line| format!("  {line}")).collect();
    lines.join("\n")
}

/// A text of the server, cut to a readable length, with a mark.
fn cut(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_TEXT);
    let (kept, rest) = text.split_at(end);
    format!("{kept}{}", if rest.is_empty() { "" } else { " […]" })
}

/// Whether a browser may open it: no other scheme, and no user name that could be taken for the host.
fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
        && url.username().is_empty()
        && url.password().is_none()
}

fn response(params: &Value, answer: &ElicitationAnswer) -> Value {
    match answer {
        ElicitationAnswer::Accepted(_) if is_page(params) => json!({ "action": "accept" }),
        ElicitationAnswer::Accepted(content) => {
            let content = with_defaults(content, params.get("requestedSchema"));
            json!({ "action": "accept", "content": content })
        }
        ElicitationAnswer::Declined => json!({ "action": "decline" }),
        ElicitationAnswer::Dismissed => json!({ "action": "cancel" }),
    }
}

/// Whether an elicitation is a page to open.
fn is_page(params: &Value) -> bool {
    params.get("mode").and_then(Value::as_str) == Some("url")
}

/// The message that a server asked for.
async fn message(
    params: &Value,
    answer: &ElicitationAnswer,
    events: &mut dyn ToolEvents,
) -> Result<Value, Refusal> {
    match answer {
        ElicitationAnswer::Accepted(_) => {}
        ElicitationAnswer::Declined | ElicitationAnswer::Dismissed => {
            return Err(Refusal::rejected());
        }
    }
    if let Some(given) = events.given_message() {
        return Ok(given);
    }
    let request = sampling::request(params).map_err(Refusal::invalid)?;
    let reply = events.sample(request).await;
    let reply = reply.map_err(|failure| Refusal::failed(failure.message))?;
    sampling::result(&reply).map_err(Refusal::failed)
}

/// The content of an answer, with the defaults of fields that it leaves out (SEP-1034 of MCP 2025-11-25, read
/// 2026-11-26).
fn with_defaults(content: &Value, schema: Option<&Value>) -> Value {
    let mut content = content.clone();
    let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
    if let (Some(fields), Some(properties)) = (content.as_object_mut(), properties) {
        for (name, property) in properties {
            if let Some(default) = property.get("default")
                && !fields.contains_key(name)
            {
                fields.insert(name.clone(), default.clone());
            }
        }
    }
    content
}

/// The code of the error for a message that the model did not give (JSON-RPC 2.0).
const FAILED: i32 = -32603;
/// The code of the error for a request that cannot be answered as it is (JSON-RPC 2.0).
const INVALID: i32 = -32602;
/// The code of the error of a call that needs pages to be opened first (MCP 2025-11-25, "Elicitation", read 2026-11-27).
const PAGES_REQUIRED: i32 = -32042;
/// The code of the error for a message that a person rejected (MCP 2025-11-25, "Sampling", read 2026-11-26).
const REJECTED: i32 = -1;
/// The most pages that a person is asked to open before one call.
const MAX_PAGES: usize = 8;
/// Why a question is not asked.
const NOBODY: &str = "the caller of the tool cannot be asked for it";
/// The longest text of an elicitation that is shown, in bytes.
const MAX_TEXT: usize = 4 << 10;
/// The key of the one question of a request.
const ONLY: &str = "question";
/// The request for roots.
const ROOTS: &str = "roots/list";
