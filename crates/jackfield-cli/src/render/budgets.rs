//! What the counters of budgets and the spending records say, for people and for programs.

use std::io::{self, Write};

use jackfield_domain::quota::{BudgetPeriod, PeriodTotal};
use jackfield_domain::time::WallTime;
use jackfield_engine::{BudgetCheck, BudgetReport};
use serde_json::{Value, json};

use crate::render::plain::{BAD, DIM, GOOD, NAME, WARM};
use crate::render::tools::document;
use crate::render::words;

/// Prints the result of a check.
///
/// # Errors
///
/// The stream cannot be written.
pub fn checks(out: &mut impl Write, report: &BudgetReport, as_json: bool) -> io::Result<()> {
    if as_json {
        let checks: Vec<Value> = report.checks.iter().map(check_json).collect();
        let value = json!({ "budgets": checks, "unreadable_records": report.unreadable });
        return document(out, &value);
    }
    for check in &report.checks {
        let state = match (check.is_equal(), check.is_corrected, check.is_in_use) {
            (true, ..) => format!("{GOOD}equal{GOOD:#}"),
            (false, true, _) => format!("{WARM}corrected{WARM:#}"),
            (false, false, true) => format!("{WARM}in use{WARM:#}"),
            (false, false, false) => format!("{BAD}differs{BAD:#}"),
        };
        write!(out, "{NAME}{}{NAME:#}  {state}", check.meter)?;
        if check.reservations > 0 {
            let calls = words::counted(check.reservations as u64, "call");
            write!(out, "  {DIM}reserved by {calls}{DIM:#}")?;
        }
        writeln!(out)?;
        for (period, (counted, recorded)) in PERIODS
            .into_iter()
            .zip(check.counted.into_iter().zip(check.recorded))
        {
            let name = name(period, counted.or(recorded));
            writeln!(out, "  {name}  counted {}", amount(counted))?;
            if counted != recorded {
                let name = self::name(period, recorded);
                writeln!(out, "  {name}  records {}", amount(recorded))?;
            }
        }
    }
    if report.checks.is_empty() {
        writeln!(out, "nothing was counted for a budget yet")?;
    }
    if report.unreadable > 0 {
        let many = words::counted(report.unreadable as u64, "spending record");
        writeln!(
            out,
            "{many} cannot be read: the sums of the records may be too small, so nothing is corrected"
        )?;
    }
    Ok(())
}

fn check_json(check: &BudgetCheck) -> Value {
    let totals = |totals: [Option<PeriodTotal>; 2]| {
        let [day, month] = totals;
        json!({
            "day": total_json(BudgetPeriod::Day, day),
            "month": total_json(BudgetPeriod::Month, month),
        })
    };
    json!({
        "name": check.meter,
        "equal": check.is_equal(),
        "corrected": check.is_corrected,
        "in_use": check.is_in_use,
        "reservations": check.reservations,
        "counted": totals(check.counted),
        "recorded": totals(check.recorded),
    })
}

fn total_json(period: BudgetPeriod, total: Option<PeriodTotal>) -> Value {
    total.map_or(Value::Null, |one| {
        json!({
            "period": name(period, total),
            "cost": one.spent.cost.to_string(),
            "tokens": one.spent.tokens,
        })
    })
}

/// A day, as in 2026-11-26, a month, as in 2026-11, or a minute.
fn name(period: BudgetPeriod, total: Option<PeriodTotal>) -> String {
    let Some(total) = total else {
        return period.as_str().to_owned();
    };
    let (begins, length) = match period {
        BudgetPeriod::Day => (WallTime::at_utc_day(total.period), 10),
        BudgetPeriod::Minute => (WallTime::at_utc_minute(total.period), 16),
        BudgetPeriod::Month => (WallTime::at_utc_month(total.period), 7),
    };
    begins.to_rfc3339().chars().take(length).collect()
}

fn amount(total: Option<PeriodTotal>) -> String {
    total.map_or_else(
        || "nothing".to_owned(),
        |total| format!("{} USD, {} tokens", total.spent.cost, total.spent.tokens),
    )
}

const PERIODS: [BudgetPeriod; 2] = [BudgetPeriod::Day, BudgetPeriod::Month];
