//! Compaction: a summary takes the place of the beginning, by the share of the window and when a request is too
//! long, and whatever happens meanwhile.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::compaction::{CompactionPolicy, WindowList};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::fact::{Compaction, Fact, ModelCallEnd, TurnEnd};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::ids::DeliveryId;
use jackfield_domain::listing::ListedModel;
use jackfield_domain::message::Message;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::replay::Replay;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::setup::Opening;
use jackfield_domain::spending;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::usage::Usage;
use jackfield_domain::wait::{CancelCause, DeliveryBody};
use jackfield_engine::{
    CompactSession, CompactedSession, DriveOutcome, Engine, EngineError, ResumeSession,
    SendMessage, TurnOptions,
};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_ports::journal::Journal;
use jackfield_store_memory::MemoryJournal;
use tokio::sync::Notify;

use crate::fixture::{Paused, message, options, owner, session};

/// What a model does with the request for a summary.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Summary {
    Empty,
    /// It says nothing, ever.
    Hanging,
    Overloaded,
    Written,
}

/// A model that answers with one word, and counts four bytes of the conversation as a token.
struct Talker {
    /// The texts of each request, with `S:` before those of a request for a summary.
    asked: Mutex<Vec<Vec<String>>>,
    /// It was asked for a summary.
    is_asked: Notify,
    /// The number of bytes above which a request is too long.
    limit: usize,
    /// The window that it lists.
    listed: Option<u64>,
    /// How often it listed its models.
    lists: AtomicUsize,
    summary: Summary,
}

#[async_trait]
impl ChatModel for Talker {
    fn capabilities(&self) -> Capabilities {
        Capabilities::NONE
    }

    async fn models(&self) -> Result<Vec<ListedModel>, ModelError> {
        self.lists.fetch_add(1, Ordering::SeqCst);
        let mut model = ListedModel::new("model");
        model.context = self.listed;
        Ok(vec![model])
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
        let is_summary = request.system.render().contains("summarize");
        let texts: Vec<String> = request.messages.iter().map(|one| one.to_text()).collect();
        let size: usize = texts.iter().map(String::len).sum();
        let mark = if is_summary { "S:" } else { "" };
        let asked = texts.iter().map(|text| format!("{mark}{text}")).collect();
        self.asked
            .lock()
            .expect("no panic under the lock")
            .push(asked);
        let failed = |kind| {
            let phase = Phase::BeforeFirstDelta;
            Err(ModelFailure::new(kind, phase, "it does not go").into())
        };
        let text = match (is_summary, self.summary) {
            (true, Summary::Hanging) => {
                self.is_asked.notify_one();
                std::future::pending().await
            }
            (true, Summary::Overloaded) => return failed(ModelFailureKind::Overloaded),
            (true, Summary::Empty) => " ",
            (true, Summary::Written) => "They said hello.",
            (false, _) if size > self.limit => {
                return failed(ModelFailureKind::ContextTooLong {
                    limit: None,
                    requested: None,
                });
            }
            (false, _) => "yes",
        };
        let start = BlockStart::Text;
        sink.push(Delta::BlockStarted { index: 0, start }).await;
        let text = text.into();
        sink.push(Delta::TextAppended { index: 0, text }).await;
        sink.push(Delta::BlockEnded { index: 0 }).await;
        let mut end = ReplyEnd::new(FinishReason::Stop);
        end.usage = Some(Usage {
            input: size as u64 / 4,
            output: 1,
            ..Usage::default()
        });
        Ok(end)
    }
}

struct Bench {
    engine: Engine,
    journal: Arc<MemoryJournal>,
    model: Arc<Talker>,
    options: TurnOptions,
}

impl Bench {
    /// A model with this window, and one that refuses more than so many bytes.
    fn new(summary: Summary, window: Option<u64>, limit: usize) -> Self {
        Self::listing(None, summary, window, limit)
    }

