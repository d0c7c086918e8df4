//! The segments of a world's turn as its facts have them, apart from any view.

use std::collections::BTreeSet;
use std::sync::Arc;

use jackfield_domain::client_view::Segments;
use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::outcome::{ToolOutcome, ToolResult};
use jackfield_domain::wait::{Answer, Wait, WaitEnd, WaitKind};

use super::super::World;

/// What is known of a segment by its facts.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    /// The calls that it asks the client to run.
    pub(super) asked: BTreeSet<ToolCallId>,
    /// What the client brought, once the segment was over.
    pub(super) brought: Option<Vec<Arc<ToolOutcome>>>,
    /// Results for the calls that were open when the segment ended.
    pub(super) early: Option<Vec<Arc<ToolOutcome>>>,
    /// The calls with which it ended, all of one round.
    pub(super) handed: BTreeSet<ToolCallId>,
    /// Whether it ended with calls for the client.
    pub(super) is_handed_over: bool,
    /// How many steps there were when it ended, if it ended so.
    pub(super) steps: usize,
}

impl World {
    /// The segments of the turn.
    pub(super) fn segments(&self) -> Vec<Bounds> {
        let mut all = vec![Bounds::default()];
        let mut segments: Option<Segments> = None;
        let mut waits = Vec::new();
        for (at, step) in self.steps.iter().enumerate() {
            let last = step
                .facts
                .iter()
                .rposition(|fact| !matches!(fact, Fact::Late(_)));
            for (place, fact) in step.facts.iter().enumerate() {
                if matches!(fact, Fact::Late(_)) {
                    continue;
                }
                let Some(open) = &mut segments else {
                    segments = Segments::open(fact);
                    continue;
                };
                if let Fact::WaitOpened { wait } = fact
                    && wait.kind == WaitKind::ClientResult
                {
                    waits.push(wait.clone());
                    all.last_mut().expect("one").asked.insert(wait.call.clone());
                }
                let ends = open.apply(fact, Some(place) == last);
                assert_eq!(open.current() as usize, all.len() - usize::from(!ends));
                if ends {
                    let now = all.last_mut().expect("one");
                    now.steps = at + 1;
                    now.is_handed_over = true;
                    let round = open.turn().rounds();
                    let of_round = |wait: &&Wait| {
                        let calls = self.calls_of(round);
                        calls.contains(&wait.call)
                    };
                    let of_round: Vec<_> = waits.iter().filter(of_round).cloned().collect();
                    now.handed = of_round.iter().map(|wait| wait.call.clone()).collect();
                    now.brought = Some(self.results(&of_round, &self.steps));
                    let waiting = open.turn().waits();
                    let waiting = waiting.map(|wait| wait.call.clone()).collect::<Vec<_>>();
                    // What came before the reply was over is among them.
                    now.early = Some(
                        of_round
                            .iter()
                            .filter(|wait| waiting.contains(&wait.call))
                            .map(|wait| outcome(&wait.call, ToolResult::text("early")))
                            .collect(),
                    );
                    all.push(Bounds::default());
                }
            }
        }
        all
    }

    fn calls_of(&self, round: u32) -> Vec<ToolCallId> {
        self.committed
            .iter()
            .filter_map(|fact| match fact {
                Fact::ReplyReceived { attempt, reply, .. } if attempt.round == round => Some(reply),
                _ => None,
            })
            .flat_map(|reply| reply.message.calls().map(|call| call.id.clone()))
            .collect()
    }

    /// What the client brought of these, in some order.
    fn results(&self, waits: &[Wait], steps: &[Envelope]) -> Vec<Arc<ToolOutcome>> {
        let facts = steps.iter().flat_map(|step| &step.facts);
        let mut results: Vec<_> = facts
            .filter_map(|fact| match fact {
                Fact::WaitClosed {
                    end:
                        WaitEnd::Answered {
                            answer: Answer::ClientResult(given),
                            ..
                        },
                    wait,
                    ..
                } => {
                    let wait = waits.iter().find(|known| known.id == *wait)?;
                    Some(outcome(&wait.call, given.result.clone()))
                }
                _ => None,
            })
            .collect();
        results.reverse();
        results
    }
}

fn outcome(call: &ToolCallId, result: ToolResult) -> Arc<ToolOutcome> {
    Arc::new(ToolOutcome {
        call: call.clone(),
        opaque: Vec::new(),
        result,
    })
}
