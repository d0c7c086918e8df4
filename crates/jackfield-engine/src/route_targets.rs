//! The targets of a turn with a route: what it needs of them, and their order.

use std::sync::Arc;

use jackfield_domain::estimate;
use jackfield_domain::request::ModelRef;
use jackfield_domain::routing::{Beginning, Needs, Route, RouteTarget};
use jackfield_domain::session::Session;
use jackfield_domain::setup::Opening;
use jackfield_domain::time::Now;
use jackfield_domain::tool::Catalog;

use crate::error::EngineError;
use crate::options::TurnOptions;
use crate::recent_targets::RecentKey;
use crate::route_table::RouteTable;
use crate::state::Engine;

/// The targets of a turn that can serve it, in their order.
pub(crate) struct TurnTargets {
    /// The one that answered the conversation before.
    pub(crate) affinity: Option<u32>,
    /// The conversation, if it stays at the target that answers it.
    pub(crate) recent: Option<RecentKey>,
    /// The targets; at least one.
    pub(crate) targets: Vec<RouteTarget>,
}

impl Engine {
    /// The route of these options, if they name one.
    pub(crate) fn route_of(
        &self,
        options: &TurnOptions,
    ) -> Result<Option<Arc<Route>>, EngineError> {
        let Some(name) = &options.route else {
            return Ok(None);
        };
        let routes = &self.shared.routes;
        let route = routes.route(name).cloned();
        route.map(Some).ok_or_else(|| EngineError::UnknownRoute {
            known: routes.names().map(ToString::to_string).collect(),
            name: Arc::clone(name),
        })
    }

    /// The targets of a turn with this route, opening and history.
    pub(crate) fn turn_targets(
        &self,
        route: &Route,
        options: &TurnOptions,
        session: &Session,
        opening: &Opening,
        catalog: &Catalog,
        now: Now,
    ) -> Result<TurnTargets, EngineError> {
        let mut needs = Needs::default();
        let history = session.messages();
        let history = history.iter().map(|message| &**message);
        match opening {
            Opening::UserMessage(message) => {
                history
                    .chain([&**message])
                    .for_each(|message| needs.add(message));
            }
            Opening::Transcript(transcript) => {
                let messages = transcript.messages().iter();
                messages.for_each(|message| needs.add(message));
            }
            Opening::ClientResults(_) => history.for_each(|message| needs.add(message)),
        }
        needs.tools = catalog.offered().next().is_some();
        let before = session.last_turn().map(|turn| turn.model().clone());
        let before = before.filter(|before| {
            let mut targets = route.targets.iter();
            route.sticky && targets.any(|target| target.model == *before)
        });
        let routes = &self.shared.routes;
        let recent = match opening {
            Opening::Transcript(transcript) if route.sticky && before.is_none() => {
                let tools = catalog.offered().map(|tool| &*tool.definition);
                let preamble = estimate::preamble(&options.system, tools);
                let caller = options.caller.as_ref();
                let principal = caller.map_or("", |caller| &caller.principal);
                let messages = transcript.messages().iter().map(|message| &**message);
                let beginning = Beginning::of(principal, preamble, messages);
                RouteTable::recent_key(route, Some(&beginning))
            }
            Opening::ClientResults(_) | Opening::Transcript(_) | Opening::UserMessage(_) => None,
        };
        let before = before.or_else(|| routes.recent(recent.as_ref()?, now));
        let targets = routes.order(route, needs, &options.prices, before.is_some(), now);
        if !targets.iter().any(|target| !target.content_filter) {
            return Err(EngineError::NoCapableTarget {
                needs,
                route: Arc::clone(&route.name),
            });
        }
        let place = |before: &ModelRef| {
            let place = targets.iter().position(|target| target.model == *before);
            place.and_then(|place| u32::try_from(place).ok())
        };
        Ok(TurnTargets {
            affinity: before.as_ref().and_then(place),
            recent,
            targets,
        })
    }
}
