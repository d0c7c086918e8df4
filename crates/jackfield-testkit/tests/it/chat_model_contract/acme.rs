//! The adapter for a toy vendor, with a switch for every mistake that an adapter can make.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::block::{RanBy, UpstreamId};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind as Kind, Phase, RetryAdvice};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::ResponseFormat;
use jackfield_domain::tool::ToolChoice;
use jackfield_domain::usage::Usage;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use serde_json::{Value, json};

use super::wire::{self, Answer};

pub(super) struct Acme {
    pub(super) address: String,
    pub(super) fault: Fault,
    pub(super) key: String,
}

/// What is wrong with the adapter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fault {
    AsksTwice,
    BuffersAll,
    ClaimsMuch,
    CutsCharacters,
    ForgetsDelay,
    ForgetsIds,
    ForgetsPhase,
    GivesUp,
    HoldsOn,
    Insists,
    KeepsLastPiece,
    MendsArguments,
    None,
    RepeatsPages,
    SaysStop,
    SendsNull,
    ShowsKey,
    SkipsBroken,
    SumsUsage,
    TakesAnyEnd,
    TakesErrorsForEnds,
    TellsNothing,
    WantsKnownEvents,
}

pub(super) const CAPABILITIES: Capabilities = {
    let mut can = Capabilities::NONE;
    can.parallel_calls = true;
    can.streaming = true;
    can.tools = true;
    can
};

#[async_trait]
impl ChatModel for Acme {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn state_owner(&self, model: &str) -> StateOwner {
        StateOwner {
            dialect: "acme".into(),
            endpoint: format!("http://{}", self.address).into(),
            model: model.into(),
        }
    }

    async fn reply(
        &self,
        request: &ModelRequest,
        sink: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelError> {
        if !self.has(Fault::TellsNothing) {
            let model = &*request.model.model;
            tracing::info_span!(
                "chat",
                gen_ai.operation.name = "chat",
                gen_ai.provider.name = "acme",
                gen_ai.request.model = model,
            )
            .in_scope(|| tracing::debug!("asked"));
        }
        let mut told = Telling {
            decoder: Decoder::new(self, &request.model.model),
            sink,
            told: false,
        };
        let end = self.talk(request, &mut told).await;
        end.map_err(|mut failure| {
            if told.told {
                failure.phase = Phase::MidReply;
            }
            failure.message = failure.message.replace(&self.key, "[redacted]");
            if self.has(Fault::ShowsKey) {
                failure.message.push_str(&self.key);
            }
            failure.into()
        })
    }
}

impl Acme {
    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    async fn talk(
        &self,
        request: &ModelRequest,
        telling: &mut Telling<'_>,
    ) -> Result<ReplyEnd, ModelFailure> {
        let plain = request.settings.response_format == ResponseFormat::Text
            && request.settings.thinking.is_none()
            && request.choice == ToolChoice::Auto
            && request
                .messages
                .iter()
                .all(|message| message.blocks.len() == 1);
        if !plain && !self.has(Fault::ClaimsMuch) {
            let message = "acme takes words and tools only";
            return Err(ModelFailure::new(
                Kind::Unsupported,
                Phase::BeforeSend,
                message,
            ));
        }
        let refused = |_| {
            let phase = if self.has(Fault::ForgetsPhase) {
                Phase::BeforeFirstDelta
            } else {
                Phase::BeforeSend
            };
            let message = format!("cannot connect to {}", self.address);
            ModelFailure::new(Kind::Transport, phase, message)
        };
        if self.has(Fault::AsksTwice)
            && let Ok(stream) = wire::connect(&self.address).await
        {
            let _first = wire::ask(stream, &self.key, "{}").await.is_ok();
        }
        let stream = wire::connect(&self.address).await.map_err(refused)?;
        let body = json!({ "model": &*request.model.model }).to_string();
        let asked = self.held(wire::ask(stream, &self.key, &body)).await;
        let mut answer = asked.map_err(interrupted)?;
        if answer.status != 200 || answer.headers.contains("text/html") {
            return Err(self.classify(answer).await);
        }
        if self.has(Fault::BuffersAll) {
            let mut events = Vec::new();
            while let Some(line) = answer.line().await.map_err(interrupted)? {
                events.push(line);
            }
            for line in events {
                if let Some(end) = telling.line(&line).await? {
                    return Ok(end);
                }
            }
            return Err(interrupted(std::io::ErrorKind::UnexpectedEof.into()));
        }
        loop {
            let line = if self.has(Fault::CutsCharacters) {
                answer.bytes().await
            } else {
                answer.line().await
            };
            match line {
                Ok(Some(line)) => {
                    if let Some(end) = telling.line(&line).await? {
                        return Ok(end);
                    }
                }
                _ if self.has(Fault::TakesAnyEnd) => return Ok(telling.decoder.end("stop")),
                Ok(None) => return Err(interrupted(std::io::ErrorKind::UnexpectedEof.into())),
                Err(error) => return Err(interrupted(error)),
            }
        }
    }

