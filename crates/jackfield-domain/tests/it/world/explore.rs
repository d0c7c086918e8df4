//! Exploration: many generated scenarios, once; violations by property, classes counted.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use jackfield_domain::setup::Setup;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::replayed::Replays;
use super::scenario::{ops, setups};
use super::{Op, Property, World};

/// What a scenario may reach. Each has to be reached often, or the exploration proves nothing.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Class {
    AcceptedCall,
    AnsweredRefusal,
    CachedOutcome,
    CallNotStarted,
    CallShownAsWritten,
    CallShownInVain,
    CancelDuringACompaction,
    CancelDuringAReply,
    CancelDuringATool,
    CompactedAtTheShare,
    CompactedTooLong,
    CompactionFailed,
    CompactionLost,
    CountedInPart,
    CrashInRecovery,
    CrashWithTwoRunning,
    Elicitation,
    EndAnswered,
    EndCancelled,
    EndClientExpired,
    EndFailed,
    EndInterrupted,
    EndLimited,
    EstimateSettled,
    EstimatedUsage,
    Fallback,
    FilteredElsewhere,
    FinishedCall,
    ForkAfterOutcomes,
    GrantedCall,
    InboxInRecovery,
    LateAnswer,
    LateDelivery,
    LeftInTheInbox,
    Parked,
    Recovery,
    RepeatableCall,
    RepeatedAtOnce,
    RestrictedCall,
    RetryScheduled,
    RevealedRan,
    RevealedTool,
    RoundWithoutReply,
    RouteHopped,
    RouteKeptOut,
    RouteLastLeft,
    RoutePaused,
    RouteStayed,
    SecondSegment,
    ServerCallShown,
    ToldAfterTheEnd,
    ToolTimeout,
    TwoWaits,
    UnknownCall,
    UnusableReplyAgain,
    ViewBrokenOff,
    WaitExpired,
    WaitingApproval,
    WaitingClient,
    WaitingElicitation,
    WaitingBudget,
    WaitingUnknown,
}

impl Class {
    pub(crate) const ALL: [Self; 62] = [
        Self::AcceptedCall,
        Self::AnsweredRefusal,
        Self::CachedOutcome,
        Self::CallNotStarted,
        Self::CallShownAsWritten,
        Self::CallShownInVain,
        Self::CancelDuringACompaction,
        Self::CancelDuringAReply,
        Self::CancelDuringATool,
        Self::CompactedAtTheShare,
        Self::CompactedTooLong,
        Self::CompactionFailed,
        Self::CompactionLost,
        Self::CountedInPart,
        Self::CrashInRecovery,
        Self::CrashWithTwoRunning,
        Self::Elicitation,
        Self::EndAnswered,
        Self::EndCancelled,
        Self::EndClientExpired,
        Self::EndFailed,
        Self::EndInterrupted,
        Self::EndLimited,
        Self::EstimateSettled,
        Self::EstimatedUsage,
        Self::Fallback,
        Self::FilteredElsewhere,
        Self::FinishedCall,
        Self::ForkAfterOutcomes,
        Self::GrantedCall,
        Self::InboxInRecovery,
        Self::LateAnswer,
        Self::LateDelivery,
        Self::LeftInTheInbox,
        Self::Parked,
        Self::Recovery,
        Self::RepeatableCall,
        Self::RepeatedAtOnce,
        Self::RestrictedCall,
        Self::RetryScheduled,
        Self::RevealedRan,
        Self::RevealedTool,
        Self::RoundWithoutReply,
        Self::RouteHopped,
        Self::RouteKeptOut,
        Self::RouteLastLeft,
        Self::RoutePaused,
        Self::RouteStayed,
        Self::SecondSegment,
        Self::ServerCallShown,
        Self::ToldAfterTheEnd,
        Self::ToolTimeout,
        Self::TwoWaits,
        Self::UnknownCall,
        Self::UnusableReplyAgain,
        Self::ViewBrokenOff,
        Self::WaitExpired,
        Self::WaitingApproval,
        Self::WaitingClient,
        Self::WaitingElicitation,
        Self::WaitingBudget,
        Self::WaitingUnknown,
    ];
}

