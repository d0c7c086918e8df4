//! Tracing of an adapter: its spans and events, recorded as text.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::interest::keep_listening;

/// Records every span and event of this thread, until the returned guard is dropped.
pub(super) fn record() -> (SpanRecorder, tracing::subscriber::DefaultGuard) {
    let recording = SpanRecorder::default();
    let recorder = Recorder {
        next: AtomicU64::new(1),
        recording: recording.clone(),
    };
    keep_listening();
    let guard = tracing::subscriber::set_default(recorder);
    (recording, guard)
}

/// The recorded spans and events.
#[derive(Clone, Debug, Default)]
pub(super) struct SpanRecorder(Arc<Mutex<Vec<TraceRecord>>>);

/// A span or an event.
#[derive(Clone, Debug)]
pub(super) struct TraceRecord {
    /// Names and values.
    pub(super) fields: Vec<(&'static str, String)>,
    id: Option<u64>,
}

impl TraceRecord {
    /// Whether a field has this value.
    pub(super) fn has(&self, name: &str, value: &str) -> bool {
        let mut fields = self.fields.iter();
        fields.any(|(known, told)| *known == name && told == value)
    }
}

impl SpanRecorder {
    /// All records, in order.
    pub(super) fn records(&self) -> Vec<TraceRecord> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<TraceRecord>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Recorder {
    next: AtomicU64,
    recording: SpanRecorder,
}

impl Subscriber for Recorder {
    fn enabled(&self, _metadata: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut fields = SpanFields::default();
        span.record(&mut fields);
        self.recording.lock().push(TraceRecord {
            fields: fields.0,
            id: Some(id),
        });
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut fields = SpanFields::default();
        values.record(&mut fields);
        let mut records = self.recording.lock();
        if let Some(span) = records
            .iter_mut()
            .find(|told| told.id == Some(span.into_u64()))
        {
            span.fields.extend(fields.0);
        }
    }

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = SpanFields::default();
        event.record(&mut fields);
        self.recording.lock().push(TraceRecord {
            fields: fields.0,
            id: None,
        });
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

#[derive(Default)]
struct SpanFields(Vec<(&'static str, String)>);

impl Visit for SpanFields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push((field.name(), format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name(), value.to_owned()));
    }
}
