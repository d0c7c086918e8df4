//! Answers to what is outstanding: good ones, bad ones, odd ones.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::block::RanBy;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::fact::CachedCall;
use jackfield_domain::failure::{
    Disposition, ModelFailure, ModelFailureKind, Phase, RetryAdvice, ToolFailure, ToolFailureKind,
};
use jackfield_domain::find_tools;
use jackfield_domain::ids::{ModelAttempt, ToolAttempt};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::Attempt;
use jackfield_domain::tool_loop::Input;
use jackfield_domain::usage::Usage;
use jackfield_domain::wait::{
    Answer, Approval, ElicitationAnswer, JobHandle, Question, UnknownAnswer, Wait, WaitKind,
};

use super::scenario::{HIDDEN, TOOLS};
use super::{Class, World, pick_from};

/// What a provider counts before the end of a reply.
pub(crate) const SO_FAR: Usage = Usage {
    audio_input: 0,
    audio_output: 0,
    billed: None,
    cache_read: 10,
    cache_write: 0,
    cache_write_long: 0,
    estimated_input: 0,
    estimated_output: 0,
    image_input: 0,
    image_output: 0,
    input: 60,
    output: 2,
    reasoning: 0,
    tier: None,
};

/// The variant of a final answer.
pub(crate) const FINAL: u16 = 6;

impl World {
    /// Something that is in flight answers.
    pub(crate) fn answer(&mut self, pick: u16, variant: u16) {
        let Some(flying) = pick_from(&self.in_flight, pick).cloned() else {
            return;
        };
        match flying.attempt {
            Attempt::Model(attempt) => self.model_answers(attempt, flying.blocks, variant),
            Attempt::Tool(attempt) => self.tool_answers(attempt, flying.accepted, variant),
        }
    }

    fn model_answers(&mut self, attempt: ModelAttempt, blocks: u32, variant: u16) {
        let (kind, bits) = match (variant % 12, variant / 12) {
            // Most summaries are fine.
            (0..=4, bits) if attempt.is_compaction() => (6, bits),
            (kind, bits) => (kind, bits),
        };
        match kind {
            0..=4 => self.calls(attempt, blocks, bits),
            5 => {
                // Some text, and the reply goes on.
                if bits.is_multiple_of(3) {
                    self.count(attempt);
                }
                self.used_blocks(attempt, 1);
                self.say(attempt, blocks, "So far. ");
            }
            6 | 7 => {
                self.land(&Attempt::Model(attempt));
                self.say(attempt, blocks, "That is it.");
                self.end(attempt, FinishReason::Stop);
            }
            8 => {
                self.land(&Attempt::Model(attempt));
                let finish = [
                    FinishReason::Paused,
                    FinishReason::Length,
                    FinishReason::Refused,
                ];
                if bits.is_multiple_of(2) {
                    self.say(attempt, blocks, "Hm.");
                }
                self.end(attempt, finish[usize::from(bits % 3)].clone());
            }
            9 => {
                // A piece that fits no block; what it used may be told later.
                self.tells_later(attempt);
                self.land(&Attempt::Model(attempt));
                let delta = Delta::BlockEnded { index: blocks + 7 };
                self.feed(Input::ReplyDelta { attempt, delta });
            }
            _ => {
                self.tells_later(attempt);
                if bits.is_multiple_of(3) {
                    self.count(attempt);
                }
                self.land(&Attempt::Model(attempt));
                let advice = match bits % 5 {
                    0 => RetryAdvice::Never,
                    1 => RetryAdvice::After(Duration::from_secs(2)),
                    2 => RetryAdvice::After(Duration::from_secs(600)),
                    3 => RetryAdvice::AtOnce,
                    _ => RetryAdvice::Backoff,
                };
                let kind = match bits / 5 % 10 {
                    6..=7 if self.setup.pauses => ModelFailureKind::BudgetExhausted,
                    1 | 2 if self.setup.route.is_some() => ModelFailureKind::ContentFilter,
                    3 if self.setup.route.is_some() => ModelFailureKind::Unauthenticated,
                    4..=7 if self.setup.route.is_some() => ModelFailureKind::Overloaded,
                    0..=2 if self.setup.compaction.is_some() => ModelFailureKind::ContextTooLong {
                        limit: None,
                        requested: None,
                    },
                    0..=7 => ModelFailureKind::UnusableReply,
                    8 => ModelFailureKind::InvalidRequest,
                    _ => ModelFailureKind::Overloaded,
                };
                // No server says when a reply would be usable.
                let advice = match (kind, advice) {
                    (ModelFailureKind::BudgetExhausted, _) => {
                        RetryAdvice::After(Duration::from_secs(60))
                    }
                    (ModelFailureKind::UnusableReply, RetryAdvice::After(_)) => {
                        RetryAdvice::Backoff
                    }
                    (ModelFailureKind::UnusableReply, RetryAdvice::Never)
                        if bits.is_multiple_of(2) =>
                    {
                        RetryAdvice::Backoff
                    }
                    (_, advice) => advice,
                };
                let failure = ModelFailure {
                    advice,
                    ..ModelFailure::new(kind, Phase::BeforeFirstDelta, "too much to do")
                };
                self.feed(Input::ReplyFailed { attempt, failure });
            }
        }
    }

