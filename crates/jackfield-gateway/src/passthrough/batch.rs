//! Batches of a provider, whose requests the gateway never sees: what they used is counted when a reply tells it, once
//! per batch, for the client that created it.
//!
//! OpenAI's batch says what it used as a whole once it is over, and the file of its results by line; Claude's results and
//! Gemini's say it by line (`openai` 3.57, `anthropic` 2.14, `google-genai` 3.6).

mod results;

use std::sync::Arc;
use std::time::Duration;

use http::header::CONTENT_LENGTH;
use http::{HeaderMap, Method, StatusCode};
use jackfield_dialect_kit::serve::ServeError;
use jackfield_domain::digest::Digest;
use jackfield_domain::fact::TurnEnd;
use jackfield_domain::quota::{BudgetState, Quota};
use jackfield_domain::request::ModelRef;
use jackfield_domain::spending;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::target::Reservation;
use jackfield_domain::usage::Usage;
use jackfield_engine::exhausted;
use jackfield_ports::journal::upstream_responses::UpstreamResponse;

use self::results::{Batch, Lines};
use super::headers::is_encoded;
use super::record::{SpendingDraft, endpoint};
use super::upstream_response::LIFETIME;
use super::{RawRequest, ReceivedRequest};
use crate::failures::{from_engine_error, from_turn_end};
use crate::gateway::Gateway;

/// A request about batches, and what its reply says so far.
pub(super) struct BatchRequest {
    gateway: Gateway,
    kind: BatchRequestKind,
    /// How many bytes of the reply are still to come, if that is known.
    left: Option<u64>,
    quotas: Vec<(Arc<str>, Quota)>,
    /// What a record says of the client that asks. Its id and its model are those of no request.
    record: SpendingRecord,
    reply: Vec<u8>,
}

enum BatchRequestKind {
    /// Creates a batch.
    Creation,
    /// Asks for a batch, or for several.
    Look,
    /// Asks for the results of a batch, or a file that may have them; with its id.
    Results(Lines, String),
}

impl BatchRequestKind {
    fn of(method: &Method, path: &str) -> Option<Self> {
        let results = |id: &str| Some(Self::Results(Lines::default(), id.to_owned()));
        let within = |before: &str, behind: &str| {
            let id = path.strip_prefix(before)?.strip_suffix(behind)?;
            (!id.is_empty() && id.len() <= MAX_ID).then_some(id)
        };
        if *method == Method::POST {
            let creates = CREATING.contains(&path) || path.ends_with(":batchGenerateContent");
            return creates.then_some(Self::Creation);
        }
        if let Some(id) =
            within("/v1/messages/batches/", "/results").or_else(|| within("/v1/files/", "/content"))
        {
            return results(id);
        }
        if let Some(id) = within("/download/v1beta/files/", ":download") {
            return results(&format!("files/{id}"));
        }
        let looks = |root: &str| path.strip_prefix(root).is_some_and(is_below);
        LOOKED_AT.into_iter().any(looks).then_some(Self::Look)
    }
}

impl BatchRequest {
    /// What is to be read of a reply to this request; `None` if it is not about batches.
    pub(super) fn of(
        gateway: &Gateway,
        (principal, quotas): (Arc<str>, Vec<(Arc<str>, Quota)>),
        request: &ReceivedRequest,
        raw: &RawRequest,
        provider: &str,
    ) -> std::io::Result<Option<Self>> {
        let Some(kind) = BatchRequestKind::of(&raw.method, &raw.path) else {
            return Ok(None);
        };
        let model = ModelRef {
            model: Arc::from(""),
            provider: provider.into(),
        };
        let draft = SpendingDraft::new(gateway, principal, request, model, 0)?;
        let budgets = quotas.iter().map(|(name, _)| Reservation {
            budget: Arc::clone(name),
            cost: None,
            tokens: None,
        });
        let mut record = draft.begun();
        record.settled = budgets.collect();
        record.endpoint = endpoint(root_of(&record.endpoint));
        Ok(Some(Self {
            gateway: gateway.clone(),
            kind,
            left: None,
            quotas,
            record,
            reply: Vec::new(),
        }))
    }

    /// The request is sent now, perhaps with the principal's own key, which no budget of the gateway counts.
    ///
    /// # Errors
    ///
    /// It would create a batch, and a budget of its client is used up.
    pub(super) async fn begin(&mut self, has_own_key: bool) -> Result<(), ServeError> {
        self.record.own_key = has_own_key;
        if has_own_key {
            self.record.settled.clear();
        } else if matches!(self.kind, BatchRequestKind::Creation) {
            let engine = self.gateway.engine();
            let states = engine.budget_states(&self.quotas).await;
            let states = states.map_err(|error| from_engine_error(&error))?;
            if let Some(spent) = states.iter().find(|state| BudgetState::is_spent(state)) {
                let failure = exhausted(spent, engine.now());
                return Err(from_turn_end(&TurnEnd::Failed(failure)));
            }
        }
        Ok(())
    }

    /// Whether a reply with this head is read.
    pub(super) fn reads(&mut self, status: StatusCode, headers: &HeaderMap) -> bool {
        let length = headers.get(CONTENT_LENGTH);
        self.left = length.and_then(|length| length.to_str().ok()?.parse().ok());
        status.is_success() && status != StatusCode::PARTIAL_CONTENT && !is_encoded(headers)
    }

