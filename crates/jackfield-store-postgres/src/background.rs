//! What a process does beside its requests, on a thread of its own that no busy runtime holds up: it renews the
//! lease, deletes the rows of holds that were dropped, and looks for what other processes committed.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::arrivals::Arrivals;
use crate::error::Fault;
use crate::holds::LocalHolds;
use crate::notifier::Notifier;
use crate::pool::{Connection, Pool, values};
use crate::process::{self, Process};

/// The thread, which starts when it is first needed.
pub(crate) struct Background {
    duties: Arc<Duties>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

pub(crate) struct Duties {
    pub(crate) arrivals: Arc<Arrivals>,
    pub(crate) heartbeat: Duration,
    pub(crate) holds: Arc<LocalHolds>,
    pub(crate) notifier: Option<Arc<Notifier>>,
    pub(crate) poll: Duration,
    pub(crate) pool: Arc<Pool>,
    pub(crate) process: Arc<Process>,
    /// The time limit of a request: several fit into the lease, so that one without an answer does not end it.
    pub(crate) request_limit: Duration,
    pub(crate) stop: Notify,
    /// How old a transaction is that waits for a client which is gone.
    pub(crate) stranded: Duration,
}

impl Background {
    pub(crate) fn new(duties: Duties) -> Self {
        Self {
            duties: Arc::new(duties),
            thread: Mutex::default(),
        }
    }

    /// Starts the thread, unless it runs.
    pub(crate) fn ensure(&self) -> Result<(), Fault> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let runs = thread.as_ref().is_some_and(|thread| !thread.is_finished());
        if runs || self.duties.pool.is_closed() {
            return Ok(());
        }
        let fault = |error: std::io::Error| Fault::Unconnected(error.to_string().into());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(fault)?;
        let duties = Arc::clone(&self.duties);
        let builder = std::thread::Builder::new().name("jackfield-lease".to_owned());
        let run = move || runtime.block_on(duties.run());
        *thread = Some(builder.spawn(run).map_err(fault)?);
        Ok(())
    }

    /// Asks the thread to end: it gives up all that this process owns.
    pub(crate) fn stop(&self) -> Option<JoinHandle<()>> {
        self.duties.stop.notify_one();
        self.thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

impl Duties {
    async fn run(&self) {
        let mut connection = None;
        let mut timers = Timers::default();
        let stopped = self.stop.notified();
        tokio::pin!(stopped);
        if let Some(notifier) = &self.notifier {
            let notifier = Arc::clone(notifier);
            // It ends with the runtime.
            tokio::spawn(async move { notifier.run().await });
        }
        let mut is_stopped = false;
        while !is_stopped {
            tokio::select! {
                biased;
                () = &mut stopped => break,
                () = self.hear() => timers.look = None,
                () = tokio::time::sleep(ROUND.min(self.poll).min(self.heartbeat)) => {}
            }
            let looked = {
                let mut looking = pin!(self.look(&mut connection, &mut timers));
                tokio::select! {
                    biased;
                    () = &mut stopped => {
                        is_stopped = true;
                        // A cancellation that the end of this thread cuts off ends some poolers.
                        let last = tokio::time::timeout(LAST_LOOK, looking).await;
                        last.unwrap_or_else(|_| Err(Fault::Lost("it does not answer".into())))
                    }
                    looked = &mut looking => looked,
                }
            };
            if let Err(fault) = looked {
                tracing::warn!(%fault, "the database does not hear of this process");
                connection = None;
            }
        }
        let leaving = self.leave(connection);
        if !matches!(tokio::time::timeout(LAST_WORDS, leaving).await, Ok(Ok(()))) {
            tracing::warn!("the sessions of this process are free once its lease has passed");
        }
    }

    async fn look(
        &self,
        connection: &mut Option<Connection>,
        timers: &mut Timers,
    ) -> Result<(), Fault> {
        let connection = match connection {
            Some(connection) => connection,
            None => connection.insert(self.pool.get_apart(self.request_limit).await?),
        };
        if timers.is_over(Timer::Heartbeat, self.heartbeat) {
            self.process.renew(connection).await?;
        }
        self.delete_holds(connection).await?;
        if timers.is_over(Timer::Look, self.poll) {
            self.arrivals.look(connection).await?;
        }
        if timers.is_over(Timer::Tidy, TIDY_HEARTBEATS * self.heartbeat) {
            process::tidy(connection, self.stranded).await?;
            self.delete_forgotten_holds(connection).await?;
        }
        Ok(())
    }

    /// Waits for a notification, which is heard a moment after the last one at the earliest.
    async fn hear(&self) {
        match &self.notifier {
            Some(notifier) => {
                tokio::time::sleep(LOOK_PAUSE).await;
                notifier.hear().await;
            }
            None => std::future::pending().await,
        }
    }

    async fn delete_holds(&self, connection: &mut Connection) -> Result<(), Fault> {
        let dropped = self.holds.take_dropped();
        if dropped.is_empty() {
            return Ok(());
        }
        let name = self.process.name();
        let deleted = connection
            .execute(DELETE, values![name => TEXT, dropped => INT8_ARRAY])
            .await;
        if let Err(fault) = deleted {
            self.holds.give_back(dropped);
            return Err(fault);
        }
        Ok(())
    }

    /// Deletes the rows of holds that this process does not have: one may have been written after its hold was dropped.
    async fn delete_forgotten_holds(&self, connection: &mut Connection) -> Result<(), Fault> {
        let name = self.process.name();
        // A hold that is added from now on has a greater number.
        let (live, last) = self.holds.numbers();
        let values = values![name => TEXT, live => INT8_ARRAY, last => INT8];
        connection.execute(DELETE_OTHERS, values).await?;
        Ok(())
    }

    async fn leave(&self, connection: Option<Connection>) -> Result<(), Fault> {
        // It may have ended since the last look.
        drop(connection);
        let mut connection = self.pool.get_apart(self.request_limit).await?;
        self.process.leave(&mut connection).await
    }
}

/// When something was last done.
#[derive(Default)]
struct Timers {
    heartbeat: Option<Instant>,
    look: Option<Instant>,
    tidy: Option<Instant>,
}

enum Timer {
    Heartbeat,
    Look,
    Tidy,
}

impl Timers {
    /// Whether it is time; then it counts as done.
    fn is_over(&mut self, timer: Timer, interval: Duration) -> bool {
        let last = match timer {
            Timer::Heartbeat => &mut self.heartbeat,
            Timer::Look => &mut self.look,
            Timer::Tidy => &mut self.tidy,
        };
        let is_over = last.is_none_or(|last| last.elapsed() >= interval);
        if is_over {
            *last = Some(Instant::now());
        }
        is_over
    }
}

/// The longest pause between two rounds, after which holds that were dropped are deleted.
const ROUND: Duration = Duration::from_millis(250);
/// The shortest pause between a look and one for a notification.
const LOOK_PAUSE: Duration = Duration::from_millis(5);
/// How long the look that runs when the thread is to end may take.
const LAST_LOOK: Duration = Duration::from_secs(2);
/// How long the rest of its end may take.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// After how many heartbeats rows without a use are deleted: each minute, with the usual lease.
const TIDY_HEARTBEATS: u32 = 60;
const DELETE_OTHERS: &str =
    "DELETE FROM jackfield.holds WHERE process = $1 AND nth <> ALL($2) AND nth <= $3";
const DELETE: &str = "DELETE FROM jackfield.holds WHERE process = $1 AND nth = ANY($2)";
