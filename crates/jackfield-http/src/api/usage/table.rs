//! Usage as a table of comma-separated values, and as a chart.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jackfield_domain::spending::report::{
    SpendingGroup, SpendingReport, SpendingRow, SpendingTotals,
};
use jackfield_domain::text::hidden::revealed;
use jackfield_domain::time::WallTime;
use jackfield_export::values;
use jackfield_web::chart::{self, ChartBar};

use super::{DAY_MILLIS, UsageMeasure, day_of, start_of};

/// The lines as a table (RFC 4180), with a column of cost for each currency.
pub(super) fn csv(report: &SpendingReport) -> String {
    let mut table = Table::default();
    if *report.group() == SpendingGroup::Tool {
        table.line(["tool", "calls", "errors", "starts", "bytes", "duration_ms"]);
        for (tool, spent) in report.tools() {
            let numbers = [
                spent.calls,
                spent.errors,
                spent.starts,
                spent.bytes,
                values::millis(spent.duration),
            ];
            table.line([tool.to_owned()].into_iter().chain(numbers.map(text)));
        }
        return table.text;
    }
    let currencies: BTreeSet<&Arc<str>> = report.total().costs.keys().collect();
    let head = [
        "about",
        "title",
        "turns",
        "replies",
        "attempts",
        "failures",
        "input_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "output_tokens",
        "reasoning_tokens",
        "unpriced_tokens",
        "own_key_replies",
        "first_token_p50_ms",
        "first_token_p95_ms",
    ];
    let costs = currencies.iter().map(|name| format!("cost_{name}"));
    table.line(head.map(str::to_owned).into_iter().chain(costs));
    for row in report.rows() {
        let SpendingTotals {
            attempts,
            costs,
            failures,
            own_key_replies,
            replies,
            turns,
            unpriced,
            usage,
            ..
        } = &row.totals;
        let numbers = [
            *turns,
            *replies,
            *attempts,
            *failures,
            usage.input,
            usage.cache_read,
            usage.cache_write,
            usage.output,
            usage.reasoning,
            *unpriced,
            *own_key_replies,
        ];
        let first_tokens = [50, 95].map(|percent| {
            let time = row.totals.first_token(percent);
            time.map(|time| time.to_string()).unwrap_or_default()
        });
        let costs = currencies.iter().map(|currency| {
            let amount = costs.get(*currency).map(|cost| cost.amount.to_string());
            amount.unwrap_or_default()
        });
        let about = [row.label.clone(), row.title.to_string()];
        let numbers = numbers.map(text).into_iter();
        table.line(
            about
                .into_iter()
                .chain(numbers)
                .chain(first_tokens)
                .chain(costs),
        );
    }
    table.text
}

fn text(number: u64) -> String {
    number.to_string()
}

#[derive(Default)]
struct Table {
    text: String,
}

impl Table {
    fn line<T: AsRef<str>>(&mut self, fields: impl IntoIterator<Item = T>) {
        for (nth, field) in fields.into_iter().enumerate() {
            if nth > 0 {
                self.text.push(',');
            }
            self.field(field.as_ref());
        }
        self.text.push_str("\r\n");
    }

    fn field(&mut self, field: &str) {
        // A spreadsheet takes such a field for a formula; names of models and sessions are foreign texts.
        let is_formula = field.starts_with(['=', '+', '-', '@', '\t', '\r']);
        let quoted = is_formula || field.contains([',', '"', '\r', '\n']);
        if quoted {
            self.text.push('"');
        }
        if is_formula {
            self.text.push('\'');
        }
        self.text.push_str(&field.replace('"', "\"\""));
        if quoted {
            self.text.push('"');
        }
    }
}