    /// A reply with up to four calls.
    fn calls(&mut self, attempt: ModelAttempt, blocks: u32, bits: u16) {
        self.land(&Attempt::Model(attempt));
        if bits.is_multiple_of(2) {
            self.say(attempt, blocks, "Let me see.");
        }
        let count = u32::from(bits / 2 % 4) + 1;
        for n in 0..count {
            let index = blocks + 1 + n;
            let choice = (bits / 8).wrapping_add(u16::try_from(n).unwrap_or(0).wrapping_mul(3));
            let searches = [find_tools::NAME, HIDDEN];
            let mut tools = TOOLS.iter().chain(&searches).cycle();
            let name = *tools.nth(usize::from(choice % 11)).unwrap_or(&HIDDEN);
            let start = BlockStart::ToolCall {
                json: true,
                name: name.into(),
                ran_by: RanBy::Engine,
                upstream: None,
            };
            let arguments = match bits % 11 {
                0 => "{\"broken\":",
                1 => "",
                _ => "{\"n\":1}",
            };
            for delta in [
                Delta::BlockStarted { index, start },
                Delta::ArgumentsAppended {
                    index,
                    text: arguments.into(),
                },
                Delta::BlockEnded { index },
            ] {
                self.feed(Input::ReplyDelta { attempt, delta });
            }
        }
        let finish = match bits % 13 {
            0 => FinishReason::Length,
            1 => FinishReason::Refused,
            2 => FinishReason::Stop,
            _ => FinishReason::ToolCalls,
        };
        self.end(attempt, finish);
    }

    /// The provider says what its reply has used so far.
    fn count(&mut self, attempt: ModelAttempt) {
        let usage = SO_FAR;
        self.feed(Input::ReplyAlive { attempt });
        self.feed(Input::ReplyCounted { attempt, usage });
    }

    /// A count of a call that has failed by then is among what a network may bring.
    fn tells_later(&mut self, attempt: ModelAttempt) {
        let end = ReplyEnd {
            usage: Some(Usage {
                input: 70,
                output: 7,
                ..Usage::default()
            }),
            ..ReplyEnd::new(FinishReason::Stop)
        };
        self.told.push(Input::ReplyEnded {
            attempt,
            end: Box::new(end),
        });
    }

    fn end(&mut self, attempt: ModelAttempt, finish: FinishReason) {
        // Some servers do not count, and some say so with zeros.
        let counts = attempt.round % 4 != 2 && attempt.attempt % 3 != 2;
        let usage = Usage {
            input: 100,
            output: 50,
            ..Usage::default()
        };
        let end = ReplyEnd {
            usage: if counts {
                Some(usage)
            } else {
                attempt.attempt.is_multiple_of(2).then(Usage::default)
            },
            ..ReplyEnd::new(finish)
        };
        self.feed(Input::ReplyEnded {
            attempt,
            end: Box::new(end),
        });
    }

    fn tool_answers(&mut self, attempt: ToolAttempt, accepted: bool, variant: u16) {
        let flying = Attempt::Tool(attempt.clone());
        match variant % 12 {
            8 if !accepted => {
                for flying in &mut self.in_flight {
                    flying.accepted |= flying.attempt == Attempt::Tool(attempt.clone());
                }
                let handle = JobHandle(Arc::new(serde_json::json!({"job": 1})));
                self.feed(Input::ToolAccepted { attempt, handle });
            }
            9 => {
                self.land(&flying);
                self.classes.insert(Class::Elicitation);
                let handle = JobHandle(Arc::new(serde_json::json!({"question": 1})));
                let question = Question {
                    message: "which one?".into(),
                    schema: None,
                    sampling: None,
                    url: None,
                };
                self.feed(Input::ToolAsked {
                    attempt,
                    handle,
                    question,
                });
            }
            10 | 11 => {
                self.land(&flying);
                let disposition = match variant / 12 % 3 {
                    0 => Disposition::NotSent,
                    1 => Disposition::Landed,
                    _ => Disposition::Unknown,
                };
                let kind = ToolFailureKind::Unavailable;
                let failure = ToolFailure {
                    disposition,
                    kind,
                    message: "gone".into(),
                };
                self.feed(Input::ToolFailed { attempt, failure });
            }
            kind => {
                self.land(&flying);
                let found = self.found(&attempt).filter(|_| kind < 6);
                let is_search = found.is_some();
                let result = match kind {
                    _ if found.is_some() => found.unwrap_or_default(),
                    6 => ToolResult::text("long ".repeat(20 + usize::from(variant / 12 % 2) * 40)),
                    7 => ToolResult::error("the tool says no"),
                    // Different each time, so that the guard against repetition stays quiet.
                    _ => ToolResult::text(format!("fine {} {}", attempt.call, variant / 12 % 3)),
                };
                // Results of searches are not kept.
                let is_cached = (variant / 36).is_multiple_of(3) && kind != 7 && !is_search;
                let input = if is_cached {
                    self.classes.insert(Class::CachedOutcome);
                    let from = Arc::new(CachedCall {
                        call: attempt.call.clone(),
                        session: self.machine.session().clone(),
                        turn: self.machine.turn().id().clone(),
                    });
                    Input::ToolCached {
                        attempt,
                        from,
                        result,
                    }
                } else {
                    Input::ToolFinished { attempt, result }
                };
                self.feed(input);
            }
        }
    }

