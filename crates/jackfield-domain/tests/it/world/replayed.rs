//! Replays of worlds: of what they committed, and of records in which one decision was changed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::fact::{CallEnd, Envelope, Fact, ToolUse, TurnEnd};
use jackfield_domain::failure::Disposition;
use jackfield_domain::outcome::{OutcomePart, ToolResult};
use jackfield_domain::replay::{Replay, ReplayVerdict, StepReplay};
use jackfield_domain::wait::CancelCause;

use super::World;
use super::checks::Property;

/// What the replays of all worlds came to.
#[derive(Debug, Default)]
pub(crate) struct Replays {
    /// How often each change of a record was found.
    pub(crate) found: BTreeMap<&'static str, u32>,
    /// A change that was not found at its step.
    pub(crate) missed: Option<String>,
    /// How many steps of each kind of input were replayed.
    pub(crate) steps: BTreeMap<String, u32>,
}

impl World {
    /// Every step comes out the same.
    pub(crate) fn check_replay(&mut self) {
        for replayed in self.replay(&self.steps) {
            if replayed.verdict != ReplayVerdict::Same {
                let detail = format!("{replayed:#?}\nof {:#?}", self.steps);
                self.violate(Property::ReplayIsTheSame, detail);
                return;
            }
        }
    }

    /// A record of this world in which one decision was changed does not come out the same.
    pub(crate) fn replay_changed(&self, nth: usize, replays: &mut Replays) {
        for step in &self.steps {
            let kind = format!("{:?}", step.input);
            *replays.steps.entry(kind).or_default() += 1;
        }
        // Cut outcomes are rare: every world that has one changes it.
        let rare = CHANGES.iter().position(|(name, _)| *name == RARE);
        let places = [rare.unwrap_or_default(), nth % CHANGES.len()];
        let changed = places
            .into_iter()
            .find_map(|at| self.changed(nth, CHANGES[at]));
        let Some((name, place, facts)) = changed else {
            return;
        };
        let mut steps = self.steps.clone();
        steps[place].facts = facts;
        let first = self
            .replay(&steps)
            .into_iter()
            .find(|replayed| replayed.verdict != ReplayVerdict::Same);
        match first {
            Some(StepReplay {
                step,
                verdict: ReplayVerdict::Differs(_),
                ..
            }) if step == place as u64 => *replays.found.entry(name).or_default() += 1,
            first => {
                let missed = || format!("{name} at {place} gave {first:#?}\nof {steps:#?}");
                replays.missed.get_or_insert_with(missed);
            }
        }
    }

