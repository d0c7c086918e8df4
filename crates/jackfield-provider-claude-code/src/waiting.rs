//! The processes between two rounds: each waits for the results of its calls.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use jackfield_domain::digest::Digest;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::task::JoinHandle;

use crate::program::Program;
use crate::reply::Live;

/// The waiting processes. Dropping it ends them.
#[derive(Default)]
pub(crate) struct Waiting(Arc<WaitingState>);

#[derive(Default)]
struct WaitingState {
    /// Rings when a process begins to wait.
    kept: Notify,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Processes that are about to end, by their sessions: a session's file is complete once its process has ended.
    ending: HashMap<String, JoinHandle<()>>,
    next: u64,
    waiting: Vec<(u64, WaitingProcess)>,
}

/// A process that waits for results.
pub(crate) struct WaitingProcess {
    /// The ids of the calls whose results it waits for.
    pub(crate) calls: Vec<String>,
    pub(crate) live: Live,
    pub(crate) setup: Digest,
}

impl Waiting {
    /// Keeps a process for this time at most.
    pub(crate) fn keep(&self, process: WaitingProcess, limit: Duration) {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state.waiting.push((number, process));
        drop(state);
        self.0.kept.notify_waiters();
        let waiting = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            tokio::time::sleep(limit).await;
            end_if_waiting(&waiting, number);
        });
    }

    /// Takes the process of this session, if it waits.
    pub(crate) fn take(&self, session: &str) -> Option<WaitingProcess> {
        let mut state = self.lock();
        let found = state
            .waiting
            .iter()
            .position(|(_, process)| process.live.session == session)?;
        Some(state.waiting.remove(found).1)
    }

    /// Waits until a process begins to wait.
    pub(crate) fn kept(&self) -> Notified<'_> {
        self.0.kept.notified()
    }

    /// Ends the process that waits longest; `false` if none waits.
    pub(crate) fn end_longest(&self) -> bool {
        let mut state = self.lock();
        let longest = (!state.waiting.is_empty()).then(|| state.waiting.remove(0).1);
        drop(state);
        let Some(process) = longest else {
            return false;
        };
        tracing::debug!("a waiting process of claude code makes room for another one");
        self.end(process.live.session, process.live.program);
        true
    }

    /// Lets a process end; [`ended`](Self::ended) waits for it.
    pub(crate) fn end(&self, session: String, program: Program) {
        let mut state = self.lock();
        state.ending.retain(|_, ending| !ending.is_finished());
        state.ending.insert(session, tokio::spawn(program.end()));
    }

    /// Waits until a process of this session that is about to end has ended, for a bounded time.
    pub(crate) async fn ended(&self, session: &str) {
        let ending = self.lock().ending.remove(session);
        if let Some(ending) = ending {
            let _panicked = ending.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn end_if_waiting(waiting: &Weak<WaitingState>, number: u64) {
    let Some(state) = waiting.upgrade() else {
        return;
    };
    let waiting = Waiting(state);
    let mut state = waiting.lock();
    let found = state.waiting.iter().position(|(other, _)| *other == number);
    let process = found.map(|place| state.waiting.remove(place).1);
    drop(state);
    if let Some(process) = process {
        tracing::debug!("a process of claude code waited too long for results, and is ended");
        waiting.end(process.live.session, process.live.program);
    }
}
