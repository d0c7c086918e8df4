//! A turn with two calls, as facts, for the clauses about lists and due sessions.
#![expect(clippy::expect_used, reason = "a clause ends where its journal fails")]

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::block::{Block, CalledName, Content, RanBy, ToolCall};
use jackfield_domain::caller::Caller;
use jackfield_domain::fact::{CallEnd, Envelope, Fact, ModelCallEnd, ToolUse, TurnEnd};
use jackfield_domain::ids::{ModelAttempt, SessionId, ToolAttempt, ToolCallId, TurnId, WaitId};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_domain::setup::{Opening, Setup};
use jackfield_domain::time::WallTime;
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_domain::wait::{JobHandle, Question, Wait, WaitEnd, WaitKind};
use jackfield_ports::journal::sessions::{SessionQuery, SessionRow, WaitQuery};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;

use serde_json::json;

use super::JournalHarness;
use super::scene::{DEADLINE, JournalScene, step};
use crate::arb;

/// The id of the first turn of a session.
pub(super) fn turn(session: &SessionId) -> TurnId {
    TurnId::derive(session, 1)
}

/// The opening of a session's nth turn, in which two calls may run at once.
pub(super) fn turn_opened(session: &SessionId, ordinal: u32, text: &str) -> Fact {
    turn_opened_with(session, ordinal, text, None)
}

/// The opening of a first turn with this caller.
pub(super) fn turn_opened_for(session: &SessionId, ordinal: u32, caller: Caller) -> Fact {
    turn_opened_with(session, ordinal, "Hi", Some(Arc::new(caller)))
}

fn turn_opened_with(
    session: &SessionId,
    ordinal: u32,
    text: &str,
    caller: Option<Arc<Caller>>,
) -> Fact {
    let mut runner = TestRunner::deterministic();
    let mut setup: Setup = arb::setup().new_tree(&mut runner).expect("one").current();
    setup.caller = caller;
    setup.limits.parallel_calls = 2;
    Fact::TurnOpened {
        opening: Opening::UserMessage(Arc::new(Message::user(text))),
        ordinal,
        setup: Arc::new(setup),
        turn: TurnId::derive(session, ordinal),
    }
}

pub(super) fn model_call_started() -> Fact {
    Fact::ModelCallStarted {
        active: Duration::ZERO,
        attempt: FIRST,
        tools: ToolUse::Allowed,
        choice: None,
        reserved: Vec::new(),
        target: 0,
    }
}

/// A model call that failed, and is retried at this time.
pub(super) fn model_call_retried_at(retry_at: WallTime) -> Fact {
    Fact::ModelCallEnded {
        attempt: FIRST,
        partial: None,
        retry_at: Some(retry_at),
        usage: None,
        why: ModelCallEnd::Lost,
        at_once: false,
        first_token: None,
        settled: Vec::new(),
        withdrawn: false,
    }
}

/// A reply with these calls.
pub(super) fn reply_received(text: &str, calls: &[&str]) -> Fact {
    let mut blocks = vec![Block::text(text)];
    blocks.extend(calls.iter().map(|id| {
        Block::from(Content::ToolCall(Arc::new(ToolCall {
            id: call(id),
            input: ToolInput::Json(JsonInput::parse("")),
            name: CalledName::new("tool"),
            ran_by: RanBy::Engine,
            upstream: None,
        })))
    }));
    Fact::ReplyReceived {
        attempt: FIRST,
        reply: Arc::new(Reply {
            end: ReplyEnd::new(FinishReason::ToolCalls),
            message: Arc::new(Message::new(Role::Assistant, blocks)),
        }),
        first_token: None,
        settled: Vec::new(),
    }
}

pub(super) fn call_started(id: &str) -> Fact {
    Fact::CallStarted {
        approval: None,
        attempt: ToolAttempt {
            call: call(id),
            attempt: 1,
        },
        edited: None,
        may_repeat: false,
        repeat_until: None,
        time_limit: Duration::from_secs(30),
    }
}

pub(super) fn call_closed(id: &str) -> Fact {
    Fact::CallClosed {
        call: call(id),
        end: CallEnd::Ran,
        result: Arc::new(ToolResult::text("done")),
        shown: None,
        cached: None,
        revealed: None,
    }
}

/// A wait about a call, open until the deadline; its id is that of the call.
pub(super) fn approval_opened(id: &str, deadline: WallTime) -> Fact {
    Fact::WaitOpened {
        wait: question(id, deadline, WaitKind::Approval { subject: None }),
    }
}

