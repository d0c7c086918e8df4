//! The adapter for a toy vendor, with a switch for every mistake that an adapter can make.

mod decoder;
mod mistakes;
mod request;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind as Kind, Phase, RetryAdvice};
use jackfield_domain::listing::ListedModel;
use jackfield_domain::note::Note;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::ResponseFormat;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use serde_json::Value;

use self::decoder::{Decoder, violation};
use super::wire::{self, Answer};

pub(super) struct Acme {
    pub(super) address: String,
    pub(super) fault: Fault,
    pub(super) form: Form,
    pub(super) key: String,
}

/// How the server writes the events of a stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Form {
    /// As server-sent events with CRLF, and the last words in the event with the reason to end. Its requests have no
    /// ids: an outcome belongs to the call at its place.
    Crlf,
    /// Each on a line.
    Lines,
    /// In one document, and of text alone.
    Words,
}

impl Form {
    /// What a server of this form can do.
    pub(super) const fn capabilities(self) -> Capabilities {
        match self {
            Self::Crlf | Self::Lines => CAPABILITIES,
            Self::Words => Capabilities::NONE,
        }
    }
}

/// What is wrong with the adapter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fault {
    AddsCached,
    AddsTemperature,
    AsksOneModel,
    AsksTwice,
    BuffersAll,
    ChoosesFirst,
    ClaimsMuch,
    CountsRequests,
    CutsCharacters,
    CutsNames,
    CutsOutcomes,
    DropsImages,
    DropsLastWords,
    DropsLateWords,
    DropsRefusals,
    DropsTogether,
    DropsZeros,
    EditsState,
    EmptiesTypes,
    EscapesWords,
    ExchangesAuthors,
    ExchangesChoices,
    ExchangesDescriptions,
    ExchangesOutcomes,
    ExchangesSampling,
    ForcesCalls,
    ForgetsCallState,
    ForgetsDelay,
    ForgetsDescriptions,
    ForgetsHistory,
    ForgetsIds,
    ForgetsItsLease,
    ForgetsPhase,
    ForgetsState,
    ForgetsSystem,
    ForgetsTextState,
    GivesUp,
    HalvesTemperature,
    HidesFailures,
    HidesLife,
    HoldsOn,
    IgnoresSettings,
    IgnoresStrict,
    Insists,
    JoinsNames,
    KeepsFirstStop,
    KeepsLastName,
    KeepsLastPiece,
    ListsNothing,
    LosesItems,
    LosesNewlines,
    KeepsItsKey,
    MarksAllFailed,
    MarksFirstFailed,
    MendsArguments,
    MindsExtras,
    MindsNulls,
    MindsRoles,
    MovesReasoning,
    MovesState,
    MovesTexts,
    NamesCalls,
    NamesFirstTool,
    NamesManners,
    NamesParts,
    NamesUsual,
    None,
    PaysForAll,
    PutsSystemIntoWords,
    ReadsPiecesOnly,
    ReadsStreamsOnly,
    RefusesIfStrict,
    RefusesInWords,
    RemembersReplies,
    RendersAlike,
    RendersAsUsual,
    RendersNothing,
    RepairsArguments,
    RepeatsPages,
    RepeatsSystem,
    RoundsNumbers,
    SaysStop,
    SendsAnyMark,
    SendsAnyState,
    SendsNull,
    ShowsKey,
    SkipsBroken,
    SkipsManners,
    SkipsUsual,
    StopsAtEnd,
    SumsUsage,
    TakesAllForJson,
    TakesAnyEnd,
    TakesCallsForEnds,
    TakesErrorsForEnds,
    TakesFirstCall,
    TakesRulesForWords,
    TellsNothing,
    TrustsIds,
    TrustsNumbers,
    TrustsReasons,
    TurnsOutcomes,
    WantsKnownEvents,
    WantsMarkers,
}

const CAPABILITIES: Capabilities = {
    let mut can = Capabilities::NONE;
    can.forced_tools = true;
    can.images = true;
    can.parallel_calls = true;
    can.reasoning = true;
    can.streaming = true;
    can.tools = true;
    can
};

#[async_trait]
impl ChatModel for Acme {
    fn capabilities(&self) -> Capabilities {
        self.form.capabilities()
    }

    fn state_owner(&self, model: &str) -> StateOwner {
        StateOwner {
            dialect: "acme".into(),
            endpoint: format!("http://{}", self.address).into(),
            model: model.into(),
        }
    }

    async fn models(&self) -> Result<Vec<ListedModel>, ModelError> {
        if self.has(Fault::ListsNothing) {
            return Ok(Vec::new());
        }
        let message = "acme lists no models";
        Err(ModelFailure::new(Kind::Unsupported, Phase::BeforeSend, message).into())
    }

    fn takes_credentials(&self) -> bool {
        !self.has(Fault::PaysForAll) && self.form != Form::Words
    }