    /// A step of this world with a changed decision.
    fn changed(
        &self,
        nth: usize,
        (name, change): (&'static str, Change),
    ) -> Option<(&'static str, usize, Vec<Fact>)> {
        let mut changed = None;
        for (place, step) in self.steps.iter().enumerate() {
            let mut facts = step.facts.clone();
            if change(&mut facts) {
                changed = Some((name, place, facts));
                // Not always the first one.
                if (nth / CHANGES.len() + place).is_multiple_of(3) {
                    break;
                }
            }
        }
        changed
    }

    fn replay(&self, steps: &[Envelope]) -> Vec<StepReplay> {
        let mut replay = Replay::new(self.session().clone(), &self.inbox);
        steps.iter().map(|step| replay.step(step)).collect()
    }
}

/// A change of the facts of a step; whether there was something to change.
type Change = fn(&mut Vec<Fact>) -> bool;

/// Every change of a record that a replay has to find.
pub(crate) const CHANGES: [(&str, Change); 16] = [
    ("active time", |facts| {
        first(facts, |fact| match fact {
            Fact::ModelCallStarted { active, .. } => Some(active),
            _ => None,
        })
        .map(|active| *active += Duration::from_nanos(1))
        .is_some()
    }),
    ("cut too late", |facts| {
        first(facts, |fact| match fact {
            Fact::CallClosed { result, .. } => cut(result),
            _ => None,
        })
        .is_some()
    }),
    ("deadline", |facts| {
        first(facts, |fact| match fact {
            Fact::WaitOpened { wait } => Some(wait),
            _ => None,
        })
        .map(|wait| wait.deadline = wait.deadline.after(Duration::from_millis(1)))
        .is_some()
    }),
    ("disposition", |facts| {
        first(facts, |fact| match fact {
            Fact::CallLost { disposition, .. } => Some(disposition),
            _ => None,
        })
        .map(|disposition| {
            *disposition = match disposition {
                Disposition::Landed => Disposition::NotSent,
                Disposition::NotSent => Disposition::Unknown,
                Disposition::Unknown => Disposition::Landed,
            }
        })
        .is_some()
    }),
    ("end of a call", |facts| {
        first(facts, |fact| match fact {
            Fact::CallClosed { end, .. } => Some(end),
            _ => None,
        })
        .map(|end| {
            *end = match end {
                CallEnd::Denied => CallEnd::Ran,
                _ => CallEnd::Denied,
            }
        })
        .is_some()
    }),
    ("end of the turn", |facts| {
        first(facts, |fact| match fact {
            Fact::TurnEnded { end, .. } => Some(end),
            _ => None,
        })
        .map(|end| {
            *end = match end {
                TurnEnd::ClientExpired => TurnEnd::Cancelled(CancelCause::Superseded),
                _ => TurnEnd::ClientExpired,
            }
        })
        .is_some()
    }),
    ("fact left out", |facts| {
        // What these say is what was delivered: without them, nothing was.
        let delivered = matches!(
            facts.last(),
            Some(
                Fact::WaitClosed { .. }
                    | Fact::TurnEnded {
                        end: TurnEnd::Cancelled(_),
                        ..
                    }
            )
        );
        facts.len() > 1 && !delivered && facts.pop().is_some()
    }),
    ("may repeat", |facts| {
        first(facts, |fact| match fact {
            Fact::CallStarted { may_repeat, .. } => Some(may_repeat),
            _ => None,
        })
        .map(|may_repeat| *may_repeat = !*may_repeat)
        .is_some()
    }),
    ("nth resumption", |facts| {
        first(facts, |fact| match fact {
            Fact::TurnResumed { nth, .. } => Some(nth),
            _ => None,
        })
        .map(|nth| *nth += 1)
        .is_some()
    }),
    ("order", |facts| {
        let place = facts.windows(2).position(|pair| pair[0] != pair[1]);
        place.map(|place| facts.swap(place, place + 1)).is_some()
    }),
    ("ordinal", |facts| {
        first(facts, |fact| match fact {
            Fact::TurnOpened { ordinal, .. } => Some(ordinal),
            _ => None,
        })
        .map(|ordinal| *ordinal += 1)
        .is_some()
    }),
    ("retry instant", |facts| {
        first(facts, |fact| match fact {
            Fact::ModelCallEnded { retry_at, .. } => retry_at.as_mut(),
            _ => None,
        })
        .map(|at| *at = at.after(Duration::from_millis(1)))
        .is_some()
    }),
    ("shown", |facts| {
        first(facts, |fact| match fact {
            Fact::CallClosed { shown, .. } => Some(shown),
            _ => None,
        })
        .map(|shown| *shown = shown.map_or(Some(1), |shown| shown.checked_sub(1)))
        .is_some()
    }),
    ("time limit", |facts| {
        first(facts, |fact| match fact {
            Fact::CallStarted { time_limit, .. } => Some(time_limit),
            _ => None,
        })
        .map(|limit| *limit += Duration::from_millis(1))
        .is_some()
    }),
    ("tool use", |facts| {
        first(facts, |fact| match fact {
            Fact::ModelCallStarted { tools, .. } => Some(tools),
            _ => None,
        })
        .map(|tools| {
            *tools = match tools {
                ToolUse::Allowed => ToolUse::FirstRoundOnly,
                _ => ToolUse::Allowed,
            }
        })
        .is_some()
    }),
    ("try of a call", |facts| {
        first(facts, |fact| match fact {
            Fact::CallStarted { attempt, .. } => Some(attempt),
            _ => None,
        })
        .map(|attempt| attempt.attempt += 1)
        .is_some()
    }),
];

fn first<'a, T: 'a>(facts: &'a mut [Fact], part: impl Fn(&'a mut Fact) -> Option<T>) -> Option<T> {
    facts.iter_mut().find_map(part)
}

/// Lets an outcome that was cut be a byte longer.
fn cut(result: &mut Arc<ToolResult>) -> Option<()> {
    let marker = result.content.last()?.as_text()?;
    if !marker.starts_with("[cut: ") {
        return None;
    }
    let longer = format!("{}x", result.content.first()?.as_text()?);
    Arc::make_mut(result).content[0] = OutcomePart::Text(longer.into());
    Some(())
}

/// The change that few worlds have a place for.
const RARE: &str = "cut too late";
