//! A model and tools of a few lines, a journal that writes down what it is asked, and a log of everything.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::block::{Content, RanBy};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::ids::{DeliveryId, SessionId, ToolboxId};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::policy::{Policy, PolicyRule, RuleVerdict};
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::{ModelRef, ModelRequest, ToolRun};
use jackfield_domain::rules;
use jackfield_domain::setup::Opening;
use jackfield_domain::time::{MonoTime, Now, WallTime};
use jackfield_domain::tool::{InputFormat, Safety, ToolSpec};
use jackfield_domain::wait::{Delivery, DeliveryBody};
use jackfield_engine::{Clock, Engine, Observer, ObserverEvent, SendMessage, TurnOptions};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_ports::journal::marks::{FoundTurn, Mark};
use jackfield_ports::journal::sessions::{
    DueSessions, LabelChange, ListedWait, SessionQuery, SessionRow, WaitQuery,
};
use jackfield_ports::journal::spending::SpendingLog;
use jackfield_ports::journal::{
    Append, Appended, DeliveryOutcome, Epoch, Hold, Journal, JournalError, Lease, Loaded,
};
use jackfield_ports::toolbox::{ToolEnd, ToolError, ToolEvents, Toolbox};
use jackfield_store_memory::MemoryJournal;
use serde_json::json;

/// What happened, in order.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a log of a test is short")]
pub(crate) enum Logged {
    Appended(Vec<Fact>),
    ModelCalled(u32),
    Told(Fact),
    ToolCalled(String),
}

/// A log that everything writes to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Logged>>>);

impl Log {
    pub(crate) fn push(&self, logged: Logged) {
        self.0.lock().expect("no panic under the lock").push(logged);
    }

    pub(crate) fn all(&self) -> Vec<Logged> {
        self.0.lock().expect("no panic under the lock").clone()
    }
}

/// Calls this many tools in each of this many rounds, then answers with the number of outcomes.
pub(crate) struct Rounds {
    pub(crate) calls: u32,
    pub(crate) log: Log,
    pub(crate) rounds: usize,
    pub(crate) tool: &'static str,
}

impl Rounds {
    /// Calls the tool of [`OneTool`] so often in one round.
    pub(crate) fn once(log: &Log, calls: u32) -> Self {
        Self {
            calls,
            log: log.clone(),
            rounds: 1,
            tool: "box__act",
        }
    }
}

#[async_trait]
impl ChatModel for Rounds {
    fn capabilities(&self) -> Capabilities {
        let mut can = Capabilities::NONE;
        can.tools = true;
        can
    }

    fn state_owner(&self, model: &str) -> StateOwner {
        owner(model)
    }

    async fn reply(
        &self,
        request: &ModelRequest,
        _: &CallContext,
        sink: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelError> {
        rules::check_request(request.messages.iter()).expect("a valid request");
        let of_turn = request.messages.turn_messages();
        let done = of_turn
            .iter()
            .filter(|message| message.role == Role::Tool)
            .count();
        self.log.push(Logged::ModelCalled(
            u32::try_from(done).expect("few rounds"),
        ));
        if done < self.rounds {
            for index in 0..self.calls {
                let start = BlockStart::ToolCall {
                    json: true,
                    name: self.tool.into(),
                    ran_by: RanBy::Engine,
                    upstream: None,
                };
                sink.push(Delta::BlockStarted { index, start }).await;
                let text = format!("{{\"n\":{index}}}").into();
                sink.push(Delta::ArgumentsAppended { index, text }).await;
                sink.push(Delta::BlockEnded { index }).await;
            }
            return Ok(ReplyEnd::new(FinishReason::ToolCalls));
        }
        let texts: Vec<String> = of_turn
            .iter()
            .flat_map(|message| &message.blocks)
            .filter_map(|block| match &block.content {
                Content::ToolOutcome(outcome) => Some(outcome.result.to_text()),
                _ => None,
            })
            .collect();
        sink.push(Delta::BlockStarted {
            index: 0,
            start: BlockStart::Text,
        })
        .await;
        sink.push(Delta::TextAppended {
            index: 0,
            text: texts.join("|").into(),
        })
        .await;
        sink.push(Delta::BlockEnded { index: 0 }).await;
        Ok(ReplyEnd::new(FinishReason::Stop))
    }
}

/// A toolbox of one tool, which does what the closure says.
pub(crate) struct OneTool<F> {
    pub(crate) id: ToolboxId,
    pub(crate) instructions: Option<String>,
    log: Log,
    pub(crate) problems: Vec<String>,
    run: F,
    pub(crate) spec: ToolSpec,
}

impl<F, R> OneTool<F>
where
    F: Fn(ToolRun) -> R,
{
    pub(crate) fn new(log: &Log, run: F) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {"n": {"type": "integer"}},
            "required": ["n"],
            "additionalProperties": false,
        });
        let spec = ToolSpec {
            description: "does it".into(),
            icon: None,
            input: InputFormat::Json(Arc::new(schema)),
            name: "act".into(),
            output: None,
            safety: Safety::Unknown,
            time_limit: None,
            title: None,
        };
        let id = ToolboxId::parse("box").expect("a valid id");
        Self {
            id,
            instructions: None,
            log: log.clone(),
            problems: Vec::new(),
            run,
            spec,
        }
    }
}

