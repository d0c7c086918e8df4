//! Recovering many turns: what waits keeps nobody out, and what a client asks for goes first.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::fact::TurnEnd;
use jackfield_domain::ids::{DeliveryId, SessionId, ToolboxId, TurnId};
use jackfield_domain::message::Message;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::{ModelRequest, ToolRun};
use jackfield_domain::setup::Opening;
use jackfield_domain::tool::ToolSpec;
use jackfield_domain::wait::{CancelCause, DeliveryBody};
use jackfield_engine::{
    DeliveryOutcome, Disconnect, DriveOutcome, Engine, Keeper, KeeperOptions, SendMessage,
};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_ports::journal::Journal;
use jackfield_ports::toolbox::{ToolEnd, ToolError, ToolEvents, Toolbox};
use jackfield_store_memory::MemoryJournal;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::fixture::{OneTool, Paused, message, options, owner};
use crate::keeping::{let_go, named};

/// A model that answers when the test lets it, and keeps the messages that it was asked with.
#[derive(Clone)]
struct Held {
    answers: Arc<Semaphore>,
    asked: watch::Sender<Vec<String>>,
}

impl Held {
    fn new() -> Self {
        Self {
            answers: Arc::new(Semaphore::new(0)),
            asked: watch::Sender::default(),
        }
    }

    /// The messages that it was asked with, once there are so many; or after a while, however many there are.
    async fn asked(&self, times: usize) -> Vec<String> {
        let mut asked = self.asked.subscribe();
        let many = asked.wait_for(|asked| asked.len() >= times);
        let _late = timeout(A_WHILE, many).await;
        self.asked.borrow().clone()
    }
}

#[async_trait]
impl ChatModel for Held {
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
        let message = request
            .messages
            .turn_messages()
            .first()
            .map(|said| said.to_text());
        let message = message.expect("a turn has a message");
        self.asked.send_modify(|asked| asked.push(message));
        let answer = self.answers.acquire().await;
        answer.expect("it is not closed").forget();
        let start = BlockStart::Text;
        sink.push(Delta::BlockStarted { index: 0, start }).await;
        let text = "done".into();
        sink.push(Delta::TextAppended { index: 0, text }).await;
        sink.push(Delta::BlockEnded { index: 0 }).await;
        Ok(ReplyEnd::new(FinishReason::Stop))
    }
}

/// A toolbox whose list does not come.
struct Hanging(ToolboxId);

#[async_trait]
impl Toolbox for Hanging {
    fn id(&self) -> &ToolboxId {
        &self.0
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        std::future::pending().await
    }

    async fn call(
        &self,
        _: &ToolRun,
        _: &CallContext,
        _: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        std::future::pending().await
    }
}

fn journal() -> Arc<MemoryJournal> {
    Arc::new(MemoryJournal::default())
}

fn engine(journal: &Arc<MemoryJournal>, model: &Held) -> Engine {
    Engine::builder(Arc::clone(journal) as Arc<dyn Journal>)
        .clock(Arc::new(Paused::default()))
        .model("provider", Arc::new(model.clone()))
        .build()
}

/// A message to the session of this name, which says that name.
fn to(name: &str) -> SendMessage {
    SendMessage {
        opening: Opening::UserMessage(Arc::new(Message::user(name))),
        session: named(name),
        ..message(options())
    }
}

/// Leaves these sessions as a process does that dies while their models are asked.
async fn leave(journal: &Arc<MemoryJournal>, engine: &Engine, model: &Held, names: &[String]) {
    let before = model.asked.borrow().len();
    let mut turns = JoinSet::new();
    for name in names {
        let (engine, message) = (engine.clone(), to(name));
        turns.spawn(async move { engine.send(message, &mut ()).await });
    }
    assert_eq!(
        model.asked(before + names.len()).await.len(),
        before + names.len()
    );
    turns.shutdown().await;
    for name in names {
        let_go(journal, &named(name)).await;
    }
}

/// So many sessions that were left, and a new process with them.
async fn left(turns: usize) -> (Held, Engine) {
    let (journal, before) = (journal(), Held::new());
    let names: Vec<String> = (0..turns).map(|nth| format!("s{nth:03}")).collect();
    leave(&journal, &engine(&journal, &before), &before, &names).await;
    let model = Held::new();
    let engine = engine(&journal, &model);
    (model, engine)
}

fn keep(engine: &Engine, at_once: usize) -> Keeper {
    let options = KeeperOptions {
        max_concurrent: at_once,
        ..KeeperOptions::new(options().policy)
    };
    engine.spawn_keeper(options, |_| {})
}

fn first_turn(session: &SessionId) -> TurnId {
    TurnId::derive(session, 1)
}

