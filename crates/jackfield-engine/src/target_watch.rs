//! What a turn sees of the health of its targets, and what its calls tell about them.

use std::sync::Arc;

use jackfield_domain::fact::{Fact, ModelCallEnd};
use jackfield_domain::failure::ModelFailure;
use jackfield_domain::ids::SessionId;
use jackfield_domain::request::ModelRef;
use jackfield_domain::restrictions::Restrictions;
use jackfield_domain::routing::BreakerPass;
use jackfield_domain::send_message::SendMessageUseCase;
use jackfield_domain::setup::Setup;
use jackfield_domain::target::BreakerSnapshot;
use jackfield_domain::time::Now;
use jackfield_domain::tool_loop::{Action, Input, Step, ToolLoop};
use jackfield_ports::journal::Loaded;

use crate::recent_targets::RecentKey;
use crate::route_table::RouteTable;

/// The model call of a turn in flight, as the table of targets counts it.
pub(crate) struct TargetWatch {
    call: Option<CountedCall>,
    /// The providers whose calls say nothing about their targets, as they are made with keys of the principal's own.
    own_keys: Vec<Arc<str>>,
    /// The conversation, if it stays at the target that answers it.
    recent: Option<RecentKey>,
    table: Arc<RouteTable>,
}

/// The breakers of some targets, as one decision sees them. The trials that it does not use are given back when it is
/// dropped.
pub(crate) struct BreakerLook {
    snapshots: Vec<BreakerSnapshot>,
    table: Arc<RouteTable>,
    trials: Vec<(ModelRef, BreakerPass)>,
}

/// A call of a target. Dropped without a verdict, it says nothing about the target.
pub(crate) struct CountedCall {
    model: ModelRef,
    pass: Option<BreakerPass>,
    table: Arc<RouteTable>,
}

impl TargetWatch {
    /// A turn without a call in flight.
    pub(crate) fn new(table: &Arc<RouteTable>, recent: Option<RecentKey>) -> Self {
        Self {
            call: None,
            own_keys: Vec::new(),
            recent,
            table: Arc::clone(table),
        }
    }

    /// Leaves calls of these providers out: a wrong key of one person must not close a target to others.
    pub(crate) fn leave_out(&mut self, own_keys: &[Arc<str>]) {
        self.own_keys = own_keys.to_vec();
    }

    /// Counts what a step decided, after this look if there was one.
    pub(crate) fn follow(&mut self, mut look: Option<BreakerLook>, step: &Step, now: Now) {
        for fact in &step.facts {
            match Verdict::of(fact) {
                Some(Verdict::Answered) => {
                    let recent = self.recent.clone();
                    self.take(|call| call.answered(recent, now));
                }
                Some(Verdict::Failed(failure)) => self.take(|call| call.failed(failure, now)),
                Some(Verdict::None) => self.call = None,
                None => {}
            }
        }
        for action in &step.actions {
            if let Action::CallModel { request, .. } = action
                && !self.own_keys.contains(&request.model.provider)
            {
                self.call = CountedCall::begin(&self.table, look.as_mut(), &request.model, now);
            }
        }
    }

    /// Feeds an input to the loop, after the breakers of the turn's targets, and counts what it decides.
    ///
    /// A piece of a reply comes without a look: it is frequent, and chooses no target unless it breaks the protocol.
    pub(crate) fn handle(&mut self, turn: &mut ToolLoop, input: Input, now: Now) -> Step {
        let is_piece = matches!(
            input,
            Input::ReplyAlive { .. } | Input::ReplyCounted { .. } | Input::ReplyDelta { .. }
        );
        let look = (!is_piece)
            .then(|| BreakerLook::at_setup(&self.table, turn.turn().setup(), now))
            .flatten();
        if let Some(look) = &look {
            let _nothing = turn.handle(Input::BreakersSeen(look.snapshots()), now);
        }
        let step = turn.handle(input, now);
        self.follow(look, &step, now);
        step
    }

    /// Recovers the open turn of a loaded session, which has this setup, and counts what that decides; `None` if none
    /// is open.
    pub(crate) fn recover(
        &mut self,
        setup: &Setup,
        session: &SessionId,
        loaded: &Loaded,
        now: Now,
        restrictions: Restrictions,
    ) -> Option<(ToolLoop, Step)> {
        // A call of the turn as it was gives its trial back.
        self.forget();
        self.leave_out(&setup.own_keys);
        let look = BreakerLook::at_setup(&self.table, setup, now);
        let breakers = look.as_ref().map_or_else(Vec::new, BreakerLook::snapshots);
        let facts = loaded.steps.iter().flat_map(|step| &step.facts);
        let deliveries = &loaded.deliveries;
        let recovered =
            SendMessageUseCase::recover(session, facts, deliveries, now, restrictions, breakers);
        let (turn, step) = recovered?;
        self.follow(look, &step, now);
        Some((turn, step))
    }

