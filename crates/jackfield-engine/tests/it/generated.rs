//! Generated turns: rounds, calls, failures, lost appends, answers and cancels, through the real engine.
//!
//! The cases are the same at every run. Whatever happens in them, what was told is what was
//! committed, nothing runs twice that may not, and the journal folds into the reported turn.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::fact::{Envelope, Fact, InputKind, ToolUse, TurnEnd};
use jackfield_domain::ids::{DeliveryId, TurnId};
use jackfield_domain::policy::{PolicyRule, RuleVerdict};
use jackfield_domain::replay::{Replay, StepReplay};
use jackfield_domain::rules;
use jackfield_domain::session::Session;
use jackfield_domain::time::Now;
use jackfield_domain::usage::Usage;
use jackfield_domain::wait::{
    Answer, Approval, CancelCause, DeliveryBody, UnknownAnswer, Wait, WaitEnd, WaitKind,
};
use jackfield_engine::{Engine, EngineError, Observer, ObserverEvent, TurnReport};
use jackfield_ports::journal::sessions::OpenTurn;
use jackfield_ports::journal::summary::{OpenTurnSummary, Summary};
use jackfield_ports::journal::{Append, Journal as _};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::FaultyJournal;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use tokio::sync::mpsc;

use crate::fixture::{Paused, message, options, session};
use crate::script::{Script, TOOLS, arrange, said, scripts, tools};

/// Keeps the facts, and hands on the waits that open.
struct Keeper {
    told: Vec<Fact>,
    waits: mpsc::UnboundedSender<Wait>,
}

impl Observer for Keeper {
    fn on_event(&mut self, news: ObserverEvent<'_>) {
        if let ObserverEvent::Fact { fact, .. } = news {
            if let Fact::WaitOpened { wait } = fact {
                let _gone = self.waits.send(wait.clone());
            }
            self.told.push(fact.clone());
        }
    }
}

/// What came of a script.
struct Outcome {
    committed: Vec<Fact>,
    /// Whether an append was refused over an unseen answer, and decided again.
    fed_again: bool,
    /// How many steps its longest append has.
    most_at_once: Option<usize>,
    /// Every committed step, decided again.
    replayed: Vec<StepReplay>,
    report: Result<TurnReport, EngineError>,
    runs: BTreeMap<String, (Arc<str>, usize)>,
    told: Vec<Fact>,
}

async fn run(script: &Script) -> Outcome {
    let clock = Arc::new(Paused::default());
    let wall = Arc::clone(&clock);
    let memory = MemoryJournal::with_clock(move || wall.wall());
    let journal = FaultyJournal::new(Arc::new(memory));
    script
        .appends
        .iter()
        .for_each(|how| arrange(&journal, *how));
    let (model, toolbox) = (said(script), tools(script));
    let engine = Engine::builder(Arc::new(journal.clone()))
        .model("provider", model.port())
        .toolbox(toolbox.port())
        .clock(clock)
        .build();
    let (waits, opened) = mpsc::unbounded_channel();
    let mut keeper = Keeper {
        told: Vec::new(),
        waits,
    };
    tokio::spawn(answers(engine.clone(), script.answer, opened));
    tokio::spawn(cancels(engine.clone(), script.cancel));
    let mut options = options();
    options.limits.approval = Duration::from_secs(60);
    options.policy.can_ask = true;
    options.policy.rules.push(PolicyRule {
        pattern: "box/approved".into(),
        verdict: RuleVerdict::Ask,
    });
    let a_day = Duration::from_secs(86_400);
    let sent = engine.send(message(options), &mut keeper);
    let report = tokio::time::timeout(a_day, sent).await;
    let mut runs = BTreeMap::new();
    for run in toolbox.runs() {
        let times: &mut (Arc<str>, usize) = runs
            .entry(run.attempt.call.to_string())
            .or_insert((run.tool.tool, 0));
        times.1 += 1;
    }
    let loaded = journal.load(&session()).await.expect("a journal");
    let mut replay = Replay::new(session(), &loaded.deliveries);
    let replayed = loaded.steps.iter().map(|step| replay.step(step)).collect();
    let facts = loaded.steps.into_iter().flat_map(|step| step.facts);
    let again = |pair: &[Append]| {
        let place = |append: &Append| (append.epoch, append.position);
        place(&pair[0]) == place(&pair[1]) && pair[0].steps != pair[1].steps
    };
    Outcome {
        committed: facts.collect(),
        fed_again: journal.appends().windows(2).any(again),
        most_at_once: journal
            .appends()
            .iter()
            .map(|append| append.steps.len())
            .max(),
        replayed,
        report: report.expect("no turn takes a day"),
        runs,
        told: keeper.told,
    }
}

