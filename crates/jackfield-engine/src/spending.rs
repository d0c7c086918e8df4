//! Spending records: what model calls used that belong to no session of the durable journal.

use jackfield_domain::fact::Fact;
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_domain::spending;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::Journal as _;
use jackfield_ports::journal::spending::{SpendingLog, SpendingQuery};
use jackfield_ports::journal::upstream_responses::UpstreamResponses;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::budgets;
use crate::error::{EngineError, chain};
use crate::state::Engine;
use crate::turn_observer::PassedRequest;

impl Engine {
    /// The journal's log of spending records; `None` if the journal stores none.
    #[must_use]
    pub fn spending(&self) -> Option<&dyn SpendingLog> {
        self.shared.journal.spending()
    }

    /// The journal's responses that providers keep; `None` if it does not know whose they are.
    #[must_use]
    pub fn upstream_responses(&self) -> Option<&dyn UpstreamResponses> {
        self.shared.journal.upstream_responses()
    }

    /// Stores a spending record in the background; [`flush_receipts`](Self::flush_receipts) waits for it. A journal that
    /// stores none ignores it.
    pub fn record_spending(&self, record: SpendingRecord) {
        let engine = self.clone();
        self.spawn_receipt(async move {
            engine.store_spending(&record).await;
        });
    }

    /// Stores a spending record. Returns whether it is new; `None` if it could not be stored for two seconds, which is
    /// logged.
    pub async fn store_spending(&self, record: &SpendingRecord) -> Option<bool> {
        budgets::settle(&self.shared, record).await
    }

    /// Runs what a request leaves to be stored, in the background: [`flush_receipts`](Self::flush_receipts) waits for it,
    /// and it goes on when the request is dropped. `None` outside a runtime.
    pub fn spawn_receipt(
        &self,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> Option<JoinHandle<()>> {
        let runtime = Handle::try_current().ok()?;
        let receipts = &self.shared.shutdown.receipts;
        Some(receipts.spawn_on(work, &runtime))
    }

    /// Whether an observer exports traces, so that what a request calls belongs to a span of its own.
    #[must_use]
    pub fn exports_traces(&self) -> bool {
        self.shared.exports_traces()
    }

    /// Reports a request that was passed through to the observers.
    pub fn request_passed(&self, request: &PassedRequest) {
        for observer in self.shared.turn_observers.iter() {
            observer.request_passed(request);
        }
    }

    /// Stores what an ephemeral turn used that has ended, since its session will be deleted. Returns whether its request
    /// had an idempotency key.
    pub(crate) async fn record_ephemeral_turn(&self, session: &SessionId, turn: &TurnId) -> bool {
        match self.load(session).await {
            Ok(loaded) => {
                // The driver has recorded the calls that count for budgets.
                let records = spending::records_of_turn(turn, &loaded.steps);
                for record in records.into_iter().filter(|one| one.settled.is_empty()) {
                    self.record_spending(record);
                }
                let mut facts = loaded.steps.iter().flat_map(|step| &step.facts);
                facts.any(|fact| {
                    let Fact::TurnOpened {
                        setup,
                        turn: opened,
                        ..
                    } = fact
                    else {
                        return false;
                    };
                    let caller = setup.caller.as_ref();
                    opened == turn && caller.is_some_and(|caller| caller.key.is_some())
                })
            }
            Err(error) => {
                let error = chain(&error);
                tracing::warn!(%session, %error, "the usage of an ephemeral turn could not be read");
                false
            }
        }
    }

    /// Passes each stored spending record of a time and later to `read`, the oldest first, but for those that repeat
    /// what facts of sessions say. Returns how many records cannot be read: a newer version wrote them, or they are
    /// damaged.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the journal cannot be read.
    pub async fn read_spending(
        &self,
        since: Option<WallTime>,
        mut read: impl FnMut(&SpendingRecord) + Send,
    ) -> Result<u64, EngineError> {
        let Some(log) = self.spending() else {
            return Ok(0);
        };
        let mut query = SpendingQuery {
            after: None,
            limit: PAGE,
            since,
        };
        let mut unreadable = 0;
        loop {
            let page = log.records(&query).await?;
            let records = page.records.iter();
            records
                .filter(|record| !record.repeats_facts)
                .for_each(&mut read);
            unreadable += page.unreadable.len() as u64;
            query.after = page.next;
            if query.after.is_none() {
                return Ok(unreadable);
            }
        }
    }
}

/// How many records are read at once.
const PAGE: usize = 500;
