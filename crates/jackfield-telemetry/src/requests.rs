//! The figures of HTTP requests.

use jackfield_gateway::EndedRequest;
use prometheus_client::registry::{Registry, Unit};

use crate::labels::{Buckets, Histograms, OTHER};
use crate::names;

#[derive(Debug)]
pub(crate) struct RequestFigures {
    duration: Histograms,
}

impl RequestFigures {
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let duration = Histograms::new_with_constructor(BUCKETS);
        let help = "The time from a request's head to the end of its response";
        registry.register_with_unit(
            names::REQUEST_DURATION,
            help,
            Unit::Seconds,
            duration.clone(),
        );
        Self { duration }
    }

    pub(crate) fn record(&self, request: &EndedRequest<'_>) {
        let method = METHODS.iter().find(|known| **known == request.method);
        let status = request.status.map(|status| status.to_string());
        let labels = vec![
            (names::METHOD, (*method.unwrap_or(&OTHER)).to_owned()),
            (names::ROUTE, request.route.to_owned()),
            (names::STATUS, status.unwrap_or_default()),
            (names::ERROR, request.error.unwrap_or_default().to_owned()),
        ];
        let duration = self.duration.get_or_create(&labels);
        duration.observe(request.took.as_secs_f64());
    }
}

/// From 5 ms to 164 s.
const BUCKETS: Buckets = Buckets {
    count: 16,
    factor: 2.0,
    first: 0.005,
};

/// The methods of HTTP (RFC 9110, RFC 5789).
const METHODS: &[&str] = &[
    "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE",
];