#[async_trait]
impl<F, R> Toolbox for OneTool<F>
where
    F: Fn(ToolRun) -> R + Send + Sync,
    R: Future<Output = ToolResult> + Send,
{
    fn id(&self) -> &ToolboxId {
        &self.id
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        Ok(vec![self.spec.clone()])
    }

    fn instructions(&self) -> Option<String> {
        self.instructions.clone()
    }

    fn problems(&self) -> Vec<String> {
        self.problems.clone()
    }

    async fn call(
        &self,
        run: &ToolRun,
        _: &CallContext,
        _: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        self.log
            .push(Logged::ToolCalled(run.attempt.call.to_string()));
        Ok(ToolEnd::Finished((self.run)(run.clone()).await))
    }
}

/// A toolbox whose tools cannot be had.
pub(crate) struct Unreachable(pub(crate) ToolboxId);

#[async_trait]
impl Toolbox for Unreachable {
    fn id(&self) -> &ToolboxId {
        &self.0
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        Err(ToolFailure::not_sent(ToolFailureKind::Unavailable, "nobody answers").into())
    }

    async fn call(
        &self,
        _: &ToolRun,
        _: &CallContext,
        _: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        Err(ToolFailure::not_sent(ToolFailureKind::Unavailable, "nobody answers").into())
    }
}

/// What a journal does with the appends it gets, in their order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fault {
    /// Commits, and says that nobody knows.
    CommitAndLoseTheAnswer,
    /// Writes nothing, and says that nobody knows, for good.
    NeverAnswer,
    /// Works.
    None,
    /// Refuses: another process owns the session.
    Stale,
}

/// A journal that writes down what it commits, takes its time, and fails when it is told to.
pub(crate) struct Watched {
    pub(crate) faults: Mutex<Vec<Fault>>,
    /// While set, the inbox tells its owner nothing.
    pub(crate) hide_inbox: std::sync::atomic::AtomicBool,
    inner: MemoryJournal,
    log: Log,
}

impl Watched {
    pub(crate) fn new(log: &Log, inner: MemoryJournal) -> Self {
        let (faults, hide_inbox) = (Mutex::default(), false.into());
        Self {
            faults,
            hide_inbox,
            inner,
            log: log.clone(),
        }
    }
}

#[async_trait]
impl Journal for Watched {
    async fn own(&self, session: &SessionId) -> Result<Lease, JournalError> {
        self.inner.own(session).await
    }

    async fn hold(&self, session: &SessionId) -> Result<Hold, JournalError> {
        self.inner.hold(session).await
    }

    async fn load(&self, session: &SessionId) -> Result<Loaded, JournalError> {
        self.inner.load(session).await
    }

    async fn append(&self, append: &Append) -> Appended {
        // Whoever acts or tells too early has every chance to.
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        let fault = {
            let mut faults = self.faults.lock().expect("no panic under the lock");
            if faults.is_empty() {
                Fault::None
            } else {
                faults.remove(0)
            }
        };
        match fault {
            Fault::None => {}
            Fault::Stale => {
                // Another owner, as far as the memory journal is concerned too.
                let _epoch = self.inner.own(&append.session).await;
            }
            Fault::NeverAnswer => return Appended::Unknown("no answer".into()),
            Fault::CommitAndLoseTheAnswer => {
                self.inner.append(append).await;
                self.record(append);
                return Appended::Unknown("the answer is lost".into());
            }
        }
        let appended = self.inner.append(append).await;
        if matches!(appended, Appended::Committed) {
            self.record(append);
        }
        appended
    }

    async fn deliver(
        &self,
        session: &SessionId,
        id: DeliveryId,
        by: Arc<str>,
        body: DeliveryBody,
    ) -> Result<DeliveryOutcome, JournalError> {
        self.inner.deliver(session, id, by, body).await
    }

