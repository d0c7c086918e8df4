//! The summary of a session, which a journal stores beside its steps and waits: enough to list the session, to
//! search its text, and to know when it is due.
//!
//! Like the row of a wait, it is derived from facts alone, so that they need not be read again. Every journal
//! stores it in its own way, in the same transaction as the steps, and updates it by these rules.

mod text;

use std::sync::Arc;

use jackfield_domain::block::RanBy;
use jackfield_domain::fact::{AfterLoss, Envelope, Fact};
use jackfield_domain::ids::{ToolCallId, TurnId, WaitId};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::setup::Opening;
use jackfield_domain::time::WallTime;
use jackfield_domain::turn::Turn;
use jackfield_domain::wait::{DeliveryBody, Wait, WaitEnd, WaitKind};

use super::sessions::OpenTurn;

/// The number of resumes without progress after which a turn is not resumed automatically.
pub const TRIES: u32 = Turn::MAX_RESUMES_WITHOUT_PROGRESS;

/// The maximum length of a title, in characters.
pub const TITLE: usize = 80;

/// The due time of a session that is due at once.
pub const AT_ONCE: WallTime = WallTime::from_millis(i64::MIN);

/// The summary of a session.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Summary {
    /// The open turn.
    pub open: Option<OpenTurnSummary>,
    /// The owner: the principal of the first caller that began a turn in it.
    pub principal: Option<Arc<str>>,
    /// The beginning of the first user message, in one line.
    pub title: Arc<str>,
    /// The number of turns that have begun.
    pub turns: u32,
}

/// The summary of an open turn.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OpenTurnSummary {
    /// The calls of the last reply that have no outcome yet.
    pub calls: Vec<(ToolCallId, CallPlace)>,
    /// The maximum number of calls that run at once.
    pub parallel: u32,
    /// When a model call is retried, if the turn waits for that.
    pub retry_at: Option<WallTime>,
    /// The number of resumes since its last progress.
    pub tries: u32,
    /// Its id.
    pub turn: TurnId,
}

/// The state of a call without an outcome.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum CallPlace {
    /// It is running, or has to be decided.
    Active,
    /// It starts when a slot is free.
    Queued,
    /// It waits for an external answer.
    Waiting {
        /// When the wait expires.
        deadline: WallTime,
        /// Whether the call keeps its slot while it waits.
        holds_slot: bool,
        /// The wait.
        wait: WaitId,
    },
}

impl Default for Summary {
    fn default() -> Self {
        Self {
            open: None,
            principal: None,
            title: "".into(),
            turns: 0,
        }
    }
}

impl Summary {
    /// Applies a step.
    pub fn apply(&mut self, step: &Envelope) {
        for fact in &step.facts {
            self.apply_fact(fact);
        }
    }

    /// When the session is due by itself, if it is: [`AT_ONCE`] unless it waits for an instant. Deliveries are
    /// not considered.
    #[must_use]
    pub fn due(&self) -> Option<WallTime> {
        self.open.as_ref().and_then(OpenTurnSummary::due)
    }

    fn apply_fact(&mut self, fact: &Fact) {
        if let Fact::TurnOpened {
            opening,
            ordinal,
            setup,
            turn,
        } = fact
        {
            self.set_title(new_messages(opening, 1));
            self.turns = *ordinal;
            if let Some(caller) = &setup.caller {
                self.principal
                    .get_or_insert_with(|| Arc::clone(&caller.principal));
            }
            self.open = Some(OpenTurnSummary {
                calls: Vec::new(),
                parallel: setup.limits.parallel_calls.max(1),
                retry_at: None,
                tries: 0,
                turn: turn.clone(),
            });
        } else if let Fact::SessionForked { messages, .. } = fact {
            if self.turns == 0 {
                self.set_title(messages.iter().map(|message| &**message));
            }
        } else if let Fact::SessionImported {
            messages,
            title: given,
            ..
        } = fact
        {
            if self.turns == 0 {
                self.title = given.as_deref().map(title).unwrap_or_default();
                self.set_title(messages.iter().map(|message| &**message));
            }
        } else if matches!(fact, Fact::TurnEnded { .. }) {
            self.open = None;
        } else if let Some(open) = &mut self.open {
            open.apply(fact);
        }
    }