#[tokio::test(start_paused = true)]
async fn a_hundred_turns_are_under_way_before_any_of_them_is_answered() {
    let (model, engine) = left(100).await;
    let started = Instant::now();
    let _keeper = engine.spawn_keeper(KeeperOptions::new(options().policy), |_| {});
    assert_eq!(model.asked(100).await.len(), 100);
    // The clock moves on only where everything waits.
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn no_more_are_under_way_than_may_be_and_each_that_ends_lets_the_next_one_in() {
    let (model, engine) = left(30).await;
    let _keeper = keep(&engine, 10);
    for ended in 0..=20 {
        // One more than there may be is not asked for, however long that is waited for.
        assert_eq!(model.asked(11 + ended).await.len(), 10 + ended);
        model.answers.add_permits(1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_goes_first_that_a_client_asks_for() {
    let (model, engine) = left(10).await;
    let _keeper = keep(&engine, 2);
    assert_eq!(model.asked(3).await, ["s000", "s001"]);
    let session = named("s009");
    let turn = first_turn(&session);
    let attended = engine.subscribe(&session, &turn, 0, Disconnect::Finish);
    let _attended = attended.await.expect("the turn is there");
    // It is not counted with those that are merely due.
    assert_eq!(model.asked(4).await, ["s000", "s001", "s009"]);
    model.answers.add_permits(2);
    assert_eq!(model.asked(5).await, ["s000", "s001", "s009", "s002"]);
}

#[tokio::test(start_paused = true)]
async fn a_new_message_does_not_wait_for_what_is_recovered() {
    let (model, engine) = left(10).await;
    let _keeper = keep(&engine, 2);
    assert_eq!(model.asked(3).await.len(), 2);
    let _begun = engine.begin(to("new")).await.expect("it begins");
    assert_eq!(model.asked(4).await, ["s000", "s001", "new"]);
    assert_eq!(
        (engine.turns_in_flight(), engine.keeper_turns_in_flight()),
        (3, 2)
    );
}

#[tokio::test(start_paused = true)]
async fn a_cancel_does_not_wait_for_what_is_recovered() {
    let (model, engine) = left(10).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    let options = KeeperOptions {
        max_concurrent: 2,
        ..KeeperOptions::new(options().policy)
    };
    let _keeper = engine.spawn_keeper(options, move |kept| {
        let _gone = tell.send(kept);
    });
    assert_eq!(model.asked(3).await, ["s000", "s001"]);
    let session = named("s009");
    let turn = first_turn(&session);
    let body = DeliveryBody::Cancel {
        cause: CancelCause::Asked,
        turn: turn.clone(),
    };
    let id = DeliveryId::parse("cancel").expect("a valid id");
    let delivered = engine.deliver(&session, id, "somebody", body).await;
    assert_eq!(delivered.expect("it is kept"), DeliveryOutcome::Accepted);
    let asked = engine.prioritize_resume(&session, &turn).await;
    asked.expect("the session is there");
    let kept = timeout(A_WHILE, told.recv()).await;
    let kept = kept.expect("it ends").expect("the keeper lives");
    assert_eq!(kept.session, session);
    let Ok(DriveOutcome::Finished(report)) = kept.outcome else {
        panic!("it goes on: {kept:?}");
    };
    assert_eq!(report.end, TurnEnd::Cancelled(CancelCause::Asked));
    assert_eq!(model.asked(3).await, ["s000", "s001"]);
}

#[tokio::test(start_paused = true)]
async fn turns_whose_tools_do_not_come_keep_the_others_out_no_longer_than_a_moment() {
    let (journal, before) = (journal(), Held::new());
    let tool = OneTool::new(&crate::fixture::Log::default(), |_| std::future::pending());
    let id = tool.id.clone();
    let with_tools = Engine::builder(Arc::clone(&journal) as Arc<dyn Journal>)
        .clock(Arc::new(Paused::default()))
        .model("provider", Arc::new(before.clone()))
        .toolbox(Arc::new(tool))
        .build();
    let names: Vec<String> = (0..20).map(|nth| format!("s{nth:03}")).collect();
    leave(&journal, &with_tools, &before, &names).await;
    leave(
        &journal,
        &engine(&journal, &before),
        &before,
        &["t".to_owned()],
    )
    .await;

    let model = Held::new();
    let engine = Engine::builder(Arc::clone(&journal) as Arc<dyn Journal>)
        .clock(Arc::new(Paused::default()))
        .model("provider", Arc::new(model.clone()))
        .toolbox(Arc::new(Hanging(id)))
        .build();
    let _keeper = engine.spawn_keeper(KeeperOptions::new(options().policy), |_| {});
    assert_eq!(model.asked(1).await, ["t"]);
}

/// How long a test waits for what has to come, or must not; no time of the machine.
const A_WHILE: Duration = Duration::from_secs(10);
