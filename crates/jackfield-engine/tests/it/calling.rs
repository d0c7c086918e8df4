//! Calling the model: part of the turn's own task, which it neither takes along nor floods.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::fact::TurnEnd;
use jackfield_domain::failure::ModelFailureKind;
use jackfield_domain::ids::{DeliveryId, TurnId};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::wait::{CancelCause, DeliveryBody};
use jackfield_engine::{Engine, EngineError, TurnReport};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_ports::journal::Journal as _;
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{AppendFault, FaultyJournal, Gate};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::fixture::{Paused, message, options, owner, session};

/// A model that says a word many times, and does not wait for anything in between.
struct Eager {
    /// Panics after so many words.
    crashes_after: Option<usize>,
    /// What it waits for after its first word.
    goes_on: Arc<Notify>,
    said: Arc<AtomicUsize>,
    words: usize,
}

impl Eager {
    fn saying(words: usize) -> Self {
        Self {
            crashes_after: None,
            goes_on: Arc::default(),
            said: Arc::default(),
            words,
        }
    }
}

#[async_trait]
impl ChatModel for Eager {
    fn capabilities(&self) -> Capabilities {
        Capabilities::NONE
    }

    fn state_owner(&self, model: &str) -> StateOwner {
        owner(model)
    }

    async fn reply(
        &self,
        _: &ModelRequest,
        _: &CallContext,
        sink: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelError> {
        let start = BlockStart::Text;
        sink.push(Delta::BlockStarted { index: 0, start }).await;
        for nth in 0..self.words {
            if nth == 1 {
                self.goes_on.notified().await;
            }
            assert_ne!(self.crashes_after, Some(nth), "the adapter's own fault");
            let text = "a ".into();
            sink.push(Delta::TextAppended { index: 0, text }).await;
            self.said.fetch_add(1, Ordering::SeqCst);
        }
        sink.push(Delta::BlockEnded { index: 0 }).await;
        Ok(ReplyEnd::new(FinishReason::Stop))
    }
}

/// A turn of this model, in a task of its own.
fn sent(
    model: Eager,
    journal: &FaultyJournal,
) -> (Engine, JoinHandle<Result<TurnReport, EngineError>>) {
    let engine = Engine::builder(Arc::new(journal.clone()))
        .clock(Arc::new(Paused::default()))
        .model("provider", Arc::new(model))
        .build();
    let sending = engine.clone();
    let sent = tokio::spawn(async move { sending.send(message(options()), &mut ()).await });
    (engine, sent)
}

fn journal() -> FaultyJournal {
    FaultyJournal::new(Arc::new(MemoryJournal::default()))
}

#[tokio::test(start_paused = true)]
async fn an_adapter_that_crashes_fails_its_call_and_not_its_turns_task() {
    let mut model = Eager::saying(9);
    model.crashes_after = Some(4);
    model.goes_on.notify_one();
    let (engine, sent) = sent(model, &journal());
    let report = sent.await.expect("the task lives").expect("a report");
    let TurnEnd::Interrupted(failure) = &report.end else {
        panic!("{:?}", report.end);
    };
    assert_eq!(failure.kind, ModelFailureKind::ProtocolViolation);
    assert_eq!(&*failure.message, "the adapter crashed");
    let again = engine.send(message(options()), &mut ()).await;
    again.expect("the session is let go of");
}

#[tokio::test(start_paused = true)]
async fn a_reply_of_many_pieces_at_once_is_whole() {
    let model = Eager::saying(2000);
    model.goes_on.notify_one();
    let (_engine, sent) = sent(model, &journal());
    let report = sent.await.expect("no panic").expect("a report");
    assert_eq!(report.answer().len(), 2 * 2000);
}

#[tokio::test(start_paused = true)]
async fn a_model_goes_on_while_something_is_committed_as_far_as_there_is_room() {
    let (journal, held) = (journal(), Gate::new());
    let model = Eager::saying(5000);
    let (goes_on, said) = (Arc::clone(&model.goes_on), Arc::clone(&model.said));
    let (engine, sent) = sent(model, &journal);
    // All that could be said by then was.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(said.load(Ordering::SeqCst), 1);
    journal.push_fault(AppendFault::Hold(held.clone()));
    let body = DeliveryBody::Cancel {
        cause: CancelCause::Asked,
        turn: TurnId::derive(&session(), 1),
    };
    let id = DeliveryId::parse("stop").expect("a valid id");
    let told = engine.deliver(&session(), id, "a person", body).await;
    told.expect("delivered");
    held.reached().await;
    goes_on.notify_one();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let taken = said.load(Ordering::SeqCst);
    assert!((200..=300).contains(&taken), "{taken} pieces wait");
    held.open();
    let report = sent.await.expect("no panic").expect("a report");
    assert_eq!(report.end, TurnEnd::Cancelled(CancelCause::Asked));
    let loaded = journal.load(&session()).await;
    assert!(loaded.is_ok(), "it is let go of: {loaded:?}");
}