    /// Sets the title from the first user message, unless there is one.
    fn set_title<'a>(&mut self, mut messages: impl Iterator<Item = &'a Message>) {
        if self.title.is_empty() {
            let titles = messages.find_map(|message| {
                let title = (message.role == Role::User).then(|| title(&message.to_text()));
                title.filter(|title| !title.is_empty())
            });
            self.title = titles.unwrap_or_default();
        }
    }
}

impl OpenTurnSummary {
    /// The row of a list.
    #[must_use]
    pub fn to_row(&self) -> OpenTurn {
        let waits = self.waiting().count();
        OpenTurn {
            only_waits: self.only_waits(),
            parked: self.is_parked(),
            turn: self.turn.clone(),
            waits: u32::try_from(waits).unwrap_or(u32::MAX),
        }
    }

    /// Whether it only waits for external answers.
    #[must_use]
    pub fn only_waits(&self) -> bool {
        let slots = self.parallel as usize;
        let (mut is_waiting, mut held, mut queued) = (false, 0, false);
        for (_, place) in &self.calls {
            match place {
                CallPlace::Active => return false,
                CallPlace::Queued => queued = true,
                CallPlace::Waiting { holds_slot, .. } => {
                    is_waiting = true;
                    held += usize::from(*holds_slot);
                }
            }
        }
        is_waiting && (!queued || held >= slots)
    }

    /// Whether it was resumed too often without progress.
    #[must_use]
    pub fn is_parked(&self) -> bool {
        self.tries >= TRIES && !self.only_waits()
    }

    fn due(&self) -> Option<WallTime> {
        if self.only_waits() {
            self.waiting().min()
        } else if self.is_parked() {
            None
        } else {
            Some(self.retry_at.unwrap_or(AT_ONCE))
        }
    }

    /// The deadlines of its open waits.
    fn waiting(&self) -> impl Iterator<Item = WallTime> {
        self.calls.iter().filter_map(|(_, place)| match place {
            CallPlace::Active | CallPlace::Queued => None,
            CallPlace::Waiting { deadline, .. } => Some(*deadline),
        })
    }

    fn apply(&mut self, fact: &Fact) {
        if fact.is_progress() {
            self.tries = 0;
        }
        match fact {
            Fact::CallClosed { call, .. } => self.calls.retain(|(id, _)| id != call),
            Fact::CallLost { attempt, then, .. } => self.put(
                &attempt.call,
                match then {
                    AfterLoss::Repeat => CallPlace::Queued,
                    AfterLoss::Ask | AfterLoss::Report => CallPlace::Active,
                },
            ),
            Fact::CallStarted { attempt, .. } => self.put(&attempt.call, CallPlace::Active),
            Fact::ModelCallEnded { retry_at, .. } => {
                self.calls.clear();
                self.retry_at = *retry_at;
            }
            Fact::ModelCallStarted { .. } => {
                self.calls.clear();
                self.retry_at = None;
            }
            Fact::ReplyReceived { reply, .. } => {
                self.retry_at = None;
                let calls = reply.message.calls();
                self.calls = calls
                    .filter(|call| call.ran_by != RanBy::Provider)
                    .map(|call| (call.id.clone(), CallPlace::Queued))
                    .collect();
            }
            // Resuming a turn that only waited does not count.
            Fact::TurnResumed { .. } if !self.only_waits() => {
                self.tries = self.tries.saturating_add(1);
            }
            Fact::WaitClosed { end, wait, .. } => self.close(wait, end),
            // It belongs to no call, and the next model call ends it.
            Fact::WaitOpened { wait } if matches!(wait.kind, WaitKind::Budget { .. }) => {
                self.calls.push((wait.call.clone(), waiting_place(wait)));
            }
            Fact::WaitOpened { wait } => self.put(&wait.call, waiting_place(wait)),
            Fact::BackendSession { .. }
            | Fact::Compacted(_)
            | Fact::CallAccepted { .. }
            | Fact::Late(_)
            | Fact::SessionForked { .. }
            | Fact::SessionImported { .. }
            | Fact::TurnEnded { .. }
            | Fact::TurnOpened { .. }
            | Fact::TurnResumed { .. } => {}
        }
    }

    /// Updates the state of a call that has no outcome yet.
    fn put(&mut self, call: &ToolCallId, at: CallPlace) {
        if let Some((_, place)) = self.calls.iter_mut().find(|(id, _)| id == call) {
            *place = at;
        }
    }

