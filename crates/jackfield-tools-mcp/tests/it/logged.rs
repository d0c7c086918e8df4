//! What is logged about servers, to be counted.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackfield_testkit::interest::keep_listening;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Metadata, Subscriber};

/// Keeps what this thread logs, from `info` on, until the guard is dropped.
pub(crate) fn record() -> (Logged, DefaultGuard) {
    let logged = Logged::default();
    keep_listening();
    let guard = tracing::subscriber::set_default(logged.clone());
    (logged, guard)
}

#[derive(Clone, Default)]
pub(crate) struct Logged(Arc<Mutex<Vec<Level>>>);

impl Logged {
    /// How bad each of it was, in order.
    pub(crate) fn levels(&self) -> Vec<Level> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Level>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscriber for Logged {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let ours = metadata.target().starts_with("jackfield_tools_mcp");
        ours && metadata.is_event() && *metadata.level() <= Level::INFO
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.lock().push(*event.metadata().level());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
