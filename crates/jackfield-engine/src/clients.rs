//! Client tools: tools that the client runs itself, in the catalog of a turn, and their results.

use std::collections::BTreeMap;
use std::sync::Arc;

use jackfield_domain::block::RanBy;
use jackfield_domain::caller::Repeats;
use jackfield_domain::digest::{Digest, canonical_json};
use jackfield_domain::ids::{DeliveryId, SessionId, ToolCallId, ToolboxId, TurnId, WaitId};
use jackfield_domain::media::MediaSource;
use jackfield_domain::outcome::{OutcomePart, ToolResult};
use jackfield_domain::policy::Policy;
use jackfield_domain::setup::Setup;
use jackfield_domain::tool::{
    Catalog, CatalogEntry, Permission, Safety, ToolDefinition, ToolOrigin, ToolSpec, UnknownPolicy,
};
use jackfield_domain::turn_log::SessionLog;
use jackfield_domain::wait::{Answer, ClientResult, DeliveryBody, WaitEnd, WaitEndKind, WaitKind};
use jackfield_ports::journal::{DeliveryOutcome, Journal as _, Loaded};

use crate::background::{AnswerSpec, StartedTurn};
use crate::error::EngineError;
use crate::options::{Disconnect, Held, ServerTools, TurnOptions};
use crate::resume::ResumeSession;
use crate::state::Engine;

/// The toolbox id of client tools.
pub const CLIENT: &str = "client";

/// Results of client tool calls.
#[derive(Clone, Debug)]
pub struct ClientResultsOptions {
    /// The sender of the results, for people and for audits.
    pub by: Arc<str>,
    /// What happens to the turn if the last client disconnects.
    pub disconnect: Disconnect,
    /// As [`TurnOptions::held`](crate::TurnOptions::held).
    pub held: Option<Held>,
    /// The policy now in force. It can only restrict the turn's own.
    pub policy: Policy,
    /// The parts of the request that the reply must repeat.
    pub repeats: Option<Arc<Repeats>>,
    /// The results, for all client tool calls of one reply.
    pub results: Vec<(ToolCallId, ToolResult)>,
    /// The session.
    pub session: SessionId,
    /// Whether to stream replies from here on, even if the turn was set up to request whole replies.
    pub streams: bool,
    /// The turn.
    pub turn: TurnId,
}

/// The outcome of [`Engine::submit_client_results`].
#[derive(Debug)]
pub struct ClientResultsOutcome {
    /// Whether exactly these results were sent before; the turn then redelivers the answer to them.
    pub is_repeat: bool,
    /// The turn, which continues.
    pub started: StartedTurn,
}

/// A call of a client tool.
#[derive(Clone, Debug)]
struct ClientCall {
    /// The delivery that answered it, if any.
    answer: Option<DeliveryId>,
    /// How its wait ended, according to the facts.
    end: Option<WaitEndKind>,
    /// The segment of the turn that its result begins.
    segment: u32,
    wait: WaitId,
}