/// A client tool call without a result; its wait has the id of the call.
pub(super) fn client_wait_opened(id: &str) -> Fact {
    Fact::WaitOpened {
        wait: question(id, DEADLINE, WaitKind::ClientResult),
    }
}

/// A tool's question during a call, which keeps its slot.
pub(super) fn elicitation_opened(id: &str) -> Fact {
    let question_of_tool = Question {
        message: "really?".into(),
        schema: None,
        sampling: None,
        url: None,
    };
    let kind = WaitKind::Elicitation {
        handle: JobHandle(Arc::new(json!(1))),
        question: question_of_tool,
    };
    Fact::WaitOpened {
        wait: question(id, DEADLINE, kind),
    }
}

/// The wait about the call expired.
pub(super) fn wait_expired(id: &str) -> Fact {
    Fact::WaitClosed {
        end: WaitEnd::Expired,
        subject: None,
        wait: WaitId::parse(id).expect("a valid id"),
    }
}

pub(super) fn turn_ended() -> Fact {
    Fact::TurnEnded {
        end: TurnEnd::Answered(FinishReason::Stop),
        view: None,
    }
}

pub(super) fn turn_resumed(nth: u32) -> Fact {
    Fact::TurnResumed {
        nth,
        restrictions: None,
    }
}

fn question(id: &str, deadline: WallTime, kind: WaitKind) -> Wait {
    Wait {
        call: call(id),
        deadline,
        id: WaitId::parse(id).expect("a valid id"),
        kind,
    }
}

fn call(id: &str) -> ToolCallId {
    ToolCallId::parse(id).expect("a valid id")
}

impl<H: JournalHarness> JournalScene<H> {
    /// A turn with a reply of these calls, and then these facts; two steps in one append.
    pub(super) async fn with_calls(calls: &[&str], then: Vec<Fact>) -> Self {
        let scene = Self::begin().await;
        scene.commit_calls(calls, then).await;
        scene
    }

    pub(super) async fn commit_calls(&self, calls: &[&str], then: Vec<Fact>) {
        let opened = vec![
            turn_opened(&self.session, 1, "Do it."),
            model_call_started(),
        ];
        let mut facts = vec![reply_received("I will.", calls)];
        facts.extend(then);
        self.commit(0, vec![step(0, opened), step(1, facts)]).await;
    }

    /// Another session of the same journal, owned and empty.
    pub(super) async fn other_session(&self, name: &str) -> OtherSession {
        let session = super::scene::session(name);
        let epoch = self.journal.own(&session).await.expect("a lease").epoch;
        OtherSession { epoch, session }
    }

    /// Appends to another session, which must succeed.
    pub(super) async fn commit_to(
        &self,
        other: &OtherSession,
        position: u64,
        steps: Vec<Envelope>,
    ) {
        let append = jackfield_ports::journal::Append {
            epoch: other.epoch,
            session: other.session.clone(),
            ..self.append(position, steps)
        };
        self.expect(&append, None).await;
    }

    pub(super) async fn release(&self) {
        let released = self.journal.release(&self.session, self.epoch).await;
        released.expect("released");
    }

    pub(super) async fn list(&self, query: SessionQuery) -> Vec<SessionRow> {
        self.journal.sessions(&query).await.expect("a list")
    }

    /// The row of the scene's session, if there is one.
    pub(super) async fn row(&self) -> Option<SessionRow> {
        let rows = self.list(all()).await;
        rows.into_iter().find(|row| row.session == self.session)
    }

    /// The ids of waits, in their order.
    pub(super) async fn waits(&self, query: WaitQuery) -> Vec<String> {
        let found = self.journal.waits(&query).await.expect("a list");
        let ids = found.iter().map(|listed| listed.row.wait.id.to_string());
        ids.collect()
    }

    /// The sessions that are due at this instant, and when to ask again.
    pub(super) async fn due(&self, now: WallTime) -> (Vec<String>, Option<WallTime>) {
        let due = self.journal.due(now, 100).await.expect("a list");
        let ids = due.sessions.iter().map(ToString::to_string);
        (ids.collect(), due.next)
    }
}

/// Another session of the journal.
pub(super) struct OtherSession {
    pub(super) epoch: jackfield_ports::journal::Epoch,
    pub(super) session: SessionId,
}

/// Every session.
pub(super) fn all() -> SessionQuery {
    SessionQuery {
        limit: 100,
        ..SessionQuery::default()
    }
}

const FIRST: ModelAttempt = ModelAttempt {
    round: 1,
    attempt: 1,
};
