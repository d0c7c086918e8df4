//! The routes of an engine, and the health of their targets. It is fed by what happens to calls, and read by the
//! decisions about the next ones; it decides nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jackfield_domain::failure::ModelFailure;
use jackfield_domain::price::PriceList;
use jackfield_domain::request::ModelRef;
use jackfield_domain::routing::{
    Beginning, Breaker, BreakerPass, BreakerRules, BreakerState, Fault, FaultScope, Needs,
    OrderInput, Rotation, Route, RouteTarget, order,
};
use jackfield_domain::time::{Now, WallTime};

use crate::recent_targets::{RecentKey, RecentTargets};

/// The routes, and the state of their targets.
#[derive(Debug, Default)]
pub(crate) struct RouteTable {
    routes: BTreeMap<Arc<str>, Arc<Route>>,
    state: Mutex<TableState>,
}

#[derive(Debug, Default)]
struct TableState {
    recent: RecentTargets,
    rotations: BTreeMap<Arc<str>, Rotation>,
    /// All targets of all routes. Targets of several routes have one breaker.
    targets: BTreeMap<ModelRef, TargetState>,
}

#[derive(Debug)]
struct TargetState {
    breaker: Breaker,
    busy: u32,
    last_failure: Option<(WallTime, ModelFailure)>,
}

/// The state of a target.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetStatus {
    /// The number of its requests in flight.
    pub busy: u32,
    /// Its last failure that it was to blame for, and when, if there was one since the process began.
    pub last_failure: Option<(WallTime, ModelFailure)>,
    /// When it may be tried again; `None` if its breaker is closed, or while a trial is in flight.
    pub retry_at: Option<WallTime>,
    /// The state of its breaker.
    pub state: BreakerState,
    /// The target.
    pub target: RouteTarget,
}

/// A route, with the state of its targets.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteStatus {
    /// The route.
    pub route: Arc<Route>,
    /// The targets, in its order.
    pub targets: Vec<TargetStatus>,
}

