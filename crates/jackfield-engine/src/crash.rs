//! Crash points: named places at which a test kills this process, as a power failure would. They exist where debug
//! assertions do; in a release build they are no-ops.
//!
//! `JACKFIELD_CRASH=place:nth` kills the process when the place is reached for the nth time, counted from 1;
//! `place:nth:stop` stops it there (SIGSTOP), until a test lets it go on (SIGCONT):
//!
//! | place | when |
//! |---|---|
//! | `before-append` | a batch was decided, nothing of it is in the journal |
//! | `after-append` | it was committed, nothing of it was performed |
//! | `between-actions` | one of its actions was started, others perhaps not |
//! | `before-tell` | all of it was performed, no observer was notified |
//! | `after-tell` | all observers were notified |
//! | `before-settle` | the usage of a model call is known, its budgets are not settled |
//! | `after-settle` | they are, its end is not in the journal |
//! | `reserved` | a model call has reserved its budgets, and has not been sent |
//! | `resealed` | a secret was encrypted under the newest master key, others are not |
//! | `before-model` | a model call was started and has not been sent |
//! | `delta` | a piece of a reply has arrived |
//! | `after-model` | a reply has ended, the loop has not seen it |
//! | `before-tool` | a tool call was started and has not been sent |
//! | `during-tool` | a tool reports progress |
//! | `after-tool` | a tool has answered, the loop has not seen it |
//! | `delivered` | deliveries were read and are not consumed |

/// Kills the process here, if the environment asks for it.
#[cfg(debug_assertions)]
pub(crate) fn point(place: &'static str) {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static PLAN: LazyLock<Option<(String, u64, bool)>> = LazyLock::new(|| {
        let plan = std::env::var("JACKFIELD_CRASH").ok()?;
        let (place, nth) = plan.split_once(':')?;
        let (nth, stops) = match nth.split_once(':') {
            Some((nth, how)) => (nth, how == "stop"),
            None => (nth, false),
        };
        Some((place.to_owned(), nth.parse().ok()?, stops))
    });
    static REACHED: AtomicU64 = AtomicU64::new(0);
    let Some((planned, nth, stops)) = &*PLAN else {
        return;
    };
    if planned == place && REACHED.fetch_add(1, Ordering::Relaxed) + 1 == *nth {
        let this = rustix::process::getpid();
        if *stops {
            let before = std::time::Instant::now();
            let _stopped = rustix::process::kill_process(this, rustix::process::Signal::STOP);
            // The signal may reach this thread a little later than others: nothing may happen in it meanwhile.
            while before.elapsed() < std::time::Duration::from_millis(500) {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            return;
        }
        let _dead = rustix::process::kill_process(this, rustix::process::Signal::KILL);
        // Nothing may happen in this thread while the signal is being delivered.
        loop {
            std::thread::park();
        }
    }
}

/// A no-op in a release build.
#[cfg(not(debug_assertions))]
pub(crate) const fn point(_place: &'static str) {}
