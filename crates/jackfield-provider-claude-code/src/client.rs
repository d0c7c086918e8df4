//! The chat model: finds or starts the process of a turn, and follows one round of it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use async_trait::async_trait;
use jackfield_dialect_kit::strict;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::listing::ListedModel;
use jackfield_domain::note::Note;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::own_tool;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::ToolSpec;
use jackfield_domain::usage::Usage;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_provider_kit::{chat_span, exchange};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tracing::{Instrument as _, Span};

use crate::config::ClaudeCodeConfig;
use crate::failure;
use crate::listing;
use crate::messages::Messages;
use crate::permission;
use crate::plan::{Plan, unsent};
use crate::program::Program;
use crate::reply::{Live, ProgramRound, RoundEnd, Stop};
use crate::setup::SessionPoint;
use crate::waiting::{Waiting, WaitingProcess};
use crate::wire;
use crate::wording::Wording;

/// Claude Code. Never retries; dropping a future ends its process.
pub struct ClaudeCode {
    config: Arc<ClaudeCodeConfig>,
    /// One for each process that there may be.
    slots: Arc<Semaphore>,
    waiting: Waiting,
}

impl ClaudeCode {
    /// Creates the model; starts nothing.
    #[must_use]
    pub fn new(config: ClaudeCodeConfig) -> Self {
        let most = config.max_processes.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            config: Arc::new(config),
            slots: Arc::new(Semaphore::new(most)),
            waiting: Waiting::default(),
        }
    }

    async fn round(
        &self,
        request: &ModelRequest,
        call: &CallContext,
        sink: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelFailure> {
        let owner = self.state_owner(&request.model.model);
        let plan = Plan::new(&self.config, request, &owner, !sink.is_ephemeral())?;
        strict::check(&plan.notes, request.strict)?;
        call.begin()?;
        if let Some(point) = &plan.point {
            if let Some(live) = self.waiting_process(point, &plan) {
                let end = self.follow(live, request, &plan, &owner, sink).await;
                // What waits for results has its session.
                return end.map_err(|stop| match stop {
                    Stop::Failed(failure) => failure,
                    Stop::NoSession => unsent(ModelFailureKind::ServerError, "there is no session"),
                });
            }
            if plan.keeps {
                // Its file has to be complete.
                self.waiting.ended(&point.session).await;
                let content = plan.continuation();
                let live = self.start(&plan, Some(point), &content, call).await?;
                match self.follow(live, request, &plan, &owner, sink).await {
                    Err(Stop::NoSession) => {
                        tracing::debug!("claude code does not have the session, which begins anew");
                    }
                    Err(Stop::Failed(failure)) => return Err(failure),
                    Ok(end) => return Ok(end),
                }
            }
        }
        let note: Vec<Note> = plan.beginning_note().into_iter().collect();
        strict::check(&note, request.strict)?;
        let live = self.start(&plan, None, &plan.beginning(), call).await?;
        let end = self.follow(live, request, &plan, &owner, sink).await;
        let mut end = end.map_err(|stop| match stop {
            Stop::Failed(failure) => failure,
            Stop::NoSession => unsent(ModelFailureKind::ServerError, "a new session is missing"),
        })?;
        end.notes.extend(note);
        Ok(end)
    }

    /// The process that waits for exactly what the request brings, with the results for its calls.
    fn waiting_process(&self, point: &SessionPoint, plan: &Plan) -> Option<Live> {
        let mut process = self.waiting.take(&point.session)?;
        let answers = plan.results();
        let fits = answers.as_ref().is_some_and(|answers| {
            process.setup == plan.setup.digest
                && process.live.line.as_ref() == Some(&point.line)
                && process.calls.iter().all(|call| answers.contains_key(call))
        });
        if fits && !process.live.program.has_ended() {
            process.live.answers.extend(answers?);
            return Some(process.live);
        }
        self.waiting.end(process.live.session, process.live.program);
        None
    }

    async fn slot(&self) -> Result<OwnedSemaphorePermit, ModelFailure> {
        if let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() {
            return Ok(slot);
        }
        let slot = async {
            let mut slot = pin!(Arc::clone(&self.slots).acquire_owned());
            loop {
                // It listens before it looks, so that no process that begins to wait is missed.
                let mut kept = pin!(self.waiting.kept());
                kept.as_mut().enable();
                if self.waiting.end_longest() {
                    // One process makes room for one.
                    return slot.await;
                }
                tokio::select! {
                    biased;
                    slot = &mut slot => return slot,
                    () = kept => {}
                }
            }
        };
        match timeout(self.config.process_wait, slot).await {
            Ok(Ok(slot)) => Ok(slot),
            // It is never closed.
            Ok(Err(_)) | Err(_) => Err(failure::too_many(&self.config)),
        }
    }

    /// Starts a process with a first message.
    async fn start(
        &self,
        plan: &Plan,
        from: Option<&SessionPoint>,
        content: &[Value],
        call: &CallContext,
    ) -> Result<Live, ModelFailure> {
        let session = random_uuid()?;
        let slot = self.slot().await?;
        call.begin()?;
        let program = Program::start(&self.config, &plan.setup, &session, from, Some(slot));
        let program =
            program.map_err(|fault| failure::not_started(&fault, &self.config.command))?;
        let setup = &plan.setup;
        program.send(&wire::initialize(&setup.system, setup.system_appended));
        program.send(&wire::user(content));
        Ok(Live {
            answers: HashMap::new(),
            asked: None,
            builtin_calls: HashSet::new(),
            heard: false,
            line: None,
            open: Vec::new(),
            program,
            questions: VecDeque::new(),
            reported: Usage::default(),
            wording: Wording::default(),
            session,
        })
    }

    async fn follow(
        &self,
        mut live: Live,
        request: &ModelRequest,
        plan: &Plan,
        owner: &StateOwner,
        sink: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, Stop> {
        let mut builtin_calls = std::mem::take(&mut live.builtin_calls);
        let can_call = plan.may_call;
        let messages = Messages::new(request, &plan.body, owner, can_call, &mut builtin_calls);
        let round = ProgramRound {
            config: &self.config,
            live: &mut live,
            may_call: can_call,
            messages,
            outcomes: permission::outcomes(request),
            pushed: false,
            setup: &plan.setup,
            sink,
        };
        let (mut end, calls) = match round.follow().await {
            Ok(RoundEnd::Calls(end, calls)) => (end, Some(calls)),
            Ok(RoundEnd::Finished(end)) => (end, None),
            Err(stop) => {
                self.waiting.end(live.session, live.program);
                return Err(stop);
            }
        };
        end.notes.splice(0..0, plan.notes.iter().cloned());
        live.builtin_calls = builtin_calls;
        live.reported += end.usage.unwrap_or_default();
        if let Some(line) = live.line.clone() {
            let session = live.session.clone();
            let reply = std::mem::take(&mut live.wording).digest();
            end.opaque = vec![plan.state(owner, &SessionPoint { line, session }, reply)];
        }
        match calls {
            Some(calls) => {
                let setup = plan.setup.digest;
                let process = WaitingProcess { calls, live, setup };
                self.waiting.keep(process, self.config.wait_limit);
            }
            None => self.waiting.end(live.session, live.program),
        }
        Ok(end)
    }
}

#[async_trait]
impl ChatModel for ClaudeCode {
    fn capabilities(&self) -> Capabilities {
        let mut can = Capabilities::NONE;
        can.documents = true;
        can.images = true;
        can.parallel_calls = true;
        can.reasoning = true;
        can.streaming = true;
        can.structured_output = true;
        can.tools = true;
        can
    }

    fn state_owner(&self, model: &str) -> StateOwner {
        StateOwner {
            dialect: DIALECT.into(),
            endpoint: DIALECT.into(),
            model: model.into(),
        }
    }

    fn own_tools(&self) -> Vec<ToolSpec> {
        let names = self.config.builtin_tools.iter();
        names.map(|name| own_tool::spec(name)).collect()
    }

    async fn models(&self) -> Result<Vec<ListedModel>, ModelError> {
        let listed = listing::models(&self.config, &random_uuid()?).await;
        listed.map_err(|mut failure| {
            if let Some(key) = &self.config.key {
                failure.message = key.redact(&failure.message);
            }
            failure.into()
        })
    }

    async fn reply(
        &self,
        request: &ModelRequest,
        call: &CallContext,
        sink: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelError> {
        if sink.credential().is_some() {
            let kind = ModelFailureKind::Unsupported;
            let message = "Claude Code signs in by itself, and takes no keys of people";
            return Err(ModelFailure::new(kind, Phase::BeforeSend, message).into());
        }
        let model = &*request.model.model;
        let span = chat_span!("anthropic", "anthropic.request_id", model, DIALECT);
        async {
            let end = self.round(request, call, sink).await;
            match end {
                Ok(end) => {
                    exchange::record_end(&Span::current(), &end);
                    Ok(end)
                }
                Err(mut failure) => {
                    if let Some(key) = &self.config.key {
                        failure.message = key.redact(&failure.message);
                    }
                    exchange::record_failure(&Span::current(), failure.kind);
                    Err(failure.into())
                }
            }
        }
        .instrument(span)
        .await
    }
}

impl fmt::Debug for ClaudeCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClaudeCode")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// A random UUID (RFC 9562, version 4), which is the only form of a session's id.
fn random_uuid() -> Result<String, ModelFailure> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        let message = format!("the operating system gives no random numbers: {error}");
        unsent(ModelFailureKind::ServerError, message)
    })?;
    let number = u128::from_be_bytes(bytes);
    let number = (number & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{number:032x}");
    let cut = |from, to| hex.get(from..to).unwrap_or_default();
    Ok([cut(0, 8), cut(8, 12), cut(12, 16), cut(16, 20), cut(20, 32)].join("-"))
}

/// The name of the dialect and of the only server in states of Claude Code.
const DIALECT: &str = "claude-code";
