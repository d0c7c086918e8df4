//! What a request used that was passed through, as a spending record.

use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, StatusCode};
use jackfield_domain::estimate;
use jackfield_domain::failure::ModelFailure;
use jackfield_domain::request::ModelRef;
use jackfield_domain::spending;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_domain::trace::TraceContext;
use jackfield_domain::usage::Usage;
use jackfield_engine::{BudgetedCall, Engine};

use super::ReceivedRequest;
use super::max_output::max_output;
use crate::gateway::Gateway;
use crate::ids;
use crate::trace::trace_context;

/// A spending record in the making. It is stored when it is dropped, unless nothing was sent.
pub(super) struct SpendingDraft {
    began: Instant,
    /// The names of the meters whose budgets it counts for.
    pub(super) budgets: Vec<Arc<str>>,
    engine: Engine,
    /// Whether the request may have been sent, or something may be reserved for it: its client may go away before
    /// that, and a budget may be used up.
    is_sent: bool,
    record: SpendingRecord,
    reply_bytes: usize,
    request_bytes: usize,
    /// The usage that the provider reported.
    pub(super) usage: Option<Usage>,
}

impl SpendingDraft {
    pub(super) fn new(
        gateway: &Gateway,
        principal: Arc<str>,
        request: &ReceivedRequest,
        model: ModelRef,
        request_bytes: usize,
    ) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let price = gateway.config().default_options.prices.get(&model).cloned();
        Self {
            began: Instant::now(),
            budgets: Vec::new(),
            engine: gateway.engine().clone(),
            is_sent: false,
            record: SpendingRecord {
                at: WallTime::from_millis(0).after(now.unwrap_or_default()),
                endpoint: endpoint(&request.path),
                first_token: None,
                id: ids::random().into(),
                model,
                price,
                principal,
                request_id: None,
                route: None,
                repeats_facts: false,
                settled: Vec::new(),
                status: None,
                took: std::time::Duration::ZERO,
                trace: trace_context(&request.headers),
                usage: Usage::default(),
            },
            reply_bytes: 0,
            request_bytes,
            usage: None,
        }
    }

    /// The trace context of the call, if its request has a span of its own.
    pub(super) fn call_context(&self) -> Option<TraceContext> {
        let context = self.record.trace.as_ref();
        let context = context.filter(|_| self.engine.exports_traces())?;
        context.child(&self.record.id)
    }

    /// The request is one of this route.
    pub(super) fn route(&mut self, name: &Arc<str>) {
        self.record.route = Some(Arc::clone(name));
    }

    /// Reserves what the request may use of its budgets, just before it is sent.
    pub(super) async fn reserve(&mut self, body: &[u8]) -> Result<(), ModelFailure> {
        // If this is cut off, the record settles what may be reserved already.
        self.is_sent = true;
        let endpoint = &*self.record.endpoint;
        if self.budgets.is_empty() || COUNTING.iter().any(|end| endpoint.ends_with(end)) {
            return Ok(());
        }
        let call = BudgetedCall {
            budgets: self.budgets.clone(),
            id: Arc::clone(&self.record.id),
            input: estimate::tokens(self.request_bytes),
            model: self.record.model.clone(),
            output: if self.is_generated() {
                max_output(body)
            } else {
                Some(0)
            },
            price: self.record.price.clone(),
        };
        let reserved = self.engine.reserve_budgets(&call).await;
        self.is_sent = reserved.is_ok();
        reserved
    }

    /// Whether the endpoint generates a reply; others report what they cost.
    fn is_generated(&self) -> bool {
        let endpoint = &*self.record.endpoint;
        GENERATING.contains(&endpoint) || GEMINIS.iter().any(|method| endpoint.ends_with(method))
    }

    /// The provider has replied with this head.
    pub(super) fn status(&mut self, status: StatusCode, headers: &HeaderMap) {
        self.record.status = Some(u32::from(status.as_u16()));
        let id = ["request-id", "x-request-id"].iter();
        let mut id = id.filter_map(|name| headers.get(*name)?.to_str().ok());
        self.record.request_id = id.next().map(Into::into);
    }

    /// A piece of the reply's body has arrived.
    pub(super) fn piece(&mut self, bytes: usize) {
        let elapsed = self.began.elapsed();
        self.record.first_token.get_or_insert(elapsed);
        self.reply_bytes += bytes;
    }
}

impl Drop for SpendingDraft {
    fn drop(&mut self) {
        if !self.is_sent {
            return;
        }
        let is_success = self
            .record
            .status
            .is_some_and(|status| (200..300).contains(&status));
        // A refused request costs nothing.
        let estimate = (is_success && self.is_generated()).then(|| {
            let (input, output) = (self.request_bytes, self.reply_bytes);
            Usage::estimate(estimate::tokens(input), estimate::tokens(output))
        });
        self.record.usage = self.usage.or(estimate).unwrap_or_default();
        let record = &self.record;
        self.record.settled =
            spending::settled(&self.budgets, record.price.as_ref(), &record.usage);
        self.record.took = self.began.elapsed();
        self.engine.record_spending(self.record.clone());
    }
}

/// The endpoint of a path, which is as long as a client likes.
pub(super) fn endpoint(path: &str) -> Arc<str> {
    let end = path.floor_char_boundary(MAX_ENDPOINT);
    path.get(..end).unwrap_or_default().into()
}

/// The maximum length of a recorded endpoint, in bytes.
const MAX_ENDPOINT: usize = 200;

/// The endpoints whose usage is estimated if the provider reports none.
const GENERATING: [&str; 3] = ["/v1/chat/completions", "/v1/messages", "/v1/responses"];
/// The ends of the endpoints that count tokens, which costs nothing.
const COUNTING: [&str; 3] = ["/count_tokens", ":countTokens", "/input_tokens"];
/// The ends of those of Gemini, which have the model in their path.
const GEMINIS: [&str; 2] = [":generateContent", ":streamGenerateContent"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_endpoint_is_bounded() {
        assert_eq!(&*endpoint("/v1/embeddings"), "/v1/embeddings");
        assert_eq!(endpoint(&"ä".repeat(200)).len(), MAX_ENDPOINT);
    }
}