    /// Waits for an answer, and with one fault goes on waiting when nobody wants it any more.
    async fn held(
        &self,
        answer: impl Future<Output = std::io::Result<Answer>> + Send,
    ) -> std::io::Result<Answer> {
        if self.has(Fault::HoldsOn) {
            let (address, key) = (self.address.clone(), self.key.clone());
            let task = tokio::spawn(async move {
                let stream = wire::connect(&address).await?;
                wire::ask(stream, &key, "{}").await
            });
            return task.await.expect("the task ends");
        }
        answer.await
    }

    async fn classify(&self, answer: Answer) -> ModelFailure {
        let (status, headers) = (answer.status, answer.headers.clone());
        let body = answer.rest().await;
        let kind = match status {
            401 => Kind::Unauthenticated,
            403 => Kind::Forbidden,
            404 => Kind::ModelNotFound,
            429 => Kind::RateLimited,
            500.. => Kind::Overloaded,
            400.. => Kind::InvalidRequest,
            _ => Kind::ProtocolViolation,
        };
        let message = if self.has(Fault::RepeatsPages) {
            body
        } else {
            format!("acme answered {status}: is base_url right?")
        };
        let mut failure = ModelFailure::new(kind, Phase::BeforeFirstDelta, message);
        let delay = headers
            .lines()
            .find_map(|line| line.strip_prefix("retry-after: "));
        if let Some(seconds) = delay
            && !self.has(Fault::ForgetsDelay)
        {
            let seconds = seconds.trim().parse().unwrap();
            failure.advice = RetryAdvice::After(Duration::from_secs(seconds));
        }
        if self.has(Fault::GivesUp) {
            failure.advice = RetryAdvice::Never;
        } else if self.has(Fault::Insists) {
            failure.advice = RetryAdvice::Backoff;
        }
        failure
    }
}

impl fmt::Debug for Acme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acme").finish_non_exhaustive()
    }
}

/// Pushes what the decoder makes of the lines.
struct Telling<'a> {
    decoder: Decoder,
    sink: &'a mut dyn DeltaSink,
    told: bool,
}

impl Telling<'_> {
    async fn line(&mut self, line: &[u8]) -> Result<Option<ReplyEnd>, ModelFailure> {
        let end = self.decoder.line(line)?;
        for delta in self.decoder.deltas.drain(..) {
            self.told = true;
            self.sink.push(delta).await;
        }
        Ok(end)
    }
}

struct Decoder {
    deltas: Vec<Delta>,
    fault: Fault,
    index: u32,
    open: Option<Open>,
    owner: StateOwner,
    usage: Usage,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Open {
    Call,
    Text,
}

impl Decoder {
    fn new(acme: &Acme, model: &str) -> Self {
        Self {
            deltas: Vec::new(),
            fault: acme.fault,
            index: 0,
            open: None,
            owner: acme.state_owner(model),
            usage: Usage::default(),
        }
    }

