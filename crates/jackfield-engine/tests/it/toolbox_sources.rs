//! Toolboxes that depend on the principal.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use jackfield_domain::caller::{Caller, Display};
use jackfield_domain::fact::CallEnd;
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::Safety;
use jackfield_engine::{
    Engine, EngineError, ParkReason, SendMessage, ToolboxProblem, ToolboxStatus, TurnOptions,
};
use jackfield_ports::journal::Journal;
use jackfield_ports::toolbox::Toolbox;
use jackfield_ports::toolbox_source::{RegisteredToolbox, ToolboxSet, ToolboxSource};
use jackfield_store_memory::MemoryJournal;
use tokio::sync::Notify;

use crate::fixture::{Log, OneTool, Rounds, message, options};
use crate::resuming::{ends, over, resume};

/// The toolboxes of each principal, and whom it was asked for.
#[derive(Default)]
struct PeopleSource {
    asked: Mutex<Vec<Option<String>>>,
    problems: Vec<ToolboxProblem>,
    toolboxes: HashMap<&'static str, Arc<dyn Toolbox>>,
}

#[async_trait]
impl ToolboxSource for PeopleSource {
    async fn toolboxes(&self, principal: Option<&str>) -> ToolboxSet {
        let mut asked = self.asked.lock().expect("no panic under the lock");
        asked.push(principal.map(ToOwned::to_owned));
        let own = principal.and_then(|principal| self.toolboxes.get(principal));
        let own = own.map(|toolbox| RegisteredToolbox {
            status: ToolboxStatus::default(),
            toolbox: Arc::clone(toolbox),
        });
        ToolboxSet {
            problems: self.problems.clone(),
            toolboxes: own.into_iter().collect(),
        }
    }
}

/// A source that never answers.
struct SilentSource;

#[async_trait]
impl ToolboxSource for SilentSource {
    async fn toolboxes(&self, _principal: Option<&str>) -> ToolboxSet {
        std::future::pending().await
    }
}

pub(crate) fn caller(principal: &str) -> Caller {
    Caller {
        body: None,
        dialect: "claude".into(),
        display: Display::default(),
        echo: None,
        key: None,
        model: "model".into(),
        principal: principal.into(),
        view: None,
    }
}

fn options_of(principal: Option<&str>) -> TurnOptions {
    TurnOptions {
        caller: principal.map(|principal| Arc::new(caller(principal))),
        ..options()
    }
}

/// A message of this principal.
fn message_of(principal: Option<&str>) -> SendMessage {
    message(options_of(principal))
}

/// A toolbox `box` whose tool answers with this text.
fn toolbox(answer: &'static str) -> OneTool<impl Fn(ToolRun) -> std::future::Ready<ToolResult>> {
    let mut tool = OneTool::new(&Log::default(), move |_| {
        std::future::ready(ToolResult::text(answer.to_owned()))
    });
    tool.spec.safety = Safety::ReadOnly;
    tool
}

fn people(toolboxes: [(&'static str, &'static str); 2]) -> PeopleSource {
    let toolboxes = toolboxes
        .map(|(principal, answer)| (principal, Arc::new(toolbox(answer)) as Arc<dyn Toolbox>));
    PeopleSource {
        toolboxes: toolboxes.into(),
        ..PeopleSource::default()
    }
}

fn engine(journal: &Arc<MemoryJournal>, source: &Arc<PeopleSource>) -> Engine {
    let model = Rounds::once(&Log::default(), 1);
    Engine::builder(Arc::clone(journal) as Arc<dyn Journal>)
        .model("provider", Arc::new(model))
        .toolbox_source(Arc::clone(source) as Arc<dyn ToolboxSource>)
        .build()
}

fn problem(toolbox: &str, message: &str) -> ToolboxProblem {
    ToolboxProblem {
        message: message.to_owned(),
        toolbox: ToolboxId::parse(toolbox).expect("a valid id"),
    }
}

#[tokio::test(start_paused = true)]
async fn each_turn_calls_the_toolbox_of_its_principal() {
    let source = Arc::new(people([("ann", "for ann"), ("ben", "for ben")]));
    for (principal, answer) in [(Some("ann"), "for ann"), (Some("ben"), "for ben")] {
        let engine = engine(&Arc::default(), &source);
        let report = engine.send(message_of(principal), &mut ()).await;
        assert_eq!(report.expect("a report").answer(), answer);
    }
    for principal in [Some("zoe"), None] {
        let engine = engine(&Arc::default(), &source);
        let offered = engine.tools(&options_of(principal)).await;
        assert_eq!(offered.catalog.iter().count(), 0, "{principal:?}");
    }
    let asked = source
        .asked
        .lock()
        .expect("no panic under the lock")
        .clone();
    let of = |principal: &str| Some(principal.to_owned());
    assert_eq!(asked, [of("ann"), of("ben"), of("zoe"), None]);
}

