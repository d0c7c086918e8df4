//! What the journal has as used and billed, so that a monitoring system and `jackfield usage` agree.
//!
//! Of the gateways with one journal, one shows the ledger at a time, so that a sum over all of them is that of the
//! journal ([`LedgerRight`]). It reads what is new in the journal ([`LedgerReading`]), and hears at once of what its
//! own process writes.

mod reading;
mod right;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jackfield_domain::caller::tags::{Tag, TagNames};
use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::SessionId;
use jackfield_domain::price::{self, Cost, Money, Price};
use jackfield_domain::request::ModelRef;
use jackfield_domain::spending::{self, ReplySpending};
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_domain::usage::Usage;
use jackfield_engine::{Engine, EngineError, SessionRow, chain};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use tokio::time::Instant;

use self::reading::LedgerReading;
use self::right::LedgerRight;
use crate::labels::{Labels, ModelLabels, TagLabels};
use crate::names;

/// The sums over all turns that have ended, and over all spending records. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    right: Arc<LedgerRight>,
    reading: Arc<tokio::sync::Mutex<LedgerReading>>,
    state: Arc<Mutex<LedgerState>>,
}

#[derive(Debug, Default)]
struct LedgerState {
    /// Whether the journal is read, or was: what this process writes before that is found there.
    is_followed: bool,
    labels: ModelLabels,
    /// The spending records that ended lately, each with the time of its end and what is counted of it.
    recent: BTreeMap<Arc<str>, (WallTime, Usage)>,
    /// Until when this process shows the sums.
    shown_until: Option<Instant>,
    /// What is counted of each session, by a hash of its id: there may be very many.
    sessions: HashMap<u64, CountedSession>,
    sums: BTreeMap<Labels, LedgerSums>,
    tag_labels: TagLabels,
    /// What was used with a tag, by its name and its value.
    tag_sums: BTreeMap<Labels, LedgerSums>,
}

/// How much of a session is counted. Another session may get the id of one that was deleted: the times tell them apart.
#[derive(Clone, Copy, Debug)]
struct CountedSession {
    /// The time of its first step.
    begun: WallTime,
    /// When it was created, by the journal's clock; `None` until the journal has said so.
    created: Option<WallTime>,
    /// The number of the turn that was open when the session was read last; 0 if there was none.
    open_turn: u32,
    /// The number of its steps that are counted.
    steps: u64,
}

#[derive(Debug, Default)]
struct LedgerSums {
    costs: BTreeMap<Arc<str>, Money>,
    usage: Usage,
}

impl Ledger {
    /// Keeps the places of these models.
    pub(crate) fn expect(&self, models: &[ModelRef]) {
        self.lock().labels.expect(models);
    }

    /// Shows sums by the tags of these names.
    pub(crate) fn expect_tags(&self, names: &TagNames) {
        self.lock().tag_labels = TagLabels::new(names);
    }

