//! Routes, as clients of the gateway see them.

use std::sync::Arc;

use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_domain::failure::RetryAdvice;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::routing::{Fault, OnExhausted};

use crate::gateway::Gateway;

impl Gateway {
    /// The client's error for a request of this route, if it is of one: once no target has answered, that it may come
    /// again, with the time until the first target may be tried, unless the route says that the client gets the last
    /// error.
    #[must_use]
    pub fn route_error(&self, route: Option<&Arc<str>>, error: ServeError) -> ServeError {
        let ServeErrorKind::Model(failure) = &error.kind else {
            return error;
        };
        let is_targets = matches!(Fault::of(failure.kind), Fault::Down(_) | Fault::Transient);
        let route = route.and_then(|name| self.engine().route(name));
        let Some(route) =
            route.filter(|route| is_targets && route.on_exhausted == OnExhausted::Unavailable)
        else {
            return error;
        };
        let now = self.engine().now();
        let asked = match failure.advice {
            RetryAdvice::After(wait) => Some(wait),
            RetryAdvice::AtOnce | RetryAdvice::Backoff | RetryAdvice::Never => None,
        };
        let out_until = self.engine().route_is_out_until(&route.name);
        let soonest = out_until.map(|until| until.since(now));
        let wait = soonest.or(asked).unwrap_or_default();
        let message = format!(
            "no target of the route `{}` answered; the last one: {}",
            route.name, error.message
        );
        let retry_after = wait
            .as_secs()
            .saturating_add(u64::from(wait.subsec_nanos() > 0));
        let kind = ServeErrorKind::Exhausted {
            retry_after: retry_after.max(1),
        };
        ServeError::new(kind, message)
    }

    /// The owner of provider state in a request to a route: that of its targets of this dialect, if all of them have
    /// the same.
    pub(crate) fn owner_of_route(&self, dialect: &str, route: &str) -> Option<StateOwner> {
        let route = self.engine().route(route)?;
        let models = route.targets.iter().map(|target| &target.model);
        let owners = models.filter_map(|model| {
            let owner = self.engine().state_owner(&model.provider, &model.model)?;
            (*owner.dialect == *dialect).then_some(owner)
        });
        let mut owners: Vec<StateOwner> = owners.collect();
        owners.dedup();
        let owner = owners.pop()?;
        owners.is_empty().then_some(owner)
    }
}