    /// The call is aborted, or its decision is taken back.
    pub(crate) fn forget(&mut self) {
        self.call = None;
    }

    fn take(&mut self, told: impl FnOnce(CountedCall)) {
        if let Some(call) = self.call.take() {
            told(call);
        }
    }
}

/// What a fact says about the call in flight.
enum Verdict<'f> {
    Answered,
    Failed(&'f ModelFailure),
    /// It is over without a verdict.
    None,
}

impl<'f> Verdict<'f> {
    fn of(fact: &'f Fact) -> Option<Self> {
        let end = if let Fact::ModelCallEnded { why, .. } = fact {
            Some(why)
        } else if let Fact::Compacted(compaction) = fact {
            compaction.failure.as_ref()
        } else if let Fact::ReplyReceived { .. } = fact {
            None
        } else {
            return None;
        };
        Some(match end {
            None => Self::Answered,
            Some(ModelCallEnd::Failed(failure)) => Self::Failed(failure),
            Some(ModelCallEnd::Cancelled | ModelCallEnd::Lost) => Self::None,
        })
    }
}

impl BreakerLook {
    /// Looks at the breakers of a turn's targets, if it has a route.
    pub(crate) fn at_setup(table: &Arc<RouteTable>, setup: &Setup, now: Now) -> Option<Self> {
        setup.route.as_ref()?;
        let models = (0..setup.targets()).filter_map(|target| setup.model_of(target));
        Some(Self::at(table, models, now))
    }

    /// Looks at the breakers of these targets.
    pub(crate) fn at<'m>(
        table: &Arc<RouteTable>,
        models: impl Iterator<Item = &'m ModelRef> + Clone,
        now: Now,
    ) -> Self {
        let mut look = Self {
            snapshots: Vec::new(),
            table: Arc::clone(table),
            trials: Vec::new(),
        };
        for (target, retry_at, trial) in table.look(models.clone(), now) {
            look.snapshots.push(BreakerSnapshot { retry_at, target });
            let index = usize::try_from(target).unwrap_or(usize::MAX);
            if let (Some(trial), Some(model)) = (trial, models.clone().nth(index)) {
                look.trials.push((model.clone(), trial));
            }
        }
        look
    }

    /// The breakers that are not closed, by the index of their target.
    pub(crate) fn snapshots(&self) -> Vec<BreakerSnapshot> {
        self.snapshots.clone()
    }

    fn take_trial(&mut self, model: &ModelRef) -> Option<BreakerPass> {
        let place = self.trials.iter().position(|(other, _)| other == model)?;
        Some(self.trials.swap_remove(place).1)
    }
}

impl Drop for BreakerLook {
    fn drop(&mut self) {
        for (model, trial) in &self.trials {
            self.table.release(model, *trial);
        }
    }
}

impl CountedCall {
    /// A call of this model begins, with its trial if it is in the look; `None` if it is no target of a route.
    pub(crate) fn begin(
        table: &Arc<RouteTable>,
        look: Option<&mut BreakerLook>,
        model: &ModelRef,
        now: Now,
    ) -> Option<Self> {
        let trial = look.and_then(|look| look.take_trial(model));
        let pass = table.begin(model, trial, now)?;
        Some(Self {
            model: model.clone(),
            pass: Some(pass),
            table: Arc::clone(table),
        })
    }

    /// It was answered; a conversation that stays at its target stays at this one.
    pub(crate) fn answered(mut self, recent: Option<RecentKey>, now: Now) {
        if let Some(recent) = recent {
            self.table.set_recent(recent, &self.model, now);
        }
        if let Some(pass) = self.pass.take() {
            self.table.answered(&self.model, pass, now);
        }
    }

    /// It failed.
    pub(crate) fn failed(mut self, failure: &ModelFailure, now: Now) {
        if let Some(pass) = self.pass.take() {
            self.table.failed(&self.model, pass, failure, now);
        }
    }
}

impl Drop for CountedCall {
    fn drop(&mut self) {
        if let Some(pass) = self.pass.take() {
            self.table.release(&self.model, pass);
        }
        self.table.end(&self.model);
    }
}
