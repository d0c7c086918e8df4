//! Goes back when a batch is not committed: before an answer that it did not know, or to what the journal has.

use std::sync::Arc;

use jackfield_domain::fact::InputKind;
use jackfield_domain::restrictions::Restrictions;
use jackfield_domain::tool_loop::Input;
use jackfield_domain::wait::in_processing_order;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::journal::{AppendRefusal, Journal as _, JournalError};

use super::Driver;
use crate::batch::{BatchUndo, StepBatch, notices_only};
use crate::commit::Ledger;
use crate::error::EngineError;
use crate::ownership::SessionOwnership;
use crate::ownership::probe::check_room;

impl Driver<'_> {
    /// An answer arrived before this batch closed its wait. Goes back to the state before the batch, and feeds
    /// the answer first, then the same inputs. Calls in flight are not touched.
    pub(super) async fn replay_with_answer(
        &mut self,
        batch: StepBatch,
    ) -> Result<StepBatch, EngineError> {
        let Some(undo) = batch.undo else {
            // The turn was resumed from the journal, and the answer arrived since: reload again.
            let why = AppendRefusal::Answered.to_string().into();
            return self.reload(batch, Some(AppendRefusal::Answered), why).await;
        };
        self.turn = undo.turn;
        self.targets.forget();
        self.inbox = None;
        self.last_wake = None;
        let journal = Arc::clone(&self.shared.journal);
        let deliveries = journal.inbox(self.turn.session(), self.ledger.seen).await?;
        self.ledger.seen += deliveries.len() as u64;
        let turn = self.turn.clone();
        let mut replayed = StepBatch {
            undo: Some(Box::new(BatchUndo {
                inputs: Vec::new(),
                turn,
            })),
            lease_passed: batch.lease_passed,
            ..StepBatch::default()
        };
        replayed.events = notices_only(batch.events);
        for delivery in in_processing_order(&deliveries) {
            self.handle(Input::Delivered(delivery.clone()), &mut replayed);
        }
        for input in undo.inputs {
            self.handle(input, &mut replayed);
        }
        Ok(replayed)
    }

    /// The batch is not in the journal, or this is unknown: discards the loop, aborts what is in flight,
    /// performs nothing of the batch, and recovers the turn from the journal. Observers get the batch if it
    /// turns out to be committed.
    pub(super) async fn reload(
        &mut self,
        batch: StepBatch,
        refusal: Option<AppendRefusal>,
        why: Arc<str>,
    ) -> Result<StepBatch, EngineError> {
        let workers = self.workers.renewed(&self.turn);
        std::mem::replace(&mut self.workers, workers).stop().await;
        self.inbox = None;
        self.last_wake = None;
        if refusal == Some(AppendRefusal::StaleEpoch) {
            return Err(EngineError::stale());
        }
        self.reloads += 1;
        if self.reloads > MAX_RELOADS {
            return Err(EngineError::NotCommitted { why });
        }
        let session = self.turn.session().clone();
        let journal = &self.shared.journal;
        let ownership = match SessionOwnership::take(&self.shared, &session).await {
            Ok(owned) => owned,
            Err(JournalError::Owned { .. }) => return Err(EngineError::stale()),
            Err(error) => return Err(self.shared.write_error(error)),
        };
        self.workers.context = CallContext::new(ownership.deadline());
        let loaded = journal.load(&session).await?;
        let position = usize::try_from(self.ledger.position).unwrap_or(usize::MAX);
        self.ledger = Ledger::new(&self.shared, &session, ownership, &loaded);
        let was_committed = match loaded.steps.get(position..) {
            Some([]) => false,
            Some(steps) if steps == batch.steps => true,
            // Another process owned the session in between and wrote these steps.
            Some(_) | None => return Err(EngineError::stale()),
        };
        if was_committed {
            self.publish(&batch);
        }
        self.feed_writer.reloaded(&loaded.steps);
        // Restrictions are kept: a tool that was denied when the turn was resumed stays denied.
        let restrictions = Restrictions::clone(self.turn.turn().restrictions());
        let now = self.shared.clock.now();
        let (targets, setup) = (&mut self.targets, self.turn.turn().setup());
        let recovered = targets.recover(setup, &session, &loaded, now, restrictions);
        if let Some((turn, _)) = &recovered {
            // The one that begins here counts already.
            let earlier = turn.turn().resumes_without_progress().saturating_sub(1);
            if check_room(&self.shared, earlier).await.is_err() {
                return Err(EngineError::NotCommitted { why });
            }
        }
        let mut batch = StepBatch::default();
        match recovered {
            Some((turn, step)) => {
                self.turn = turn;
                self.add(step, InputKind::Recovered, now, &mut batch);
                Ok(batch)
            }
            // The append that ended the turn was committed although its result was unknown.
            None if was_committed => Ok(batch),
            None => Err(EngineError::NotCommitted { why }),
        }
    }
}

/// The maximum number of reloads; after these, a person has to resume the turn.
const MAX_RELOADS: u32 = 3;
