//! Selects the turn that answers a request: one that an earlier identical request began, one that waits for these
//! client results, or a new one. The engine and the domain search and decide; this module acts on the decision.

use std::sync::Arc;

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_dialect_openai::responses::DIALECT as RESPONSES;
use jackfield_domain::block::RanBy;
use jackfield_domain::caller::{Caller, Display, Repeats};
use jackfield_domain::digest::Digest;
use jackfield_domain::ids::{ForkPlace, SessionId, TurnId};
use jackfield_domain::locate::{self, HistoryKeys, Located, ResultsRefused};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::ToolOutcome;
use jackfield_domain::rules::RuleViolation;
use jackfield_domain::setup::{Opening, Setup};
use jackfield_domain::system_prompt::PartOrigin;
use jackfield_domain::tool::CatalogEntry;
use jackfield_domain::turn_log::SessionLog;
use jackfield_engine::{
    ClientResultsOptions, Durability, Engine, EngineError, JournalError, SendMessage, ServerTools,
    StartedTurn, TurnOptions,
};
use serde_json::Value;

use crate::failures::{self, from_engine_error, from_match_error};
use crate::gateway::Gateway;
use crate::locator::{Destination, SessionLocator};
use crate::matcher::{Claim, KeyedTurn, RequestIdentity, RequestMatch};
use crate::overtaken::OvertakenWait;
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
    let mut overtaken_wait = OvertakenWait::default();
    let mut known_keys = None;
    let started = loop {
        let matched = gateway.shared.matcher.find(&identity).await;
        let (mut after, claim) = match matched.map_err(|error| from_match_error(&error))? {
            RequestMatch::New { after, claim } => (after, claim),
            RequestMatch::Existing(started) => break *started,
        };
        let history_keys =
            known_keys.get_or_insert_with(|| HistoryKeys::from_history(&request.incoming.messages));
        let place = locate_request(gateway, request, history_keys).await?;
        let is_of_open_turn = matches!(
            place.located,
            Located::Answer { .. } | Located::Collect { .. }
        );
        // The place may be that of a turn which another process has begun since, for an equal request.
        if let Some(key) = &request.key
            && !is_of_open_turn
            && !matches!(place.located, Located::New | Located::Refused(_))
        {
            let found = gateway.shared.matcher.find_keyed(&identity, key).await;
            match found.map_err(|error| from_match_error(&error))? {
                KeyedTurn::Existing(started) => break *started,
                KeyedTurn::None { after: found } => after = found,
            }
        }
        // What a turn of before answers costs nothing more.
        if !is_of_open_turn {
            slot.check_budgets()?;
        }
        let mut opener = TurnOpener {
            request,
            after,
            claim: Some(claim),
            engine,
            gateway,
            overtaken: None,
            view: history_keys.view(),
        };
        match (opener.open(place).await, opener.overtaken) {
            (Err(_), Some(turns)) => overtaken_wait.pause(turns).await?,
            (opened, _) => break opened?,
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
    gateway: &Gateway,
    request: &ParsedRequest,
    history_keys: &HistoryKeys,
) -> Result<Destination, ServeError> {
    let history = &request.incoming.messages;
    if let Some(previous) = &request.incoming.previous {
        return previous::locate(gateway, request, previous).await;
    }
    let principal = &request.principal;
    let locator = SessionLocator::new(gateway.engine());
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
    /// The session of an earlier turn with the idempotency key, which does not count.
    after: Option<SessionId>,
    /// Makes identical requests wait until the turn of this one is known.
    claim: Option<Claim>,
    engine: &'a Engine,
    gateway: &'a Gateway,
    /// The number of turns that the session was found with, if another process was first.
    overtaken: Option<u32>,
    /// The key of the client's view of the history.
    view: Option<Digest>,
}

impl TurnOpener<'_> {
    async fn open(&mut self, place: Destination) -> Result<StartedTurn, ServeError> {
        let Destination {
            before,
            located,
            setup,
            turns,
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
                self.begin(session, turns, opening, setup).await
            }
            Located::Fork {
                at,
                known_messages: known,
                session,
            } => {
                let opening = self.opening(&before, known)?;
                let session = self.fork(&session, &at).await?;
                let setup = self.inherited_setup(&session, setup);
                self.begin(session, 0, opening, setup).await
            }
            Located::Late {
                at,
                results,
                session,
            } => {
                let (session, turns) = match at {
                    Some(at) => (self.fork(&session, &at).await?, 0),
                    None => (session, turns),
                };
                // A client that brings results need not repeat the tool list, where the setup of the turn is
                // known.
                self.begin(session, turns, Opening::ClientResults(results), setup)
                    .await
            }
            Located::More {
                at,
                session,
                text: words,
            } => {
                let (session, turns) = match at {
                    Some(at) => (self.fork(&session, &at).await?, 0),
                    None => (session, turns),
                };
                // The request brings results, so the setup applies here, too.
                self.begin(session, turns, Opening::UserMessage(words), setup)
                    .await
            }
            Located::New => {
                let opening = self.opening(&[], 0)?;
                // A refused request makes no session.
                self.gateway.hold_turn(&self.request.client.principal)?;
                let is_durable = durability(self.request) == Durability::Durable;
                let session = self.new_session(is_durable, None)?;
                if !is_durable {
                    let created = self.engine.create_ephemeral(&session);
                    created.map_err(|error| from_engine_error(&error))?;
                }
                self.begin(session, 0, opening, None).await
            }
            Located::Refused(refused) => Err(failures::from_refused_results(refused)),
        }
    }

    /// A request for a new session continues no other one, except with results that a turn there waits for, or with
    /// the id of an earlier reply. Nor does any request continue a session that is not kept: it goes at its time, and
    /// the request has the whole conversation.
    fn unless_new(&self, located: Located) -> Located {
        let is_new = self.request.begins_session && self.request.incoming.previous.is_none();
        if let Located::Continue { session, .. } | Located::Fork { session, .. } = &located
            && (is_new || self.engine.durability(session) == Durability::Ephemeral)
        {
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
                failures::from_refused_results(ResultsRefused::Unknown {
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
                    "; end with a user message, with tool results, or with text for the model to continue"
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
        turns: u32,
        opening: Opening,
        inherited: Option<Arc<Setup>>,
    ) -> Result<StartedTurn, ServeError> {
        let mut options = self.request.options.clone();
        options.held = Some(self.gateway.hold_turn(&self.request.client.principal)?);
        let is_durable = self.engine.durability(&session) == Durability::Durable;
        options.expected_turns = self.is_keyed(is_durable).then_some(turns);
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
        let expected = message.options.expected_turns;
        let claim = self.claim.take();
        let started = self.engine.begin_with_guard(message, claim).await;
        started.map_err(|error| {
            self.overtaken = expected.filter(|turns| error.is_overtaken(*turns));
            from_engine_error(&error)
        })
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
            held: Some(self.gateway.count_turn(&self.request.client.principal)),
            policy: self.request.options.policy.clone(),
            repeats: can_fetch_later.then(|| Arc::new(self.repeats())),
            results: results.collect(),
            session,
            streams: self.request.incoming.stream,
            turn,
        };
        if self.request.client.is_narrow() {
            let loaded = self.engine.load(&options.session).await;
            let loaded = loaded.map_err(|error| from_engine_error(&error))?;
            if let Some(log) = SessionLog::of_turn(&options.turn, &loaded.steps, &[]) {
                self.gateway.check_turn(&self.request.client, &log.setup)?;
            }
        }
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

    async fn fork(&mut self, session: &SessionId, at: &ForkPlace) -> Result<SessionId, ServeError> {
        self.gateway.hold_turn(&self.request.client.principal)?;
        let is_durable = self.engine.durability(session) == Durability::Durable;
        let fork = self.new_session(is_durable, Some((session, at)))?;
        match self.engine.fork(session, at, &fork).await {
            Ok(()) => Ok(fork),
            // Another process has made it for an equal request.
            Err(EngineError::Exists { .. }) if self.is_keyed(is_durable) => Ok(fork),
            Err(error) => {
                let is_owned = matches!(error, EngineError::Journal(JournalError::Owned { .. }));
                self.overtaken = Some(0).filter(|_| is_owned && self.is_keyed(is_durable));
                Err(from_engine_error(&error))
            }
        }
    }

    /// Whether every process takes the same session for a new session of this request, so that one of them begins the
    /// turn.
    const fn is_keyed(&self, is_durable: bool) -> bool {
        is_durable && self.request.key.is_some()
    }

    /// A new session, which is a fork of this place if there is one.
    fn new_session(
        &self,
        is_durable: bool,
        fork: Option<(&SessionId, &ForkPlace)>,
    ) -> Result<SessionId, ServeError> {
        match &self.request.key {
            Some(key) if is_durable => {
                ids::keyed_session(&self.request.principal, key, self.after.as_ref(), fork)
                    .map_err(|error| failures::internal(&error))
            }
            Some(_) | None => ids::session().map_err(|error| failures::internal(&error)),
        }
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
