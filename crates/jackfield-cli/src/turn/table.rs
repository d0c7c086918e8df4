//! The open questions of a turn, and the one that a person is answering.

use std::collections::VecDeque;
use std::sync::Arc;

use jackfield_domain::block::ToolCall;
use jackfield_domain::fact::Fact;
use jackfield_domain::ids::{SessionId, ToolCallId, TurnId, WaitId};
use jackfield_domain::setup::Setup;
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::wait::{
    Answer, Approval, CancelCause, DeliveryBody, ElicitationAnswer, UnknownAnswer, Wait, WaitEnd,
    WaitKind,
};
use jackfield_engine::{DeliveryOutcome, Engine};

use self::answer::ParsedAnswer;
use self::texts::{ANSWER, ARGUMENTS, NOBODY, hint, question};
use super::{AskMode, TurnOutput};
use crate::approval;
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::person::PersonAnswer;
use crate::render::{PromptPlace, QuestionPrompt, RenderEvent, answers};

mod answer;
mod texts;

/// The open questions of a turn, and the one that a person is answering.
pub(super) struct QuestionTable<'a> {
    /// The last answer from here, until it is in the journal: it may close the next questions, too.
    last_answered: Option<WaitId>,
    current: Option<PendingQuestion>,
    ask_mode: AskMode<'a>,
    calls: Vec<Arc<ToolCall>>,
    cancelled: bool,
    engine: &'a Engine,
    last_asked: Option<Wait>,
    /// Questions that the approver has not decided.
    undecided: Vec<Wait>,
    open: VecDeque<Wait>,
    session: SessionId,
    setup: Option<Arc<Setup>>,
    /// The turn, once an event has shown that it began.
    turn: Option<TurnId>,
}

/// The question that a person is answering.
struct PendingQuestion {
    stage: Stage,
    wait: Wait,
}

/// What a question asks for now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stage {
    /// The answer.
    Answer,
    /// The arguments, to edit them.
    Arguments,
    /// Once more, whether a call that may act a second time runs again.
    Sure,
}

impl<'a> QuestionTable<'a> {
    pub(super) fn new(engine: &'a Engine, session: SessionId, ask_mode: AskMode<'a>) -> Self {
        Self {
            last_answered: None,
            current: None,
            ask_mode,
            calls: Vec::new(),
            cancelled: false,
            engine,
            last_asked: None,
            undecided: Vec::new(),
            open: VecDeque::new(),
            session,
            setup: None,
            turn: None,
        }
    }

    pub(super) const fn has_begun(&self) -> bool {
        self.turn.is_some()
    }

    pub(super) const fn is_asking(&self) -> bool {
        self.current.is_some()
    }

    pub(super) fn set_turn(&mut self, turn: TurnId) {
        self.turn = Some(turn);
    }

    /// Adds a new question, and removes closed ones.
    pub(super) async fn handle_fact(
        &mut self,
        fact: &Fact,
        output: &mut TurnOutput<'_>,
    ) -> Result<(), CommandError> {
        if self.record_fact(fact) {
            self.ask_next(output).await?;
        }
        Ok(())
    }

    /// Records a fact; returns whether it is about a question.
    pub(super) fn record_fact(&mut self, fact: &Fact) -> bool {
        if let Fact::WaitOpened { wait } = fact {
            // The approver decides first, and may leave the question to a person.
            if self.engine.has_approver() && matches!(wait.kind, WaitKind::Approval { .. }) {
                self.undecided.push(wait.clone());
            } else {
                self.open.push_back(wait.clone());
            }
            return true;
        }
        if let Fact::WaitClosed { end, wait, .. } = fact {
            self.close(wait, end);
            return true;
        }
        if let Fact::ReplyReceived { reply, .. } = fact {
            self.calls.extend(reply.message.calls().map(Arc::clone));
        } else if let Fact::TurnOpened { setup, turn, .. } = fact {
            self.setup = Some(Arc::clone(setup));
            self.turn = Some(turn.clone());
        } else if let Fact::CallStarted {
            attempt,
            edited: Some(input),
            ..
        } = fact
        {
            let mut calls = self.calls.iter_mut().rev();
            if let Some(call) = calls.find(|call| call.id == attempt.call) {
                // A later question is about what would run.
                *call = Arc::new(ToolCall {
                    input: ToolInput::clone(input),
                    ..ToolCall::clone(call)
                });
            }
        }
        false
    }

