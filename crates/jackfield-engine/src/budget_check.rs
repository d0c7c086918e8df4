//! Compares what meters have counted with the spending records, and corrects it.
//!
//! The records are the truth. A record and its meters change in one transaction, so a meter that is the same before and
//! after its records were read has to have their sums.

use std::collections::BTreeMap;
use std::sync::Arc;

use jackfield_domain::directory::EntryKind;
use jackfield_domain::quota::{
    Amount, BudgetPeriod, MAX_SKEW, Meter, MeterOperation, MeterOutcome, PeriodTotal,
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
    /// What the meter has counted in its newest day and month, if that is not before this month.
    pub counted: [Option<PeriodTotal>; 2],
    /// Whether the meter was corrected.
    pub is_corrected: bool,
    /// Whether calls changed it each time that the records were read, so that nothing can be said of it.
    pub is_in_use: bool,
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

    fn has_anything(&self) -> bool {
        self.counted != [None, None] || self.recorded != [None, None] || self.reservations > 0
    }
}

impl Engine {
    /// Compares the meters of all keys, users and teams with the spending records of this month. With `repairs`, a meter
    /// that differs gets the sums of the records; no record that is stored meanwhile is lost. If a record cannot be read,
    /// nothing is corrected, as the sums may be too small.
    ///
    /// # Errors
    ///
    /// [`DirectoryError::Journal`] if the journal cannot be read or written, or keeps no users and keys.
    pub async fn check_budgets(&self, repairs: bool) -> Result<BudgetReport, DirectoryError> {
        let mut names = self.budget_names().await?;
        let mut report = BudgetReport::default();
        for attempt in 1..=ATTEMPTS {
            let now = self.now();
            let before = self.look(&names).await?;
            let (sums, unreadable) = self.sums(now).await?;
            let after = self.look(&names).await?;
            report.unreadable = unreadable;
            let mut moving = Vec::new();
            for (name, (before, after)) in names.iter().zip(before.iter().zip(&after)) {
                let mut check = BudgetCheck {
                    counted: of_this_month(totals(after), now),
                    is_corrected: false,
                    is_in_use: false,
                    meter: Arc::clone(name),
                    recorded: sums.get(name).copied().unwrap_or_default(),
                    reservations: after.reservations.len(),
                };
                if !check.is_equal() {
                    // What changed while the records were read is looked at again.
                    if totals(before) != totals(after) {
                        check.is_in_use = true;
                    } else if repairs && unreadable == 0 {
                        check.is_corrected = self.correct(totals(after), &check).await?;
                        check.is_in_use = !check.is_corrected;
                    }
                }
                if check.is_in_use && attempt < ATTEMPTS {
                    moving.push(Arc::clone(name));
                } else if check.has_anything() {
                    report.checks.push(check);
                }
            }
            names = moving;
            if names.is_empty() {
                break;
            }
        }
        report
            .checks
            .sort_by(|one, other| one.meter.cmp(&other.meter));
        Ok(report)
    }

    /// Sets a meter to the sums of the records; returns whether its totals were still those that were seen.
    async fn correct(
        &self,
        seen: [Option<PeriodTotal>; 2],
        check: &BudgetCheck,
    ) -> Result<bool, DirectoryError> {
        let correction = MeterOperation::Correct {
            meter: Arc::clone(&check.meter),
            seen,
            totals: check.recorded,
        };
        let outcome = perform(&self.shared, &correction).await?;
        let MeterOutcome::Seen(meters) = outcome else {
            return Ok(false);
        };
        Ok(meters.first().map(totals) == Some(seen))
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

    /// The sums of the records of this month, of the newest day and month of each meter.
    async fn sums(
        &self,
        now: WallTime,
    ) -> Result<(BTreeMap<Arc<str>, [Option<PeriodTotal>; 2]>, usize), DirectoryError> {
        let mut sums: BTreeMap<Arc<str>, Meter> = BTreeMap::new();
        let mut unreadable = 0;
        let mut query = SpendingQuery {
            after: None,
            limit: PAGE,
            since: Some(WallTime::at_utc_month(BudgetPeriod::Month.of(now))),
        };
        if let Some(log) = self.spending() {
            loop {
                let page = log.records(&query).await?;
                unreadable += page.unreadable.len();
                // A record that is further ahead than clocks may differ is in no total of a meter, either.
                let records = page.records.iter();
                records
                    .filter(|record| record.at <= now.after(MAX_SKEW))
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

/// These totals, but for those that ended before the month of this time: no budget asks for them, and their records may
/// be gone.
fn of_this_month(
    [day, month]: [Option<PeriodTotal>; 2],
    now: WallTime,
) -> [Option<PeriodTotal>; 2] {
    let present = BudgetPeriod::Month.of(now);
    let first = WallTime::at_utc_month(present).utc_day();
    [
        day.filter(|total| total.period >= first),
        month.filter(|total| total.period >= present),
    ]
}

/// How often the records are read again that calls change meanwhile.
const ATTEMPTS: u32 = 10;
/// How many entries, meters or records are read at once.
const PAGE: usize = 500;