impl RouteTable {
    /// Adds a route. Another one of the same name is replaced.
    pub(crate) fn add(&mut self, route: Route) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        for target in &route.targets {
            let target = target.model.clone();
            state.targets.entry(target).or_insert_with(|| TargetState {
                breaker: Breaker::new(BreakerRules::default()),
                busy: 0,
                last_failure: None,
            });
        }
        self.routes.insert(Arc::clone(&route.name), Arc::new(route));
    }

    /// The route of this name.
    pub(crate) fn route(&self, name: &str) -> Option<&Arc<Route>> {
        self.routes.get(name)
    }

    /// The names of all routes.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.routes.keys()
    }

    /// All routes, with the state of their targets.
    pub(crate) fn status(&self, now: Now) -> Vec<RouteStatus> {
        let state = self.lock();
        let status = |target: &RouteTarget| {
            let known = state.targets.get(&target.model);
            let breaker = known.map_or(BreakerState::Closed, |one| one.breaker.state(now.mono));
            TargetStatus {
                busy: known.map_or(0, |one| one.busy),
                last_failure: known.and_then(|one| one.last_failure.clone()),
                retry_at: retry_at(breaker, now).flatten(),
                state: breaker,
                target: target.clone(),
            }
        };
        let routes = self.routes.values();
        let routes = routes.map(|route| RouteStatus {
            route: Arc::clone(route),
            targets: route.targets.iter().map(status).collect(),
        });
        routes.collect()
    }

    /// The targets of a route that can serve a request with these needs, in their order; empty if none can.
    ///
    /// `is_settled` says that the request goes where an earlier one went: it uses up no turn of a rotation.
    pub(crate) fn order(
        &self,
        route: &Route,
        needs: Needs,
        prices: &PriceList,
        is_settled: bool,
        now: Now,
    ) -> Vec<RouteTarget> {
        let mut state = self.lock();
        let of = |target: &RouteTarget| state.targets.get(&target.model);
        let targets = || route.targets.iter();
        let busy: Vec<u32> = targets()
            .map(|target| of(target).map_or(0, |known| known.busy))
            .collect();
        let is_blocked: Vec<bool> = targets()
            .map(|target| {
                let known = of(target).map(|known| known.breaker.state(now.mono));
                matches!(known, Some(BreakerState::Open(_) | BreakerState::Trying))
            })
            .collect();
        let is_usable: Vec<bool> = targets()
            .map(|target| target.abilities.covers(needs))
            .collect();
        let prices: Vec<_> = targets().map(|target| prices.get(&target.model)).collect();
        let input = OrderInput {
            busy: &busy,
            is_blocked: &is_blocked,
            is_usable: &is_usable,
            prices: &prices,
        };
        let rotation = state.rotations.entry(Arc::clone(&route.name)).or_default();
        let order = order(route, &input, (!is_settled).then_some(rotation));
        let order = order
            .into_iter()
            .filter_map(|index| route.targets.get(index));
        order.cloned().collect()
    }

    /// The key of a conversation that begins like this, if it stays at its target.
    pub(crate) fn recent_key(route: &Route, beginning: Option<&Beginning>) -> Option<RecentKey> {
        let beginning =
            beginning.filter(|known| route.sticky && known.tokens >= route.cache_minimum)?;
        Some(RecentKey {
            beginning: beginning.key,
            route: Arc::clone(&route.name),
        })
    }

    /// The target that answered this conversation last.
    pub(crate) fn recent(&self, key: &RecentKey, now: Now) -> Option<ModelRef> {
        self.lock().recent.get(key, now.mono).cloned()
    }

    /// A target answered this conversation.
    pub(crate) fn set_recent(&self, key: RecentKey, model: &ModelRef, now: Now) {
        self.lock().recent.set(key, model.clone(), now.mono);
    }

    /// Reserves the trials of these targets that are half open, and returns those that are not closed: the index,
    /// when the target may be tried (`None` while a trial of another request is in flight), and the reserved trial.
    pub(crate) fn look<'m>(
        &self,
        models: impl Iterator<Item = &'m ModelRef>,
        now: Now,
    ) -> Vec<(u32, Option<WallTime>, Option<BreakerPass>)> {
        let mut state = self.lock();
        let mut seen = Vec::new();
        for (index, model) in (0..).zip(models) {
            let Some(target) = state.targets.get_mut(model) else {
                continue;
            };
            let trial = target.breaker.reserve_trial(now.mono);
            if trial.is_some() {
                seen.push((index, Some(now.wall), trial));
            } else if let Some(retry_at) = retry_at(target.breaker.state(now.mono), now) {
                seen.push((index, retry_at, None));
            }
        }
        seen
    }

    /// A call begins, with a reserved trial if there is one; `None` if the model is no target of a route.
    pub(crate) fn begin(
        &self,
        model: &ModelRef,
        trial: Option<BreakerPass>,
        now: Now,
    ) -> Option<BreakerPass> {
        if self.routes.is_empty() {
            return None;
        }
        let mut state = self.lock();
        let target = state.targets.get_mut(model)?;
        target.busy = target.busy.saturating_add(1);
        Some(trial.unwrap_or_else(|| target.breaker.pass(now.mono)))
    }

    /// A call is over, however.
    pub(crate) fn end(&self, model: &ModelRef) {
        if let Some(target) = self.lock().targets.get_mut(model) {
            target.busy = target.busy.saturating_sub(1);
        }
    }

    /// A call, or a reserved trial, ended without a verdict.
    pub(crate) fn release(&self, model: &ModelRef, pass: BreakerPass) {
        if let Some(target) = self.lock().targets.get_mut(model) {
            target.breaker.release(pass);
        }
    }

    /// A call was answered.
    pub(crate) fn answered(&self, model: &ModelRef, pass: BreakerPass, now: Now) {
        if let Some(target) = self.lock().targets.get_mut(model) {
            target.breaker.answered(pass, now.mono);
        }
    }

    /// A call failed. Targets that share the account of one that is down are down, too.
    pub(crate) fn failed(
        &self,
        model: &ModelRef,
        pass: BreakerPass,
        failure: &ModelFailure,
        now: Now,
    ) {
        let mut state = self.lock();
        let Some(target) = state.targets.get_mut(model) else {
            return;
        };
        target.breaker.failed(pass, failure, now.mono);
        let fault = Fault::of(failure.kind);
        let is_to_blame = matches!(fault, Fault::Down(_) | Fault::Transient);
        if is_to_blame {
            target.last_failure = Some((now.wall, failure.clone()));
        }
        if fault == Fault::Down(FaultScope::Account) {
            for (other, target) in &mut state.targets {
                if other.provider == model.provider && other != model {
                    target.breaker.set_down(now.mono);
                    target.last_failure = Some((now.wall, failure.clone()));
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, TableState> {
        // A state of a panicked thread is as good as any: it is counts and instants.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When a target may be tried, on the wall clock; `None` if its breaker is closed.
fn retry_at(state: BreakerState, now: Now) -> Option<Option<WallTime>> {
    match state {
        BreakerState::Closed => None,
        BreakerState::HalfOpen => Some(Some(now.wall)),
        // The wall clock has milliseconds: a millisecond too late is better than one too early.
        BreakerState::Open(left) => Some(Some(now.wall.after(left + Duration::from_millis(1)))),
        BreakerState::Trying => Some(None),
    }
}
