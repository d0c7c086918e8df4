//! What a request used that was passed through, as a spending record.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use jackfield_dialect_kit::usage_reports::UsageReports;
use jackfield_domain::estimate;
use jackfield_domain::failure::ModelFailure;
use jackfield_domain::request::ModelRef;
use jackfield_domain::spending;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::trace::TraceContext;
use jackfield_domain::usage::Usage;
use jackfield_engine::{BudgetedCall, Engine};

use super::output_and_tier::output_and_tier;
use super::tags::header_of;
use super::{ReceivedRequest, is_multipart};
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
    is_begun: bool,
    /// Whether the response goes on in the background after its request, so that only its usage is recorded, once it is
    /// told.
    is_deferred: bool,
    /// Whether the provider may have worked on the request, although no head of a reply has come.
    is_sent: bool,
    record: SpendingRecord,
    reply_bytes: usize,
    /// The size of a request of text; 0 for a form.
    request_bytes: usize,
    /// The usage that the provider reported.
    usage: Option<Usage>,
}

impl SpendingDraft {
    pub(super) fn new(
        gateway: &Gateway,
        principal: Arc<str>,
        request: &ReceivedRequest,
        model: ModelRef,
        request_bytes: usize,
    ) -> io::Result<Self> {
        // The bytes of files in a form say nothing of tokens.
        let content_type = request.headers.get(CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok());
        let is_form = content_type.is_some_and(is_multipart);
        let price = gateway.config().default_options.prices.get(&model);
        Ok(Self {
            began: Instant::now(),
            budgets: Vec::new(),
            engine: gateway.engine().clone(),
            is_begun: false,
            is_deferred: false,
            is_sent: false,
            record: SpendingRecord {
                at: gateway.engine().now(),
                endpoint: endpoint(&request.path),
                first_token: None,
                id: ids::random()?.into(),
                model,
                price,
                principal,
                request_id: None,
                route: None,
                own_key: false,
                repeats_facts: false,
                settled: Vec::new(),
                status: None,
                tags: gateway.tags(&header_of(&request.headers), &request.body),
                took: std::time::Duration::ZERO,
                trace: trace_context(&request.headers),
                usage: Usage::default(),
            },
            reply_bytes: 0,
            request_bytes: if is_form { 0 } else { request_bytes },
            usage: None,
        })
    }

    /// What a request in the background used, if the provider's reply tells it: the record of that request, which may be
    /// stored already. No budget counts it.
    pub(super) fn deferred(gateway: &Gateway, request: SpendingRecord) -> Self {
        Self {
            began: Instant::now(),
            budgets: Vec::new(),
            engine: gateway.engine().clone(),
            is_begun: true,
            is_deferred: true,
            is_sent: true,
            record: request,
            reply_bytes: 0,
            request_bytes: 0,
            usage: None,
        }
    }

    /// The record as it is now.
    pub(super) fn begun(&self) -> SpendingRecord {
        self.record.clone()
    }

    /// The response goes on in the background: without its usage, nothing is recorded for now.
    pub(super) fn defer(&mut self) {
        self.is_deferred = true;
    }

    /// The trace context of the call, if its request has a span of its own.
    pub(super) fn call_context(&self) -> Option<TraceContext> {
        let context = self.record.trace.as_ref();
        let context = context.filter(|_| self.engine.exports_traces())?;
        context.child(&self.record.id)
    }

    /// Whether the request is made with the principal's own key, which no budget of the gateway counts.
    pub(super) fn own_key(&mut self, is_used: bool) {
        // A deferred one has that of its request.
        if self.is_deferred {
            return;
        }
        self.record.own_key = is_used;
        if is_used {
            self.budgets.clear();
        }
    }

    /// The request is one of this route.
    pub(super) fn route(&mut self, name: &Arc<str>) {
        self.record.route = Some(Arc::clone(name));
    }

