//! Wire types of routes.

use jackfield_domain::routing::BreakerState;
use jackfield_engine::{RouteStatus, TargetStatus};
use jackfield_export::values;
use serde::Serialize;
use utoipa::ToSchema;

/// The routes.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RouteList)]
pub(crate) struct RouteList {
    /// The routes, by name.
    pub(crate) routes: Vec<RouteView>,
}

/// A route.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Route)]
pub(crate) struct RouteView {
    /// Its name, by which requests name it as a model.
    pub(crate) name: String,
    /// How the targets of a tier are sorted: `cheapest`, `least_busy`, `ordered` or `weighted`.
    pub(crate) strategy: String,
    /// Whether a conversation stays at the target that answered it before.
    pub(crate) sticky: bool,
    /// The tokens from which on a conversation without a session stays at its target, too.
    pub(crate) cache_minimum: u64,
    /// What a client gets when no target answers: `last_error` or `unavailable`.
    pub(crate) on_exhausted: String,
    /// Its targets, in the order of the configuration.
    pub(crate) targets: Vec<RouteTargetView>,
}

/// A target of a route, with its state in this process.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RouteTarget)]
pub(crate) struct RouteTargetView {
    /// The model, as `provider/model`.
    pub(crate) model: String,
    /// Its tier: those of the lowest come first.
    pub(crate) tier: u32,
    /// Its share among the targets of its tier.
    pub(crate) weight: u32,
    /// Whether it is called only after a content filter refused the request elsewhere.
    pub(crate) content_filter: bool,
    /// The time limit to the first piece of its reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) first_byte_ms: Option<u64>,
    /// The state of its breaker: `closed`, `open`, `half_open` (the next request is a trial) or `trying` (a trial is in
    /// flight).
    pub(crate) state: String,
    /// When it may be tried again, if its breaker is not closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry_at: Option<String>,
    /// The number of its requests in flight.
    pub(crate) in_flight: u32,
    /// The last failure that it was to blame for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_failure: Option<TargetFailureView>,
}

/// A failure of a target.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TargetFailure)]
pub(crate) struct TargetFailureView {
    /// When.
    pub(crate) at: String,
    /// Its kind, as in the failures of turns.
    pub(crate) kind: String,
    /// The provider's message; only an admin gets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
}

impl RouteView {
    /// Converts a route, with the messages of failures on request.
    pub(crate) fn new(status: &RouteStatus, with_messages: bool) -> Self {
        let route = &status.route;
        let targets = status.targets.iter();
        let targets = targets.map(|target| RouteTargetView::new(target, with_messages));
        Self {
            name: route.name.to_string(),
            strategy: route.strategy.as_str().to_owned(),
            sticky: route.sticky,
            cache_minimum: route.cache_minimum,
            on_exhausted: route.on_exhausted.as_str().to_owned(),
            targets: targets.collect(),
        }
    }
}

impl RouteTargetView {
    fn new(status: &TargetStatus, with_message: bool) -> Self {
        let target = &status.target;
        let failure = status.last_failure.as_ref();
        let millis = |limit: std::time::Duration| u64::try_from(limit.as_millis()).ok();
        Self {
            model: values::model(&target.model),
            tier: target.tier,
            weight: target.weight,
            content_filter: target.content_filter,
            first_byte_ms: target.first_byte.and_then(millis),
            state: match status.state {
                BreakerState::Closed => "closed",
                BreakerState::HalfOpen => "half_open",
                BreakerState::Open(_) => "open",
                BreakerState::Trying => "trying",
            }
            .to_owned(),
            retry_at: status.retry_at.map(|at| at.to_rfc3339()),
            in_flight: status.busy,
            last_failure: failure.map(|(at, failure)| TargetFailureView {
                at: at.to_rfc3339(),
                kind: values::failure_kind(failure.kind).to_owned(),
                message: with_message.then(|| failure.message.clone()),
            }),
        }
    }
}
