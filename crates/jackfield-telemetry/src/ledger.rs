//! What the journal has as used and billed, so that a monitoring system and `jackfield usage` agree.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_domain::price::{Cost, Money, Price};
use jackfield_domain::request::ModelRef;
use jackfield_domain::spending;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_domain::usage::Usage;
use jackfield_engine::{Engine, EngineError, JournalError, SessionQuery};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;

use crate::labels::{Labels, ModelLabels};
use crate::names;

/// The sums over all turns that have ended, and over all spending records.
#[derive(Clone, Debug)]
pub(crate) struct Ledger(Arc<Mutex<LedgerState>>);

#[derive(Debug)]
struct LedgerState {
    /// What ended before was there before the process.
    began: WallTime,
    /// What ended since then, and was counted before the journal was read to its end.
    counted: HashSet<Counted>,
    /// Whether the journal was read. Until then, the sums are not shown: they would grow without any spending.
    is_complete: bool,
    labels: ModelLabels,
    sums: BTreeMap<Labels, ModelSums>,
}

/// What counts once.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Counted {
    Record(Arc<str>),
    Turn(SessionId, TurnId),
}

/// The sums of a model.
#[derive(Debug, Default)]
struct ModelSums {
    costs: BTreeMap<Arc<str>, Money>,
    usage: Usage,
}

impl Ledger {
    /// The sums of a process that starts now.
    pub(crate) fn new(now: WallTime) -> Self {
        let began = WallTime::from_millis(now.as_millis().saturating_sub(MOMENT));
        Self(Arc::new(Mutex::new(LedgerState {
            began,
            counted: HashSet::new(),
            is_complete: false,
            labels: ModelLabels::default(),
            sums: BTreeMap::new(),
        })))
    }

    /// Adds a turn that has ended.
    pub(crate) fn add_turn(&self, session: &SessionId, steps: &[Envelope]) {
        let Some(last) = steps.last() else { return };
        let mut state = self.lock();
        for turn in spending::by_turn(steps) {
            let id = || Counted::Turn(session.clone(), turn.turn.clone());
            if state.is_new(last.now.wall, id) {
                for reply in &turn.replies {
                    state.add(&reply.model, &reply.usage, reply.price.as_ref());
                }
            }
        }
    }

    /// Adds a spending record.
    pub(crate) fn add_record(&self, record: &SpendingRecord) {
        let mut state = self.lock();
        let ended = record.at.after(record.took);
        if state.is_new(ended, || Counted::Record(Arc::clone(&record.id))) {
            state.add(&record.model, &record.usage, record.price.as_ref());
        }
    }

    /// Adds what the journal has. From then on, the sums are shown.
    ///
    /// # Errors
    ///
    /// The journal cannot be read.
    pub(crate) async fn add_journal(&self, engine: &Engine) -> Result<(), EngineError> {
        let _unreadable = engine
            .read_spending(None, |record| self.add_record(record))
            .await?;
        let mut before = None;
        loop {
            let query = SessionQuery {
                before: before.take(),
                limit: PAGE,
                ..SessionQuery::default()
            };
            let rows = engine.sessions(&query).await?;
            let is_last = rows.len() < PAGE;
            for row in rows {
                before = Some((row.changed, row.session.clone()));
                match engine.load(&row.session).await {
                    Ok(loaded) => {
                        for steps in ended_turns(&loaded.steps) {
                            self.add_turn(&row.session, steps);
                        }
                    }
                    // Deleted in the meantime, or written by a newer version.
                    Err(EngineError::Journal(
                        JournalError::UnknownSession { .. }
                        | JournalError::Newer { .. }
                        | JournalError::Corrupt { .. },
                    )) => {}
                    Err(error) => return Err(error),
                }
            }
            if is_last {
                break;
            }
        }
        self.lock().is_complete = true;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, LedgerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LedgerState {
    /// Whether what ended then was not counted yet. The engine reports each turn and record once, and only those that
    /// ended since the start: the question is whether the journal was read after such a one was written.
    fn is_new(&mut self, ended: WallTime, id: impl FnOnce() -> Counted) -> bool {
        if ended < self.began {
            true
        } else if self.is_complete {
            // The report of what was written last may come after the journal was read.
            self.counted.is_empty() || !self.counted.contains(&id())
        } else {
            self.counted.insert(id())
        }
    }

    fn add(&mut self, model: &ModelRef, usage: &Usage, price: Option<&Price>) {
        let labels = self.labels.of(model);
        let sums = self.sums.entry(labels).or_default();
        sums.usage += *usage;
        if let Some(price) = price {
            let Cost {
                amount, currency, ..
            } = price.bill(usage);
            *sums.costs.entry(currency).or_default() += amount;
        }
    }
}

/// The steps of each turn that has ended, with what came late.
fn ended_turns(steps: &[Envelope]) -> impl Iterator<Item = &[Envelope]> {
    let has = |step: &Envelope, is: fn(&Fact) -> bool| step.facts.iter().any(is);
    let opens = move |step: &Envelope| has(step, |fact| matches!(fact, Fact::TurnOpened { .. }));
    let ends = move |step: &Envelope| has(step, |fact| matches!(fact, Fact::TurnEnded { .. }));
    let turns = steps.chunk_by(move |_, next| !opens(next));
    turns.filter(move |turn| turn.iter().any(ends))
}

impl Collector for Ledger {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let state = self.lock();
        if !state.is_complete {
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

/// How much earlier the clock of a turn may be than that of the start, in milliseconds.
const MOMENT: i64 = 60_000;

/// How many sessions are listed at once.
const PAGE: usize = 200;
