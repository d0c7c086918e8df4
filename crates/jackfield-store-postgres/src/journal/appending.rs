//! Appending, until there is an answer.

use std::time::{Duration, Instant};

use jackfield_ports::journal::{AppendRefusal, Appended};

use super::PostgresJournal;
use crate::arrivals::Awaited;
use crate::commit;
use crate::derived::KnownRow;
use crate::error::Fault;
use crate::requests::AppendJob;

impl PostgresJournal {
    pub(super) async fn commit(&self, job: &AppendJob<'_>) -> Appended {
        match self.append_until_answered(job).await {
            Ok(Ok(after)) => {
                if let Some(after) = after
                    && let Some(known) = self.known().get_mut(job.session)
                {
                    *known = after;
                }
                self.notify(job.session, &[Awaited::Steps]);
                Appended::Committed
            }
            Ok(Err(refusal)) => Appended::Refused(refusal),
            Err((fault, MayBeDone::No)) if fault.is_permanent() || fault.is_refusal() => {
                let why = fault.at(&self.pool.place()).to_string().into();
                Appended::Refused(AppendRefusal::Unwritable { why })
            }
            Err((fault, _)) => Appended::Unknown(fault.at(&self.pool.place())),
        }
    }

    /// Appends without a look at the row, if it is known and the append touches no wait.
    async fn append_to_known(&self, append: &AppendJob<'_>) -> Result<Option<KnownRow>, Fault> {
        let known = self.known().get(append.session).cloned();
        let Some(known) = known.filter(|known| known.is_followed_by(append)) else {
            return Ok(None);
        };
        let mut connection = self.pool.get().await?;
        known
            .append(&mut connection, append, None, self.options.now())
            .await
    }

    /// Appends, and asks again as long as the database may answer soon.
    async fn append_until_answered(
        &self,
        append: &AppendJob<'_>,
    ) -> Result<Result<Option<KnownRow>, AppendRefusal>, (Fault, MayBeDone)> {
        let begun = Instant::now();
        let mut may_be_done = MayBeDone::No;
        let mut pause = FIRST_PAUSE;
        let mut attempt = match self.append_to_known(append).await {
            Ok(Some(after)) => return Ok(Ok(Some(after))),
            Ok(None) => None,
            Err(fault) => Some(fault),
        };
        loop {
            if let Some(fault) = attempt {
                if matches!(fault, Fault::Lost(_)) {
                    may_be_done = MayBeDone::Yes;
                }
                if !fault.is_passing() || begun.elapsed() >= self.options.timeout {
                    return Err((fault, may_be_done));
                }
                tracing::debug!(%fault, "an append has no answer; asking again");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LAST_PAUSE);
            }
            let appending = async {
                let mut connection = self.pool.get().await?;
                commit::append(&mut connection, append, self.options.now()).await
            };
            match appending.await {
                Ok(answer) => return Ok(answer),
                Err(fault) => attempt = Some(fault),
            }
        }
    }
}

/// Whether an append may be committed although there was no answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum MayBeDone {
    No,
    Yes,
}

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LAST_PAUSE: Duration = Duration::from_millis(500);
