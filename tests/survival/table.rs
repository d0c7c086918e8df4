//! The table: how often the kill landed where, in which state, and what came of it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::deaths::When;
use crate::judge::{Survived, Verdict};

/// What many turns came to.
#[derive(Default)]
pub(crate) struct Table {
    places: BTreeMap<&'static str, BTreeMap<String, u32>>,
    turns: u32,
    pub(crate) verdict: Verdict,
}

impl Table {
    /// Adds what came of a turn.
    pub(crate) fn add(&mut self, survived: Survived) {
        self.turns += 1;
        for death in survived.deaths {
            let place = match death.when {
                When::AfterAcceptance(_) => "random, after acceptance",
                When::AfterStart(_) => "random, after the start",
                When::At(place, _) => place,
                When::Never => "not by us",
            };
            let states = self.places.entry(place).or_default();
            *states.entry(death.state).or_default() += 1;
        }
        self.verdict += survived.verdict;
    }

    /// How often the kill landed at a place.
    pub(crate) fn kills(&self, place: &str) -> u32 {
        let states = self.places.get(place);
        states.map_or(0, |states| states.values().sum())
    }

    /// How often the kill landed anywhere.
    pub(crate) fn all_kills(&self) -> u32 {
        self.places.keys().map(|place| self.kills(place)).sum()
    }

    /// Prints itself, and fails if a promise was broken.
    pub(crate) fn promised(&self, title: &str) {
        println!("\n{title}\n{self}");
        for (promise, broken) in self.verdict.counts() {
            assert!(broken.is_empty(), "{promise}:\n{}", broken.join("\n"));
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<26} {:>5}  the turn was in", "killed", "times")?;
        for (place, states) in &self.places {
            let states: Vec<String> = states
                .iter()
                .map(|(state, times)| format!("{state} ({times})"))
                .collect();
            let kills = self.kills(place);
            writeln!(f, "{place:<26} {kills:>5}  {}", states.join("; "))?;
        }
        writeln!(f, "turns {}", self.turns)?;
        for (promise, broken) in self.verdict.counts() {
            writeln!(f, "{promise} {}", broken.len())?;
        }
        Ok(())
    }
}

/// Does this for each of many, a few at a time, and collects what came of it.
pub(crate) async fn all<T, F>(many: impl IntoIterator<Item = T>, survive: impl Fn(T) -> F) -> Table
where
    F: Future<Output = Survived> + Send + 'static,
{
    let mut table = Table::default();
    add_all(&mut table, many, survive).await;
    table
}

/// Does this at so many random instants of a turn, and at further ones until so many kills have landed. How long a turn
/// takes is measured again and again, as the machine may have more or less to do.
pub(crate) async fn at_instants<U, F>(
    instants: u64,
    kills: u64,
    undisturbed: fn() -> U,
    survive: impl Fn(u64, Duration) -> F + Send + Sync,
) -> Table
where
    U: Future<Output = Duration> + Send,
    F: Future<Output = Survived> + Send + 'static,
{
    let mut table = Table::default();
    let batch = instants.div_ceil(BATCHES);
    for first in (0..instants * MOST_TIMES).step_by(usize::try_from(batch).unwrap_or(1)) {
        if first >= instants && u64::from(table.all_kills()) >= kills {
            return table;
        }
        let whole = undisturbed().await;
        println!("what nothing befalls takes {whole:?}");
        add_all(&mut table, first..first + batch, |nth| survive(nth, whole)).await;
    }
    assert!(
        u64::from(table.all_kills()) >= kills,
        "too few kills landed: {table}"
    );
    table
}

async fn add_all<T, F>(
    table: &mut Table,
    many: impl IntoIterator<Item = T>,
    survive: impl Fn(T) -> F,
) where
    F: Future<Output = Survived> + Send + 'static,
{
    let mut running = tokio::task::JoinSet::new();
    for one in many {
        if running.len() == AT_ONCE
            && let Some(survived) = running.join_next().await
        {
            table.add(survived.expect("a turn is judged"));
        }
        running.spawn(survive(one));
    }
    while let Some(survived) = running.join_next().await {
        table.add(survived.expect("a turn is judged"));
    }
}

/// How often the time of an undisturbed turn is measured anew.
const BATCHES: u64 = 10;
/// How many times as many instants are tried at most.
const MOST_TIMES: u64 = 3;
/// How many turns are under way at once: they mostly wait.
const AT_ONCE: usize = 4;