    /// Whether the event closes the current question: it was answered elsewhere.
    pub(super) fn is_closed_by(&self, event: &RenderEvent) -> bool {
        let RenderEvent::Fact { fact, .. } = event else {
            return false;
        };
        let Fact::WaitClosed { wait, .. } = &**fact else {
            return false;
        };
        self.current
            .as_ref()
            .is_some_and(|asked| asked.wait.id == *wait)
    }

    /// Withdraws the current question, and shows how it ended.
    pub(super) async fn withdraw(&mut self, event: &RenderEvent, output: &mut TurnOutput<'_>) {
        let (Some(pending), AskMode::Person(person)) = (self.current.take(), &mut self.ask_mode)
        else {
            return;
        };
        person.withdraw().await;
        let prompt_place = person.prompt_place();
        if let RenderEvent::Fact { fact, .. } = event
            && let Fact::WaitClosed { end, .. } = &**fact
        {
            output.write(|view| view.show_answer(&pending.wait, end, prompt_place));
        }
    }

    /// Removes a closed question, and those that the same answer closes in the same step.
    fn close(&mut self, id: &WaitId, end: &WaitEnd) {
        self.last_answered.take_if(|answered| answered == id);
        self.undecided.retain(|wait| wait.id != *id);
        let closed = self.open.iter().position(|open| open.id == *id);
        let call = closed
            .and_then(|place| self.open.remove(place))
            .or_else(|| self.last_asked.take_if(|last| last.id == *id))
            .map(|wait| wait.call);
        if let WaitEnd::Answered {
            answer:
                Answer::Approval(Approval::Granted {
                    for_session: true, ..
                }),
            ..
        } = end
        {
            let calls = &self.calls;
            let name = |id: &ToolCallId| {
                let call = calls.iter().rev().find(|call| call.id == *id);
                call.map(|call| call.name.as_str())
            };
            let granted_name = call.as_ref().and_then(name);
            self.open.retain(|open| {
                !matches!(open.kind, WaitKind::Approval { .. }) || name(&open.call) != granted_name
            });
        }
    }

    /// Asks a person a question that the approver has left open.
    pub(super) async fn ask_person(
        &mut self,
        wait: &WaitId,
        output: &mut TurnOutput<'_>,
    ) -> Result<(), CommandError> {
        let place = self.undecided.iter().position(|known| known.id == *wait);
        if let Some(place) = place {
            self.open.push_back(self.undecided.remove(place));
        }
        self.ask_next(output).await
    }

    /// Answers what needs no person, and asks the next question.
    pub(super) async fn ask_next(
        &mut self,
        output: &mut TurnOutput<'_>,
    ) -> Result<(), CommandError> {
        while self.current.is_none() && self.last_answered.is_none() && !self.cancelled {
            let Some(wait) = self.open.pop_front() else {
                break;
            };
            if let Some(answer) = self.answer_without_asking(&wait) {
                self.deliver(&wait, answer, output).await?;
                continue;
            }
            if matches!(self.ask_mode, AskMode::Elsewhere) {
                let id = &wait.id;
                let remark = format!("a call waits for `jackfield approvals allow {id}`");
                output.write(|view| view.show_remark(&remark));
            }
            let prompt = self.prompt(&wait);
            let (AskMode::Person(person), true) =
                (&mut self.ask_mode, wait.kind != WaitKind::ClientResult)
            else {
                continue;
            };
            output.write(|view| view.show_question(&wait, &prompt));
            self.last_asked = Some(wait.clone());
            person.ask(question(ANSWER, String::new()));
            self.current = Some(PendingQuestion {
                stage: Stage::Answer,
                wait,
            });
        }
        Ok(())
    }

