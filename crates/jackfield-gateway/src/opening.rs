//! Selects the turn that answers a request: one that an earlier identical request began, one that waits for these
//! client results, or a new one. The engine and the domain search and decide; this module acts on the decision.

use std::sync::Arc;

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_dialect_openai::responses::DIALECT as RESPONSES;
use jackfield_domain::block::RanBy;
use jackfield_domain::caller::{Caller, Display, Repeats};
use jackfield_domain::digest::Digest;
use jackfield_domain::fork::ForkPlace;
use jackfield_domain::ids::{SessionId, ToolCallId, TurnId};
use jackfield_domain::locate::{self, HistoryKeys, Located, ResultsRefused};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::ToolOutcome;
use jackfield_domain::rules::RuleViolation;
use jackfield_domain::setup::{Opening, Setup};
use jackfield_domain::system_prompt::PartOrigin;
use jackfield_domain::tool::CatalogEntry;
use jackfield_engine::{
    Claim, ClientResultsOptions, Destination, Engine, RequestIdentity, RequestMatch, SendMessage,
    ServerTools, StartedTurn, TurnOptions,
};
use serde_json::Value;

use crate::failures::{self, from_engine_error};
use crate::gateway::Gateway;
use crate::parsed_request::ParsedRequest;
use crate::{ids, previous, tools};

/// The turn that answers a request.
#[derive(Debug)]
pub struct AnsweringTurn {
    /// The turn.
    pub started: StartedTurn,
    /// Whether its session can be continued by its id.
    pub is_durable: bool,
}

/// The position of a request in the conversations, and the state there.
pub(crate) struct RequestPlace {
    /// The messages before the request.
    pub(crate) before: Arc<Vec<Arc<Message>>>,
    pub(crate) located: Located,
    /// The setup of the last turn there.
    pub(crate) setup: Option<Arc<Setup>>,
}

impl From<Destination> for RequestPlace {
    fn from(place: Destination) -> Self {
        Self {
            before: place.before,
            located: place.located,
            setup: place.setup,
        }
    }
}

impl Gateway {
    /// Finds or begins the turn that answers a request.
    ///
    /// # Errors
    ///
    /// The conversation or the session does not allow it.
    pub async fn open(&self, request: &ParsedRequest) -> Result<AnsweringTurn, ServeError> {
        open(self, request).await
    }
}

async fn open(gateway: &Gateway, request: &ParsedRequest) -> Result<AnsweringTurn, ServeError> {
    let mut claims: Vec<Claim> = Vec::new();
    let journals = journals(request);
    for is_durable in journals.iter().copied() {
        let engine = gateway.engine_of(is_durable);
        match engine
            .match_request(&request_identity(request))
            .await
            .map_err(|error| from_engine_error(&error))?
        {
            RequestMatch::New(claim) => claims.push(claim),
            RequestMatch::Existing(started) => {
                let started = *started;
                return Ok(AnsweringTurn {
                    started,
                    is_durable,
                });
            }
        }
    }
    let history_keys = HistoryKeys::from_history(&request.incoming.messages);
    let (place, is_durable) = locate_request(gateway, request, &history_keys, &journals).await?;
    let engine = gateway.engine_of(is_durable);
    let mut opener = TurnOpener {
        request,
        claims,
        engine,
        gateway,
        is_durable,
        view: history_keys.view(),
    };
    let started = opener.open(place).await?;
    Ok(AnsweringTurn {
        started,
        is_durable,
    })
}

/// The journals to search for the request or its conversation: the durable one and the one in memory. A request
/// without a key and without assistant messages cannot exist in the other journal.
fn journals(request: &ParsedRequest) -> Vec<bool> {
    let is_continuation = |message: &Message| message.role == Role::Assistant;
    if request.session.is_some() || request.incoming.previous.is_some() {
        vec![true]
    } else if request.key.is_some() || request.incoming.messages.iter().any(is_continuation) {
        vec![true, false]
    } else {
        vec![request.is_durable]
    }
}

/// The position of a request, and whether it is in the durable journal.
async fn locate_request(
    gateway: &Gateway,
    request: &ParsedRequest,
    history_keys: &HistoryKeys,
    journals: &[bool],
) -> Result<(RequestPlace, bool), ServeError> {
    let history = &request.incoming.messages;
    let durable = gateway.engine();
    if let Some(previous) = &request.incoming.previous {
        let place = previous::locate(durable, request, previous).await?;
        return Ok((place.into(), true));
    }
    if let Some(session) = &request.session {
        let place = durable.locate_in(&request.principal, session, history, request.may_adopt);
        let place = place.await;
        return Ok((
            place.map_err(|error| from_engine_error(&error))?.into(),
            true,
        ));
    }
    for is_durable in journals.iter().copied() {
        let engine = gateway.engine_of(is_durable);
        let place = engine.locate(&request.principal, history_keys).await;
        let place = place.map_err(|error| from_engine_error(&error))?;
        if place.located != Located::New {
            return Ok((place.into(), is_durable));
        }
    }
    let place = RequestPlace {
        before: Arc::default(),
        located: Located::New,
        setup: None,
    };
    Ok((place, request.is_durable))
}

