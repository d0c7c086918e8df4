//! The observer of ended turns and stored spending records.

use std::sync::{Arc, Mutex};

use jackfield_domain::fact::Envelope;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::ToolRun;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::tool::Safety;
use jackfield_engine::{Durability, EndedTurn, Engine, Ephemeral, TurnObserver};
use jackfield_ports::journal::Journal;
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{ScriptedModel, ScriptedReply};
use jackfield_testkit::spending::record;
use tokio::sync::Notify;

use crate::background::to_the_end;
use crate::fixture::{Log, OneTool, message, options, session};
use crate::resuming::{crash_in_a_tool, model, over, resume};

#[derive(Default)]
struct Seen {
    recorded: Notify,
    records: Mutex<Vec<SpendingRecord>>,
    turns: Mutex<Vec<EndedTurn>>,
}

impl Seen {
    fn turns(&self) -> Vec<EndedTurn> {
        self.turns.lock().expect("no panic").clone()
    }

    fn records(&self) -> Vec<SpendingRecord> {
        self.records.lock().expect("no panic").clone()
    }
}

impl TurnObserver for Seen {
    fn turn_ended(&self, turn: &EndedTurn) {
        self.turns.lock().expect("no panic").push(turn.clone());
    }

    fn record_stored(&self, record: &SpendingRecord) {
        let mut records = self.records.lock().expect("no panic");
        records.push(record.clone());
        self.recorded.notify_one();
    }
}

fn observed(journal: &Arc<MemoryJournal>, replies: &[&str]) -> (ScriptedModel, Arc<Seen>, Engine) {
    let (model, seen) = (ScriptedModel::new(), Arc::new(Seen::default()));
    for reply in replies {
        model.push_reply(ScriptedReply::text(reply));
    }
    let engine = Engine::builder(Arc::clone(journal) as Arc<dyn Journal>)
        .model("provider", model.port())
        .turn_observer(Arc::clone(&seen) as Arc<dyn TurnObserver>)
        .build();
    (model, seen, engine)
}

async fn steps(journal: &MemoryJournal) -> Vec<Envelope> {
    journal.load(&session()).await.expect("a session").steps
}

#[tokio::test(start_paused = true)]
async fn an_observer_gets_the_steps_of_each_turn() {
    let journal = Arc::new(MemoryJournal::default());
    let (_model, seen, engine) = observed(&journal, &["one", "two"]);
    engine
        .send(message(options()), &mut ())
        .await
        .expect("an answer");
    let first = steps(&journal).await;
    engine
        .send(message(options()), &mut ())
        .await
        .expect("an answer");
    let second = steps(&journal).await.split_off(first.len());
    let turns = seen.turns();
    let all: Vec<_> = turns.iter().map(|turn| turn.steps.clone()).collect();
    assert_eq!(all, [first, second]);
    assert!(
        turns
            .iter()
            .all(|turn| turn.durability == Durability::Durable && turn.session == session())
    );
}

#[tokio::test(start_paused = true)]
async fn an_observer_gets_the_steps_of_the_processes_before() {
    let journal = Arc::new(MemoryJournal::default());
    crash_in_a_tool(&journal, Safety::ReadOnly).await;
    let (log, seen) = (Log::default(), Arc::new(Seen::default()));
    let mut tool = OneTool::new(&log, |_: ToolRun| async { ToolResult::text("done") });
    tool.spec.safety = Safety::ReadOnly;
    let engine = Engine::builder(Arc::clone(&journal) as Arc<dyn Journal>)
        .model("provider", Arc::new(model(&log)))
        .toolbox(Arc::new(tool))
        .turn_observer(Arc::clone(&seen) as Arc<dyn TurnObserver>)
        .build();
    over(engine.resume(resume(), &mut ()).await);
    let all: Vec<_> = seen.turns().into_iter().map(|turn| turn.steps).collect();
    assert_eq!(all, [steps(&journal).await]);
}

#[tokio::test(start_paused = true)]
async fn an_observer_gets_ephemeral_turns_and_their_records() {
    let journal = Arc::new(MemoryJournal::default());
    let (_model, seen, engine) = observed(&journal, &["done"]);
    let port = Arc::new(MemoryJournal::default()) as Arc<dyn Journal>;
    let engine = engine.with_ephemeral_journal(port, Ephemeral::default());
    engine
        .create_ephemeral(&session())
        .expect("a journal for it");
    let mut begun = engine.begin(message(options())).await.expect("begun");
    to_the_end(&mut begun.watcher).await;
    // The turn's task records after it has told the end.
    seen.recorded.notified().await;
    let all: Vec<_> = seen.turns().iter().map(|turn| turn.durability).collect();
    assert_eq!(all, [Durability::Ephemeral]);
    let [record] = &seen.records()[..] else {
        panic!("one record");
    };
    let (turn, call) = record.id.split_once('.').expect("a turn and its call");
    assert_eq!(turn, begun.turn.as_str());
    assert!(call.ends_with(".1.1"), "{call}");
}

#[tokio::test]
async fn an_observer_gets_each_stored_record() {
    let journal = Arc::new(MemoryJournal::default());
    let (_model, seen, engine) = observed(&journal, &[]);
    let stored = record("one", jackfield_domain::time::WallTime::from_millis(5));
    engine.record_spending(stored.clone());
    engine.flush_receipts().await;
    assert_eq!(seen.records(), [stored]);
}
