//! Models that think for long: a server that says that it is alive is waited for, within limits that have names.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::fact::TurnEnd;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::replay::Replay;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::ModelRequest;
use jackfield_engine::Engine;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_ports::journal::Journal;
use jackfield_store_memory::MemoryJournal;
use tokio::time::sleep;

use crate::fixture::{Paused, message, options, owner, session};

/// A model that says something at first, or not, and thinks for so many half minutes before the rest.
struct Thinking {
    asked: AtomicUsize,
    begins: bool,
    half_minutes: usize,
    signs: bool,
}

#[async_trait]
impl ChatModel for Thinking {
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
        self.asked.fetch_add(1, Ordering::Relaxed);
        let begun = Delta::BlockStarted {
            index: 0,
            start: BlockStart::Text,
        };
        let said = |text: &str| Delta::TextAppended {
            index: 0,
            text: text.into(),
        };
        if self.begins {
            sink.push(begun.clone()).await;
            sink.push(said("Well, ")).await;
        }
        for _ in 0..self.half_minutes {
            sleep(Duration::from_secs(30)).await;
            if self.signs {
                sink.alive().await;
            }
        }
        if !self.begins {
            sink.push(begun).await;
        }
        sink.push(said("it is done.")).await;
        sink.push(Delta::BlockEnded { index: 0 }).await;
        Ok(ReplyEnd::new(FinishReason::Stop))
    }
}

/// How the turn ends, and how often the model was asked. Its record replays as it is.
async fn turn(begins: bool, signs: bool, half_minutes: usize) -> (Result<(), String>, usize) {
    let clock = Arc::new(Paused::default());
    let now = Arc::clone(&clock);
    let journal = Arc::new(MemoryJournal::with_clock(move || now.wall()));
    let model = Arc::new(Thinking {
        asked: AtomicUsize::new(0),
        begins,
        half_minutes,
        signs,
    });
    let engine = Engine::builder(Arc::clone(&journal) as Arc<dyn Journal>)
        .clock(clock)
        .model("provider", Arc::clone(&model) as Arc<dyn ChatModel>)
        .build();
    let mut options = options();
    options.limits.model_retries = 0;
    let report = engine.send(message(options), &mut ()).await;
    let ended = match report.expect("a report").end {
        TurnEnd::Answered(_) => Ok(()),
        TurnEnd::Failed(why) | TurnEnd::Interrupted(why) => Err(why.message),
        end @ (TurnEnd::Cancelled(_) | TurnEnd::ClientExpired | TurnEnd::Limited { .. }) => {
            panic!("{end:?}")
        }
    };
    let loaded = journal.load(&session()).await.expect("a session");
    let mut replay = Replay::new(session(), &loaded.deliveries);
    for step in &loaded.steps {
        let replayed = replay.step(step);
        assert!(replayed.is_same(), "{replayed:?}");
    }
    (ended, model.asked.load(Ordering::Relaxed))
}

#[tokio::test(start_paused = true)]
async fn a_model_whose_server_is_alive_may_think_for_long() {
    for begins in [false, true] {
        assert_eq!(turn(begins, true, 40).await, (Ok(()), 1), "{begins}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_is_given_up_by_the_limit_that_it_reaches() {
    for (begins, signs, why) in [
        (false, false, "the model said nothing for 120 s"),
        (true, false, "the model said nothing for 120 s"),
        (
            false,
            true,
            "the model did not begin its reply within 1800 s (`first_byte`)",
        ),
        (
            true,
            true,
            "the model did not go on with its reply for 1800 s",
        ),
    ] {
        let (ended, asked) = turn(begins, signs, 1_000).await;
        assert_eq!((ended, asked), (Err(why.to_owned()), 1));
    }
}