    fn close(&mut self, closed: &WaitId, end: &WaitEnd) {
        let held = self.calls.iter_mut().find_map(|(_, place)| match place {
            CallPlace::Waiting {
                holds_slot, wait, ..
            } if wait == closed => Some((*holds_slot, place)),
            CallPlace::Active | CallPlace::Queued | CallPlace::Waiting { .. } => None,
        });
        if let Some((holds_slot, place)) = held {
            // After an answer, the call may have to wait for a slot; all other cases are decided at once.
            *place = match end {
                WaitEnd::Answered { .. } if !holds_slot => CallPlace::Queued,
                WaitEnd::Answered { .. }
                | WaitEnd::Cancelled
                | WaitEnd::Expired
                | WaitEnd::Superseded => CallPlace::Active,
            };
        }
    }
}

/// Whether this delivery makes a session with an open turn due; some deliveries are only recorded.
#[must_use]
pub const fn is_for_owner(body: &DeliveryBody) -> bool {
    match body {
        DeliveryBody::Answer { .. } | DeliveryBody::Cancel { .. } => true,
        DeliveryBody::Late { .. }
        | DeliveryBody::Withdrawn { .. }
        | DeliveryBody::Written { .. } => false,
    }
}

/// The searchable text of a step: that of its messages.
#[must_use]
pub fn searchable_text(step: &Envelope) -> Option<String> {
    let mut all = String::new();
    let mut add = |message: &Message| {
        let text = message.to_text();
        if !text.is_empty() {
            all.push_str(&text);
            all.push('\n');
        }
    };
    for fact in &step.facts {
        match fact {
            Fact::ModelCallEnded { partial, .. } => {
                if let Some(partial) = partial {
                    add(partial);
                }
            }
            Fact::ReplyReceived { reply, .. } => add(&reply.message),
            Fact::SessionForked { messages, .. } | Fact::SessionImported { messages, .. } => {
                messages.iter().for_each(|message| add(message));
            }
            Fact::TurnOpened {
                opening, ordinal, ..
            } => new_messages(opening, *ordinal).for_each(&mut add),
            Fact::BackendSession { .. }
            | Fact::Compacted(_)
            | Fact::CallAccepted { .. }
            | Fact::CallClosed { .. }
            | Fact::CallLost { .. }
            | Fact::CallStarted { .. }
            | Fact::Late(_)
            | Fact::ModelCallStarted { .. }
            | Fact::TurnEnded { .. }
            | Fact::TurnResumed { .. }
            | Fact::WaitClosed { .. }
            | Fact::WaitOpened { .. } => {}
        }
    }
    let folded = normalize(&all);
    (!folded.is_empty()).then_some(folded)
}

/// The normalized form of text for searches: lower case, with single spaces between words.
#[must_use]
pub fn normalize(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.extend(
            word.chars()
                .flat_map(char::to_lowercase)
                .map(normalize_letter),
        );
    }
    folded
}

/// Maps letters to the form that is commonly written in their place.
const fn normalize_letter(letter: char) -> char {
    match letter {
        'ё' => 'е',
        'ς' => 'σ',
        _ => letter,
    }
}

/// The new messages of an opening. A client that keeps the conversation sends all of it with each turn: all
/// messages are new in the first turn, and only the last one later.
fn new_messages(opening: &Opening, ordinal: u32) -> impl Iterator<Item = &Message> {
    let (messages, only): (&[Arc<Message>], _) = match opening {
        Opening::ClientResults(_) => (&[], None),
        Opening::Transcript(transcript) if ordinal > 1 => (&[], transcript.messages().last()),
        Opening::Transcript(transcript) => (transcript.messages(), None),
        Opening::UserMessage(message) => (&[], Some(message)),
    };
    messages.iter().chain(only).map(|message| &**message)
}

/// A text as one line of at most [`TITLE`] characters.
fn title(text: &str) -> Arc<str> {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().filter(|letter| !letter.is_control()));
        if line.len() > TITLE * 4 {
            break;
        }
    }
    let line = line.trim();
    if line.chars().count() <= TITLE {
        return line.into();
    }
    let cut: String = line.chars().take(TITLE - 1).collect();
    format!("{}…", cut.trim_end()).into()
}

fn waiting_place(wait: &Wait) -> CallPlace {
    CallPlace::Waiting {
        deadline: wait.deadline,
        holds_slot: matches!(wait.kind, WaitKind::Elicitation { .. }),
        wait: wait.id.clone(),
    }
}