    async fn reply(
        &self,
        request: &ModelRequest,
        call: &CallContext,
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
        if !self.has(Fault::ForgetsItsLease) {
            call.begin()?;
        }
        let own = sink.credential().map(|own| own.expose().to_owned());
        if own.is_some() && !self.takes_credentials() && !self.has(Fault::PaysForAll) {
            let message = "acme takes no keys of people";
            return Err(ModelFailure::new(Kind::Unsupported, Phase::BeforeSend, message).into());
        }
        let takes = self.takes_credentials() && !self.has(Fault::KeepsItsKey);
        let own = own.filter(|_| takes);
        let key = own.unwrap_or_else(|| self.key.clone());
        let mut told = Telling {
            decoder: Decoder::new(self.fault, self.state_owner(&request.model.model)),
            sink,
            told: false,
        };
        let end = self.talk(request, &key, &mut told).await;
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
        key: &str,
        telling: &mut Telling<'_>,
    ) -> Result<ReplyEnd, ModelFailure> {
        let (body, notes) = self.body(request)?;
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
            let _first = wire::ask(stream, key, "{}").await.is_ok();
        }
        let stream = wire::connect(&self.address).await.map_err(refused)?;
        let asked = self.held(wire::ask(stream, key, &body)).await;
        let mut answer = asked.map_err(|_| interrupted())?;
        if !self.has(Fault::HidesLife) {
            telling.sink.alive().await;
        }
        if answer.status != 200 || answer.headers.contains("text/html") {
            return Err(self.classify(answer).await);
        }
        let mut end = if answer.headers.contains("application/json") {
            self.whole(answer, telling).await?
        } else {
            self.stream(&mut answer, telling).await?
        };
        end.notes = notes;
        Ok(end)
    }

    /// What is sent, and what is not, unless it has to be.
    fn body(&self, request: &ModelRequest) -> Result<(String, Vec<Note>), ModelFailure> {
        let unsupported =
            |message: String| ModelFailure::new(Kind::Unsupported, Phase::BeforeSend, message);
        let plain = request.settings.response_format == ResponseFormat::Text
            && (request.tools.is_empty() || self.form.capabilities().tools);
        if !plain && !self.has(Fault::ClaimsMuch) {
            return Err(unsupported("acme takes words and tools only".to_owned()));
        }
        let owner = self.state_owner(&request.model.model);
        let (body, notes) = match request::body(request, &owner, self.fault, self.form) {
            Ok(made) => made,
            Err(_) if self.has(Fault::ClaimsMuch) => (Value::Null, Vec::new()),
            Err(place) => return Err(unsupported(format!("acme takes words only ({place})"))),
        };
        let mut refused = notes.iter().filter(|note| {
            let strict = request.strict.filter(|_| !self.has(Fault::IgnoresStrict));
            strict.is_some_and(|least| note.effect >= least)
        });
        if self.has(Fault::RefusesIfStrict) && request.strict.is_some() {
            let places: Vec<&str> = notes.iter().map(|note| &*note.path).collect();
            return Err(unsupported(format!("no: {places:?}")));
        }
        if let Some(note) = refused.next() {
            return Err(unsupported(format!("{} would get lost", note.path)));
        }
        Ok((body.to_string(), notes))
    }

    async fn whole(
        &self,
        answer: Answer,
        telling: &mut Telling<'_>,
    ) -> Result<ReplyEnd, ModelFailure> {
        let (body, end) = answer.rest().await;
        end.map_err(|_| interrupted())?;
        let body = serde_json::from_str::<Value>(&body);
        let events = body
            .ok()
            .and_then(|body| body["events"].as_array().cloned());
        let events = events.filter(|_| !self.has(Fault::ReadsStreamsOnly));
        for event in events.ok_or_else(|| violation("no stream"))? {
            telling.line(event.to_string().as_bytes()).await?;
        }
        telling.decoder.end().ok_or_else(|| violation("no end"))
    }

    async fn stream(
        &self,
        answer: &mut Answer,
        telling: &mut Telling<'_>,
    ) -> Result<ReplyEnd, ModelFailure> {
        answer.loses_newlines(self.has(Fault::LosesNewlines));
        let mut held = Vec::new();
        loop {
            let line = match self.form {
                Form::Crlf => answer.event().await,
                Form::Lines | Form::Words if self.has(Fault::CutsCharacters) => {
                    answer.bytes().await
                }
                Form::Lines | Form::Words => answer.line().await,
            };
            let over = match line {
                Ok(Some(line)) if self.has(Fault::BuffersAll) => {
                    held.push(line);
                    false
                }
                Ok(Some(line)) => telling.line(&line).await?,
                Ok(None) | Err(_) => {
                    for line in held.drain(..) {
                        telling.line(&line).await?;
                    }
                    let end = telling.broken_off().await;
                    let end = end.filter(|_| !self.has(Fault::WantsMarkers));
                    return end.ok_or_else(interrupted);
                }
            };
            if over {
                return telling.decoder.end().ok_or_else(|| violation("no end"));
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
        let (body, _) = answer.rest().await;
        let kind = match status {
            401 => Kind::Unauthenticated,
            403 => Kind::Forbidden,
            404 => Kind::ModelNotFound,
            429 => Kind::RateLimited,
            500.. if body.contains("overloaded") => Kind::Overloaded,
            500.. => Kind::ServerError,
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
    async fn line(&mut self, line: &[u8]) -> Result<bool, ModelFailure> {
        let over = self.decoder.line(line)?;
        self.tell().await;
        Ok(over)
    }

    async fn broken_off(&mut self) -> Option<ReplyEnd> {
        let end = self.decoder.broken_off();
        self.tell().await;
        end
    }

    async fn tell(&mut self) {
        for delta in self.decoder.deltas.drain(..) {
            self.told = true;
            self.sink.push(delta).await;
        }
    }
}

fn interrupted() -> ModelFailure {
    ModelFailure::new(Kind::Interrupted, Phase::BeforeFirstDelta, "acme broke off")
}
