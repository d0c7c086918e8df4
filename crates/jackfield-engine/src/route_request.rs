//! Requests of a route that are no turn: the same functions choose their targets, and the same table counts them.

use std::sync::Arc;

use jackfield_domain::compaction::WindowList;
use jackfield_domain::failure::ModelFailure;
use jackfield_domain::price::PriceList;
use jackfield_domain::routing::{
    Beginning, ChoiceInput, Chosen, Fault, HopTarget, Hops, Needs, Route, RouteTarget, choose,
};
use jackfield_domain::target::TargetReason;
use jackfield_domain::time::WallTime;

use crate::error::EngineError;
use crate::recent_targets::RecentKey;
use crate::route_table::{RouteStatus, RouteTable};
use crate::state::Engine;
use crate::target_watch::{BreakerLook, CountedCall};

/// A request that goes to one target of a route after the other, until one answers it.
#[derive(Debug)]
pub struct RouteRequest {
    engine: Engine,
    /// The target that answered the conversation last.
    preferred: Option<u32>,
    /// The conversation, if it stays at the target that answers it.
    recent: Option<RecentKey>,
    hops: Hops,
    route: Arc<Route>,
    targets: Vec<RouteTarget>,
    hop_targets: Vec<HopTarget>,
}

/// A call of a target for a [`RouteRequest`]. Dropped without a verdict, it says nothing about the target.
pub struct RouteCall {
    counted: Option<CountedCall>,
    engine: Engine,
    index: u32,
    recent: Option<RecentKey>,
    /// Why the target is called.
    pub reason: TargetReason,
    /// The target.
    pub target: RouteTarget,
}

impl Engine {
    /// The routes, with the state of their targets.
    #[must_use]
    pub fn routes(&self) -> Vec<RouteStatus> {
        self.shared.routes.status(self.shared.clock.now())
    }

    /// The route of this name.
    #[must_use]
    pub fn route(&self, name: &str) -> Option<Arc<Route>> {
        self.shared.routes.route(name).cloned()
    }

    /// The instant at which the first target of a route may be tried, if all of them are out.
    #[must_use]
    pub fn route_is_out_until(&self, name: &str) -> Option<WallTime> {
        let routes = self.routes();
        let route = routes.iter().find(|one| *one.route.name == *name)?;
        let own = route.targets.iter();
        let own = own.filter(|target| !target.target.content_filter);
        let times: Option<Vec<WallTime>> = own.map(|target| target.retry_at).collect();
        times?.into_iter().min()
    }

    /// A request of this route, with these needs, that is no turn, and of a conversation that begins like this.
    ///
    /// # Errors
    ///
    /// [`EngineError::UnknownRoute`], and [`EngineError::NoCapableTarget`].
    pub fn route_request(
        &self,
        name: &Arc<str>,
        needs: Needs,
        beginning: Option<&Beginning>,
        prices: &PriceList,
        windows: &WindowList,
    ) -> Result<RouteRequest, EngineError> {
        let routes = &self.shared.routes;
        let Some(route) = routes.route(name).cloned() else {
            let known = routes.names().map(ToString::to_string).collect();
            let name = Arc::clone(name);
            return Err(EngineError::UnknownRoute { known, name });
        };
        let now = self.shared.clock.now();
        let recent = RouteTable::recent_key(&route, beginning);
        let before = recent
            .as_ref()
            .and_then(|recent| routes.recent(recent, now));
        let targets = routes.order(&route, needs, prices, before.is_some(), now);
        if !targets.iter().any(|target| !target.content_filter) {
            let route = Arc::clone(&route.name);
            return Err(EngineError::NoCapableTarget { needs, route });
        }
        let models = targets.iter().map(|target| &target.model);
        let hop_targets: Vec<HopTarget> = (0..)
            .zip(&targets)
            .map(|(index, target)| HopTarget {
                account: HopTarget::account_of(index, models.clone()),
                content_filter: target.content_filter,
                window: windows.get(&target.model),
            })
            .collect();
        let preferred = (0..).zip(&targets);
        let preferred = preferred
            .filter(|(_, target)| Some(&target.model) == before.as_ref())
            .map(|(index, _)| index)
            .next();
        Ok(RouteRequest {
            engine: self.clone(),
            hops: Hops::default(),
            preferred,
            recent,
            route,
            hop_targets,
            targets,
        })
    }
}

impl RouteRequest {
    /// The route.
    #[must_use]
    pub const fn route(&self) -> &Arc<Route> {
        &self.route
    }

    /// The first target, or the next one after this failure of the last; `None` if none is left, or if the request is
    /// at fault.
    pub fn next(&mut self, after: Option<&ModelFailure>) -> Option<RouteCall> {
        let fault = after.map(|failure| Fault::of(failure.kind));
        let otherwise = match fault {
            Some(Fault::Client) => return None,
            Some(Fault::ContentFilter) => TargetReason::ContentFilter,
            Some(Fault::ContextTooLong) => TargetReason::ContextTooLong,
            Some(Fault::Down(_) | Fault::Inability | Fault::Transient) => TargetReason::Fallback,
            None => TargetReason::Strategy,
        };
        let shared = &self.engine.shared;
        let now = shared.clock.now();
        let models = self.targets.iter().map(|target| &target.model);
        let mut look = BreakerLook::at(&shared.routes, models, now);
        let left = self.hops.left(&self.hop_targets);
        let chosen = choose(&ChoiceInput {
            breakers: &look.snapshots(),
            left: &left,
            now: now.wall,
            preferred: self.preferred,
        })?;
        let index = chosen.target();
        let reason = match chosen {
            Chosen::Preferred(_) => TargetReason::Affinity,
            Chosen::First(_) => otherwise,
            Chosen::LastLeft(_) => TargetReason::LastLeft,
        };
        let target = self.targets.get(usize::try_from(index).ok()?)?.clone();
        self.hops
            .call(index, Some(reason == TargetReason::LastLeft));
        Some(RouteCall {
            counted: CountedCall::begin(&shared.routes, Some(&mut look), &target.model, now),
            engine: self.engine.clone(),
            index,
            reason,
            recent: self.recent.clone(),
            target,
        })
    }

    /// A call failed; it is counted.
    pub fn failed(&mut self, call: RouteCall, failure: &ModelFailure) {
        self.hops.fail(call.index, failure, &self.hop_targets);
        call.failed(failure);
    }
}

impl RouteCall {
    /// The target answered.
    pub fn answered(mut self) {
        if let Some(counted) = self.counted.take() {
            let recent = self.recent.take();
            counted.answered(recent, self.engine.shared.clock.now());
        }
    }

    /// The target failed after its answer had begun, so no other one follows.
    pub fn failed(mut self, failure: &ModelFailure) {
        if let Some(counted) = self.counted.take() {
            counted.failed(failure, self.engine.shared.clock.now());
        }
    }
}

impl std::fmt::Debug for RouteCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RouteCall")
            .field("target", &self.target.model)
            .field("reason", &self.reason)
            .finish_non_exhaustive()
    }
}