/// Answers each wait so long after it opened.
async fn answers(engine: Engine, after: Option<u64>, mut opened: mpsc::UnboundedReceiver<Wait>) {
    let Some(after) = after else { return };
    while let Some(wait) = opened.recv().await {
        tokio::time::sleep(Duration::from_millis(after)).await;
        let answer = match wait.kind {
            WaitKind::Approval { .. } => Answer::Approval(Approval::Granted {
                edited: None,
                for_session: false,
            }),
            WaitKind::UnknownOutcome => Answer::UnknownOutcome(UnknownAnswer::Report),
            WaitKind::Budget { .. } | WaitKind::ClientResult | WaitKind::Elicitation { .. } => {
                continue;
            }
        };
        let id = DeliveryId::parse(wait.id.as_str()).expect("a valid id");
        let wait = wait.id;
        let body = DeliveryBody::Answer { answer, wait };
        let _taken = engine.deliver(&session(), id, "a person", body).await;
    }
}

async fn cancels(engine: Engine, after: Option<u64>) {
    let Some(after) = after else { return };
    tokio::time::sleep(Duration::from_millis(after)).await;
    let body = DeliveryBody::Cancel {
        cause: CancelCause::Asked,
        turn: TurnId::derive(&session(), 1),
    };
    let id = DeliveryId::parse("stop").expect("a valid id");
    let _taken = engine.deliver(&session(), id, "a person", body).await;
}

fn check(outcome: &Outcome, script: &Script) {
    let Outcome {
        committed,
        replayed,
        report,
        runs,
        told,
        ..
    } = outcome;
    assert!(committed.starts_with(told), "{script:#?}\n{told:#?}");
    for step in replayed {
        assert!(step.is_same(), "{step:#?}\n{script:#?}");
    }
    for (call, (tool, times)) in runs {
        let may_repeat = TOOLS
            .iter()
            .any(|(name, safety)| **name == **tool && safety.may_repeat());
        assert!(
            may_repeat || *times == 1,
            "{call} ({tool}) ran {times} times: {script:#?}"
        );
    }
    check_summary(committed);
    let folded = Session::fold(session(), committed);
    rules::check_history(folded.messages().iter()).expect("a valid history");
    let Ok(report) = report else {
        return;
    };
    // What came after the end may be there although the journal could not say so; it is no news.
    let untold = committed.get(told.len()..).unwrap_or_default();
    let is_late = |fact: &Fact| matches!(fact, Fact::Late(_));
    assert!(untold.iter().all(is_late), "{script:#?}\n{untold:#?}");
    let is_over = |fact: &Fact| matches!(fact, Fact::TurnEnded { .. });
    assert!(told.iter().any(is_over), "{script:#?}");
    let ends: Vec<&TurnEnd> = committed
        .iter()
        .filter_map(|fact| match fact {
            Fact::TurnEnded { end, .. } => Some(end),
            _ => None,
        })
        .collect();
    assert_eq!(ends, [&report.end], "{script:#?}");
    assert_eq!(*folded.messages(), report.messages, "{script:#?}");
    let mut last = BTreeMap::new();
    for (attempt, usage) in told.iter().filter_map(Fact::usage) {
        // A count that comes late takes the place of its estimate.
        last.insert(attempt, usage);
    }
    let used = last.values().fold(Usage::default(), |mut sum, usage| {
        sum += *usage;
        sum
    });
    assert_eq!(report.usage, used, "{script:#?}");
    let reported: BTreeSet<_> = report.calls.iter().map(|call| &call.call.id).collect();
    assert_eq!(
        reported.len(),
        report.calls.len(),
        "a call was reported twice"
    );
    let closed = committed.iter().filter_map(|fact| match fact {
        Fact::CallClosed { call, .. } => Some(call),
        _ => None,
    });
    assert_eq!(reported, closed.collect(), "{script:#?}");
}