/// The parts of a request that identify a repeat of it.
fn request_identity(request: &ParsedRequest) -> RequestIdentity {
    RequestIdentity {
        body: request.body,
        disconnect: request.options.disconnect,
        is_repeat: request.is_repeat,
        key: request.key.clone(),
        principal: Arc::clone(&request.principal),
        session: request.session.clone(),
    }
}

/// Opens a turn for a request.
struct TurnOpener<'a> {
    request: &'a ParsedRequest,
    /// Claims that make identical requests wait until the turn of this one is known.
    claims: Vec<Claim>,
    engine: &'a Engine,
    gateway: &'a Gateway,
    /// Whether its engine is that of the durable journal.
    is_durable: bool,
    /// The key of the client's view of the history.
    view: Option<Digest>,
}

impl TurnOpener<'_> {
    async fn open(&mut self, place: RequestPlace) -> Result<StartedTurn, ServeError> {
        let RequestPlace {
            before,
            located,
            setup,
        } = place;
        match located {
            Located::Answer {
                results,
                session,
                turn,
            } => self.answer(results, session, turn).await,
            Located::Collect {
                segment,
                session,
                turn,
            } => self.subscribe(&session, &turn, segment).await,
            Located::Continue {
                known_messages: known,
                session,
            } => {
                let opening = self.opening(&before, known)?;
                self.begin(session, opening, self.inherited_setup(setup))
                    .await
            }
            Located::Fork {
                at,
                known_messages: known,
                session,
            } => {
                let opening = self.opening(&before, known)?;
                let session = self.fork(&session, &at).await?;
                self.begin(session, opening, self.inherited_setup(setup))
                    .await
            }
            Located::Late {
                at,
                results,
                session,
            } => {
                let session = match at {
                    Some(at) => self.fork(&session, &at).await?,
                    None => session,
                };
                // A client that brings results need not repeat the tool list, where the setup of the turn is
                // known.
                self.begin(session, Opening::ClientResults(results), setup)
                    .await
            }
            Located::More {
                at,
                session,
                text: words,
            } => {
                let session = match at {
                    Some(at) => self.fork(&session, &at).await?,
                    None => session,
                };
                // The request brings results, so the setup applies here, too.
                self.begin(session, Opening::UserMessage(words), setup)
                    .await
            }
            Located::New => {
                let session = new_session()?;
                self.begin(session, self.opening(&[], 0)?, None).await
            }
            Located::Refused(refused) => Err(results_error(refused)),
        }
    }

    /// The setup that a message without a tool list inherits. For conversations that are not kept, the client's
    /// request is complete as it is, and nothing is added.
    fn inherited_setup(&self, setup: Option<Arc<Setup>>) -> Option<Arc<Setup>> {
        setup.filter(|_| self.is_durable)
    }

    /// Inherits the tools of the previous turn where the request names none: the client tools, and those of its
    /// server tools that the token may use.
    fn inherit_tools(&self, options: &mut TurnOptions, setup: &Setup) {
        let own = |tool: &CatalogEntry| tool.ran_by == RanBy::Client;
        if self.request.incoming.names_tools || !setup.catalog.iter().any(own) {
            return;
        }
        let selected = options.server_tools.clone();
        options.inherit_tools(setup);
        let inherited = std::mem::replace(&mut options.server_tools, selected);
        if !self.request.selects_tools {
            options.server_tools = tools::restrict(&self.request.tools, inherited);
        }
        if options.server_tools == ServerTools::None {
            // The default system prompt is about server tools.
            let parts = &mut options.system.parts;
            parts.retain(|part| part.origin != PartOrigin::Default);
        }
    }

    /// The opening of the next turn, given how much of the history is known.
    fn opening(&self, before: &[Arc<Message>], known: usize) -> Result<Opening, ServeError> {
        let history = &self.request.incoming.messages;
        let new = history.get(known..).unwrap_or_default();
        locate::opening(before, new).map_err(|error| match locate::results(new).first() {
            // The result answers no open call.
            Some(result) if !new.iter().any(|message| message.calls().next().is_some()) => {
                results_error(ResultsRefused::Unknown {
                    call: result.call.clone(),
                })
            }
            Some(_) | None => {
                let is_input = self.request.dialect == RESPONSES;
                let field = if is_input { "input" } else { "messages" };
                let ends_wrongly = matches!(
                    error,
                    RuleViolation::EndsWithAssistant | RuleViolation::NoMessage
                );
                let help = if ends_wrongly {
                    "; end with a user message or with tool results"
                } else {
                    ""
                };
                let message = format!("{field}: {error}{help}");
                ServeError::new(ServeErrorKind::Invalid, message).at(field)
            }
        })
    }

    async fn begin(
        &mut self,
        session: SessionId,
        opening: Opening,
        inherited: Option<Arc<Setup>>,
    ) -> Result<StartedTurn, ServeError> {
        self.gateway.check_turn_limit()?;
        let mut options = self.request.options.clone();
        options.caller = Some(Arc::new(self.caller()));
        if let Some(setup) = inherited {
            self.inherit_tools(&mut options, &setup);
        }
        let message = SendMessage {
            opening,
            options,
            session,
        };
        let claims = std::mem::take(&mut self.claims);
        let started = self.engine.begin_with_guard(message, claims).await;
        started.map_err(|error| from_engine_error(&error))
    }

    async fn answer(
        &self,
        results: Vec<Arc<ToolOutcome>>,
        session: SessionId,
        turn: TurnId,
    ) -> Result<StartedTurn, ServeError> {
        let results = results
            .iter()
            .map(|outcome| (outcome.call.clone(), outcome.result.clone()));
        // Only Responses has replies that are fetched later.
        let can_fetch_later = self.request.dialect == RESPONSES;
        let options = ClientResultsOptions {
            by: Arc::clone(&self.request.principal),
            disconnect: self.request.options.disconnect,
            policy: self.request.options.policy.clone(),
            repeats: can_fetch_later.then(|| Arc::new(self.repeats())),
            results: results.collect(),
            session,
            streams: self.request.incoming.stream,
            turn,
        };
        let answered = self.engine.submit_client_results(options).await;
        Ok(answered.map_err(|error| from_engine_error(&error))?.started)
    }

    async fn subscribe(
        &self,
        session: &SessionId,
        turn: &TurnId,
        segment: u32,
    ) -> Result<StartedTurn, ServeError> {
        let disconnect = self.request.options.disconnect;
        let started = self
            .engine
            .subscribe(session, turn, segment, disconnect)
            .await;
        started.map_err(|error| from_engine_error(&error))
    }

    async fn fork(&self, session: &SessionId, at: &ForkPlace) -> Result<SessionId, ServeError> {
        let fork = new_session()?;
        let forked = self.engine.fork(session, at, &fork).await;
        forked.map_err(|error| from_engine_error(&error))?;
        Ok(fork)
    }

    fn repeats(&self) -> Repeats {
        let mut echo = self.request.about.echo.clone();
        echo.insert(
            previous::CREATED.to_owned(),
            self.request.about.created.into(),
        );
        Repeats {
            echo: Value::Object(echo).to_string().into(),
            model: Arc::clone(&self.request.incoming.model),
        }
    }

    fn caller(&self) -> Caller {
        let ParsedRequest {
            body,
            calls_as_written,
            dialect,
            incoming,
            key,
            principal,
            shows_tools,
            ..
        } = self.request;
        let Repeats { echo, model } = self.repeats();
        let keeps_history = incoming.previous.is_none();
        Caller {
            body: Some(*body),
            dialect: (*dialect).into(),
            display: Display {
                calls_as_written: *calls_as_written,
                server_tools: *shows_tools,
            },
            echo: Some(echo),
            key: key.clone(),
            model,
            principal: Arc::clone(principal),
            view: self.view.filter(|_| keeps_history),
        }
    }
}

fn new_session() -> Result<SessionId, ServeError> {
    ids::session().map_err(|error| failures::internal(&error))
}

/// The error for refused client results, with the ids of their calls.
fn results_error(refused: ResultsRefused) -> ServeError {
    let (kind, message) = match refused {
        ResultsRefused::Conflict { call } => (
            ServeErrorKind::Conflict,
            format!("the call {call} has another result already, and keeps it"),
        ),
        ResultsRefused::Missing { calls } => {
            let calls: Vec<&str> = calls.iter().map(ToolCallId::as_str).collect();
            let message = format!(
                "results are missing: send those of {} in the same request; the turn waits for them",
                calls.join(", ")
            );
            (ServeErrorKind::ResultsMissing, message)
        }
        ResultsRefused::Unknown { call } => (
            ServeErrorKind::NoSuchCall,
            format!("there is a result for {call}, and the turn made no such call"),
        ),
    };
    ServeError::new(kind, message)
}