    async fn inbox(&self, session: &SessionId, from: u64) -> Result<Vec<Delivery>, JournalError> {
        if self.hide_inbox.load(std::sync::atomic::Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        self.inner.inbox(session, from).await
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), JournalError> {
        self.inner.release(session, epoch).await
    }

    async fn follow(&self, session: &SessionId, from: u64) -> Result<Vec<Envelope>, JournalError> {
        self.inner.follow(session, from).await
    }

    async fn sessions(&self, query: &SessionQuery) -> Result<Vec<SessionRow>, JournalError> {
        self.inner.sessions(query).await
    }

    async fn delete(&self, session: &SessionId) -> Result<(), JournalError> {
        self.inner.delete(session).await
    }

    async fn label(&self, session: &SessionId, change: &LabelChange) -> Result<(), JournalError> {
        self.inner.label(session, change).await
    }

    async fn mark_restored(&self, session: &SessionId) -> Result<(), JournalError> {
        self.inner.mark_restored(session).await
    }

    async fn due(&self, now: WallTime, most: usize) -> Result<DueSessions, JournalError> {
        self.inner.due(now, most).await
    }

    async fn waits(&self, query: &WaitQuery) -> Result<Vec<ListedWait>, JournalError> {
        self.inner.waits(query).await
    }

    async fn find(
        &self,
        principal: &str,
        marks: &[Mark],
        most: usize,
    ) -> Result<Vec<FoundTurn>, JournalError> {
        self.inner.find(principal, marks, most).await
    }

    async fn close(&self) {
        self.inner.close().await;
    }

    fn is_durable(&self) -> bool {
        self.inner.is_durable()
    }

    fn spending(&self) -> Option<&dyn SpendingLog> {
        self.inner.spending()
    }
}

impl Watched {
    fn record(&self, append: &Append) {
        let facts = append
            .steps
            .iter()
            .flat_map(|step| step.facts.iter().cloned());
        self.log.push(Logged::Appended(facts.collect()));
    }
}

/// Writes down what is told.
pub(crate) struct Watcher(pub(crate) Log);

impl Observer for Watcher {
    fn on_event(&mut self, news: ObserverEvent<'_>) {
        if let ObserverEvent::Fact { fact, .. } = news {
            self.0.push(Logged::Told(fact.clone()));
        }
    }
}

/// A clock that follows the runtime's, on both faces.
#[derive(Debug)]
pub(crate) struct Paused(tokio::time::Instant);

impl Default for Paused {
    fn default() -> Self {
        Self(tokio::time::Instant::now())
    }
}

impl Paused {
    pub(crate) fn wall(&self) -> WallTime {
        WallTime::from_millis(1_000_000).after(self.0.elapsed())
    }
}

impl Clock for Paused {
    fn now(&self) -> Now {
        Now {
            mono: MonoTime::from_start(self.0.elapsed()),
            wall: self.wall(),
        }
    }
}

pub(crate) fn session() -> SessionId {
    SessionId::parse("session").expect("a valid id")
}

/// Options under which every tool may run.
pub(crate) fn options() -> TurnOptions {
    let rule = PolicyRule {
        pattern: "*".into(),
        verdict: RuleVerdict::Allow,
    };
    TurnOptions {
        policy: Policy {
            can_ask: false,
            rules: vec![rule],
        },
        ..TurnOptions::new(ModelRef {
            model: "model".into(),
            provider: "provider".into(),
        })
    }
}

/// Options under which somebody is asked about every tool, and has a minute.
pub(crate) fn asking() -> TurnOptions {
    let rule = PolicyRule {
        pattern: "*".into(),
        verdict: RuleVerdict::Ask,
    };
    let mut options = options();
    options.policy = Policy {
        can_ask: true,
        rules: vec![rule],
    };
    options.limits.approval = Duration::from_secs(60);
    options
}

pub(crate) fn message(options: TurnOptions) -> SendMessage {
    let opening = Opening::UserMessage(Arc::new(Message::user("go")));
    SendMessage {
        opening,
        options,
        session: session(),
    }
}

/// An engine of this model, this toolbox and this journal.
pub(crate) fn engine(
    model: Rounds,
    toolbox: impl Toolbox + 'static,
    journal: Arc<dyn Journal>,
) -> Engine {
    Engine::builder(journal)
        .model("provider", Arc::new(model))
        .toolbox(Arc::new(toolbox))
        .build()
}

/// Whose state a model of these tests would carry, if it had one.
pub(crate) fn owner(model: &str) -> StateOwner {
    StateOwner {
        dialect: "none".into(),
        endpoint: "none".into(),
        model: model.into(),
    }
}