    /// The choices at this question.
    fn prompt(&self, wait: &Wait) -> QuestionPrompt {
        let AskMode::Person(person) = &self.ask_mode else {
            return PromptPlace::Inline.into();
        };
        let tool = self.tool(wait);
        let reading = tool.filter(|tool| person.rules().only_reads(tool));
        QuestionPrompt {
            can_be_kept: tool.is_some() && person.rules().can_be_kept(),
            place: person.prompt_place(),
            reading: reading.map(|tool| tool.origin.toolbox.to_string()),
        }
    }

    fn answer_without_asking(&self, wait: &Wait) -> Option<Answer> {
        if let (AskMode::Person(person), WaitKind::Approval { .. }, Some(tool)) =
            (&self.ask_mode, &wait.kind, self.tool(wait))
            && person.rules().allows_reading(tool)
        {
            return Some(Answer::Approval(Approval::Granted {
                edited: None,
                for_session: false,
            }));
        }
        let has_no_person = matches!(
            self.ask_mode,
            AskMode::Elsewhere | AskMode::Nobody | AskMode::Yes
        );
        if matches!(self.ask_mode, AskMode::Later) {
            return None;
        }
        match &wait.kind {
            WaitKind::Approval { .. } if matches!(self.ask_mode, AskMode::Yes) => {
                Some(Answer::Approval(Approval::Granted {
                    edited: None,
                    for_session: false,
                }))
            }
            // It waits for an answer by `jackfield approvals`.
            WaitKind::Approval { .. } if matches!(self.ask_mode, AskMode::Elsewhere) => None,
            WaitKind::Approval { .. } if has_no_person => {
                let reason = NOBODY.into();
                Some(Answer::Approval(Approval::Denied { reason }))
            }
            WaitKind::UnknownOutcome if has_no_person => {
                Some(Answer::UnknownOutcome(UnknownAnswer::Report))
            }
            // It waits for an answer by `jackfield approvals`, too.
            WaitKind::Elicitation { question, .. }
                if matches!(self.ask_mode, AskMode::Elsewhere) && question.schema.is_none() =>
            {
                None
            }
            WaitKind::Elicitation { .. } if has_no_person => {
                Some(Answer::Elicitation(ElicitationAnswer::Declined))
            }
            WaitKind::Approval { .. }
            | WaitKind::Budget { .. }
            | WaitKind::ClientResult
            | WaitKind::Elicitation { .. }
            | WaitKind::UnknownOutcome => None,
        }
    }

    /// The person's input, while a question is open.
    pub(super) async fn next_input(&mut self) -> Option<PersonAnswer> {
        match (&self.current, &mut self.ask_mode) {
            (Some(_), AskMode::Person(person)) => Some(person.next_answer().await),
            _ => None,
        }
    }

