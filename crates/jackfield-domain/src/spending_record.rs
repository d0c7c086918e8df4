//! Spending records: what model calls used that belong to no session of the journal.

use std::sync::Arc;
use std::time::Duration;

use crate::caller::tags::Tag;
use crate::price::Price;
use crate::request::ModelRef;
use crate::target::Reservation;
use crate::time::WallTime;
use crate::trace::TraceContext;
use crate::usage::Usage;

/// The usage of a model call that belongs to no session of the journal: a request that was passed through, a summary
/// that was asked for by hand, or a call of an ephemeral turn. It stands beside the sessions: reports add it to the
/// usage of turns.
///
/// A call of a turn that counts for budgets has a record, too, with `repeats_facts`.
#[derive(Clone, Debug, PartialEq)]
pub struct SpendingRecord {
    /// When the request began.
    pub at: WallTime,
    /// The endpoint, such as `/v1/chat/completions`; of an ephemeral turn, the dialect of its client, or `turn`.
    pub endpoint: Arc<str>,
    /// The time from the request to the first piece of the reply; `None` if there was none.
    pub first_token: Option<Duration>,
    /// Its id, unique in the journal.
    pub id: Arc<str>,
    /// The model.
    pub model: ModelRef,
    /// Whether it was made with the principal's own key at the provider, which no budget of the gateway counts.
    pub own_key: bool,
    /// The price of the model when the request began; `None` if unknown.
    pub price: Option<Price>,
    /// The client's principal.
    pub principal: Arc<str>,
    /// Whether the facts of a session have the same usage. The record is for budgets alone, and outlives the session;
    /// reports leave it out.
    pub repeats_facts: bool,
    /// The provider's id of the request, if it sent one.
    pub request_id: Option<Arc<str>>,
    /// The route that chose the model, if there was one.
    pub route: Option<Arc<str>>,
    /// What the request used of each budget: the meters of its key, its user and its team, those that have budgets.
    pub settled: Vec<Reservation>,
    /// The status of the provider's reply; `None` if there was no reply.
    pub status: Option<u32>,
    /// The tags of the request, in the order of their names.
    pub tags: Vec<Tag>,
    /// The time from the request to the end of the reply.
    pub took: Duration,
    /// The trace context of the request: the client's, or that of the gateway's own span for it.
    pub trace: Option<Arc<TraceContext>>,
    /// The usage; an estimate where the provider reported none.
    pub usage: Usage,
}

impl SpendingRecord {
    /// What a store keeps in place of a known record of the same id: that one with the usage of this one, if this one has
    /// the count of what that one estimates; otherwise the known one stays.
    #[must_use]
    pub fn replacing(&self, known: &Self) -> Option<Self> {
        let counts = known.usage.estimated() > 0 && self.usage.estimated() == 0;
        counts.then(|| Self {
            settled: self.settled.clone(),
            usage: self.usage,
            ..known.clone()
        })
    }
}
