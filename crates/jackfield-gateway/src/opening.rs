//! Selects the turn that answers a request: one that an earlier identical request began, one that waits for these
//! client results, or a new one. The engine and the domain search and decide; this module acts on the decision.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_dialect_openai::responses::DIALECT as RESPONSES;
use jackfield_domain::block::RanBy;
use jackfield_domain::caller::{Caller, Display, Repeats};
use jackfield_domain::digest::Digest;
use jackfield_domain::ids::{ForkPlace, SessionId, ToolCallId, TurnId};
use jackfield_domain::locate::{self, HistoryKeys, Located, ResultsRefused};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::ToolOutcome;
use jackfield_domain::rules::RuleViolation;
use jackfield_domain::setup::{Opening, Setup};
use jackfield_domain::system_prompt::PartOrigin;
use jackfield_domain::tool::CatalogEntry;
use jackfield_engine::{
    ClientResultsOptions, Durability, Engine, EngineError, SecondMessage, SendMessage, ServerTools,
    StartedTurn, TurnOptions,
};
use serde_json::Value;

use crate::failures::{self, from_engine_error, from_match_error};
use crate::gateway::Gateway;
use crate::locator::{Destination, SessionLocator};
use crate::matcher::{Claim, RequestIdentity, RequestMatch};
use crate::parsed_request::ParsedRequest;
use crate::request_slot::RequestSlot;
use crate::{ids, previous, tools};

/// The turn that answers a request.
#[derive(Debug)]
pub struct AnsweringTurn {
    /// The turn.
    pub started: StartedTurn,
    /// Whether its session can be continued by its id.
    pub is_durable: bool,
}

impl Gateway {
    /// Finds or begins the turn that answers a request.
    ///
    /// # Errors
    ///
    /// The conversation or the session does not allow it.
    pub async fn open(
        &self,
        request: &ParsedRequest,
        slot: &RequestSlot,
    ) -> Result<AnsweringTurn, ServeError> {
        open(self, request, slot).await
    }
}

async fn open(
    gateway: &Gateway,
    request: &ParsedRequest,
    slot: &RequestSlot,
) -> Result<AnsweringTurn, ServeError> {
    let engine = gateway.engine();
    let identity = request_identity(request);
    let began = Instant::now();
    let mut known_keys = None;
    let started = loop {
        let matched = gateway.shared.matcher.find(&identity).await;
        let (after, claim) = match matched.map_err(|error| from_match_error(&error))? {
            RequestMatch::New { after, claim } => (after, claim),
            RequestMatch::Existing(started) => break *started,
        };
        let history_keys =
            known_keys.get_or_insert_with(|| HistoryKeys::from_history(&request.incoming.messages));
        let place = locate_request(engine, request, history_keys).await?;
        // What a turn of before answers costs nothing more.
        if !matches!(
            place.located,
            Located::Answer { .. } | Located::Collect { .. }
        ) {
            slot.check_budgets()?;
        }
        let mut opener = TurnOpener {
            request,
            claim: Some(claim),
            engine,
            gateway,
            keyed_session: None,
            lost: false,
            view: history_keys.view(),
        };
        if let Some(key) = &request.key {
            let after = after.as_ref();
            let session = ids::keyed_session(&request.principal, key, after);
            opener.keyed_session = Some(session.map_err(|error| failures::internal(&error))?);
        }
        match opener.open(place).await {
            // The same request came to another process, which begins the turn.
            Err(_) if opener.lost => {
                if began.elapsed() >= KEY_LIMIT {
                    return Err(failures::begins_elsewhere());
                }
                tokio::time::sleep(KEY_POLL).await;
            }
            opened => break opened?,
        }
    };
    Ok(AnsweringTurn {
        is_durable: engine.durability(&started.session) == Durability::Durable,
        started,
    })
}

/// Where to search for the request or its conversation; `None` is everywhere. A request without a key and without
/// assistant messages can only be where its own turn would be.
fn searched_sessions(request: &ParsedRequest) -> Option<Durability> {
    let is_continuation = |message: &Message| message.role == Role::Assistant;
    if request.session.is_some() || request.incoming.previous.is_some() {
        Some(Durability::Durable)
    } else if request.key.is_some() || request.incoming.messages.iter().any(is_continuation) {
        None
    } else {
        Some(durability(request))
    }
}

/// The durability of a new session for this request.
fn durability(request: &ParsedRequest) -> Durability {
    if request.is_durable {
        Durability::Durable
    } else {
        Durability::Ephemeral
    }
}

