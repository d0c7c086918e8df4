//! Keeps tracing listening in a process of tests.

use std::sync::Once;

use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};

/// From now on every span and event asks the subscriber of its thread. Without it, one that a thread without a
/// subscriber reaches first may be off for the whole process, while another thread begins to record.
pub fn keep_listening() {
    static LISTENING: Once = Once::new();
    // Where the process has a subscriber of its own, that one listens.
    LISTENING.call_once(|| drop(tracing::subscriber::set_global_default(Listener)));
}

/// Asks each time, and keeps nothing.
struct Listener;

impl Subscriber for Listener {
    fn register_callsite(&self, _metadata: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, _metadata: &Metadata<'_>) -> bool {
        false
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, _event: &Event<'_>) {}

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}
