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
use jackfield_engine::{chain, exhausted};
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::upstream_responses::UpstreamResponse;

use self::results::{Batch, Lines};
use super::batch_addresses::CLAUDE;
use super::headers::is_encoded;
use super::record::{SpendingDraft, endpoint};
use super::upstream_response::LIFETIME;
use super::{RawRequest, ReceivedRequest};
use crate::api_keys::Principal;
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
        if let Some(id) = within("/v1beta/files/", ":download")
            .or_else(|| within("/download/v1beta/files/", ":download"))
        {
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
        client: &Principal,
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
        let principal = Arc::clone(&client.principal);
        let draft = SpendingDraft::new(gateway, principal, request, model, 0)?;
        let quotas = client.budget_quotas();
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

    /// Whether the whole reply is needed, and no range of it.
    pub(super) const fn needs_all(&self) -> bool {
        matches!(self.kind, BatchRequestKind::Results(..))
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

    /// Stores what the whole reply says, even if its client goes away meanwhile.
    pub(super) async fn finish(self) {
        let engine = self.gateway.engine().clone();
        // A list is asked for often, and counts again what was not stored.
        let is_awaited = !matches!(self.kind, BatchRequestKind::Look);
        let storing = engine.spawn_receipt(async move {
            if let Err(error) = self.store().await {
                let error = chain(&error);
                tracing::warn!(%error, "what a batch used is not counted for now: the journal fails");
            }
        });
        if let Some(storing) = storing.filter(|_| is_awaited) {
            let _panicked = storing.await;
        }
    }

    async fn store(self) -> Result<(), JournalError> {
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
                let batches: Vec<String> =
                    results::batches(reply, &price).map(|one| one.id).collect();
                for id in batches {
                    gateway.own_batch(&id, &record, false).await?;
                }
            }
            BatchRequestKind::Look => {
                let batches: Vec<Batch> = results::batches(reply, &price).collect();
                for batch in batches {
                    gateway.look_at_batch(batch, &record.model.provider).await?;
                }
            }
            BatchRequestKind::Results(lines, id) => {
                let used = lines.finish(&price);
                if !used.is_empty() {
                    let known = gateway.known_batch(&record.model.provider, &id).await?;
                    // Of a batch that was created elsewhere, the client that fetches the results used them.
                    gateway
                        .count_batch(&id, used, known.unwrap_or((record, false)))
                        .await?;
                }
            }
        }
        Ok(())
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

    /// Counts a batch if it says what it used. Otherwise the file of its results will, which names no batch. One that was
    /// created elsewhere is left to its results: to see it in a list is not to use it.
    async fn look_at_batch(
        &self,
        Batch { file, id, used }: Batch,
        provider: &Arc<str>,
    ) -> Result<(), JournalError> {
        if file.is_none() && used.is_empty() {
            return Ok(());
        }
        let Some((owner, is_counted)) = self.known_batch(provider, &id).await? else {
            return Ok(());
        };
        if is_counted {
            return Ok(());
        }
        let counted_as = file.as_deref().unwrap_or(&id);
        let known = match &file {
            Some(file) => self.known_batch(provider, file).await?,
            None => None,
        };
        if !used.is_empty() {
            let known = known.unwrap_or_else(|| (owner.clone(), false));
            if self.count_batch(counted_as, used, known).await? {
                self.own_batch(&id, &owner, true).await?;
            }
            Ok(())
        } else if known.is_none() {
            self.own_batch(counted_as, &owner, false).await
        } else {
            Ok(())
        }
    }

    /// Stores whose a batch is, or the file of its results, and whether it is counted.
    async fn own_batch(
        &self,
        id: &str,
        owner: &SpendingRecord,
        is_counted: bool,
    ) -> Result<(), JournalError> {
        let Some(responses) = self.engine().upstream_responses() else {
            return Ok(());
        };
        let now = self.engine().now();
        let batch = UpstreamResponse {
            expires: now.after(LIFETIME),
            is_background: !is_counted,
            model: Arc::clone(&owner.model.model),
            place: UpstreamResponse::place_of_batch(&owner.model.provider, id),
            request: owner.clone(),
        };
        responses.store_upstream_response(&batch, now).await
    }

    /// Whose a batch is, or the file of its results, if that is known, and whether it is counted.
    async fn known_batch(
        &self,
        provider: &str,
        id: &str,
    ) -> Result<Option<(SpendingRecord, bool)>, JournalError> {
        let Some(responses) = self.engine().upstream_responses() else {
            return Ok(None);
        };
        let place = UpstreamResponse::place_of_batch(provider, id);
        let found = responses.find_upstream_response(&place).await?;
        Ok(found.map(|found| (found.request, !found.is_background)))
    }

    /// Records what a batch used, unless that was recorded before. Returns whether it is recorded.
    async fn count_batch(
        &self,
        id: &str,
        used: Vec<BatchUsage>,
        (owner, is_counted): (SpendingRecord, bool),
    ) -> Result<bool, JournalError> {
        if is_counted {
            return Ok(true);
        }
        let now = self.engine().now();
        let provider = &owner.model.provider;
        for (nth, used) in used.into_iter().enumerate() {
            let part = nth.to_string();
            let digest = Digest::of_parts([&**provider, "batch", id, &part]);
            let price = self.price(provider, &used.model);
            let price = price.map(|price| price.up_to(used.above));
            let budgets = owner.settled.iter().map(|one| Arc::clone(&one.budget));
            let budgets: Vec<_> = budgets.collect();
            let record = SpendingRecord {
                at: now,
                id: format!("batch-{digest}").into(),
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
            };
            // What could not be stored is counted the next time.
            if self.engine().store_spending(&record).await.is_none() {
                return Ok(false);
            }
        }
        // New prices may part it in another way, and its records may be deleted before its results are.
        self.own_batch(id, &owner, true).await?;
        Ok(true)
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
const CREATING: [&str; 2] = ["/v1/batches", CLAUDE];
/// Those of batches.
const LOOKED_AT: [&str; 3] = ["/v1/batches", CLAUDE, "/v1beta/batches"];
/// How much of a document is read, in bytes.
const MAX_DOCUMENT: usize = 64 << 20;
/// The maximum length of an id, in bytes.
const MAX_ID: usize = 512;