/// The lines with most as a chart: the days up to `last` side by side, everything else one below the other.
pub(super) fn chart(
    report: &SpendingReport,
    of: UsageMeasure,
    since: Option<WallTime>,
    last: WallTime,
) -> String {
    if *report.group() == SpendingGroup::Tool {
        let mut tools: Vec<ChartBar> = report
            .tools()
            .map(|(tool, spent)| ChartBar {
                label: revealed(tool),
                parts: vec![
                    (spent.calls - spent.errors.min(spent.calls)) as f64,
                    0.0,
                    spent.errors as f64,
                ],
                value: grouped(spent.calls),
            })
            .collect();
        tools.sort_by(|one, other| total(other).total_cmp(&total(one)));
        tools.truncate(MOST_BARS);
        return chart::bars(&tools);
    }
    let currency = report.total().costs.iter();
    let currency = currency.max_by_key(|(_, cost)| cost.amount);
    let currency = currency.map(|(currency, _)| &**currency);
    let bar = |row: &SpendingRow| {
        let label = if row.title.is_empty() {
            &row.label
        } else {
            &*row.title
        };
        measured(revealed(label), &row.totals, of, currency)
    };
    if *report.group() == SpendingGroup::Day {
        return chart::columns(&every_day(report.rows().map(bar).collect(), since, last));
    }
    let mut bars: Vec<ChartBar> = report.rows().map(bar).collect();
    bars.sort_by(|one, other| total(other).total_cmp(&total(one)));
    bars.truncate(MOST_BARS);
    chart::bars(&bars)
}

fn total(bar: &ChartBar) -> f64 {
    bar.parts.iter().sum()
}

fn measured(
    label: String,
    totals: &SpendingTotals,
    of: UsageMeasure,
    currency: Option<&str>,
) -> ChartBar {
    let (parts, value) = match of {
        UsageMeasure::Cost => {
            let spent = currency.and_then(|currency| totals.costs.get(currency));
            let amount = spent.map(|cost| cost.amount.to_string());
            let amount = amount.unwrap_or_else(|| "0".to_owned());
            let parts = vec![amount.parse().unwrap_or_default()];
            (parts, format!("{amount} {}", currency.unwrap_or_default()))
        }
        UsageMeasure::Failures => {
            let share = totals.failures as f64 * 100.0 / totals.attempts.max(1) as f64;
            (vec![0.0, 0.0, share], format!("{share:.1}%"))
        }
        UsageMeasure::FirstToken => {
            let time = totals.first_token(50);
            let value = time.map(|time| format!("{time} ms")).unwrap_or_default();
            (vec![f64::from(time.unwrap_or_default())], value)
        }
        UsageMeasure::Tokens => {
            let parts = vec![totals.usage.input as f64, totals.usage.output as f64];
            (parts, grouped(totals.usage.total()))
        }
    };
    ChartBar {
        label,
        parts,
        value,
    }
}

/// The columns of all days of a time, also of those in which nothing was used: the newest of them.
fn every_day(days: Vec<ChartBar>, since: Option<WallTime>, last: WallTime) -> Vec<ChartBar> {
    let number = |at: WallTime| at.as_millis().div_euclid(DAY_MILLIS);
    let numbered = days.into_iter();
    let numbered = numbered.filter_map(|bar| Some((number(start_of("", &bar.label).ok()?), bar)));
    let mut used: BTreeMap<i64, ChartBar> = numbered.collect();
    let begun = used.keys().next().copied();
    let Some(first) = since.map(number).into_iter().chain(begun).min() else {
        return Vec::new();
    };
    let last = used.keys().next_back().copied().max(Some(number(last)));
    let last = last.unwrap_or(first);
    let column = |day: i64| {
        used.remove(&day).unwrap_or_else(|| ChartBar {
            label: day_of(WallTime::from_millis(day.saturating_mul(DAY_MILLIS))),
            parts: Vec::new(),
            value: String::new(),
        })
    };
    (first.max(last - MOST_DAYS + 1)..=last)
        .map(column)
        .collect()
}

/// A number with a narrow space between its thousands, which readers of every language understand.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// The maximum number of bars.
const MOST_BARS: usize = 20;
/// The maximum number of days.
const MOST_DAYS: i64 = 120;