/// What all scenarios came to.
pub(crate) struct Explored {
    /// Whether fewer scenarios were played, since there are violations.
    pub(crate) broke_off: bool,
    /// In how many scenarios each class was reached.
    pub(crate) classes: BTreeMap<Class, u32>,
    /// What the replays of all scenarios came to.
    pub(crate) replays: Replays,
    /// The shortest scenario that violates each property, and how.
    pub(crate) violations: BTreeMap<Property, String>,
}

/// Explores, once for all tests. Deterministic for a [`seed`].
pub(crate) fn explored() -> &'static Explored {
    static EXPLORED: OnceLock<Explored> = OnceLock::new();
    EXPLORED.get_or_init(explore)
}

fn explore() -> Explored {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed());
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let scenarios = (setups(), ops());
    let mut classes = BTreeMap::new();
    let mut failing: BTreeMap<Property, (Arc<Setup>, Vec<Op>)> = BTreeMap::new();
    let mut replays = Replays::default();
    let mut last = SCENARIOS;
    let mut nth = 0;
    while nth < last {
        let (setup, ops) = scenarios
            .new_tree(&mut runner)
            .expect("a scenario")
            .current();
        let setup = Arc::new(setup);
        let world = play(&setup, &ops);
        world.replay_changed(nth as usize, &mut replays);
        for class in &world.classes {
            *classes.entry(*class).or_insert(0) += 1;
        }
        for (property, _) in &world.violations {
            let known = failing
                .get(property)
                .is_none_or(|(_, known)| ops.len() < known.len());
            if known {
                failing.insert(*property, (Arc::clone(&setup), ops.clone()));
            }
        }
        nth += 1;
        // Some more show what else is violated, and shorter ones; the rest would only take its time.
        if !world.violations.is_empty() {
            last = last.min(nth + MORE);
        }
    }
    let violations = failing.into_iter().map(|(property, (setup, ops))| {
        let ops = shrink(property, &setup, ops);
        let world = play(&setup, &ops);
        let detail = world
            .violations
            .iter()
            .find(|(found, _)| *found == property);
        let detail = detail.map_or("", |(_, detail)| detail.as_str());
        (
            property,
            format!("{detail}\nafter {ops:#?}\nwith {:?}", setup.limits),
        )
    });
    Explored {
        broke_off: last < SCENARIOS,
        classes,
        replays,
        violations: violations.collect(),
    }
}

/// The seed of all scenarios: fixed, unless `JACKFIELD_WORLD_SEED` is a number, as `cargo xtask explore` sets it.
#[expect(clippy::disallowed_methods, reason = "a test has no arguments")]
fn seed() -> [u8; 32] {
    let Ok(number) = std::env::var("JACKFIELD_WORLD_SEED") else {
        return [7; 32];
    };
    let number: u64 = number.parse().expect("JACKFIELD_WORLD_SEED is a number");
    let mut seed = [7; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    seed
}

fn play(setup: &Arc<Setup>, ops: &[Op]) -> World {
    let mut world = World::begin(Arc::clone(setup));
    for op in ops {
        world.run(*op);
    }
    world.play_out();
    world.check_replay();
    world.check_views();
    world
}

/// Leaves out whatever the violation does not need.
fn shrink(property: Property, setup: &Arc<Setup>, mut ops: Vec<Op>) -> Vec<Op> {
    let mut place = 0;
    while place < ops.len() {
        let mut fewer = ops.clone();
        fewer.remove(place);
        if play(setup, &fewer)
            .violations
            .iter()
            .any(|(found, _)| *found == property)
        {
            ops = fewer;
        } else {
            place += 1;
        }
    }
    ops
}

/// How many scenarios are played.
const SCENARIOS: u32 = 8000;
/// How many are played after one that violates anything, at most.
const MORE: u32 = 1000;