    /// Handles the input as an answer; asks again if it is unclear.
    pub(super) async fn answer(
        &mut self,
        input: PersonAnswer,
        output: &mut TurnOutput<'_>,
    ) -> Result<(), CommandError> {
        let Some(pending) = self.current.take() else {
            return Ok(());
        };
        match self.parse_answer(&pending, input) {
            ParsedAnswer::Answer(answer) => {
                self.deliver(&pending.wait, answer, output).await?;
                self.last_answered = Some(pending.wait.id);
                return Ok(());
            }
            ParsedAnswer::Standing(answer, remark) => {
                output.write(|view| view.show_remark(&remark));
                self.deliver(&pending.wait, answer, output).await?;
                self.last_answered = Some(pending.wait.id);
                return Ok(());
            }
            ParsedAnswer::Cancel => {
                self.cancel().await;
                return Ok(());
            }
            ParsedAnswer::Edit(initial) => {
                if let AskMode::Person(person) = &mut self.ask_mode {
                    person.ask(question(ARGUMENTS, initial));
                }
                self.current = Some(PendingQuestion {
                    stage: Stage::Arguments,
                    wait: pending.wait,
                });
                return Ok(());
            }
            ParsedAnswer::Sure(remark) => {
                output.write(|view| view.show_remark(&remark));
                if let AskMode::Person(person) = &mut self.ask_mode {
                    person.ask(question(ANSWER, String::new()));
                }
                self.current = Some(PendingQuestion {
                    stage: Stage::Sure,
                    wait: pending.wait,
                });
                return Ok(());
            }
            ParsedAnswer::Unclear(why) => {
                if let Some(why) = why {
                    output.write(|view| view.show_remark(&why));
                }
                match &mut self.ask_mode {
                    // The question is still visible, and may be long.
                    AskMode::Person(person) if person.prompt_place() == PromptPlace::Below => {
                        let hint = hint(&pending.wait);
                        output.write(|view| view.show_remark(hint));
                        person.ask(question(ANSWER, String::new()));
                        let wait = pending.wait;
                        self.current = Some(PendingQuestion {
                            stage: Stage::Answer,
                            wait,
                        });
                        return Ok(());
                    }
                    AskMode::Elsewhere
                    | AskMode::Later
                    | AskMode::Nobody
                    | AskMode::Person(_)
                    | AskMode::Yes => {
                        self.open.push_front(pending.wait);
                    }
                }
            }
        }
        self.ask_next(output).await
    }

    async fn deliver(
        &self,
        wait: &Wait,
        answer: Answer,
        output: &mut TurnOutput<'_>,
    ) -> Result<(), CommandError> {
        let body = DeliveryBody::Answer {
            answer,
            wait: wait.id.clone(),
        };
        match self.send_delivery(wait.id.as_str(), body).await? {
            DeliveryOutcome::Accepted | DeliveryOutcome::AlreadyThere => {}
            DeliveryOutcome::Closed { by, how, .. } => {
                let remark = answers::too_late(how, by.as_deref());
                output.write(|view| view.show_remark(&remark));
            }
            DeliveryOutcome::NoSuchWait => {
                output.write(|view| view.show_remark("this question is closed"));
            }
        }
        Ok(())
    }

    /// Ends the turn in one step; returns whether there is a turn to end.
    pub(super) async fn cancel(&mut self) -> bool {
        if self.cancelled {
            return true;
        }
        let Some(turn) = self.turn.clone() else {
            return false;
        };
        self.cancelled = true;
        // Ctrl-C may arrive before the line editor that would have handled it.
        if self.current.take().is_some()
            && let AskMode::Person(person) = &mut self.ask_mode
        {
            person.withdraw().await;
        }
        let what = format!("cancel-{turn}");
        let cause = CancelCause::Asked;
        self.send_delivery(&what, DeliveryBody::Cancel { cause, turn })
            .await
            .is_ok()
    }

    async fn send_delivery(
        &self,
        what: &str,
        body: DeliveryBody,
    ) -> Result<DeliveryOutcome, CommandError> {
        let internal = |error: &(dyn std::error::Error + 'static)| {
            CommandError::new(Exit::Internal, "the answer could not be delivered").with_cause(error)
        };
        let id = approval::delivery_id(what).map_err(|error| internal(&error))?;
        let by: Arc<str> = match self.ask_mode {
            AskMode::Elsewhere | AskMode::Later | AskMode::Nobody => "the command line".into(),
            AskMode::Person(_) => format!("{}, at the prompt", approval::user()).into(),
            AskMode::Yes => "--yes".into(),
        };
        self.engine
            .deliver(&self.session, id, by, body)
            .await
            .map_err(|error| internal(&error))
    }
}
