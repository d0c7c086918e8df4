//! Compares what meters have counted with the spending records, and corrects it.
//!
//! The records are the truth. A record and its meters change in one transaction, so a meter that is the same before and
//! after its records were read has to have their sums.

use std::collections::BTreeMap;
use std::sync::Arc;

use jackfield_domain::directory::EntryKind;
use jackfield_domain::quota::{
    Amount, BudgetPeriod, Meter, MeterOperation, MeterOutcome, PeriodTotal,
};
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::spending::SpendingQuery;

use crate::budgets::perform;
use crate::directory::DirectoryError;
use crate::state::Engine;

/// The budgets of one key, user or team: what its meter has counted, and what the records say.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BudgetCheck {
    /// What the meter has counted in its newest day and month.
    pub counted: [Option<PeriodTotal>; 2],
    /// Whether the meter was corrected.
    pub is_corrected: bool,
    /// The name of the meter.
    pub meter: Arc<str>,
    /// The sums of the records.
    pub recorded: [Option<PeriodTotal>; 2],
    /// How many calls in flight have reserved something.
    pub reservations: usize,
}

/// The result of a check of all budgets.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct BudgetReport {
    /// Those that have counted or reserved something.
    pub checks: Vec<BudgetCheck>,
    /// How many records cannot be read, and are in no sum.
    pub unreadable: usize,
}

impl BudgetCheck {
    /// Whether the meter has counted what the records say.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.counted == self.recorded
    }
}

impl Engine {
    /// Compares the meters of all keys, users and teams with the spending records. With `repairs`, a meter that differs
    /// gets the sums of the records; no record that is stored meanwhile is lost.
    ///
    /// # Errors
    ///
    /// [`DirectoryError::Journal`] if the journal cannot be read or written, or keeps no users and keys.
    pub async fn check_budgets(&self, repairs: bool) -> Result<BudgetReport, DirectoryError> {
        let names = self.budget_names().await?;
        let mut report = BudgetReport::default();
        for _ in 0..ATTEMPTS {
            let before = self.look(&names).await?;
            let (sums, unreadable) = self.sums(oldest(&before, self.now())).await?;
            let after = self.look(&names).await?;
            report = BudgetReport {
                checks: Vec::new(),
                unreadable,
            };
            let mut is_moving = false;
            for (name, (before, after)) in names.iter().zip(before.iter().zip(&after)) {
                let recorded = sums.get(name).copied().unwrap_or_default();
                let counted = totals(after);
                let has_counted = counted != [None, None] || recorded != [None, None];
                if !has_counted && after.reservations.is_empty() {
                    continue;
                }
                // What changed while the records were read is looked at again.
                is_moving |= totals(before) != counted && counted != recorded;
                report.checks.push(BudgetCheck {
                    counted,
                    is_corrected: false,
                    meter: Arc::clone(name),
                    recorded,
                    reservations: after.reservations.len(),
                });
            }
            if is_moving {
                continue;
            }
            if !repairs {
                break;
            }
            let mut is_overtaken = false;
            for check in report.checks.iter_mut().filter(|check| !check.is_equal()) {
                let correction = MeterOperation::Correct {
                    meter: Arc::clone(&check.meter),
                    seen: check.counted,
                    totals: check.recorded,
                };
                let outcome = perform(&self.shared, &correction).await?;
                let MeterOutcome::Seen(seen) = outcome else {
                    continue;
                };
                check.is_corrected = seen.first().map(totals) == Some(check.counted);
                is_overtaken |= !check.is_corrected;
            }
            if !is_overtaken {
                break;
            }
        }
        Ok(report)
    }

    /// The names of the meters of all keys, users and teams.
    async fn budget_names(&self) -> Result<Vec<Arc<str>>, DirectoryError> {
        let Some(directory) = self.directory() else {
            return Ok(Vec::new());
        };
        let mut names = Vec::new();
        for kind in [EntryKind::Key, EntryKind::Team, EntryKind::User] {
            let mut after = None;
            loop {
                let page = directory.entries(kind, after, PAGE).await?;
                let own = page.iter().map(|entry| entry.name());
                names.extend(own.map(|name| Arc::from(format!("{}:{name}", kind.as_str()))));
                match page.last() {
                    Some(last) => after = Some(last.name().clone()),
                    None => break,
                }
            }
        }
        Ok(names)
    }

    async fn look(&self, names: &[Arc<str>]) -> Result<Vec<Meter>, DirectoryError> {
        let mut meters = Vec::with_capacity(names.len());
        for names in names.chunks(PAGE) {
            let operation = MeterOperation::Look {
                meters: names.to_vec(),
            };
            if let MeterOutcome::Seen(seen) = perform(&self.shared, &operation).await? {
                meters.extend(seen);
            }
        }
        Ok(meters)
    }

    /// The sums of the records of this time and later, of the newest day and month of each meter.
    async fn sums(
        &self,
        since: WallTime,
    ) -> Result<(BTreeMap<Arc<str>, [Option<PeriodTotal>; 2]>, usize), DirectoryError> {
        let mut sums: BTreeMap<Arc<str>, Meter> = BTreeMap::new();
        let mut unreadable = 0;
        let mut query = SpendingQuery {
            after: None,
            limit: PAGE,
            since: Some(since),
        };
        if let Some(log) = self.spending() {
            loop {
                let page = log.records(&query).await?;
                unreadable += page.unreadable.len();
                page.records
                    .iter()
                    .for_each(|record| add(&mut sums, record));
                query.after = page.next;
                if query.after.is_none() {
                    break;
                }
            }
        }
        let sums = sums.into_iter().map(|(name, sum)| (name, totals(&sum)));
        Ok((sums.collect(), unreadable))
    }

    fn now(&self) -> WallTime {
        self.shared.clock.now().wall
    }
}

fn add(sums: &mut BTreeMap<Arc<str>, Meter>, record: &SpendingRecord) {
    for settled in &record.settled {
        let sum = sums.entry(Arc::clone(&settled.budget)).or_default();
        sum.spend(record.at, Amount::of(settled));
    }
}

const fn totals(meter: &Meter) -> [Option<PeriodTotal>; 2] {
    [meter.day, meter.month]
}

/// The beginning of the oldest month that one of these meters has counted in, or of this month.
fn oldest(meters: &[Meter], now: WallTime) -> WallTime {
    let months = meters.iter().filter_map(|meter| meter.month);
    let oldest = months.map(|month| month.period).min();
    let now = BudgetPeriod::Month.of(now);
    WallTime::at_utc_month(oldest.map_or(now, |oldest| oldest.clamp(0, now)))
}

/// How often the records are read again that calls change meanwhile.
const ATTEMPTS: u32 = 10;
/// How many entries, meters or records are read at once.
const PAGE: usize = 500;
