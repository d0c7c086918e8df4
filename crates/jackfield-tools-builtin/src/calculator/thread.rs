//! Runs calculations on separate threads: few at a time, each for a short time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fend_core::Interrupt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::TIME_LIMIT;
use super::digits::WrittenResult;
use super::evaluate::evaluate;
use super::fault::CalculationError;
use super::parser::Expression;

/// The slots for concurrent calculations.
#[derive(Clone, Debug)]
pub(crate) struct ThreadSlots(Arc<Semaphore>);

impl ThreadSlots {
    /// Creates this number of slots.
    pub(crate) fn new(count: usize) -> Self {
        Self(Arc::new(Semaphore::new(count)))
    }

    /// Evaluates an expression. Dropping the future stops the work.
    pub(crate) async fn run(
        &self,
        expression: Expression,
    ) -> Result<WrittenResult, CalculationError> {
        let place = Arc::clone(&self.0).acquire_owned();
        let Ok(Ok(place)) = tokio::time::timeout(PLACE_LIMIT, place).await else {
            return Err(CalculationError::Busy);
        };
        let (answer, stop) = start(expression, place)?;
        let _stop = StopOnDrop(stop);
        // The calculation checks the time itself; this is a backup.
        match tokio::time::timeout(TIME_LIMIT + GRACE, answer).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(CalculationError::domain("the calculation failed")),
            Err(_) => Err(CalculationError::OutOfTime(TIME_LIMIT.as_millis())),
        }
    }

    /// Evaluates an expression, and blocks the caller's thread.
    pub(crate) fn run_blocking(
        &self,
        expression: Expression,
    ) -> Result<WrittenResult, CalculationError> {
        let place = Arc::clone(&self.0)
            .try_acquire_owned()
            .map_err(|_| CalculationError::Busy)?;
        let (answer, _) = start(expression, place)?;
        answer
            .blocking_recv()
            .unwrap_or_else(|_| Err(CalculationError::domain("the calculation failed")))
    }
}

type RunningCount = (
    oneshot::Receiver<Result<WrittenResult, CalculationError>>,
    Arc<AtomicBool>,
);

/// Starts a thread that keeps its slot until it ends, even if its result is not needed any more.
fn start(
    expression: Expression,
    place: OwnedSemaphorePermit,
) -> Result<RunningCount, CalculationError> {
    let (sender, receiver) = oneshot::channel();
    let stop = Arc::new(AtomicBool::new(false));
    let told_to_stop = Arc::clone(&stop);
    let work = move || {
        let deadline = Deadline {
            limit: TIME_LIMIT,
            start: Instant::now(),
            stop: &told_to_stop,
        };
        let result = evaluate(&expression, &deadline);
        // Freed before the answer is sent, so that its receiver can start the next calculation.
        drop(place);
        // The receiver may be gone.
        let _unheard = sender.send(result);
    };
    std::thread::Builder::new()
        .name("calculator".to_owned())
        .stack_size(STACK_SIZE)
        .spawn(work)
        .map_err(|_| CalculationError::Busy)?;
    Ok((receiver, stop))
}

/// When a calculation has to end.
pub(crate) struct Deadline<'stop> {
    limit: Duration,
    start: Instant,
    stop: &'stop AtomicBool,
}

impl Deadline<'_> {
    /// Returns the timeout fault if no time is left.
    pub(crate) fn check(&self) -> Result<(), CalculationError> {
        if self.should_interrupt() {
            Err(self.fault())
        } else {
            Ok(())
        }
    }

    pub(crate) const fn fault(&self) -> CalculationError {
        CalculationError::OutOfTime(self.limit.as_millis())
    }
}

impl Interrupt for Deadline<'_> {
    fn should_interrupt(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.start.elapsed() >= self.limit
    }
}

struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// How long to wait for a free slot.
const PLACE_LIMIT: Duration = Duration::from_secs(5);

/// How much longer than the time limit to wait for a thread that does not check the time.
const GRACE: Duration = Duration::from_millis(250);

/// Several times the stack that an expression of maximum depth needs.
const STACK_SIZE: usize = 4 * 1024 * 1024;