    /// The same with a model that lists this window.
    fn listing(listed: Option<u64>, summary: Summary, window: Option<u64>, limit: usize) -> Self {
        let clock = Arc::new(Paused::default());
        let now = Arc::clone(&clock);
        let journal = Arc::new(MemoryJournal::with_clock(move || now.wall()));
        let model = Arc::new(Talker {
            asked: Mutex::default(),
            is_asked: Notify::new(),
            limit,
            listed,
            lists: AtomicUsize::new(0),
            summary,
        });
        let engine = Engine::builder(Arc::clone(&journal) as Arc<dyn Journal>)
            .clock(clock)
            .model("provider", Arc::clone(&model) as Arc<dyn ChatModel>)
            .build();
        let mut options = options();
        options.compaction = Some(CompactionPolicy { at_percent: 80 });
        let mut windows = WindowList::default();
        if let Some(window) = window {
            windows.set(options.model.clone(), window);
        }
        options.windows = Arc::new(windows);
        Self {
            engine,
            journal,
            model,
            options,
        }
    }

    fn message(&self, text: &str) -> SendMessage {
        SendMessage {
            opening: Opening::UserMessage(Arc::new(Message::user(text))),
            ..message(self.options.clone())
        }
    }

    async fn say(&self, text: &str) -> TurnEnd {
        let report = self.engine.send(self.message(text), &mut ()).await;
        report.expect("a report").end
    }

    /// Says something long, and then something short.
    async fn say_long_then_short(&self) -> TurnEnd {
        assert_eq!(self.say(&long()).await, answered());
        self.say("and now?").await
    }

    async fn facts(&self) -> Vec<Fact> {
        let loaded = self.journal.load(&session()).await.expect("a session");
        let steps = loaded.steps.into_iter();
        steps.flat_map(|step| step.facts).collect()
    }

    async fn compactions(&self) -> Vec<Compaction> {
        let facts = self.facts().await.into_iter();
        let compactions = facts.filter_map(|fact| match fact {
            Fact::Compacted(compaction) => Some(Compaction::clone(&compaction)),
            _ => None,
        });
        compactions.collect()
    }

    /// The texts of the last request.
    fn last_asked(&self) -> Vec<String> {
        let asked = self.model.asked.lock().expect("no panic under the lock");
        asked.last().cloned().unwrap_or_default()
    }

    fn times_asked(&self) -> usize {
        let asked = self.model.asked.lock().expect("no panic under the lock");
        asked.len()
    }
}

fn answered() -> TurnEnd {
    TurnEnd::Answered(FinishReason::Stop)
}

/// A message of a thousand tokens.
fn long() -> String {
    "hello... ".repeat(444)
}

/// The request after a compaction: the summary, and the message that stays.
fn is_compacted(asked: &[String]) -> bool {
    matches!(asked, [summary, last] if summary.ends_with("They said hello.") && last == "and now?")
}

