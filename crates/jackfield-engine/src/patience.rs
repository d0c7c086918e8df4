//! Patience: what the process owes to the journal is asked of it again while the journal fails.

use std::time::Duration;

use jackfield_ports::journal::JournalError;

use crate::perform::chain;

/// Asks the journal again, after pauses, until it can be reached; gives up where `is_over` says that there
/// is nobody left for whom it counts.
pub(crate) async fn reached<T, F>(
    is_over: impl Fn() -> bool,
    mut ask: impl FnMut() -> F,
) -> Result<T, JournalError>
where
    F: Future<Output = Result<T, JournalError>>,
{
    let mut pause = FIRST_PAUSE;
    loop {
        match ask().await {
            Err(error @ JournalError::Unreachable { .. }) if !is_over() => {
                tracing::debug!(error = %chain(&error), "the journal cannot be reached; asking again");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            answer => return answer,
        }
    }
}

/// Twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// So long after the journal is well again, what it failed to do is done at the latest.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
