//! Results that are kept: who gets them, for how long, and what is recorded.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::block::RanBy;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::fact::{CachedCall, CallEnd, Fact};
use jackfield_domain::ids::{SessionId, ToolboxId};
use jackfield_domain::message::Role;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::policy::{Policy, PolicyRule, RuleVerdict};
use jackfield_domain::replay::Replay;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::{ModelRequest, ToolRun};
use jackfield_domain::tool::{InputFormat, Safety, ToolSpec};
use jackfield_engine::{
    ApprovalRequest, Approver, Decision, Engine, SendMessage, SessionQuery, ToolCacheRule,
    ToolCacheSettings, ToolboxStatus, TurnOptions, TurnReport,
};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_ports::journal::Journal;
use jackfield_ports::toolbox::{ToolEnd, ToolError, ToolEvents, Toolbox};
use jackfield_store_memory::MemoryJournal;
use serde_json::json;
use tokio::sync::Notify;

use crate::fixture::{Paused, asking, message, options, owner};
use crate::toolbox_sources::caller;

/// Calls of one round: tools with their arguments, as text.
type Calls = Vec<(&'static str, String)>;

/// Makes the next calls in the first round of each turn.
#[derive(Default)]
struct Asks(Mutex<VecDeque<Calls>>);

#[async_trait]
impl ChatModel for Asks {
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
        let mut of_turn = request.messages.turn_messages().iter();
        if of_turn.any(|message| message.role == Role::Tool) {
            let start = BlockStart::Text;
            sink.push(Delta::BlockStarted { index: 0, start }).await;
            let text = "done".into();
            sink.push(Delta::TextAppended { index: 0, text }).await;
            sink.push(Delta::BlockEnded { index: 0 }).await;
            return Ok(ReplyEnd::new(FinishReason::Stop));
        }
        let calls = self.0.lock().expect("no panic").pop_front();
        for (index, (tool, text)) in (0..).zip(calls.expect("calls are scripted")) {
            let start = BlockStart::ToolCall {
                json: true,
                name: format!("shelf__{tool}").as_str().into(),
                ran_by: RanBy::Engine,
                upstream: None,
            };
            let text = text.as_str().into();
            sink.push(Delta::BlockStarted { index, start }).await;
            sink.push(Delta::ArgumentsAppended { index, text }).await;
            sink.push(Delta::BlockEnded { index }).await;
        }
        Ok(ReplyEnd::new(FinishReason::ToolCalls))
    }
}

/// A toolbox that numbers its answers. `find` is read-only, `look` only reads and does not say so, and `add` changes
/// the shelf.
struct Shelf {
    called: Mutex<u32>,
    description: Mutex<&'static str>,
    id: ToolboxId,
    /// A call with `hold` says that it runs, and waits until it may end.
    held: (Notify, Notify),
}

impl Default for Shelf {
    fn default() -> Self {
        Self {
            called: Mutex::default(),
            description: Mutex::new("does it"),
            id: ToolboxId::parse("shelf").expect("a valid id"),
            held: (Notify::new(), Notify::new()),
        }
    }
}

#[async_trait]
impl Toolbox for Shelf {
    fn id(&self) -> &ToolboxId {
        &self.id
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        let description = *self.description.lock().expect("no panic");
        let tool = |(name, safety): (&str, Safety)| ToolSpec {
            description: description.into(),
            icon: None,
            input: InputFormat::Json(Arc::new(json!({ "type": "object" }))),
            name: name.into(),
            output: None,
            safety,
            time_limit: None,
            title: None,
        };
        let all = [
            ("add", Safety::Unknown),
            ("find", Safety::ReadOnly),
            ("look", Safety::Unknown),
        ];
        Ok(all.map(tool).into())
    }