/// What was reached, so that the properties above are not kept by chance.
/// What a journal keeps of a turn beside its facts says what the fold of the facts says, after each of
/// them and however often it is taken up in between.
fn check_summary(committed: &[Fact]) {
    let mut folded = Session::new(session());
    let mut summary = Summary::default();
    for (nth, fact) in committed.iter().enumerate() {
        let resumed = (1..=u32::try_from(nth % 5).expect("small")).map(|nth| Fact::TurnResumed {
            nth,
            restrictions: None,
        });
        for fact in std::iter::once(fact.clone()).chain(resumed) {
            folded.apply(&fact);
            let step = Envelope {
                facts: vec![fact],
                input: InputKind::Woke,
                now: Now::default(),
                step: 0,
                version: 1,
            };
            summary.apply(&step);
            let expected = folded.open_turn().map(|turn| OpenTurn {
                only_waits: turn.only_waits(),
                parked: turn.is_parked(),
                turn: turn.id().clone(),
                waits: u32::try_from(turn.waits().count()).expect("few"),
            });
            let listed = summary.open.as_ref().map(OpenTurnSummary::to_row);
            assert_eq!(listed, expected, "after {step:?}");
            assert_eq!(summary.turns, folded.turns());
            let deadline = folded.open_turn().and_then(|turn| {
                let deadlines = turn.waits().map(|wait| wait.deadline);
                deadlines.min().filter(|_| turn.only_waits())
            });
            if deadline.is_some() {
                assert_eq!(summary.due(), deadline, "after {step:?}");
            }
        }
    }
}

fn classes(outcome: &Outcome) -> BTreeSet<&'static str> {
    let facts = outcome.committed.iter().filter_map(|fact| match fact {
        Fact::CallAccepted { .. } => Some("accepted"),
        Fact::CallLost { .. } => Some("lost"),
        Fact::Late(_) => Some("late"),
        Fact::ModelCallStarted { tools, .. } if *tools != ToolUse::Allowed => Some("last round"),
        Fact::TurnEnded { end, .. } => match end {
            TurnEnd::Answered(_) => Some("answered"),
            TurnEnd::Cancelled(_) => Some("cancelled"),
            _ => Some("ended otherwise"),
        },
        Fact::TurnResumed { .. } => Some("taken up"),
        Fact::WaitClosed { end, .. } => match end {
            WaitEnd::Answered { .. } => Some("wait answered"),
            WaitEnd::Expired => Some("wait expired"),
            WaitEnd::Cancelled | WaitEnd::Superseded => Some("wait given up"),
        },
        _ => None,
    });
    let stopped = match &outcome.report {
        Ok(_) => None,
        Err(EngineError::NotCommitted { .. }) => Some("not committed"),
        Err(EngineError::OwnershipLost { .. }) => Some("ownership lost"),
        Err(error) => panic!("{error}"),
    };
    let fed_again = outcome.fed_again.then_some("fed again");
    let company = (outcome.most_at_once > Some(1)).then_some("several steps at once");
    facts
        .chain(stopped)
        .chain(fed_again)
        .chain(company)
        .collect()
}

#[test]
fn whatever_happens_what_was_told_is_what_was_committed_and_nothing_runs_twice() {
    let mut runner = TestRunner::deterministic();
    let mut reached: BTreeMap<&str, usize> = BTreeMap::new();
    for _ in 0..CASES {
        let script = scripts().new_tree(&mut runner).expect("a script").current();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build();
        let outcome = runtime.expect("a runtime").block_on(run(&script));
        check(&outcome, &script);
        for class in classes(&outcome) {
            *reached.entry(class).or_default() += 1;
        }
    }
    for (class, floor) in FLOORS {
        let times = reached.get(class).copied().unwrap_or(0);
        assert!(times >= floor, "{class} only {times} times: {reached:#?}");
    }
}

const CASES: usize = 1000;
/// How many cases have to reach each class: about half of those that do.
const FLOORS: [(&str, usize); 14] = [
    ("accepted", 50),
    ("answered", 300),
    ("cancelled", 130),
    ("fed again", 4),
    ("last round", 6),
    ("late", 6),
    ("lost", 200),
    ("not committed", 25),
    ("ownership lost", 30),
    ("several steps at once", 10),
    ("taken up", 110),
    ("wait answered", 65),
    ("wait expired", 95),
    ("wait given up", 60),
];