    /// Reads a piece of the reply. Returns whether it is the last one.
    pub(super) fn push(&mut self, piece: &[u8]) -> bool {
        match &mut self.kind {
            BatchRequestKind::Creation | BatchRequestKind::Look => {
                // A longer one is no batch.
                let room = MAX_DOCUMENT.saturating_sub(self.reply.len());
                self.reply
                    .extend_from_slice(piece.get(..room).unwrap_or(piece));
            }
            BatchRequestKind::Results(lines, _) => {
                let price = |model: &str| self.gateway.price(&self.record.model.provider, model);
                lines.push(piece, &price);
            }
        }
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(piece.len() as u64);
        }
        self.left == Some(0)
    }

    /// Stores what the whole reply says.
    pub(super) async fn finish(self) {
        let Self {
            gateway,
            kind,
            record,
            reply,
            ..
        } = self;
        let reply = std::str::from_utf8(&reply).unwrap_or_default();
        let price = |model: &str| gateway.price(&record.model.provider, model);
        match kind {
            BatchRequestKind::Creation => {
                for batch in results::batches(reply, &price) {
                    gateway.own_batch(&batch.id, &record).await;
                }
            }
            BatchRequestKind::Look => {
                for batch in results::batches(reply, &price) {
                    gateway.look_at_batch(batch, &record).await;
                }
            }
            BatchRequestKind::Results(lines, id) => {
                let used = lines.finish(&price);
                if !used.is_empty() {
                    let owner = gateway.owner_of_batch(&id, record).await;
                    gateway.count_batch(&id, used, &owner);
                }
            }
        }
    }
}

impl Gateway {
    fn price(&self, provider: &Arc<str>, model: &str) -> Option<jackfield_domain::price::Price> {
        let model = ModelRef {
            model: model.into(),
            provider: Arc::clone(provider),
        };
        self.config().default_options.prices.get(&model)
    }

    /// Counts a batch if it says what it used. Otherwise the file of its results will, which names no batch.
    async fn look_at_batch(&self, batch: Batch, asker: &SpendingRecord) {
        let Batch { file, id, used } = batch;
        if file.is_none() && used.is_empty() {
            return;
        }
        let owner = self.owner_of_batch(&id, asker.clone()).await;
        match file {
            Some(file) if used.is_empty() => self.own_batch(&file, &owner).await,
            Some(file) => self.count_batch(&file, used, &owner),
            None => self.count_batch(&id, used, &owner),
        }
    }

    /// Stores that a batch, or the file of its results, belongs to the client of this record.
    async fn own_batch(&self, id: &str, owner: &SpendingRecord) {
        let Some(responses) = self.engine().upstream_responses() else {
            return;
        };
        let now = self.engine().now();
        let batch = UpstreamResponse {
            expires: now.after(LIFETIME),
            is_background: true,
            model: Arc::clone(&owner.model.model),
            place: UpstreamResponse::place_of_batch(&owner.model.provider, id),
            request: owner.clone(),
        };
        if let Err(error) = responses.store_upstream_response(&batch, now).await {
            let error = jackfield_engine::chain(&error);
            tracing::warn!(id, %error, "a batch will be counted for the client that fetches it: the journal fails");
        }
    }

    /// The record of the client that created this batch, if it is known; otherwise of the one that asks.
    async fn owner_of_batch(&self, id: &str, asker: SpendingRecord) -> SpendingRecord {
        let Some(responses) = self.engine().upstream_responses() else {
            return asker;
        };
        let place = UpstreamResponse::place_of_batch(&asker.model.provider, id);
        let found = responses.find_upstream_response(&place).await;
        found.ok().flatten().map_or(asker, |found| found.request)
    }

    /// Records what a batch used, unless that was recorded before.
    fn count_batch(&self, id: &str, used: Vec<BatchUsage>, owner: &SpendingRecord) {
        let now = self.engine().now();
        let provider = &owner.model.provider;
        for (nth, used) in used.into_iter().enumerate() {
            // The first part is the whole of a batch with one model, which other replies sum up, too.
            let part = if nth == 0 { String::new() } else { used.name() };
            let id = Digest::of_parts([&**provider, "batch", id, &part]);
            let price = self.price(provider, &used.model);
            let price = price.map(|price| price.up_to(used.above));
            let budgets: Vec<_> = owner
                .settled
                .iter()
                .map(|one| Arc::clone(&one.budget))
                .collect();
            self.engine().record_spending(SpendingRecord {
                at: now,
                id: format!("batch-{id}").into(),
                model: ModelRef {
                    model: used.model,
                    provider: Arc::clone(provider),
                },
                settled: spending::settled(&budgets, price.as_ref(), &used.usage),
                price,
                status: Some(200),
                took: Duration::ZERO,
                usage: used.usage,
                ..owner.clone()
            });
        }
    }
}

/// What the requests of a batch used that have the same rates.
#[derive(Debug, PartialEq)]
pub(super) struct BatchUsage {
    /// The threshold of input tokens which each of them is above.
    pub(super) above: u64,
    pub(super) model: Arc<str>,
    pub(super) usage: Usage,
}

impl BatchUsage {
    fn name(&self) -> String {
        format!("{} above {}", self.model, self.above)
    }
}

/// The endpoint that a record of a batch names.
fn root_of(path: &str) -> &str {
    let mut roots = LOOKED_AT.iter();
    roots
        .find(|root| path.starts_with(**root))
        .unwrap_or(&"/v1/batches")
}

/// Whether the rest of a path is nothing or one name, with an action.
fn is_below(rest: &str) -> bool {
    rest.is_empty() || (rest.starts_with('/') && rest.len() <= MAX_ID)
}

/// The addresses that create batches.
const CREATING: [&str; 2] = ["/v1/batches", "/v1/messages/batches"];
/// Those of batches.
const LOOKED_AT: [&str; 3] = ["/v1/batches", "/v1/messages/batches", "/v1beta/batches"];
/// How much of a document is read, in bytes.
const MAX_DOCUMENT: usize = 64 << 20;
/// The maximum length of an id, in bytes.
const MAX_ID: usize = 512;