    fn line(&mut self, line: &[u8]) -> Result<Option<ReplyEnd>, ModelFailure> {
        if line.is_empty() {
            return Ok(None);
        }
        let event: Value = match serde_json::from_slice(line) {
            Ok(event) => event,
            Err(_) if self.fault == Fault::SkipsBroken => return Ok(None),
            Err(fault) => return Err(violation(&fault.to_string())),
        };
        let index = self.index;
        if let Some(text) = event["text"].as_str() {
            self.begin(Open::Text, BlockStart::Text);
            let text = if self.fault == Fault::KeepsLastPiece {
                ""
            } else {
                text
            };
            self.deltas.push(Delta::TextAppended {
                index: self.index,
                text: text.into(),
            });
        } else if let Some(call) = event["call"].as_object() {
            self.close();
            let id = if self.fault == Fault::ForgetsIds {
                "1"
            } else {
                call["id"].as_str().unwrap()
            };
            self.begin(
                Open::Call,
                BlockStart::ToolCall {
                    json: true,
                    name: call["name"].as_str().unwrap().into(),
                    ran_by: RanBy::Engine,
                    upstream: Some(UpstreamId {
                        id: id.into(),
                        owner: self.owner.clone(),
                    }),
                },
            );
            if self.fault == Fault::SendsNull {
                self.arguments("null");
            }
        } else if let Some(text) = event["args"].as_str() {
            let broken = serde_json::from_str::<Value>(text).is_err();
            if self.fault == Fault::KeepsLastPiece {
                self.arguments("");
            } else if self.fault == Fault::MendsArguments && broken {
                self.arguments("{}");
            } else {
                self.arguments(text);
            }
        } else if let Some(usage) = event["usage"].as_object() {
            let number = |name: &str| usage[name].as_u64().unwrap();
            let more = Usage {
                cache_read: number("cached"),
                input: number("input"),
                output: number("output"),
                ..Usage::default()
            };
            if self.fault == Fault::SumsUsage {
                self.usage += more;
            } else {
                self.usage = more;
            }
        } else if let Some(why) = event["end"].as_str() {
            return Ok(Some(self.end(why)));
        } else if let Some(what) = event["error"]["what"].as_str() {
            if self.fault == Fault::TakesErrorsForEnds {
                return Ok(Some(self.end("stop")));
            }
            let kind = match what {
                "invalid" => Kind::InvalidRequest,
                "key" => Kind::Unauthenticated,
                _ => Kind::Overloaded,
            };
            let say = event["error"]["say"].as_str().unwrap();
            return Err(ModelFailure::new(kind, Phase::BeforeFirstDelta, say));
        } else if self.fault == Fault::WantsKnownEvents {
            return Err(violation(&format!("{event} at block {index}")));
        }
        Ok(None)
    }

    fn arguments(&mut self, text: &str) {
        self.deltas.push(Delta::ArgumentsAppended {
            index: self.index,
            text: text.into(),
        });
    }

    fn begin(&mut self, open: Open, start: BlockStart) {
        if self.open == Some(open) {
            return;
        }
        self.close();
        self.open = Some(open);
        self.deltas.push(Delta::BlockStarted {
            index: self.index,
            start,
        });
    }

    fn close(&mut self) {
        if self.open.take().is_some() {
            self.deltas.push(Delta::BlockEnded { index: self.index });
            self.index += 1;
        }
    }

    fn end(&mut self, why: &str) -> ReplyEnd {
        self.close();
        let finish = match why {
            _ if self.fault == Fault::SaysStop => FinishReason::Stop,
            "calls" => FinishReason::ToolCalls,
            "length" => FinishReason::Length,
            "stop" => FinishReason::Stop,
            other => FinishReason::Unrecognized(other.into()),
        };
        ReplyEnd {
            usage: Some(self.usage),
            ..ReplyEnd::new(finish)
        }
    }
}

fn interrupted(_error: std::io::Error) -> ModelFailure {
    ModelFailure::new(Kind::Interrupted, Phase::BeforeFirstDelta, "acme broke off")
}

fn violation(message: &str) -> ModelFailure {
    ModelFailure::new(Kind::ProtocolViolation, Phase::BeforeFirstDelta, message)
}
