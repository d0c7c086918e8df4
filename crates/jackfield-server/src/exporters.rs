//! The tasks that send traces, metrics and the log to a collector.

use std::sync::Arc;

use http::uri::InvalidUri;
use jackfield_assembly::OtlpCollector;
use jackfield_engine::Engine;
use jackfield_telemetry::{Collector, CollectorSettings, Metrics, Traces, push_metrics};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::log;

/// The exporters of a gateway. Dropping it stops them at once.
#[derive(Debug)]
pub(crate) struct Exporters {
    collector: Collector,
    stop: watch::Sender<()>,
    tasks: JoinSet<()>,
}

impl Exporters {
    /// No exporters yet, for a collector.
    pub(crate) fn to(collector: OtlpCollector) -> Result<Self, InvalidUri> {
        let OtlpCollector {
            endpoint,
            headers,
            service,
            transport,
            ..
        } = collector;
        let settings = CollectorSettings {
            endpoint: endpoint.to_string(),
            headers,
            service: service.to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        Ok(Self {
            collector: Collector::new(settings, transport)?,
            stop: watch::Sender::new(()),
            tasks: JoinSet::new(),
        })
    }

    /// Sends the log of this process, if [`start_log`](crate::start_log) was called.
    pub(crate) fn send_log(&mut self) {
        let exporter = log::layer().and_then(|layer| layer.exporter(self.collector.clone()));
        if let Some(exporter) = exporter {
            let stopped = self.stopped();
            self.tasks.spawn(exporter.run(stopped));
        }
    }

    pub(crate) fn send_metrics(&mut self, metrics: Arc<Metrics>, engine: Engine) {
        let stopped = self.stopped();
        self.tasks.spawn(push_metrics(
            metrics,
            engine,
            self.collector.clone(),
            stopped,
        ));
    }

    /// Sends the traces that the observer makes.
    pub(crate) fn send_traces(&mut self) -> Traces {
        let (observer, exporter) = Traces::new(self.collector.clone());
        let stopped = self.stopped();
        self.tasks.spawn(exporter.run(stopped));
        observer
    }

    /// Stops all of them, once each has tried to send what is left.
    pub(crate) async fn end(self) {
        drop(self.stop);
        self.tasks.join_all().await;
    }

    fn stopped(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut stopped = self.stop.subscribe();
        async move {
            let _dropped = stopped.changed().await;
        }
    }
}