    /// The sums of a process that has read nothing yet.
    pub(crate) fn new() -> Self {
        Self {
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
            state.add_steps(session, None, steps);
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
    /// then. The right to show them is renewed while the journal is read.
    ///
    /// # Errors
    ///
    /// The journal cannot be read.
    pub(crate) async fn read_journal(
        &self,
        engine: &Engine,
        now: WallTime,
    ) -> Result<(), EngineError> {
        let mut reading = self.reading.lock().await;
        let Some(mut until) = self.right.take(engine, now).await? else {
            self.forget(&mut reading);
            return Ok(());
        };
        if !reading.has_records() {
            // A first reading that failed may have added some of the records.
            self.forget(&mut reading);
        }
        self.lock().is_followed = true;
        let began = Instant::now();
        {
            let mut read = pin!(reading.read_on(self, engine, now));
            loop {
                tokio::select! {
                    read = &mut read => break read?,
                    () = tokio::time::sleep(RENEWAL) => {}
                }
                match self.right.take(engine, now.after(began.elapsed())).await {
                    Ok(Some(renewed)) => {
                        until = renewed;
                        let mut state = self.lock();
                        let renewed = began + renewed.since(now);
                        state.shown_until = state.shown_until.map(|_| renewed);
                    }
                    // Another process has it. The next reading forgets what was read here.
                    Ok(None) => {
                        self.lock().shown_until = None;
                        return Ok(());
                    }
                    Err(error) => {
                        let error = chain(&error);
                        tracing::debug!(%error, "the right to show the ledger is not renewed");
                    }
                }
            }
        }
        self.lock().shown_until = Some(began + until.since(now));
        Ok(())
    }

    /// Forgets all sums: the next reading begins with the whole journal.
    fn forget(&self, reading: &mut LedgerReading) {
        {
            let mut state = self.lock();
            // The places of the models and of the tags' values stay.
            let labels = std::mem::take(&mut state.labels);
            let tag_labels = std::mem::take(&mut state.tag_labels);
            *state = LedgerState {
                labels,
                tag_labels,
                ..LedgerState::default()
            };
        }
        *reading = LedgerReading::default();
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
    /// `row` is the session in a list of the journal, if that was read.
    fn add_steps(&mut self, session: &SessionId, row: Option<&SessionRow>, steps: &[Envelope]) {
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
            return;
        };
        let created = row.map(|row| row.created);
        let counted = self.sessions.get(&hash(session)).copied();
        // What is counted of another session of this id, which was deleted, says nothing of this one.
        let counted = counted.filter(|counted| {
            let is_created = |at| counted.created.is_none_or(|created| created == at);
            created.is_none_or(is_created) && (first.step > 0 || counted.begun == first.now.wall)
        });
        let known = counted.map_or(0, |counted| counted.steps);
        let end = last.step + 1;
        let entry = CountedSession {
            begun: counted.map_or(first.now.wall, |counted| counted.begun),
            created: created.or_else(|| counted?.created),
            open_turn: match row {
                Some(row) => open_turn(row),
                None => counted.map_or(0, |counted| counted.open_turn),
            },
            steps: known.max(end),
        };
        self.sessions.insert(hash(session), entry);
        if known >= end {
            return;
        }
        let counted = steps.iter().take_while(|step| step.step < known).count();
        let counted = replies(steps.get(..counted).unwrap_or_default());
        for (turn, reply, tags) in replies(steps) {
            let mut before = counted.iter();
            let before = before.find(|(of, one, _)| *of == turn && one.attempt == reply.attempt);
            let before = before.map(|(_, before, _)| before.usage);
            let usage = (before, &reply.usage);
            self.add(&reply.model, usage, reply.price.as_ref(), &tags);
        }
    }

    /// How many steps of a session are counted.
    fn known_steps(&self, session: &SessionId) -> Option<u64> {
        Some(self.sessions.get(&hash(session))?.steps)
    }

    /// Whether all turns of a session that have ended are counted, as of this row of the list.
    fn has_counted(&self, row: &SessionRow) -> bool {
        let counted = self.sessions.get(&hash(&row.session));
        counted.is_some_and(|counted| {
            // An open turn counts when it has ended: while it runs, its session is not read again.
            let is_in_turn = row.open.is_some() && counted.open_turn == open_turn(row);
            counted.created == Some(row.created) && (counted.steps == row.steps || is_in_turn)
        })
    }

    /// Adds a spending record that ended lately, unless it is counted.
    fn add_recent(&mut self, record: &SpendingRecord) {
        let ended = record.at.after(record.took);
        let counted = (ended, record.usage);
        let before = self.recent.insert(Arc::clone(&record.id), counted);
        // A count may have come in place of an estimate.
        let before = before.map(|(_, usage)| usage);
        if before != Some(record.usage) {
            let usage = (before, &record.usage);
            self.add(&record.model, usage, record.price.as_ref(), &record.tags);
        }
    }

    fn add_counted(&mut self, record: &SpendingRecord) {
        let usage = (None, &record.usage);
        self.add(&record.model, usage, record.price.as_ref(), &record.tags);
    }

    /// Adds what a model call used; of one whose usage before is counted, by how much that has grown. What was counted late
    /// is more than the estimate, if anything.
    fn add(
        &mut self,
        model: &ModelRef,
        (before, usage): (Option<Usage>, &Usage),
        price: Option<&Price>,
        tags: &[Tag],
    ) {
        let counted = before.and_then(|before| price::cost_of(&before, price));
        let counted = counted.map_or(Money::ZERO, |cost| cost.amount);
        let cost = price::cost_of(usage, price).map(|cost| Cost {
            amount: cost.amount.less(counted),
            ..cost
        });
        let usage = before.map_or(*usage, |before| growth(&before, usage));
        let labels = self.labels.of(model);
        self.sums
            .entry(labels)
            .or_default()
            .add(&usage, cost.as_ref());
        for labels in tags.iter().filter_map(|tag| self.tag_labels.of(tag)) {
            let sums = self.tag_sums.entry(labels).or_default();
            sums.add(&usage, cost.as_ref());
        }
    }

    /// Forgets the spending records that ended before this.
    fn forget_records(&mut self, before: WallTime) {
        self.recent.retain(|_, (ended, _)| *ended >= before);
    }
}

impl LedgerSums {
    fn add(&mut self, usage: &Usage, cost: Option<&Cost>) {
        self.usage += *usage;
        if let Some(cost) = cost {
            *self.costs.entry(Arc::clone(&cost.currency)).or_default() += cost.amount;
        }
    }
}

/// The number of the open turn of a session; 0 without one.
const fn open_turn(row: &SessionRow) -> u32 {
    if row.open.is_some() { row.turns } else { 0 }
}

fn hash(session: &SessionId) -> u64 {
    let mut hasher = DefaultHasher::new();
    session.hash(&mut hasher);
    hasher.finish()
}

/// The usage of each model call in turns that have ended, with the place of its turn among them and the tags of that.
fn replies(steps: &[Envelope]) -> Vec<(usize, ReplySpending, Arc<[Tag]>)> {
    let turns = ended_turns(steps).flat_map(spending::by_turn);
    let replies = turns.enumerate().flat_map(|(nth, turn)| {
        let tags: Arc<[Tag]> = turn.tags.into();
        let replies = turn.replies.into_iter();
        replies.map(move |reply| (nth, reply, Arc::clone(&tags)))
    });
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

/// By how many tokens a usage has grown.
fn growth(before: &Usage, after: &Usage) -> Usage {
    let grown = |after: u64, before: u64| after.saturating_sub(before);
    Usage {
        audio_input: grown(after.audio_input, before.audio_input),
        audio_output: grown(after.audio_output, before.audio_output),
        billed: None,
        cache_read: grown(after.cache_read, before.cache_read),
        cache_write: grown(after.cache_write, before.cache_write),
        cache_write_long: grown(after.cache_write_long, before.cache_write_long),
        estimated_input: grown(after.estimated_input, before.estimated_input),
        estimated_output: grown(after.estimated_output, before.estimated_output),
        image_input: grown(after.image_input, before.image_input),
        image_output: grown(after.image_output, before.image_output),
        input: grown(after.input, before.input),
        output: grown(after.output, before.output),
        reasoning: grown(after.reasoning, before.reasoning),
        tier: after.tier,
    }
}

impl Collector for Ledger {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let now = Instant::now();
        let state = self.lock();
        if state.shown_until.is_none_or(|until| until <= now) {
            return Ok(());
        }
        let models =
            "Tokens of all ended turns and spending records, those of earlier processes included";
        let shown = (names::LEDGER_TOKENS, names::LEDGER_COST);
        encode_sums(&mut encoder, &state.sums, shown, models)?;
        if state.tag_sums.is_empty() {
            return Ok(());
        }
        let tagged = "The part of the ledger's tokens that has this tag";
        let shown = (names::LEDGER_TAG_TOKENS, names::LEDGER_TAG_COST);
        encode_sums(&mut encoder, &state.tag_sums, shown, tagged)
    }
}

/// Shows the tokens of sums, and what they cost.
fn encode_sums(
    encoder: &mut DescriptorEncoder<'_>,
    sums: &BTreeMap<Labels, LedgerSums>,
    (tokens, cost): (&str, &str),
    help: &str,
) -> fmt::Result {
    let with = |labels: &Labels, name, value: &str| {
        let mut labels = labels.clone();
        labels.push((name, value.to_owned()));
        labels
    };
    let kind = MetricType::Counter;
    let mut family = encoder.encode_descriptor(tokens, help, None, kind)?;
    for (labels, sums) in sums {
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
    let mut family = encoder.encode_descriptor(cost, help, None, kind)?;
    for (labels, sums) in sums {
        for (currency, amount) in &sums.costs {
            let labels = with(labels, names::CURRENCY, currency);
            let amount: f64 = amount.to_string().parse().unwrap_or(f64::NAN);
            ConstCounter::new(amount).encode(family.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

/// How long after its end a spending record may be stored, and how far apart the clocks of processes may be.
const MOMENT: Duration = Duration::from_secs(60);
/// How often the right to show the ledger is renewed while the journal is read.
const RENEWAL: Duration = Duration::from_secs(3);