/// The position of a request.
async fn locate_request(
    engine: &Engine,
    request: &ParsedRequest,
    history_keys: &HistoryKeys,
) -> Result<Destination, ServeError> {
    let history = &request.incoming.messages;
    if let Some(previous) = &request.incoming.previous {
        return previous::locate(engine, request, previous).await;
    }
    let principal = &request.principal;
    let locator = SessionLocator::new(engine);
    let place = if let Some(session) = &request.session {
        let place = locator.locate_in(principal, session, history, request.may_adopt);
        place.await
    } else {
        let searched = searched_sessions(request);
        locator.locate(searched, principal, history_keys).await
    };
    place.map_err(|error| from_engine_error(&error))
}

/// The parts of a request that identify a repeat of it.
fn request_identity(request: &ParsedRequest) -> RequestIdentity {
    RequestIdentity {
        body: request.body,
        durability: searched_sessions(request),
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
    /// Makes identical requests wait until the turn of this one is known.
    claim: Option<Claim>,
    engine: &'a Engine,
    gateway: &'a Gateway,
    /// The session that every process takes for a new session of this request, if it has an idempotency key: one of
    /// them begins the turn.
    keyed_session: Option<SessionId>,
    /// Whether another process was first.
    lost: bool,
    /// The key of the client's view of the history.
    view: Option<Digest>,
}

impl TurnOpener<'_> {
    async fn open(&mut self, place: Destination) -> Result<StartedTurn, ServeError> {
        let Destination {
            before,
            located,
            setup,
        } = place;
        match self.unless_new(located) {
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
                let setup = self.inherited_setup(&session, setup);
                self.begin(session, opening, setup).await
            }
            Located::Fork {
                at,
                known_messages: known,
                session,
            } => {
                let opening = self.opening(&before, known)?;
                let session = self.fork(&session, &at).await?;
                let setup = self.inherited_setup(&session, setup);
                self.begin(session, opening, setup).await
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
                let opening = self.opening(&[], 0)?;
                self.gateway.check_turn_limit()?;
                let is_durable = durability(self.request) == Durability::Durable;
                let keyed = self.keyed_session.clone().filter(|_| is_durable);
                let session = match keyed {
                    Some(session) => session,
                    None => new_session()?,
                };
                if !is_durable {
                    let created = self.engine.create_ephemeral(&session);
                    created.map_err(|error| from_engine_error(&error))?;
                }
                self.begin(session, opening, None).await
            }
            Located::Refused(refused) => Err(results_error(refused)),
        }
    }

    /// A request for a new session continues no other one, except with results that a turn there waits for, or with
    /// the id of an earlier reply.
    fn unless_new(&self, located: Located) -> Located {
        let is_new = self.request.begins_session && self.request.incoming.previous.is_none();
        let continues = matches!(located, Located::Continue { .. } | Located::Fork { .. });
        if is_new && continues {
            Located::New
        } else {
            located
        }
    }

    /// The setup that a message without a tool list inherits. For conversations that are not kept, the client's
    /// request is complete as it is, and nothing is added.
    fn inherited_setup(
        &self,
        session: &SessionId,
        setup: Option<Arc<Setup>>,
    ) -> Option<Arc<Setup>> {
        setup.filter(|_| self.engine.durability(session) == Durability::Durable)
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
                let field = match self.request.dialect {
                    "gemini" => "contents",
                    RESPONSES => "input",
                    _ => "messages",
                };
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
        let is_keyed = self.keyed_session.as_ref() == Some(&session);
        if is_keyed {
            options.if_busy = SecondMessage::First;
        }
        options.caller = Some(Arc::new(self.caller()));
        // A client that sends its whole history decides itself what is in it.
        if self.request.session.is_none() && self.request.incoming.previous.is_none() {
            options.compaction = None;
        }
        if let Some(setup) = inherited {
            self.inherit_tools(&mut options, &setup);
        }
        let message = SendMessage {
            opening,
            options,
            session,
        };
        let claim = self.claim.take();
        let started = self.engine.begin_with_guard(message, claim).await;
        self.lost = is_keyed && matches!(started, Err(EngineError::Busy { .. }));
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
        self.gateway.check_turn_limit()?;
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

/// How long a request waits for the turn of an equal one in another process: longer than the default lease. Where the
/// lease is longer, and that process was lost before it began the turn, the client has to come again.
const KEY_LIMIT: Duration = Duration::from_secs(15);
const KEY_POLL: Duration = Duration::from_millis(50);