/// Loses the process while a tool of Ann's runs.
async fn crash_in_a_tool_of_anns(journal: &Arc<MemoryJournal>) {
    let called = Arc::new(Notify::new());
    let at_work = Arc::clone(&called);
    let mut tool = OneTool::new(&Log::default(), move |_| {
        at_work.notify_one();
        std::future::pending::<ToolResult>()
    });
    tool.spec.safety = Safety::ReadOnly;
    let source = Arc::new(PeopleSource {
        toolboxes: HashMap::from([("ann", Arc::new(tool) as Arc<dyn Toolbox>)]),
        ..PeopleSource::default()
    });
    let (engine, mut observer) = (engine(journal, &source), ());
    tokio::select! {
        report = engine.send(message_of(Some("ann")), &mut observer) => panic!("it ended: {report:?}"),
        () = called.notified() => {}
    }
}

#[tokio::test(start_paused = true)]
async fn a_resumed_turn_has_the_toolboxes_of_its_own_principal() {
    let journal = Arc::new(MemoryJournal::default());
    crash_in_a_tool_of_anns(&journal).await;
    let source = Arc::new(people([("ann", "for ann"), ("ben", "for ben")]));
    let engine = engine(&journal, &source);
    let report = over(engine.resume(resume(), &mut ()).await);
    assert_eq!(ends(&report), [CallEnd::Ran]);
    assert_eq!(report.answer(), "for ann");
}

#[tokio::test(start_paused = true)]
async fn a_turn_whose_toolbox_the_source_does_not_have_is_parked() {
    for (problems, expected) in [
        (
            Vec::new(),
            ParkReason::NoToolboxes {
                missing: vec!["box".to_owned()],
            },
        ),
        (
            // It says nothing about the missing one.
            vec![problem("other", "no such program")],
            ParkReason::NoToolboxes {
                missing: vec!["box".to_owned()],
            },
        ),
        (
            vec![problem("toolboxes", "the directory is down")],
            ParkReason::ToolboxDown {
                message: "the directory is down".to_owned(),
                toolbox: ToolboxId::parse("box").expect("a valid id"),
            },
        ),
        (
            vec![
                problem("other", "no such program"),
                problem("box", "it needs a new login"),
            ],
            ParkReason::ToolboxDown {
                message: "it needs a new login".to_owned(),
                toolbox: ToolboxId::parse("box").expect("a valid id"),
            },
        ),
    ] {
        let journal = Arc::new(MemoryJournal::default());
        crash_in_a_tool_of_anns(&journal).await;
        let source = Arc::new(PeopleSource {
            problems,
            ..people([("ben", "for ben"), ("zoe", "for zoe")])
        });
        let engine = engine(&journal, &source);
        match engine.resume(resume(), &mut ()).await {
            Err(EngineError::Parked { why, .. }) => assert_eq!(*why, expected),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_cannot_replace_a_toolbox_of_the_program() {
    let source = people([("ann", "for ann"), ("ben", "for ben")]);
    let engine = Engine::builder(Arc::new(MemoryJournal::default()))
        .model("provider", Arc::new(Rounds::once(&Log::default(), 1)))
        .toolbox_source(Arc::new(source))
        .toolbox(Arc::new(toolbox("of the program")))
        .build();
    let offered = engine.tools(&options_of(Some("ann"))).await;
    let skipped = problem("box", "skipped: there is another toolbox of the id `box`");
    assert_eq!(offered.problems, [skipped]);
    let report = engine.send(message_of(Some("ann")), &mut ()).await;
    assert_eq!(report.expect("a report").answer(), "of the program");
}

#[tokio::test(start_paused = true)]
async fn a_source_that_does_not_answer_is_a_problem_and_the_others_are_offered() {
    let source = people([("ann", "for ann"), ("ben", "for ben")]);
    let engine = Engine::builder(Arc::new(MemoryJournal::default()))
        .model("provider", Arc::new(Rounds::once(&Log::default(), 1)))
        .toolbox_source(Arc::new(SilentSource))
        .toolbox_source(Arc::new(source))
        .build();
    let offered = engine.tools(&options_of(Some("ann"))).await;
    let silent = problem("toolboxes", "no list of toolboxes within 30 s");
    assert_eq!(offered.problems, [silent]);
    assert_eq!(offered.catalog.iter().count(), 1);
}