    async fn call(
        &self,
        run: &ToolRun,
        _: &CallContext,
        _: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        let nth = {
            let mut called = self.called.lock().expect("no panic");
            *called += 1;
            *called
        };
        let arguments = run.arguments().expect("JSON");
        if arguments.contains_key("hold") {
            self.held.0.notify_one();
            self.held.1.notified().await;
        }
        let size = arguments.get("size").and_then(serde_json::Value::as_u64);
        let text = format!("{nth}{}", ".".repeat(size.unwrap_or(0) as usize));
        Ok(ToolEnd::Finished(if arguments.contains_key("fail") {
            ToolResult::error(text)
        } else {
            ToolResult::text(text)
        }))
    }
}

/// An approver that denies every call.
struct Denies;

#[async_trait]
impl Approver for Denies {
    fn name(&self) -> &'static str {
        "denies"
    }

    async fn decide(&self, _: &ApprovalRequest) -> Decision {
        Decision::Deny("no".into())
    }
}

/// An engine with a shelf whose approver denies.
struct Scene {
    engine: Engine,
    journal: Arc<MemoryJournal>,
    model: Arc<Asks>,
    shelf: Arc<Shelf>,
}

impl Scene {
    fn new<const N: usize>(rules: [(&str, u64); N]) -> Self {
        Self::with(rules, |_| {}, true)
    }

    fn with<const N: usize>(
        rules: [(&str, u64); N],
        change: impl FnOnce(&mut ToolCacheSettings),
        trusted: bool,
    ) -> Self {
        let rules = rules.map(|(pattern, seconds)| ToolCacheRule {
            pattern: pattern.into(),
            ttl: (seconds > 0).then_some(Duration::from_secs(seconds)),
        });
        let mut settings = ToolCacheSettings {
            rules: rules.into(),
            ..ToolCacheSettings::default()
        };
        change(&mut settings);
        let (model, shelf) = (Arc::new(Asks::default()), Arc::new(Shelf::default()));
        let journal = Arc::new(MemoryJournal::default());
        let status = ToolboxStatus {
            trusted,
            ..ToolboxStatus::default()
        };
        let engine = Engine::builder(Arc::clone(&journal) as Arc<dyn Journal>)
            .clock(Arc::new(Paused::default()))
            .model("provider", Arc::clone(&model) as Arc<dyn ChatModel>)
            .toolbox_as(Arc::clone(&shelf) as Arc<dyn Toolbox>, status)
            .tool_cache(settings)
            .approver(Arc::new(Denies))
            .build();
        Self {
            engine,
            journal,
            model,
            shelf,
        }
    }

    /// A turn of this session that makes these calls.
    async fn turn(&self, session: &str, options: TurnOptions, calls: Calls) -> TurnReport {
        self.model.0.lock().expect("no panic").push_back(calls);
        let sent = self.engine.send(sent(session, options), &mut ()).await;
        sent.expect("a report")
    }

    /// The end and the text of a call, in a session of its own.
    async fn call(&self, tool: &'static str, arguments: &str) -> (CallEnd, String) {
        let nth = self.journal_size().await;
        let calls = vec![(tool, arguments.to_owned())];
        let report = self.turn(&format!("s{nth}"), options(), calls).await;
        first(&report)
    }

    /// A call whose outcome has this size, and a digit.
    async fn find(&self, size: usize) -> (CallEnd, String) {
        let arguments = json!({ "size": size }).to_string();
        self.call("find", &arguments).await
    }

    async fn journal_size(&self) -> usize {
        let query = SessionQuery::default();
        self.engine.sessions(&query).await.expect("a list").len()
    }
}

fn sent(session: &str, options: TurnOptions) -> SendMessage {
    SendMessage {
        session: id(session),
        ..message(options)
    }
}

fn id(session: &str) -> SessionId {
    SessionId::parse(session).expect("a valid id")
}

fn first(report: &TurnReport) -> (CallEnd, String) {
    let call = &report.calls[0];
    (call.end, call.result.to_text())
}

fn ran(text: &str) -> (CallEnd, String) {
    (CallEnd::Ran, text.to_owned())
}

