//! The figures of turns, by their facts.

use jackfield_domain::fact::{CallEnd, Envelope, Fact};
use jackfield_domain::spending::{self, AttemptSpending, CallSpending, ReplySpending};
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::usage::Usage;
use jackfield_domain::wait::WaitKind;
use jackfield_export::values;
use prometheus_client::registry::{Registry, Unit};

use crate::labels::{BoundedValues, Buckets, Counters, Histograms, Labels, ModelLabels, OTHER};
use crate::{names, passed};

#[derive(Debug)]
pub(crate) struct TurnFigures {
    agents: BoundedValues,
    first_chunk: Histograms,
    model_calls: Histograms,
    pub(crate) models: ModelLabels,
    resumed: Counters,
    target_choices: Counters,
    tokens: Histograms,
    tool_calls: Histograms,
    tools: BoundedValues,
    turns: Histograms,
    waits: Counters,
}

impl TurnFigures {
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let figures = Self {
            agents: BoundedValues::default(),
            first_chunk: Histograms::new_with_constructor(SECONDS),
            model_calls: Histograms::new_with_constructor(SECONDS),
            models: ModelLabels::default(),
            resumed: Counters::default(),
            target_choices: Counters::default(),
            tokens: Histograms::new_with_constructor(TOKENS),
            tool_calls: Histograms::new_with_constructor(SECONDS),
            tools: BoundedValues::default(),
            turns: Histograms::new_with_constructor(SECONDS),
            waits: Counters::default(),
        };
        let mut seconds = |name, help, histograms: &Histograms| {
            registry.register_with_unit(name, help, Unit::Seconds, histograms.clone());
        };
        seconds(
            names::MODEL_CALL_DURATION,
            "The time of a model call, failed ones included",
            &figures.model_calls,
        );
        seconds(
            names::FIRST_CHUNK,
            "The time from the start of a model call to the first piece of its reply",
            &figures.first_chunk,
        );
        seconds(
            names::TOOL_DURATION,
            "The time of a tool call from its last start to its end",
            &figures.tool_calls,
        );
        seconds(
            names::TURN_DURATION,
            "The time of a turn from its message to its end, waits included",
            &figures.turns,
        );
        let help = "The tokens of a model call";
        registry.register(names::TOKEN_USAGE, help, figures.tokens.clone());
        let mut counters = |name, help, counters: &Counters| {
            registry.register(name, help, counters.clone());
        };
        counters(
            names::RESUMED_TURNS,
            "Times that a process resumed a turn after another one",
            &figures.resumed,
        );
        counters(
            names::TARGET_CHOICES,
            "Model calls at a target that a route chose, by reason",
            &figures.target_choices,
        );
        counters(
            names::WAITS,
            "Waits of turns for a person or a client, by how they ended",
            &figures.waits,
        );
        figures
    }

    /// Counts a turn that has ended.
    pub(crate) fn record(&self, steps: &[Envelope]) {
        for turn in spending::by_turn(steps) {
            turn.attempts
                .iter()
                .for_each(|attempt| self.record_attempt(attempt));
            turn.replies
                .iter()
                .for_each(|reply| self.record_reply(reply));
            turn.calls.iter().for_each(|call| self.record_call(call));
        }
        self.record_facts(steps);
    }

    /// Counts the call of a request that was passed through. Calls of ephemeral turns are counted with their turn.
    pub(crate) fn record_passed(&self, record: &SpendingRecord) {
        if !passed::is_passed(record) {
            return;
        }
        let mut labels = self.models.of(&record.model);
        let operation = passed::operation(&record.endpoint).unwrap_or(OTHER);
        labels.push((names::OPERATION, operation.to_owned()));
        if let Some(first) = record.first_token {
            let first_chunk = self.first_chunk.get_or_create(&labels);
            first_chunk.observe(first.as_secs_f64());
        }
        // A refused request uses none, and many endpoints report none.
        if record.usage != Usage::default() {
            self.record_tokens(&labels, &record.usage);
        }
        labels.push((names::ERROR, passed::error_of(record)));
        let duration = self.model_calls.get_or_create(&labels);
        duration.observe(record.took.as_secs_f64());
    }

    fn record_attempt(&self, attempt: &AttemptSpending) {
        let mut labels = self.models.of(&attempt.model);
        labels.push((names::OPERATION, "chat".to_owned()));
        if let Some(first_token) = attempt.first_token {
            let first_chunk = self.first_chunk.get_or_create(&labels);
            first_chunk.observe(first_token.as_secs_f64());
        }
        let Some(started) = attempt.started else {
            return;
        };
        let error = attempt.failure.map_or("", values::failure_kind);
        labels.push((names::ERROR, error.to_owned()));
        let took = attempt.at.since(started);
        let duration = self.model_calls.get_or_create(&labels);
        duration.observe(took.as_secs_f64());
    }

    fn record_reply(&self, reply: &ReplySpending) {
        let mut labels = self.models.of(&reply.model);
        labels.push((names::OPERATION, "chat".to_owned()));
        self.record_tokens(&labels, &reply.usage);
    }

    fn record_tokens(&self, labels: &Labels, usage: &Usage) {
        for (kind, tokens) in [("input", usage.input), ("output", usage.output)] {
            let mut labels = labels.clone();
            labels.push((names::TOKEN_TYPE, kind.to_owned()));
            let histogram = self.tokens.get_or_create(&labels);
            histogram.observe(as_f64(tokens));
        }
    }

    fn record_call(&self, call: &CallSpending) {
        // Names that the model made up are of no tool.
        let Some(origin) = &call.origin else { return };
        let name = format!("{}/{}", origin.toolbox, origin.tool);
        let error = call_error(call.end, call.is_error);
        let labels = vec![
            (names::TOOL, self.tools.bounded(&name)),
            (names::ERROR, error.to_owned()),
        ];
        let duration = self.tool_calls.get_or_create(&labels);
        duration.observe(call.took.as_secs_f64());
    }

    fn record_facts(&self, steps: &[Envelope]) {
        let mut opened = None;
        let mut waits = Vec::new();
        for step in steps {
            for fact in &step.facts {
                match fact {
                    Fact::TurnOpened { setup, .. } => opened = Some((step.now.wall, setup)),
                    Fact::TurnResumed { .. } => {
                        self.resumed.get_or_create(&Vec::new()).inc();
                    }
                    Fact::ModelCallStarted {
                        choice: Some(choice),
                        target,
                        ..
                    } => {
                        let model = opened.and_then(|(_, setup)| setup.model_of(*target));
                        let mut labels = model.map_or_else(Vec::new, |model| self.models.of(model));
                        let reason = choice.reason.as_str();
                        labels.push((names::REASON, reason.to_owned()));
                        self.target_choices.get_or_create(&labels).inc();
                    }
                    Fact::WaitOpened { wait } => waits.push((&wait.id, &wait.kind)),
                    Fact::WaitClosed { end, wait, .. } => {
                        let kind = waits.iter().find(|(id, _)| *id == wait);
                        if let Some((_, kind)) = kind {
                            self.record_wait(kind, end.kind().as_str());
                        }
                    }
                    Fact::TurnEnded { end, .. } => {
                        let Some((at, setup)) = opened else { continue };
                        let agent = setup.assistant.as_deref().unwrap_or_default();
                        let labels = vec![
                            (names::AGENT, self.agents.bounded(agent)),
                            (names::END, end.as_str().to_owned()),
                        ];
                        let duration = self.turns.get_or_create(&labels);
                        duration.observe(step.now.wall.since(at).as_secs_f64());
                    }
                    Fact::BackendSession { .. }
                    | Fact::CallAccepted { .. }
                    | Fact::CallClosed { .. }
                    | Fact::CallLost { .. }
                    | Fact::CallStarted { .. }
                    | Fact::Compacted(_)
                    | Fact::Late(_)
                    | Fact::ModelCallEnded { .. }
                    | Fact::ModelCallStarted { choice: None, .. }
                    | Fact::ReplyReceived { .. }
                    | Fact::SessionForked { .. }
                    | Fact::SessionImported { .. } => {}
                }
            }
        }
    }

    fn record_wait(&self, kind: &WaitKind, end: &str) {
        let labels = vec![
            (names::KIND, values::wait_kind(kind).to_owned()),
            (names::END, end.to_owned()),
        ];
        self.waits.get_or_create(&labels).inc();
    }
}

/// Why a tool call has no good outcome; empty if it has one.
pub(crate) const fn call_error(end: CallEnd, is_error: bool) -> &'static str {
    match end {
        CallEnd::Ran | CallEnd::ByClient | CallEnd::Cached if is_error => "tool_error",
        CallEnd::Ran | CallEnd::ByClient | CallEnd::Cached => "",
        CallEnd::Cancelled => "cancelled",
        CallEnd::ClientExpired => "client_expired",
        CallEnd::Denied => "denied",
        CallEnd::NotRun => "not_run",
        CallEnd::Reported => "unknown_outcome",
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a figure above 2^53 tokens may be rounded"
)]
const fn as_f64(tokens: u64) -> f64 {
    tokens as f64
}

/// The buckets that OpenTelemetry advises for durations: 10 ms to 82 s.
const SECONDS: Buckets = Buckets {
    count: 14,
    factor: 2.0,
    first: 0.01,
};

/// The buckets that OpenTelemetry advises for tokens: 1 to 67,108,864.
const TOKENS: Buckets = Buckets {
    count: 14,
    factor: 4.0,
    first: 1.0,
};
