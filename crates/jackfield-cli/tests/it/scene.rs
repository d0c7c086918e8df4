//! A turn by hand: the news of it, and its report.

use std::sync::Arc;
use std::time::Duration;

use jackfield_cli::render::RenderEvent;
use jackfield_domain::block::{CalledName, RanBy, ToolCall};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::fact::{CallEnd, Fact, ModelCallEnd, ToolUse, TurnEnd};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::ids::{ModelAttempt, SessionId, ToolAttempt, ToolCallId, TurnId, WaitId};
use jackfield_domain::limits::{Allowance, Limits};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_domain::request::ModelRef;
use jackfield_domain::setup::{Opening, Setup};
use jackfield_domain::time::{MonoTime, Now, WallTime};
use jackfield_domain::tool::{Catalog, ToolChoice};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_domain::usage::Usage;
use jackfield_domain::wait::{Wait, WaitKind};
use jackfield_engine::TurnReport;

/// The news of a turn, one after another, each a moment later.
pub(crate) struct Scene {
    attempt: ModelAttempt,
    millis: u64,
    pub(crate) news: Vec<RenderEvent>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let mut scene = Self {
            attempt: ModelAttempt {
                attempt: 1,
                round: 0,
            },
            millis: 0,
            news: Vec::new(),
        };
        let setup = Setup {
            allowance: Allowance::default(),
            caller: None,
            can_supersede: true,
            catalog: Arc::new(Catalog::default()),
            choice: ToolChoice::Auto,
            limits: Limits::default(),
            model: ModelRef {
                model: "opus".into(),
                provider: "claude".into(),
            },
            settings: Arc::default(),
            price: None,
            strict: None,
            system: Arc::default(),
            given: None,
            own_keys: Vec::new(),
            pauses: false,
            tools_after_first_round: true,
            whole: None,
            budgets: Vec::new(),
            assistant: None,
            compaction: None,
            affinity: None,
            fallbacks: Vec::new(),
            first_byte: None,
            window: None,
            route: None,
            tags: Vec::new(),
            trace: None,
        };
        scene.fact(Fact::TurnOpened {
            opening: Opening::UserMessage(Message::user("hello").into()),
            ordinal: 1,
            setup: Arc::new(setup),
            turn: TurnId::parse("turn").unwrap(),
        });
        scene
    }

    pub(crate) fn wait(mut self, millis: u64) -> Self {
        self.millis += millis;
        self
    }

    pub(crate) fn round(mut self, tools: ToolUse) -> Self {
        self.attempt = ModelAttempt {
            attempt: 1,
            round: self.attempt.round + 1,
        };
        self.fact(Fact::ModelCallStarted {
            active: Duration::ZERO,
            attempt: self.attempt,
            tools,
            choice: None,
            reserved: Vec::new(),
            target: 0,
        });
        self
    }

    /// A block of words, in these pieces.
    pub(crate) fn says(self, start: BlockStart, pieces: &[&str]) -> Self {
        let mut scene = self.delta(None, Delta::BlockStarted { index: 0, start });
        for piece in pieces {
            scene = scene.delta(
                None,
                Delta::TextAppended {
                    index: 0,
                    text: (*piece).into(),
                },
            );
        }
        scene.delta(None, Delta::BlockEnded { index: 0 })
    }

    /// A call, with the arguments as the model writes them.
    pub(crate) fn calls(self, id: &str, name: &str, arguments: &str) -> Self {
        let call = Some(ToolCallId::parse(id).unwrap());
        let start = BlockStart::ToolCall {
            json: true,
            name: name.into(),
            ran_by: RanBy::Engine,
            upstream: None,
        };
        self.delta(call.clone(), Delta::BlockStarted { index: 1, start })
            .delta(
                call.clone(),
                Delta::ArgumentsAppended {
                    index: 1,
                    text: arguments.into(),
                },
            )
            .delta(call, Delta::BlockEnded { index: 1 })
    }

    /// The end of the reply: its calls, once more and whole.
    pub(crate) fn replied(self, calls: &[(&str, &str, &str)]) -> Self {
        let (kind, effect) = (NoteKind::Dropped, NoteEffect::Quality);
        let note = Note::new(kind, effect, "seed_not_sent", "settings.seed");
        self.replied_with(calls, vec![note])
    }

    /// The same, with these notes.
    pub(crate) fn replied_with(mut self, calls: &[(&str, &str, &str)], notes: Vec<Note>) -> Self {
        let calls = calls.iter().map(|(id, name, arguments)| {
            let call = ToolCall {
                id: ToolCallId::parse(id).unwrap(),
                input: ToolInput::Json(JsonInput::parse(arguments)),
                name: CalledName::new(name),
                ran_by: RanBy::Engine,
                upstream: None,
            };
            jackfield_domain::block::Content::ToolCall(call.into()).into()
        });
        let message = Message::new(Role::Assistant, calls.collect());
        let mut end = ReplyEnd::new(FinishReason::Stop);
        end.notes = notes;
        let reply = Arc::new(Reply {
            end,
            message: message.into(),
        });
        self.fact(Fact::ReplyReceived {
            attempt: self.attempt,
            reply,
            first_token: None,
            settled: Vec::new(),
        });
        self
    }

    pub(crate) fn started(self, id: &str) -> Self {
        self.started_with(id, None)
    }

    pub(crate) fn started_with(mut self, id: &str, edited: Option<&str>) -> Self {
        let edited = edited.map(|raw| Arc::new(ToolInput::Json(JsonInput::parse(raw))));
        self.fact(Fact::CallStarted {
            approval: None,
            attempt: ToolAttempt {
                attempt: 1,
                call: ToolCallId::parse(id).unwrap(),
            },
            edited,
            may_repeat: true,
            repeat_until: None,
            time_limit: Duration::from_secs(30),
        });
        self
    }

    pub(crate) fn closed(mut self, id: &str, end: CallEnd, result: ToolResult) -> Self {
        let call = ToolCallId::parse(id).unwrap();
        self.fact(Fact::CallClosed {
            call,
            end,
            result: result.into(),
            shown: None,
            cached: None,
            revealed: None,
        });
        self
    }

    pub(crate) fn asked(mut self, id: &str) -> (Self, Wait) {
        let call = ToolCallId::parse(id).unwrap();
        let wait = Wait {
            deadline: WallTime::from_millis(3_600_000),
            id: WaitId::derive(&call, 1),
            call,
            kind: WaitKind::Approval { subject: None },
        };
        self.fact(Fact::WaitOpened { wait: wait.clone() });
        (self, wait)
    }

    /// The model call fails, and is tried again two seconds later.
    pub(crate) fn overloaded(mut self) -> Self {
        let failure = ModelFailure::new(
            ModelFailureKind::Overloaded,
            Phase::MidReply,
            "the provider is overloaded",
        );
        let at = i64::try_from(self.millis).unwrap() + 2_001;
        self.fact(Fact::ModelCallEnded {
            attempt: self.attempt,
            partial: None,
            retry_at: Some(WallTime::from_millis(at)),
            usage: None,
            why: ModelCallEnd::Failed(failure),
            at_once: false,
            first_token: None,
            settled: Vec::new(),
            withdrawn: false,
        });
        self
    }

    pub(crate) fn delta(mut self, call: Option<ToolCallId>, delta: Delta) -> Self {
        self.news.push(RenderEvent::Delta {
            attempt: self.attempt,
            call,
            delta,
        });
        self
    }

    fn fact(&mut self, fact: Fact) {
        self.millis += 1;
        let now = Now {
            mono: MonoTime::from_start(Duration::from_millis(self.millis)),
            wall: WallTime::from_millis(i64::try_from(self.millis).unwrap()),
        };
        self.news.push(RenderEvent::Fact {
            fact: Box::new(fact),
            now,
        });
    }
}

/// A report of a turn that ended so.
pub(crate) fn report(end: TurnEnd) -> TurnReport {
    TurnReport {
        calls: Vec::new(),
        cost: None,
        end,
        messages: vec![
            Message::new(
                Role::Assistant,
                vec![jackfield_domain::block::Block::text("It is 375.")],
            )
            .into(),
        ],
        notes: Vec::new(),
        rounds: 2,
        session: SessionId::parse("session").unwrap(),
        turn: TurnId::parse("turn").unwrap(),
        usage: Usage {
            cache_read: 50,
            cache_write: 0,
            input: 200,
            output: 40,
            reasoning: 0,
            ..Usage::default()
        },
    }
}
