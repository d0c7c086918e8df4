//! Driving: deadlines, the order of what comes at once, answers that get lost for good, and crashes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::block::Content;
use jackfield_domain::fact::{CallEnd, Fact, Late, TurnEnd};
use jackfield_domain::ids::{DeliveryId, ToolboxId, TurnId};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::request::ToolRun;
use jackfield_domain::time::{MonoTime, Now, WallTime};
use jackfield_domain::tool::{InputFormat, Safety, ToolSpec};
use jackfield_domain::wait::{Answer, Approval, CancelCause, DeliveryBody};
use jackfield_engine::{Clock, Engine, EngineBuilder, TurnReport};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::journal::{DeliveryOutcome, Journal as _};
use jackfield_ports::toolbox::{ToolEnd, ToolError, ToolEvents, Toolbox};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{
    AppendFault, FaultyJournal, Gate, ScriptedCall, ScriptedModel, ScriptedReply, ScriptedToolbox,
};
use serde_json::{Map, json};

use crate::fixture::{Log, Logged, Watcher, message, options, session};

/// An engine of fakes, and a log of what it tells.
struct Bench {
    journal: FaultyJournal,
    log: Log,
    model: ScriptedModel,
    toolbox: ScriptedToolbox,
}

impl Bench {
    /// A model that calls tools `a`, `b` and so on, and then says that it is done.
    fn calling(tools: &[&'static str]) -> Self {
        let toolbox = ScriptedToolbox::new(ToolboxId::parse("box").expect("a valid id"));
        tools.iter().for_each(|tool| {
            toolbox.tool(tool, Safety::Unknown);
        });
        let model = ScriptedModel::new();
        let names: Vec<String> = tools.iter().map(|tool| format!("box__{tool}")).collect();
        model.push_reply(ScriptedReply::calls(
            names.iter().map(|name| (name.as_str(), "{}")),
        ));
        model.push_reply(ScriptedReply::text("done"));
        Self {
            journal: FaultyJournal::new(Arc::new(MemoryJournal::default())),
            log: Log::default(),
            model,
            toolbox,
        }
    }

    fn builder(&self) -> EngineBuilder {
        Engine::builder(Arc::new(self.journal.clone()))
            .model("provider", self.model.port())
            .toolbox(self.toolbox.port())
    }

    async fn turn(&self, engine: &Engine) -> TurnReport {
        let report = engine
            .send(message(options()), &mut Watcher(self.log.clone()))
            .await;
        report.expect("a report")
    }

    fn told(&self) -> Vec<Fact> {
        let told = self
            .log
            .all()
            .into_iter()
            .filter_map(|logged| match logged {
                Logged::Told(fact) => Some(fact),
                _ => None,
            });
        told.collect()
    }

    async fn committed(&self) -> Vec<Fact> {
        let loaded = self.journal.load(&session()).await.expect("a journal");
        let facts = loaded.steps.into_iter().flat_map(|step| step.facts);
        facts.collect()
    }

    async fn cancel(&self, engine: &Engine) {
        let turn = TurnId::derive(&session(), 1);
        let cause = CancelCause::Asked;
        self.deliver(engine, "stop", DeliveryBody::Cancel { cause, turn })
            .await;
    }

    async fn deliver(&self, engine: &Engine, id: &str, body: DeliveryBody) {
        let id = DeliveryId::parse(id).expect("a valid id");
        let delivered = engine.deliver(&session(), id, "a person", body).await;
        assert_eq!(delivered.expect("a journal"), DeliveryOutcome::Accepted);
    }
}

/// An append of which nobody ever learns, although it is written.
fn lose_for_good(journal: &FaultyJournal) {
    journal.push_fault(AppendFault::CommitAndLose);
    for _ in 0..5 {
        journal.push_fault(AppendFault::Lose);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_turn_is_strict_about_is_recorded_and_in_every_request() {
    let bench = Bench::calling(&["a"]);
    bench.toolbox.push_call("a", ScriptedCall::text("one"));
    let mut options = options();
    options.strict = Some(NoteEffect::Cost);
    let engine = bench.builder().build();
    let report = engine.send(message(options), &mut ()).await;
    assert_eq!(report.expect("a report").rounds, 2);
    let asked = bench.model.requests();
    let strict: Vec<_> = asked.iter().map(|request| request.strict).collect();
    assert_eq!(strict, [Some(NoteEffect::Cost); 2]);
    let recorded = bench.committed().await;
    let Some(Fact::TurnOpened { setup, .. }) = recorded.first() else {
        panic!("{recorded:?}");
    };
    assert_eq!(setup.strict, Some(NoteEffect::Cost));
}

#[tokio::test(start_paused = true)]
async fn progress_does_not_put_a_deadline_off() {
    let bench = Bench::calling(&["a"]);
    let never = Gate::new();
    let call = ScriptedCall::text("late").progressed(1.0, None, None);
    bench.toolbox.push_call("a", call.held_at(&never));
    let started = tokio::time::Instant::now();
    let report = bench.turn(&bench.builder().build()).await;
    assert_eq!(report.calls[0].end, CallEnd::Reported);
    let took = started.elapsed();
    assert!(took < Duration::from_secs(31), "{took:?}");
}

/// A clock that is a millisecond on at every look.
#[derive(Default)]
struct Counting(AtomicU32);

impl Clock for Counting {
    fn now(&self) -> Now {
        let millis = self.0.fetch_add(1, Ordering::SeqCst);
        Now {
            mono: MonoTime::from_start(Duration::from_millis(millis.into())),
            wall: WallTime::from_millis(millis.into()),
        }
    }
}

/// A tool that tells its progress for ever, without a pause.
struct Chatty(ToolboxId);

#[async_trait]
impl Toolbox for Chatty {
    fn id(&self) -> &ToolboxId {
        &self.0
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        let schema = json!({ "type": "object" });
        Ok(vec![ToolSpec {
            description: "tells its progress".into(),
            icon: None,
            input: InputFormat::Json(Arc::new(schema)),
            name: "a".into(),
            output: None,
            safety: Safety::Unknown,
            time_limit: Some(Duration::from_millis(500)),
            title: None,
        }])
    }

    async fn call(
        &self,
        _: &ToolRun,
        _: &CallContext,
        events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        loop {
            events.on_progress(1.0, None, None).await;
        }
    }
}

#[tokio::test]
async fn a_tool_that_never_stops_telling_its_progress_is_stopped_all_the_same() {
    let bench = Bench::calling(&["a"]);
    let chatty = Chatty(ToolboxId::parse("box").expect("a valid id"));
    let engine = Engine::builder(Arc::new(bench.journal.clone()))
        .model("provider", bench.model.port())
        .toolbox(Arc::new(chatty))
        .clock(Arc::new(Counting::default()))
        .build();
    let report = bench.turn(&engine).await;
    assert_eq!(report.calls[0].end, CallEnd::Reported);
    assert_eq!(report.answer(), "done");
}

#[tokio::test(start_paused = true)]
async fn an_outcome_that_is_there_beats_the_time_limit() {
    for _ in 0..20 {
        let bench = Bench::calling(&["a", "b"]);
        let (committing, finishing) = (Gate::new(), Gate::new());
        bench.toolbox.push_call("a", ScriptedCall::text("one"));
        let two = ScriptedCall::text("two").held_at(&finishing);
        bench.toolbox.push_call("b", two);
        // The first outcome is being written while the second one comes and the time passes.
        bench
            .journal
            .push_successes(2)
            .push_fault(AppendFault::Hold(committing.clone()));
        let engine = bench.builder().build();
        let during = async {
            committing.reached().await;
            finishing.open();
            tokio::time::sleep(Duration::from_secs(60)).await;
            committing.open();
        };
        let (report, ()) = tokio::join!(bench.turn(&engine), during);
        let ends: Vec<CallEnd> = report.calls.iter().map(|call| call.end).collect();
        assert_eq!(ends, [CallEnd::Ran; 2]);
    }
}

#[tokio::test(start_paused = true)]
async fn outcomes_that_come_with_a_cancel_are_counted() {
    let bench = Bench::calling(&["a", "b", "c"]);
    let (committing, finishing) = (Gate::new(), Gate::new());
    bench.toolbox.push_call("a", ScriptedCall::text("one"));
    for tool in ["b", "c"] {
        let late = ScriptedCall::text("late").held_at(&finishing);
        bench.toolbox.push_call(tool, late);
    }
    bench
        .journal
        .push_successes(2)
        .push_fault(AppendFault::Hold(committing.clone()));
    let engine = bench.builder().build();
    let during = async {
        committing.reached().await;
        finishing.open();
        bench.cancel(&engine).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        committing.open();
    };
    let (report, ()) = tokio::join!(bench.turn(&engine), during);
    assert_eq!(report.end, TurnEnd::Cancelled(CancelCause::Asked));
    let late = |fact: &&Fact| matches!(fact, Fact::Late(Late::Outcome { .. }));
    assert_eq!(bench.told().iter().filter(late).count(), 2);
    assert_eq!(bench.told(), bench.committed().await);
}

#[tokio::test(start_paused = true)]
async fn what_a_tool_said_before_it_crashed_comes_before_the_crash() {
    for _ in 0..20 {
        let bench = Bench::calling(&["a"]);
        let crash = ScriptedCall::panicking().accepted(json!({ "job": 1 }));
        bench.toolbox.push_call("a", crash);
        bench.turn(&bench.builder().build()).await;
        let told = bench.told();
        let place = |wanted: fn(&Fact) -> bool| told.iter().position(wanted);
        let accepted = place(|fact| matches!(fact, Fact::CallAccepted { .. }));
        let lost = place(|fact| matches!(fact, Fact::CallLost { .. }));
        assert!(accepted.is_some() && accepted < lost, "{told:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_append_that_turns_out_to_be_written_is_told_once_and_reported_once() {
    for lost in 0..4 {
        let bench = Bench::calling(&["a", "b"]);
        bench
            .toolbox
            .set_default_call("a", ScriptedCall::text("one"));
        bench
            .toolbox
            .set_default_call("b", ScriptedCall::text("two"));
        bench.model.push_reply(ScriptedReply::text("done again"));
        bench.journal.push_successes(lost);
        lose_for_good(&bench.journal);
        let report = bench.turn(&bench.builder().build()).await;
        assert_eq!(report.calls.len(), 2, "append {lost}: {report:?}");
        assert_eq!(bench.told(), bench.committed().await, "append {lost}");
        let outcomes = report.messages.iter().flat_map(|message| &message.blocks);
        let outcomes = outcomes.filter(|block| matches!(block.content, Content::ToolOutcome(_)));
        assert_eq!(outcomes.count(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_while_a_turn_is_taken_up_does_not_stop_it() {
    let bench = Bench::calling(&["a", "b"]);
    let (finishing, taking_up) = (Gate::new(), Gate::new());
    let two = ScriptedCall::text("two").held_at(&finishing);
    bench.toolbox.push_call("b", two);
    bench.journal.push_successes(2);
    for _ in 0..6 {
        bench.journal.push_fault(AppendFault::Lose);
    }
    bench
        .journal
        .push_fault(AppendFault::Hold(taking_up.clone()));
    let engine = bench.builder().build();
    let mut asking = options();
    asking.policy.can_ask = true;
    let ask = jackfield_domain::policy::PolicyRule {
        pattern: "box/a".into(),
        verdict: jackfield_domain::policy::RuleVerdict::Ask,
    };
    asking.policy.rules.push(ask);
    let mut watcher = Watcher(bench.log.clone());
    let turn = engine.send(message(asking), &mut watcher);
    let during = async {
        while bench.journal.appends().len() < 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        finishing.open();
        while bench.journal.appends().len() < 4 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // The append is being lost for good; the cancel is read when the turn is taken up.
        bench.cancel(&engine).await;
        taking_up.reached().await;
        let steps = bench.committed().await;
        let wait = steps.iter().find_map(|fact| match fact {
            Fact::WaitOpened { wait } => Some(wait.id.clone()),
            _ => None,
        });
        let wait = wait.expect("a wait");
        let answer = Answer::Approval(Approval::Granted {
            edited: None,
            for_session: false,
        });
        bench
            .deliver(&engine, "yes", DeliveryBody::Answer { answer, wait })
            .await;
        taking_up.open();
    };
    let (report, ()) = tokio::join!(turn, during);
    let report = report.expect("a report");
    assert_eq!(report.end, TurnEnd::Cancelled(CancelCause::Asked));
    assert_eq!(bench.told(), bench.committed().await);
}

/// A toolbox that crashes before it has said anything.
struct Crashing(ToolboxId);

#[async_trait]
impl Toolbox for Crashing {
    fn id(&self) -> &ToolboxId {
        &self.0
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        panic!("a bug in a toolbox")
    }

    async fn call(
        &self,
        _: &ToolRun,
        _: &CallContext,
        _: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        panic!("a bug in a toolbox")
    }
}

#[tokio::test(start_paused = true)]
async fn a_toolbox_that_crashes_while_it_lists_its_tools_does_not_stop_the_others() {
    let bench = Bench::calling(&["a"]);
    bench.toolbox.push_call("a", ScriptedCall::text("one"));
    let crashing = ToolboxId::parse("crashing").expect("a valid id");
    let engine = bench
        .builder()
        .toolbox(Arc::new(Crashing(crashing.clone())))
        .build();
    let offered = engine.tools(&options()).await;
    let problems: Vec<_> = offered.problems.iter().map(|p| &p.toolbox).collect();
    assert_eq!(problems, [&crashing]);
    assert_eq!(bench.turn(&engine).await.answer(), "done");
}

#[tokio::test(start_paused = true)]
async fn calls_by_hand_are_apart_and_survive_a_crash() {
    let bench = Bench::calling(&["a"]);
    bench.toolbox.push_call("a", ScriptedCall::text("one"));
    bench.toolbox.push_call("a", ScriptedCall::text("two"));
    bench.toolbox.push_call("a", ScriptedCall::panicking());
    let engine = bench.builder().build();
    let mut texts = Vec::new();
    for _ in 0..3 {
        let result = engine.call_tool(&options(), "box__a", Map::new()).await;
        texts.push(result.expect("a result").to_text());
    }
    assert_eq!(texts, ["one", "two", "the tool crashed"]);
    let mut keys: Vec<_> = bench
        .toolbox
        .runs()
        .into_iter()
        .map(|run| run.key)
        .collect();
    keys.dedup();
    assert_eq!(keys.len(), 3, "a tool may take equal keys for one call");
}

#[tokio::test(start_paused = true)]
async fn a_busy_session_names_the_turn_that_it_is_at_work_on() {
    let bench = Bench::calling(&["a"]);
    let held = Gate::new();
    let one = ScriptedCall::text("one").held_at(&held);
    bench.toolbox.push_call("a", one);
    let engine = bench.builder().build();
    let during = async {
        held.reached().await;
        let busy = engine.send(message(options()), &mut ()).await;
        held.open();
        busy.expect_err("one turn at a time").to_string()
    };
    let (report, busy) = tokio::join!(bench.turn(&engine), during);
    let turn = report.turn;
    let known =
        format!("session session is at work on turn {turn}: wait until it is over, or cancel it");
    assert_eq!(busy, known);
}
