//! What the journal has as used and billed, so that a monitoring system and `jackfield usage` agree.
//!
//! Of the gateways with one journal, one shows the ledger at a time, so that a sum over all of them is that of the
//! journal ([`LedgerRight`]). It reads what is new in the journal ([`LedgerReading`]), and hears at once of what its
//! own process writes.

mod reading;
mod right;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::SessionId;
use jackfield_domain::price::{self, Cost, Money, Price};
use jackfield_domain::request::ModelRef;
use jackfield_domain::spending::{self, ReplySpending};
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_domain::usage::Usage;
use jackfield_engine::{Clock as _, Engine, EngineError, SystemClock};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;

use self::reading::LedgerReading;
use self::right::LedgerRight;
use crate::labels::{Labels, ModelLabels};
use crate::names;

/// The sums over all turns that have ended, and over all spending records. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    clock: Arc<SystemClock>,
    right: Arc<LedgerRight>,
    reading: Arc<tokio::sync::Mutex<LedgerReading>>,
    state: Arc<Mutex<LedgerState>>,
}

#[derive(Debug, Default)]
struct LedgerState {
    /// Whether the journal is read, or was: what this process writes before that is found there.
    is_followed: bool,
    labels: ModelLabels,
    /// The spending records that ended lately, by the time of their end.
    recent: BTreeSet<(WallTime, Arc<str>)>,
    /// Until when this process shows the sums.
    shown_until: Option<WallTime>,
    /// How many steps of each session are counted, by a hash of its id: there may be very many.
    steps: HashMap<u64, u64>,
    sums: BTreeMap<Labels, ModelSums>,
}

/// The sums of a model.
#[derive(Debug, Default)]
struct ModelSums {
    costs: BTreeMap<Arc<str>, Money>,
    usage: Usage,
}

impl Ledger {
    /// The sums of a process that has read nothing yet.
    pub(crate) fn new() -> Self {
        Self {
            clock: Arc::default(),
            right: Arc::default(),
            reading: Arc::default(),
            state: Arc::default(),
        }
    }

    /// Adds a turn that has ended in this process. If steps before it are not counted, it waits for the next reading.
    pub(crate) fn add_turn(&self, session: &SessionId, steps: &[Envelope]) {
        let Some(first) = steps.first() else { return };
        let mut state = self.lock();
        if state.is_followed && state.known_steps(session).unwrap_or(0) >= first.step {
            state.add_steps(session, steps);
        }
    }

    /// Adds a spending record that this process has stored, unless it is counted already.
    pub(crate) fn add_record(&self, record: &SpendingRecord) {
        let mut state = self.lock();
        if state.is_followed {
            state.add_recent(record);
        }
    }

    /// Adds what is new in the journal, if it is for this process to show the ledger. The sums are shown for a while
    /// then.
    ///
    /// # Errors
    ///
    /// The journal cannot be read.
    pub(crate) async fn read_journal(
        &self,
        engine: &Engine,
        now: WallTime,
    ) -> Result<(), EngineError> {
        let Some(until) = self.right.take(engine, now).await? else {
            // If it is for this process again, it reads all.
            *self.lock() = LedgerState::default();
            *self.reading.lock().await = LedgerReading::default();
            return Ok(());
        };
        self.lock().is_followed = true;
        self.reading.lock().await.read_on(self, engine, now).await?;
        self.lock().shown_until = Some(until);
        Ok(())
    }

    /// Lets another process show the ledger.
    pub(crate) async fn leave(&self, engine: &Engine) {
        self.lock().shown_until = None;
        self.right.end(engine).await;
    }

    fn lock(&self) -> MutexGuard<'_, LedgerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LedgerState {
    /// Adds the turns that have ended by these steps, which follow those that are counted, or begin with some of them.
    fn add_steps(&mut self, session: &SessionId, steps: &[Envelope]) {
        let Some(end) = steps.last().map(|last| last.step + 1) else {
            return;
        };
        let known = self.known_steps(session).unwrap_or(0);
        if known >= end {
            return;
        }
        let counted = steps.iter().take_while(|step| step.step < known).count();
        let counted = replies(steps.get(..counted).unwrap_or_default());
        for (turn, reply) in replies(steps) {
            let mut before = counted.iter();
            let before = before.find(|(of, one)| *of == turn && one.attempt == reply.attempt);
            let usage = match before {
                // What was counted late is more than the estimate, if anything.
                Some((_, before)) => growth(&before.usage, &reply.usage),
                None => reply.usage,
            };
            self.add(&reply.model, &usage, reply.price.as_ref());
        }
        self.steps.insert(hash(session), end);
    }