impl Engine {
    /// Accepts the results of all client tool calls of one reply, or none of them, and drives the turn on in
    /// the background.
    ///
    /// The same results sent again are recognised: the client gets the same answer again, and nothing starts
    /// twice. If some of the results come too late, nothing starts; late results begin a turn of their own.
    ///
    /// # Errors
    ///
    /// [`EngineError::Draining`] first. Then, before any result is accepted: [`EngineError::NoSuchCall`],
    /// [`EngineError::ResultsMissing`], [`EngineError::ResultConflict`] and [`EngineError::NotWaiting`]. Any
    /// other [`EngineError`] if the turn could not be resumed.
    pub async fn submit_client_results(
        &self,
        options: ClientResultsOptions,
    ) -> Result<ClientResultsOutcome, EngineError> {
        // A client that is refused during shutdown sends the same results again later.
        let _under_way = self.shared.shutdown.track_turn()?;
        let ClientResultsOptions {
            by,
            disconnect,
            held,
            policy,
            mut repeats,
            results,
            session,
            streams,
            turn,
        } = options;
        // Serialised per session: of two concurrent requests with different results, one is accepted as a whole
        // and the other is refused.
        let queue = self.shared.result_queues.get(&session);
        let _first = queue.lock().await;
        let loaded = self.shared.journal.load(&session).await?;
        let client_calls = collect_client_calls(&turn, &loaded);
        let (segment, new) = match_results(&session, &turn, &client_calls, results)?;
        let is_repeat = new.is_empty();
        for (call, wait, id, result) in new {
            let body = DeliveryBody::Answer {
                // `repeats` is stored once, with the first result.
                answer: Answer::ClientResult(ClientResult {
                    repeats: repeats.take(),
                    result,
                }),
                wait,
            };
            let how = match self.deliver(&session, id, Arc::clone(&by), body).await? {
                DeliveryOutcome::Accepted | DeliveryOutcome::AlreadyThere => continue,
                DeliveryOutcome::Closed { how, .. } => how,
                DeliveryOutcome::NoSuchWait => {
                    let calls = vec![call];
                    return Err(EngineError::NoSuchCall { calls, turn });
                }
            };
            return Err(closed_error(&session, &turn, vec![call], how));
        }
        let spec = AnswerSpec {
            disconnect,
            segment,
            streams,
        };
        // Results that are delivered but not yet consumed need a driver, unless the turn already has one.
        let needs_driver = !is_repeat
            || client_calls
                .values()
                .any(|left| left.segment == segment && left.end.is_none());
        if needs_driver {
            let resume = ResumeSession::new(session.clone(), policy);
            match self
                .resume_existing_in_background(&resume, spec, held.clone())
                .await
            {
                Ok(started) => return Ok(ClientResultsOutcome { is_repeat, started }),
                // A keeper resumed it first, in this process or another.
                Err(EngineError::Busy { .. } | EngineError::NothingOpen { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let started = self.subscribe(&session, &turn, segment, disconnect).await?;
        Ok(ClientResultsOutcome { is_repeat, started })
    }
}

/// The client tool calls of a turn.
fn collect_client_calls(turn: &TurnId, loaded: &Loaded) -> BTreeMap<ToolCallId, ClientCall> {
    let mut client_calls = BTreeMap::new();
    let (mut segment, mut round) = (0, 0);
    let Some(turn) = SessionLog::of_turn(turn, &loaded.steps, &loaded.deliveries) else {
        return client_calls;
    };
    for asked in &turn.waits {
        let Some(call) = turn.call(&asked.wait.call) else {
            continue;
        };
        if asked.wait.kind != WaitKind::ClientResult {
            continue;
        }
        if call.round != round {
            (segment, round) = (segment + 1, call.round);
        }
        let answer = match asked.decided() {
            Some((_, WaitEnd::Answered { delivery, .. })) => Some(delivery.clone()),
            Some((_, WaitEnd::Cancelled | WaitEnd::Expired | WaitEnd::Superseded)) | None => None,
        };
        let known = ClientCall {
            answer,
            end: asked.closed.as_ref().map(|(_, end)| end.kind()),
            segment,
            wait: asked.wait.id.clone(),
        };
        client_calls.insert(asked.wait.call.clone(), known);
    }
    client_calls
}

/// A result to deliver.
type NewResult = (ToolCallId, WaitId, DeliveryId, ToolResult);

/// The segment that these results begin, and the results that are new, in the order of their calls.
fn match_results(
    session: &SessionId,
    turn: &TurnId,
    client_calls: &BTreeMap<ToolCallId, ClientCall>,
    results: Vec<(ToolCallId, ToolResult)>,
) -> Result<(u32, Vec<NewResult>), EngineError> {
    let results: BTreeMap<ToolCallId, ToolResult> = results.into_iter().collect();
    let turn = || turn.clone();
    let calls_where = |predicate: &dyn Fn(&ToolCallId) -> bool| -> Vec<ToolCallId> {
        let calls = results.keys().filter(|call| predicate(call));
        calls.cloned().collect()
    };
    let calls = calls_where(&|call| !client_calls.contains_key(call));
    if !calls.is_empty() {
        return Err(EngineError::NoSuchCall {
            calls,
            turn: turn(),
        });
    }
    let last = results.keys().filter_map(|call| client_calls.get(call));
    let last = last.map(|left| left.segment).max();
    let segment = last.unwrap_or_else(|| {
        client_calls
            .values()
            .map(|left| left.segment)
            .max()
            .unwrap_or(0)
    });
    let missing = client_calls.iter().filter(|(call, left)| {
        left.segment == segment && left.is_open() && !results.contains_key(call)
    });
    let calls: Vec<ToolCallId> = missing.map(|(call, _)| call.clone()).collect();
    if !calls.is_empty() {
        return Err(EngineError::ResultsMissing {
            calls,
            turn: turn(),
        });
    }
    let ids: BTreeMap<&ToolCallId, DeliveryId> = results
        .iter()
        .filter_map(|(call, result)| Some((call, delivery_id(call, result)?)))
        .collect();
    let calls = calls_where(&|call| {
        let answer = client_calls.get(call).and_then(|left| left.answer.as_ref());
        answer.is_some_and(|answer| ids.get(call) != Some(answer))
    });
    if !calls.is_empty() {
        return Err(EngineError::ResultConflict {
            calls,
            turn: turn(),
        });
    }
    let ended = |call: &ToolCallId| {
        client_calls
            .get(call)
            .filter(|left| left.answer.is_none())?
            .end
    };
    let calls = calls_where(&|call| ended(call).is_some());
    if let Some(how) = calls.first().and_then(ended) {
        return Err(closed_error(session, &turn(), calls, how));
    }
    let new = results.iter().filter_map(|(call, result)| {
        let left = client_calls.get(call).filter(|left| left.is_open())?;
        let id = ids.get(call)?.clone();
        Some((call.clone(), left.wait.clone(), id, result.clone()))
    });
    Ok((segment, new.collect()))
}

impl ClientCall {
    const fn is_open(&self) -> bool {
        self.answer.is_none() && self.end.is_none()
    }
}

/// Why calls no longer accept results.
fn closed_error(
    session: &SessionId,
    turn: &TurnId,
    calls: Vec<ToolCallId>,
    how: WaitEndKind,
) -> EngineError {
    let turn = turn.clone();
    match how {
        WaitEndKind::Answered => EngineError::ResultConflict { calls, turn },
        WaitEndKind::Cancelled | WaitEndKind::Expired | WaitEndKind::Superseded => {
            EngineError::NotWaiting {
                calls,
                how,
                session: session.clone(),
                turn,
            }
        }
    }
}

/// The delivery id of a result: equal results of the same call have the same id.
fn delivery_id(call: &ToolCallId, result: &ToolResult) -> Option<DeliveryId> {
    let mut digest = digest(result).to_hex();
    digest.truncate(32);
    DeliveryId::parse(&format!("result-{call}-{digest}")).ok()
}

/// The digest of a whole result.
fn digest(result: &ToolResult) -> Digest {
    let ToolResult {
        content,
        is_error,
        structured,
    } = result;
    let mut parts = vec![is_error.to_string()];
    parts.push(
        structured
            .as_deref()
            .map_or_else(String::new, canonical_json),
    );
    parts.extend(content.iter().map(|part| match part {
        OutcomePart::Text(text) => format!("text {text}"),
        OutcomePart::Audio(audio) => format!("audio {}", source_key(&audio.source)),
        OutcomePart::Document(document) => format!("document {}", source_key(&document.source)),
        OutcomePart::Image(image) => format!("image {}", source_key(&image.source)),
    }));
    Digest::of_parts(parts.iter().map(String::as_str))
}

fn source_key(source: &MediaSource) -> String {
    match source {
        MediaSource::Base64 { data, media_type } => format!("{media_type} {data}"),
        MediaSource::File { id, .. } => format!("file {id}"),
        MediaSource::Text(text) => format!("text {text}"),
        MediaSource::Url(url) => format!("url {url}"),
    }
}

/// Adds client tools to a catalog. A client tool replaces a server tool of the same name: a call must not reach
/// another tool than the one that the client knows.
pub(crate) fn add_client_tools(catalog: &mut Catalog, tools: &[Arc<ToolDefinition>]) {
    let Ok(toolbox) = ToolboxId::parse(CLIENT) else {
        return;
    };
    let tools = tools.iter().map(|definition| entry(&toolbox, definition));
    // Of two tools with one name, the later one wins.
    *catalog = catalog.iter().cloned().chain(tools).collect();
}

fn entry(toolbox: &ToolboxId, definition: &Arc<ToolDefinition>) -> CatalogEntry {
    let name: Arc<str> = definition.name.as_str().into();
    let spec = ToolSpec {
        description: Arc::clone(&definition.description),
        icon: None,
        input: definition.input.clone(),
        name: Arc::clone(&name),
        output: definition.output.clone(),
        safety: Safety::Unknown,
        time_limit: None,
        title: None,
    };
    CatalogEntry {
        asked_by: None,
        definition: Arc::clone(definition),
        digest: spec.digest(),
        discovery: None,
        icon: None,
        origin: ToolOrigin {
            tool: name,
            toolbox: toolbox.clone(),
        },
        permission: Permission::Allow,
        ran_by: RanBy::Client,
        safety: Safety::Unknown,
        time_limit: None,
        title: None,
        when_unknown: UnknownPolicy::Report,
    }
}

impl TurnOptions {
    /// Copies the tools of an earlier turn, for a request that does not mention tools: the client tools, and
    /// which server tools are offered.
    pub fn inherit_tools(&mut self, setup: &Setup) {
        let tools = || setup.catalog.iter();
        let own = tools().filter(|tool| tool.ran_by == RanBy::Client);
        self.client_tools = own.map(|tool| Arc::clone(&tool.definition)).collect();
        let others = tools().filter(|tool| tool.ran_by != RanBy::Client);
        let others: Vec<Arc<str>> = others
            .map(|tool| format!("{}/{}", tool.origin.toolbox, tool.origin.tool).into())
            .collect();
        self.server_tools = if others.is_empty() {
            ServerTools::None
        } else {
            ServerTools::Only(others)
        };
    }
}