    /// What a search finds, if this is an attempt at one.
    fn found(&self, attempt: &ToolAttempt) -> Option<ToolResult> {
        let turn = self.machine.turn();
        let call = turn.open_call(&attempt.call)?;
        let hidden = turn.setup().catalog.tool(HIDDEN)?;
        (call.name.as_str() == find_tools::NAME).then(|| find_tools::outcome(&[hidden]))
    }

    fn land(&mut self, attempt: &Attempt) {
        self.in_flight.retain(|flying| flying.attempt != *attempt);
    }

    fn used_blocks(&mut self, attempt: ModelAttempt, used: u32) {
        for flying in &mut self.in_flight {
            if flying.attempt == Attempt::Model(attempt) {
                flying.blocks += used;
            }
        }
    }
}

/// An answer to a wait.
pub(crate) fn to_wait(wait: &Wait, variant: u16) -> Answer {
    match (&wait.kind, variant % 3) {
        (WaitKind::Approval { .. }, 0) if variant % 2 == 1 => Answer::Approval(Approval::Granted {
            edited: None,
            for_session: true,
        }),
        (WaitKind::Approval { .. }, 0) => Answer::Approval(Approval::Granted {
            edited: None,
            for_session: false,
        }),
        (WaitKind::Approval { .. }, 1) => {
            let mut fields = serde_json::Map::new();
            fields.insert("n".to_owned(), 2.into());
            Answer::Approval(Approval::Granted {
                edited: Some(Arc::new(fields)),
                for_session: false,
            })
        }
        (WaitKind::Approval { .. }, _) => Answer::Approval(Approval::Denied {
            reason: "no".into(),
        }),
        (WaitKind::Budget { .. }, 0 | 1) => Answer::Approval(Approval::Granted {
            edited: None,
            for_session: variant % 2 == 1,
        }),
        (WaitKind::Budget { .. }, _) => Answer::Approval(Approval::Denied {
            reason: "enough".into(),
        }),
        (WaitKind::ClientResult, _) => {
            Answer::ClientResult(ToolResult::text("from the client").into())
        }
        (WaitKind::Elicitation { .. }, 0 | 1) => Answer::Elicitation(ElicitationAnswer::Accepted(
            Arc::new(serde_json::json!("that")),
        )),
        (WaitKind::Elicitation { .. }, _) => Answer::Elicitation(ElicitationAnswer::Declined),
        (WaitKind::UnknownOutcome, 0) => {
            Answer::UnknownOutcome(UnknownAnswer::Landed(ToolResult::text("it did")))
        }
        (WaitKind::UnknownOutcome, 1) => Answer::UnknownOutcome(UnknownAnswer::Retry),
        (WaitKind::UnknownOutcome, _) => Answer::UnknownOutcome(UnknownAnswer::Report),
    }
}

/// The try that an input answers, if it answers one.
pub(crate) fn attempt_of(input: &Input) -> Option<Attempt> {
    match input {
        Input::ReplyAlive { attempt }
        | Input::ReplyCounted { attempt, .. }
        | Input::ReplyDelta { attempt, .. }
        | Input::ReplyEnded { attempt, .. }
        | Input::ReplyFailed { attempt, .. } => Some(Attempt::Model(*attempt)),
        Input::ToolAccepted { attempt, .. }
        | Input::ToolAsked { attempt, .. }
        | Input::ToolCached { attempt, .. }
        | Input::ToolFailed { attempt, .. }
        | Input::ToolFinished { attempt, .. } => Some(Attempt::Tool(attempt.clone())),
        Input::BreakersSeen(_) | Input::Delivered(_) | Input::Woke => None,
    }
}