    /// How many steps of a session are counted.
    fn known_steps(&self, session: &SessionId) -> Option<u64> {
        self.steps.get(&hash(session)).copied()
    }

    /// Adds a spending record that ended lately, unless it is counted.
    fn add_recent(&mut self, record: &SpendingRecord) {
        let ended = record.at.after(record.took);
        if self.recent.insert((ended, Arc::clone(&record.id))) {
            self.add_counted(record);
        }
    }

    /// Adds a spending record.
    fn add_counted(&mut self, record: &SpendingRecord) {
        self.add(&record.model, &record.usage, record.price.as_ref());
    }

    fn add(&mut self, model: &ModelRef, usage: &Usage, price: Option<&Price>) {
        let labels = self.labels.of(model);
        let sums = self.sums.entry(labels).or_default();
        sums.usage += *usage;
        if let Some(Cost {
            amount, currency, ..
        }) = price::cost_of(usage, price)
        {
            *sums.costs.entry(currency).or_default() += amount;
        }
    }

    /// Forgets the spending records that ended before this.
    fn forget_records(&mut self, before: WallTime) {
        let later = self.recent.split_off(&(before, "".into()));
        self.recent = later;
    }
}

fn hash(session: &SessionId) -> u64 {
    let mut hasher = DefaultHasher::new();
    session.hash(&mut hasher);
    hasher.finish()
}

/// The usage of each model call in turns that have ended, with the place of its turn among them.
fn replies(steps: &[Envelope]) -> Vec<(usize, ReplySpending)> {
    let turns = ended_turns(steps).flat_map(spending::by_turn);
    let replies = turns
        .enumerate()
        .flat_map(|(nth, turn)| turn.replies.into_iter().map(move |reply| (nth, reply)));
    replies.collect()
}

/// The steps of each turn that has ended, with what came late.
fn ended_turns(steps: &[Envelope]) -> impl Iterator<Item = &[Envelope]> {
    let has = |step: &Envelope, is: fn(&Fact) -> bool| step.facts.iter().any(is);
    let opens = move |step: &Envelope| has(step, |fact| matches!(fact, Fact::TurnOpened { .. }));
    let ends = move |step: &Envelope| has(step, |fact| matches!(fact, Fact::TurnEnded { .. }));
    let turns = steps.chunk_by(move |_, next| !opens(next));
    turns.filter(move |turn| turn.iter().any(ends))
}

/// By how much a usage has grown.
fn growth(before: &Usage, after: &Usage) -> Usage {
    Usage {
        cache_read: after.cache_read.saturating_sub(before.cache_read),
        cache_write: after.cache_write.saturating_sub(before.cache_write),
        input: after.input.saturating_sub(before.input),
        output: after.output.saturating_sub(before.output),
        reasoning: after.reasoning.saturating_sub(before.reasoning),
        ..*after
    }
}

impl Collector for Ledger {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let now = self.clock.now().wall;
        let state = self.lock();
        if state.shown_until.is_none_or(|until| until <= now) {
            return Ok(());
        }
        let with = |labels: &Labels, name, value: &str| {
            let mut labels = labels.clone();
            labels.push((name, value.to_owned()));
            labels
        };
        let help =
            "Tokens of all ended turns and spending records, those of earlier processes included";
        let kind = MetricType::Counter;
        let mut family = encoder.encode_descriptor(names::LEDGER_TOKENS, help, None, kind)?;
        for (labels, sums) in &state.sums {
            let Usage {
                cache_read,
                cache_write,
                input,
                output,
                ..
            } = sums.usage;
            let uncached = input.saturating_sub(cache_read).saturating_sub(cache_write);
            for (kind, tokens) in [
                ("cache_read", cache_read),
                ("cache_write", cache_write),
                ("input_uncached", uncached),
                ("output", output),
            ] {
                let labels = with(labels, names::TOKEN_TYPE, kind);
                ConstCounter::new(tokens).encode(family.encode_family(&labels)?)?;
            }
        }
        let help = "What they cost, as far as their models have a price";
        let mut family = encoder.encode_descriptor(names::LEDGER_COST, help, None, kind)?;
        for (labels, sums) in &state.sums {
            for (currency, amount) in &sums.costs {
                let labels = with(labels, names::CURRENCY, currency);
                let amount: f64 = amount.to_string().parse().unwrap_or(f64::NAN);
                ConstCounter::new(amount).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

/// How long after its end a spending record may be stored, and how far apart the clocks of processes may be.
const MOMENT: Duration = Duration::from_secs(60);
