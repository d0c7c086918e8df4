//! Retries of journal operations while the journal cannot be reached.

use std::time::Duration;

use jackfield_ports::journal::JournalError;

use crate::error::chain;

/// Retries a journal operation, with pauses, until the journal can be reached. Stops when `is_over` returns
/// true, because the result is no longer needed.
pub(crate) async fn retry_until_reachable<T, F>(
    is_over: impl Fn() -> bool,
    mut operation: impl FnMut() -> F,
) -> Result<T, JournalError>
where
    F: Future<Output = Result<T, JournalError>>,
{
    let mut pause = FIRST_PAUSE;
    loop {
        match operation().await {
            Err(error @ JournalError::Unreachable { .. }) if !is_over() => {
                tracing::debug!(error = %chain(&error), "the journal cannot be reached; asking again");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(MAX_PAUSE);
            }
            answer => return answer,
        }
    }
}

/// The first pause; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause. It bounds the delay after the journal has recovered.
const MAX_PAUSE: Duration = Duration::from_secs(1);