fn cached(text: &str) -> (CallEnd, String) {
    (CallEnd::Cached, text.to_owned())
}

const FIND: [(&str, u64); 1] = [("shelf/*", 60)];

#[tokio::test(start_paused = true)]
async fn an_equal_call_gets_the_outcome_and_names_the_call_that_it_came_from() {
    let scene = Scene::new(FIND);
    let find = |arguments: &str| vec![("find", arguments.to_owned())];
    let one = find(r#"{"a": 1, "b": {"c": 2, "d": 3}}"#);
    let one = scene.turn("one", options(), one).await;
    let other = find(r#"{ "b":{"d":3,"c":2},"a":1}"#);
    let other = scene.turn("other", options(), other).await;
    assert_eq!((first(&one), first(&other)), (ran("1"), cached("1")));
    let again = scene.turn("other", options(), find(r#"{"a": 2}"#)).await;
    assert_eq!(first(&again), ran("2"), "other arguments");
    let loaded = scene.journal.load(&id("other")).await.expect("a session");
    let from = loaded.steps.iter().flat_map(|step| &step.facts);
    let from = from.filter_map(|fact| match fact {
        Fact::CallClosed { cached, .. } => Some(cached.as_deref().cloned()),
        _ => None,
    });
    let first_call = CachedCall {
        call: one.calls[0].call.id.clone(),
        session: id("one"),
        turn: one.turn,
    };
    assert_eq!(from.collect::<Vec<_>>(), [Some(first_call), None]);
    let mut replay = Replay::new(id("other"), &loaded.deliveries);
    for step in &loaded.steps {
        let replayed = replay.step(step);
        assert!(replayed.is_same(), "{replayed:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_expires_after_its_time_from_the_start_of_the_call() {
    let scene = Scene::new(FIND);
    assert_eq!(scene.call("find", "{}").await, ran("1"));
    tokio::time::advance(Duration::from_secs(59)).await;
    // A hit does not make it newer.
    assert_eq!(scene.call("find", "{}").await, cached("1"));
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(scene.call("find", "{}").await, ran("2"));
    assert_eq!(scene.call("find", "{}").await, cached("2"));
}

#[tokio::test(start_paused = true)]
async fn principals_never_share_a_result() {
    let scene = Scene::new(FIND);
    let of = |principal: Option<&str>| TurnOptions {
        caller: principal.map(|principal| Arc::new(caller(principal))),
        ..options()
    };
    let everyone = [Some("ann"), Some("ben"), None];
    let mut seen = Vec::new();
    for (nth, principal) in everyone.into_iter().chain(everyone).enumerate() {
        let calls = vec![("find", "{}".to_owned())];
        let session = format!("s{nth}");
        seen.push(first(&scene.turn(&session, of(principal), calls).await));
    }
    let wanted = [ran("1"), ran("2"), ran("3")];
    let again = [cached("1"), cached("2"), cached("3")];
    assert_eq!((&seen[..3], &seen[3..]), (&wanted[..], &again[..]));
}

#[tokio::test(start_paused = true)]
async fn errors_are_not_kept() {
    let scene = Scene::new(FIND);
    for nth in ["1", "2"] {
        assert_eq!(scene.call("find", r#"{"fail": 1}"#).await, ran(nth));
    }
}

#[tokio::test(start_paused = true)]
async fn a_changed_definition_and_another_instance_miss() {
    let scene = Scene::new(FIND);
    assert_eq!(scene.call("find", "{}").await, ran("1"));
    *scene.shelf.description.lock().expect("no panic") = "does something else";
    assert_eq!(scene.call("find", "{}").await, ran("2"));
    assert_eq!(scene.call("find", "{}").await, cached("2"));
    // The next process has nothing.
    let next = Scene::new(FIND);
    assert_eq!(next.call("find", "{}").await, ran("1"));
}

#[tokio::test(start_paused = true)]
async fn the_least_recently_used_results_give_way() {
    let scene = Scene::with(FIND, |settings| settings.entries = 2, true);
    for (size, wanted) in [
        (1, ran("1.")),
        (2, ran("2..")),
        (1, cached("1.")),
        (3, ran("3...")),
        (1, cached("1.")),
        (2, ran("4..")),
    ] {
        assert_eq!(scene.find(size).await, wanted);
    }
    let scene = Scene::with(FIND, |settings| settings.bytes = 2_000, true);
    for (size, wanted) in [
        (600, CallEnd::Ran),
        (600, CallEnd::Cached),
        // Longer than all that is kept.
        (3_000, CallEnd::Ran),
        (3_000, CallEnd::Ran),
        (600, CallEnd::Cached),
        // Both do not fit.
        (700, CallEnd::Ran),
        (600, CallEnd::Ran),
    ] {
        assert_eq!(scene.find(size).await.0, wanted, "{size} bytes");
    }
}

#[tokio::test(start_paused = true)]
async fn rules_cover_read_only_tools_of_trusted_servers_and_tools_by_their_whole_name() {
    let cases = [
        (vec![], true, [false, false]),
        (vec![("*", 60)], true, [true, false]),
        (vec![("find", 60)], true, [true, false]),
        (vec![("*", 60)], false, [false, false]),
        (
            vec![("shelf/find", 60), ("shelf/look", 60)],
            false,
            [true, true],
        ),
        (vec![("*", 60), ("*/find", 0)], true, [false, false]),
    ];
    for (rules, trusted, wanted) in cases {
        let mut settings = Vec::new();
        for (pattern, seconds) in &rules {
            settings.push(ToolCacheRule {
                pattern: (*pattern).into(),
                ttl: (*seconds > 0).then_some(Duration::from_secs(*seconds)),
            });
        }
        let scene = Scene::with([], |cache| cache.rules = settings, trusted);
        let mut seen = [false; 2];
        for (tool, seen) in ["find", "look"].into_iter().zip(&mut seen) {
            scene.call(tool, "{}").await;
            *seen = scene.call(tool, "{}").await.0 == CallEnd::Cached;
        }
        assert_eq!(seen, wanted, "{rules:?}, trusted: {trusted}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_may_change_something_ends_the_results_of_its_server() {
    let scene = Scene::new(FIND);
    assert_eq!(scene.call("find", "{}").await, ran("1"));
    assert_eq!(scene.call("add", "{}").await, ran("2"));
    assert_eq!(scene.call("find", "{}").await, ran("3"));
    // A result from before the change that comes after it is not kept, either.
    let hold = r#"{"hold": 1}"#;
    let (held, ()) = tokio::join!(scene.call("find", hold), async {
        scene.shelf.held.0.notified().await;
        let calls = vec![("add", "{}".to_owned())];
        scene.turn("adds", options(), calls).await;
        scene.shelf.held.1.notify_one();
    });
    assert_eq!(held, ran("4"));
    scene.shelf.held.1.notify_one();
    assert_eq!(scene.call("find", hold).await, ran("6"));
}

#[tokio::test(start_paused = true)]
async fn a_kept_result_passes_no_denial_and_no_approval() {
    let scene = Scene::new(FIND);
    assert_eq!(scene.call("find", "{}").await, ran("1"));
    assert_eq!(scene.call("find", "{}").await, cached("1"));
    let calls = || vec![("find", "{}".to_owned())];
    let mut denied = options();
    denied.policy = Policy {
        can_ask: false,
        rules: vec![PolicyRule {
            pattern: "*".into(),
            verdict: RuleVerdict::Deny,
        }],
    };
    let report = scene.turn("denied", denied, calls()).await;
    assert_eq!(report.calls[0].end, CallEnd::Denied);
    // An approval is asked for as without a kept result, and this approver denies.
    let report = scene.turn("asks", asking(), calls()).await;
    assert_eq!(report.calls[0].end, CallEnd::Denied);
    assert_eq!(*scene.shelf.called.lock().expect("no panic"), 1);
}
