//! Sends the log to a collector.

use std::fmt::{self, Write as _};
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs, SeverityNumber};
use tokio::sync::mpsc;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use crate::collector::{Batches, Collector, Signal};
use crate::span_parts::attribute;

/// A layer of a subscriber that passes what is logged to an exporter, once there is one. Until then, it does nothing.
/// Clones are the same one.
///
/// What this crate and the HTTP client log is left out, as sending the log would make more of it.
#[derive(Clone, Debug, Default)]
pub struct LogLayer(Arc<OnceLock<mpsc::Sender<Vec<LogRecord>>>>);

/// Sends what a [`LogLayer`] passes on.
#[derive(Debug)]
pub struct LogExporter(Batches<LogRecord>);

impl LogLayer {
    /// The exporter for this collector; `None` if the layer has one.
    #[must_use]
    pub fn exporter(&self, collector: Collector) -> Option<LogExporter> {
        let (sender, batches) = Batches::new(collector, Signal::Logs, MAX_QUEUED);
        self.0.set(sender).ok()?;
        Some(LogExporter(batches))
    }
}

impl LogExporter {
    /// Sends the log until `stop`, and then at once what is left.
    pub async fn run(self, stop: impl Future<Output = ()> + Send) {
        self.0.run(request, stop).await;
    }
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for LogLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if let (Some(_), Some(span)) = (self.0.get(), context.span(id)) {
            let mut fields = Fields::default();
            attributes.record(&mut fields);
            span.extensions_mut().insert(SpanFields(fields.attributes));
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(SpanFields(known)) = span.extensions_mut().get_mut()
        {
            let mut fields = Fields::default();
            values.record(&mut fields);
            known.extend(fields.attributes);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        let Some(queue) = self.0.get() else { return };
        if OWN.iter().any(|own| metadata.target().starts_with(own)) {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut attributes = fields.attributes;
        attributes.push(attribute(TARGET, text(metadata.target())));
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(SpanFields(own)) = span.extensions().get() {
                attributes.extend(own.iter().cloned());
            }
        }
        attributes.truncate(MAX_FIELDS);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
        let record = LogRecord {
            attributes,
            body: Some(AnyValue {
                value: Some(text(&fields.message)),
            }),
            observed_time_unix_nano: now,
            severity_number: severity(*metadata.level()).into(),
            severity_text: metadata.level().to_string(),
            time_unix_nano: now,
            ..LogRecord::default()
        };
        // A line that does not fit is on standard error still.
        let _dropped = queue.try_send(vec![record]);
    }
}

struct SpanFields(Vec<KeyValue>);

/// Collects the fields of an event or a span.
#[derive(Default)]
struct Fields {
    attributes: Vec<KeyValue>,
    message: String,
}

impl Fields {
    fn add(&mut self, field: &Field, value: any_value::Value) {
        self.attributes.push(attribute(field.name(), value));
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut shown = Bounded(String::new());
        // Stops at the bound.
        let _cut = write!(shown, "{value:?}");
        if field.name() == "message" {
            self.message = shown.0;
        } else {
            self.add(field, any_value::Value::StringValue(shown.0));
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.message = cut(value).to_owned();
        } else {
            self.add(field, text(value));
        }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, any_value::Value::BoolValue(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, any_value::Value::IntValue(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        self.add(field, any_value::Value::IntValue(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, any_value::Value::DoubleValue(value));
    }
}

/// Text up to a bound.
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = MAX_TEXT - self.0.len();
        let end = text.floor_char_boundary(room);
        self.0.push_str(text.get(..end).unwrap_or_default());
        if end < text.len() {
            return Err(fmt::Error);
        }
        Ok(())
    }
}

fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_TEXT))
        .unwrap_or_default()
}

fn text(value: &str) -> any_value::Value {
    any_value::Value::StringValue(cut(value).to_owned())
}

/// The severity of a level (OpenTelemetry, logs data model, "Severity Fields").
fn severity(level: Level) -> SeverityNumber {
    match level {
        Level::ERROR => SeverityNumber::Error,
        Level::WARN => SeverityNumber::Warn,
        Level::INFO => SeverityNumber::Info,
        Level::DEBUG => SeverityNumber::Debug,
        Level::TRACE => SeverityNumber::Trace,
    }
}

fn request(collector: &Collector, log_records: Vec<LogRecord>) -> ExportLogsServiceRequest {
    ExportLogsServiceRequest {
        resource_logs: vec![ResourceLogs {
            resource: collector.resource(),
            scope_logs: vec![ScopeLogs {
                log_records,
                scope: collector.scope(),
                ..ScopeLogs::default()
            }],
            ..ResourceLogs::default()
        }],
    }
}

/// Who logs while the log is sent.
const OWN: [&str; 6] = [
    "h2",
    "hyper",
    "jackfield_provider_kit::transport",
    "jackfield_telemetry",
    "reqwest",
    "rustls",
];
/// The attribute with the part of the program that logged.
const TARGET: &str = "target";
/// The most fields of a record.
const MAX_FIELDS: usize = 64;
/// The maximum length of a text, in bytes.
const MAX_TEXT: usize = 8 << 10;
/// The maximum number of records that wait.
const MAX_QUEUED: usize = 4096;