    /// Reserves what the request may use of its budgets, just before it is sent.
    pub(super) async fn reserve(&mut self, body: &[u8]) -> Result<(), ModelFailure> {
        // If this is cut off, the record settles what may be reserved already.
        self.is_begun = true;
        if self.budgets.is_empty() || self.is_counting() {
            return Ok(());
        }
        let (output, tier) = output_and_tier(body);
        let call = BudgetedCall {
            budgets: self.budgets.clone(),
            id: Arc::clone(&self.record.id),
            input: estimate::tokens(self.request_bytes),
            model: self.record.model.clone(),
            output: Some(if self.is_generated() { output } else { 0 }),
            price: self.record.price.clone(),
            tier,
        };
        let reserved = self.engine.reserve_budgets(&call).await;
        self.is_begun = reserved.is_ok();
        reserved
    }

    /// Whether the endpoint counts tokens, which costs nothing.
    fn is_counting(&self) -> bool {
        let endpoint = &*self.record.endpoint;
        COUNTING.iter().any(|end| endpoint.ends_with(end))
    }

    /// Whether the endpoint generates a reply whose text says how long it is.
    fn is_generated(&self) -> bool {
        let endpoint = &*self.record.endpoint;
        GENERATING.contains(&endpoint) || GEMINIS.iter().any(|method| endpoint.ends_with(method))
    }

    /// The request is sent now. If no head of a reply comes, its usage is estimated.
    pub(super) fn sending(&mut self) {
        self.is_sent = true;
    }

    /// Sending failed like this.
    pub(super) fn failed(&mut self, failure: &ModelFailure) {
        self.is_sent = failure.may_have_used();
    }

    /// The provider has replied with this head.
    pub(super) fn status(&mut self, status: StatusCode, headers: &HeaderMap) {
        self.record.status = Some(u32::from(status.as_u16()));
        let id = ["request-id", "x-request-id"].iter();
        let mut id = id.filter_map(|name| headers.get(*name)?.to_str().ok());
        self.record.request_id = id.next().map(Into::into);
    }

    /// The provider has reported this usage, if any.
    pub(super) fn used(&mut self, reports: &UsageReports) {
        let usage = reports.usage();
        // Some servers report nothing, or zeros.
        self.usage = usage.filter(|usage| usage.total() > 0 || usage.billed.is_some());
        for note in reports.notes() {
            let (id, code, path) = (&self.record.id, &note.code, &note.path);
            tracing::warn!(%id, %code, path, "the usage of a reply is not as its provider said it");
        }
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
        if !self.is_begun || (self.is_deferred && self.usage.is_none()) {
            return;
        }
        // A request that the provider refused costs nothing.
        let may_have_used = match self.record.status {
            Some(status) => (200..300).contains(&status),
            None => self.is_sent,
        };
        let estimate = (may_have_used && !self.is_counting()).then(|| {
            // The bytes of a reply that is no text, such as an image, say nothing of its tokens.
            let output = if self.is_generated() {
                self.reply_bytes
            } else {
                0
            };
            Usage::estimate(
                estimate::tokens(self.request_bytes),
                estimate::tokens(output),
            )
        });
        self.record.usage = self.usage.or(estimate).unwrap_or_default();
        let record = &self.record;
        self.record.settled =
            spending::settled(&self.budgets, record.price.as_ref(), &record.usage);
        self.record.took = if self.is_deferred {
            self.engine.now().since(self.record.at)
        } else {
            self.began.elapsed()
        };
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

/// The endpoints whose output is estimated if the provider reports none.
const GENERATING: [&str; 4] = [
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/messages",
    "/v1/responses",
];
/// The ends of the endpoints that count tokens, which costs nothing.
const COUNTING: [&str; 3] = ["/count_tokens", ":countTokens", "/input_tokens"];
/// The ends of those of Gemini, which have the model in their path.
const GEMINIS: [&str; 2] = [":generateContent", ":streamGenerateContent"];
