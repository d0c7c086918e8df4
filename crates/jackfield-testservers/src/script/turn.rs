//! The server's response to one request.

use jackfield_domain::reply::FinishReason;
use jackfield_domain::usage::Usage;
use jackfield_testkit::server::{Gate, Response, ResponseStep};
use serde_json::Value;

/// The response to one request, and faults of its connection.
#[derive(Clone, Debug)]
pub struct ScriptTurn {
    pub(super) again: bool,
    steps: Vec<(usize, ResponseStep)>,
    recut: Option<usize>,
    pub(crate) says: ScriptAnswer,
    pub(super) when: Option<String>,
}

/// The contents of a response.
#[derive(Clone, Debug)]
pub(crate) enum ScriptAnswer {
    /// A reply of the model.
    Reply(ScriptReply),
    /// These bytes for any request.
    Wire(Response),
}

/// A reply of the model.
#[derive(Clone, Debug)]
pub(crate) struct ScriptReply {
    pub(crate) finish: Option<FinishReason>,
    pub(crate) parts: Vec<ScriptPart>,
    pub(crate) usage: Usage,
    /// Sent as one document, even for a stream request.
    pub(crate) whole: bool,
}

/// One block of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum ScriptPart {
    Call {
        /// The arguments as the model writes them, possibly invalid JSON.
        arguments: String,
        /// The provider's id of the call; generated if missing.
        id: Option<String>,
        name: String,
    },
    /// The text of a refusal.
    Refusal(String),
    Text(String),
    /// A call of a text tool.
    TextCall {
        /// The provider's id of the call; generated if missing.
        id: Option<String>,
        input: String,
        name: String,
    },
    Thinking {
        /// The proof of its origin: a signature, or the encrypted reasoning itself.
        signature: String,
        text: String,
    },
}