#[tokio::test(start_paused = true)]
async fn at_the_share_of_the_window_a_summary_takes_the_place_of_the_beginning() {
    let bench = Bench::new(Summary::Written, Some(1200), usize::MAX);
    assert_eq!(bench.say_long_then_short().await, answered());
    assert!(
        is_compacted(&bench.last_asked()),
        "{:?}",
        bench.last_asked()
    );
    let compactions = bench.compactions().await;
    let [compaction] = &compactions[..] else {
        panic!("{compactions:?}");
    };
    assert_eq!(compaction.replaced, 2);
    assert_eq!(compaction.failure, None);
    // Its usage is that of the turn, and the history is whole in the journal.
    let loaded = bench.journal.load(&session()).await.expect("a session");
    let spent = spending::by_turn(&loaded.steps);
    let used = spent[1].replies.iter().map(|reply| reply.usage);
    assert_eq!(used.len(), 2, "{spent:?}");
    let whole = bench.engine.fork_places(&session()).await.expect("places");
    let first = bench.engine.fork(&session(), &whole[0], &fork()).await;
    first.expect("a fork");
    let loaded = bench.journal.load(&fork()).await.expect("a session");
    let Fact::SessionForked { messages, .. } = &loaded.steps[0].facts[0] else {
        panic!("{loaded:?}");
    };
    assert_eq!(messages[0].to_text(), long());
    // The next turn goes on from the summary, without another one.
    assert_eq!(bench.say("and then?").await, answered());
    assert_eq!(bench.compactions().await.len(), 1);
    assert_eq!(bench.last_asked().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn below_the_share_or_without_a_window_nothing_is_compacted() {
    for window in [Some(2000), None] {
        let bench = Bench::new(Summary::Written, window, usize::MAX);
        assert_eq!(bench.say_long_then_short().await, answered());
        assert_eq!(bench.compactions().await, []);
    }
}

#[tokio::test(start_paused = true)]
async fn the_window_that_the_provider_lists_is_asked_for_once_a_conversation_is_long() {
    let bench = Bench::listing(Some(6000), Summary::Written, None, usize::MAX);
    assert_eq!(bench.say("hello").await, answered());
    assert_eq!(bench.say("again").await, answered());
    assert_eq!(bench.model.lists.load(Ordering::SeqCst), 0);
    assert_eq!(bench.say(&"word ".repeat(4000)).await, answered());
    assert_eq!(bench.say("and now?").await, answered());
    assert_eq!(bench.compactions().await.len(), 1);
    assert_eq!(bench.say("and then?").await, answered());
    assert_eq!(bench.model.lists.load(Ordering::SeqCst), 1);
    // Without a window in the list, nothing is compacted, and the list is asked for once.
    let bench = Bench::listing(None, Summary::Written, None, usize::MAX);
    for text in ["hello", &"word ".repeat(4000), "and now?", "and then?"] {
        assert_eq!(bench.say(text).await, answered());
    }
    assert_eq!(bench.compactions().await, []);
    assert_eq!(bench.model.lists.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_too_long_is_made_again_with_a_summary_once() {
    let bench = Bench::new(Summary::Written, None, 4000);
    assert_eq!(bench.say_long_then_short().await, answered());
    assert!(
        is_compacted(&bench.last_asked()),
        "{:?}",
        bench.last_asked()
    );
    // The message, the request that was too long, the summary and the second try.
    assert_eq!(bench.times_asked(), 4);
    assert_eq!(bench.compactions().await.len(), 1);
    // What stays is too long by itself: there is one attempt, and the turn says why it failed.
    let end = bench.say(&"y".repeat(5000)).await;
    let TurnEnd::Failed(failure) = end else {
        panic!("{end:?}");
    };
    assert!(matches!(
        failure.kind,
        ModelFailureKind::ContextTooLong { .. }
    ));
}

#[tokio::test(start_paused = true)]
async fn without_a_summary_the_turn_goes_on_with_the_whole_conversation() {
    for summary in [Summary::Empty, Summary::Overloaded, Summary::Hanging] {
        let bench = Bench::new(summary, Some(1200), usize::MAX);
        assert_eq!(bench.say_long_then_short().await, answered(), "{summary:?}");
        let asked = bench.last_asked();
        assert_eq!(asked.len(), 3, "{asked:?}");
        let compactions = bench.compactions().await;
        let [compaction] = &compactions[..] else {
            panic!("{compactions:?}");
        };
        assert_eq!(compaction.replaced, 0);
        let Some(ModelCallEnd::Failed(failure)) = &compaction.failure else {
            panic!("{compaction:?}");
        };
        let kind = match summary {
            Summary::Empty | Summary::Written => ModelFailureKind::UnusableReply,
            Summary::Hanging => ModelFailureKind::Timeout,
            Summary::Overloaded => ModelFailureKind::Overloaded,
        };
        assert_eq!(failure.kind, kind);
        let is_paid = summary != Summary::Overloaded;
        assert_eq!(compaction.usage.is_some(), is_paid, "{summary:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_while_the_summary_is_written_ends_the_turn() {
    let bench = Bench::new(Summary::Hanging, Some(1200), usize::MAX);
    assert_eq!(bench.say(&long()).await, answered());
    let cancel = async {
        bench.model.is_asked.notified().await;
        let id = DeliveryId::parse("cancel").expect("an id");
        let body = DeliveryBody::Cancel {
            cause: CancelCause::Asked,
            turn: jackfield_domain::ids::TurnId::derive(&session(), 2),
        };
        let delivered = bench.engine.deliver(&session(), id, "a test", body).await;
        delivered.expect("it is delivered");
    };
    let (end, ()) = tokio::join!(bench.say("and now?"), cancel);
    assert_eq!(end, TurnEnd::Cancelled(CancelCause::Asked));
    let compactions = bench.compactions().await;
    assert_eq!(compactions[0].failure, Some(ModelCallEnd::Cancelled));
}

#[tokio::test(start_paused = true)]
async fn after_a_crash_while_the_summary_is_written_the_turn_is_recovered() {
    let bench = Bench::new(Summary::Hanging, Some(1200), usize::MAX);
    assert_eq!(bench.say(&long()).await, answered());
    tokio::select! {
        end = bench.say("and now?") => panic!("it ended: {end:?}"),
        () = bench.model.is_asked.notified() => {}
    }
    assert_eq!(bench.compactions().await, []);
    let before = bench.times_asked();
    // The summary is asked for again, and does not come in time again.
    let resume = ResumeSession::new(session(), options().policy);
    let mut nobody = ();
    let resumed = bench.engine.resume(resume, &mut nobody);
    let driven = tokio::time::timeout(Duration::from_secs(600), resumed).await;
    let Ok(Ok(DriveOutcome::Finished(report))) = driven else {
        panic!("{driven:?}");
    };
    assert_eq!(report.end, answered());
    assert_eq!(bench.times_asked(), before + 2);
    assert_eq!(bench.compactions().await.len(), 1);
}

/// Compacts the session into the fork.
async fn compact(bench: &Bench) -> Result<CompactedSession, EngineError> {
    let request = CompactSession {
        from: session(),
        options: bench.options.clone(),
        principal: "local".into(),
        to: fork(),
    };
    bench.engine.compact(request).await
}

/// The usage of the spending records.
async fn recorded(bench: &Bench) -> Vec<Usage> {
    bench.engine.flush_receipts().await;
    let mut records = Vec::new();
    let read = |record: &SpendingRecord| records.push(record.usage);
    let read = bench.engine.read_spending(None, read).await;
    assert_eq!(read.expect("a journal"), 0);
    records
}

#[tokio::test(start_paused = true)]
async fn by_hand_a_fork_begins_with_the_summary_and_the_session_stays() {
    let bench = Bench::new(Summary::Written, None, usize::MAX);
    let nothing = compact(&bench).await;
    assert!(
        matches!(nothing, Err(EngineError::Journal(_))),
        "{nothing:?}"
    );
    assert_eq!(bench.say(&long()).await, answered());
    let nothing = compact(&bench).await;
    let is_nothing = matches!(nothing, Err(EngineError::NothingToCompact { .. }));
    assert!(is_nothing, "{nothing:?}");
    assert_eq!(bench.say("hm").await, answered());
    let before = bench.facts().await;
    let compacted = compact(&bench).await.expect("a fork");
    assert_eq!(compacted.compaction.replaced, 2);
    assert_eq!(compacted.cost, None);
    assert_eq!(
        recorded(&bench).await,
        [compacted.compaction.usage.expect("a usage")]
    );
    assert_eq!(bench.facts().await, before);
    let again = compact(&bench).await;
    assert!(
        matches!(again, Err(EngineError::Exists { .. })),
        "{again:?}"
    );
    // The whole history is in the fork; its new turns follow the summary.
    let loaded = bench.journal.load(&fork()).await.expect("a session");
    let Fact::SessionForked { messages, .. } = &loaded.steps[0].facts[0] else {
        panic!("{loaded:?}");
    };
    assert_eq!(messages.len(), 4);
    let replayed = Replay::new(fork(), &[]).step(&loaded.steps[0]);
    assert!(replayed.is_same(), "{replayed:?}");
    let mut message = bench.message("and now?");
    message.session = fork();
    let report = bench.engine.send(message, &mut ()).await.expect("a report");
    assert_eq!(report.end, answered());
    let asked = bench.last_asked();
    assert!(asked[0].ends_with("They said hello."), "{asked:?}");
    assert_eq!(asked[1..], ["hm", "yes", "and now?"]);
}

#[tokio::test(start_paused = true)]
async fn by_hand_no_fork_begins_without_a_summary() {
    for (summary, is_paid) in [
        (Summary::Empty, true),
        (Summary::Hanging, true),
        (Summary::Overloaded, false),
    ] {
        let bench = Bench::new(summary, None, usize::MAX);
        assert_eq!(bench.say_long_then_short().await, answered());
        let failed = compact(&bench).await;
        let is_failure = matches!(failed, Err(EngineError::NotCompacted { .. }));
        assert!(is_failure, "{failed:?}");
        assert!(bench.journal.load(&fork()).await.is_err());
        assert_eq!(!recorded(&bench).await.is_empty(), is_paid, "{summary:?}");
    }
}

fn fork() -> jackfield_domain::ids::SessionId {
    jackfield_domain::ids::SessionId::parse("fork").expect("an id")
}