impl ScriptTurn {
    /// A reply with these blocks.
    #[must_use]
    pub fn reply(parts: impl IntoIterator<Item = ScriptPart>) -> Self {
        Self::of(ScriptAnswer::Reply(ScriptReply {
            finish: None,
            parts: parts.into_iter().collect(),
            usage: usual_usage(),
            whole: false,
        }))
    }

    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::reply([ScriptPart::Text(text.into())])
    }

    /// A reply that calls this tool.
    #[must_use]
    pub fn call(name: &str, arguments: &Value) -> Self {
        Self::reply([]).and_call(name, arguments)
    }

    /// A response with this status and body for any request.
    #[must_use]
    pub fn status(status: u16, body: &Value) -> Self {
        Self::wire(Response::json(status, body.to_string()))
    }

    /// An HTML page, such as a proxy sends.
    #[must_use]
    pub fn html(status: u16, page: &str) -> Self {
        Self::wire(Response::html(status, page.to_owned()))
    }

    /// These bytes for any request.
    #[must_use]
    pub const fn wire(response: Response) -> Self {
        Self::of(ScriptAnswer::Wire(response))
    }

    /// Adds a tool call to a reply.
    #[must_use]
    pub fn and_call(self, name: &str, arguments: &Value) -> Self {
        self.and(ScriptPart::Call {
            arguments: arguments.to_string(),
            id: None,
            name: name.to_owned(),
        })
    }

    /// Adds a block to a reply.
    #[must_use]
    pub fn and(mut self, part: ScriptPart) -> Self {
        if let ScriptAnswer::Reply(reply) = &mut self.says {
            reply.parts.push(part);
        }
        self
    }

    /// Sets the finish reason; by default it depends on whether there are calls.
    #[must_use]
    pub fn finish(mut self, finish: FinishReason) -> Self {
        if let ScriptAnswer::Reply(reply) = &mut self.says {
            reply.finish = Some(finish);
        }
        self
    }

    /// Sets the usage; by default 100 input tokens and 20 output tokens.
    #[must_use]
    pub const fn using(mut self, usage: Usage) -> Self {
        if let ScriptAnswer::Reply(reply) = &mut self.says {
            reply.usage = usage;
        }
        self
    }

    /// Sent as one document even for a stream request, as by some servers and proxies.
    #[must_use]
    pub const fn whole(mut self) -> Self {
        if let ScriptAnswer::Reply(reply) = &mut self.says {
            reply.whole = true;
        }
        self
    }

    /// Only for a request whose last message contains this text.
    #[must_use]
    pub fn when(mut self, text: impl Into<String>) -> Self {
        self.when = Some(text.into());
        self
    }

    /// May be used repeatedly.
    #[must_use]
    pub const fn again(mut self) -> Self {
        self.again = true;
        self
    }

    /// Closes the connection after this many bytes of the body.
    #[must_use]
    pub fn cut_after(self, bytes: usize) -> Self {
        self.step(bytes, ResponseStep::CutOff)
    }

    /// Resets the connection after this many bytes of the body.
    #[must_use]
    pub fn reset_after(self, bytes: usize) -> Self {
        self.step(bytes, ResponseStep::Reset)
    }

    /// Sends nothing more after this many bytes of the body.
    #[must_use]
    pub fn stall_after(self, bytes: usize) -> Self {
        self.step(bytes, ResponseStep::Stall)
    }

    /// Waits at a gate after this many bytes of the body.
    #[must_use]
    pub fn pause_after(self, bytes: usize, gate: &Gate) -> Self {
        self.step(bytes, ResponseStep::Pause(gate.clone()))
    }

    /// Cuts the body into pieces of this many bytes.
    #[must_use]
    pub const fn recut(mut self, size: usize) -> Self {
        self.recut = Some(size);
        self
    }

    /// Applies the faults of the connection to the response.
    pub(crate) fn befall(&self, mut response: Response) -> Response {
        for (bytes, step) in &self.steps {
            response = match step {
                ResponseStep::CutOff => response.cut_at(*bytes),
                ResponseStep::Pause(_)
                | ResponseStep::Reset
                | ResponseStep::Send(_)
                | ResponseStep::Stall => insert(response, *bytes, step),
            };
        }
        match self.recut {
            Some(size) => response.split_sends(size),
            None => response,
        }
    }

    const fn of(says: ScriptAnswer) -> Self {
        Self {
            again: false,
            steps: Vec::new(),
            recut: None,
            says,
            when: None,
        }
    }

    fn step(mut self, bytes: usize, step: ResponseStep) -> Self {
        self.steps.push((bytes, step));
        self
    }
}

impl ScriptReply {
    pub(crate) fn finish(&self) -> FinishReason {
        let mut usual = FinishReason::Stop;
        for part in &self.parts {
            match part {
                ScriptPart::Call { .. } | ScriptPart::TextCall { .. } => {
                    usual = FinishReason::ToolCalls;
                }
                ScriptPart::Refusal(_) => usual = FinishReason::Refused,
                ScriptPart::Text(_) | ScriptPart::Thinking { .. } => {}
            }
        }
        self.finish.clone().unwrap_or(usual)
    }
}

/// Inserts a step after this many bytes of the body, or at its end.
fn insert(mut response: Response, bytes: usize, step: &ResponseStep) -> Response {
    let mut left = Some(bytes);
    let mut steps = Vec::new();
    for known in std::mem::take(&mut response.steps) {
        match (known, left) {
            (ResponseStep::Send(mut piece), Some(there)) if there < piece.len() => {
                steps.push(ResponseStep::Send(piece.split_to(there)));
                steps.push(step.clone());
                steps.push(ResponseStep::Send(piece));
                left = None;
            }
            (ResponseStep::Send(piece), there) => {
                left = there.map(|there| there - piece.len());
                steps.push(ResponseStep::Send(piece));
            }
            (known, _) => steps.push(known),
        }
    }
    if left.is_some() {
        steps.push(step.clone());
    }
    response.steps = steps;
    response
}

/// The default usage of a reply.
fn usual_usage() -> Usage {
    Usage {
        input: 100,
        output: 20,
        ..Usage::default()
    }
}
