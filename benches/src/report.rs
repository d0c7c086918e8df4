//! What was measured, in tables of Markdown: ratios first.

use std::fmt::{self, Write as _};
use std::time::Duration;

use crate::measure::{Samples, ratio};

/// Tables with words before them.
#[derive(Debug, Default)]
pub struct Report(String);

impl Report {
    /// Adds a table: what it is about, its columns, its rows.
    pub fn table<const N: usize>(&mut self, about: &str, columns: [&str; N], rows: &[[String; N]]) {
        // Writing to a string cannot fail.
        let _ignored = writeln!(self.0, "{about}\n");
        let mut line = |cells: &[&str]| {
            let _ignored = writeln!(self.0, "| {} |", cells.join(" | "));
        };
        line(&columns);
        line(&["---"; N]);
        for row in rows {
            line(&row.each_ref().map(String::as_str));
        }
        self.0.push('\n');
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.trim_end())
    }
}

/// A row that says how many times as long ours takes, what is aimed at, and both.
#[must_use]
pub fn compared(what: &str, ours: Duration, floor: Duration, aim: &str) -> [String; 5] {
    [
        what.to_owned(),
        format!("{:.2}", ratio(ours, floor)),
        aim.to_owned(),
        shown(ours),
        shown(floor),
    ]
}

/// The rows of one case: time and computing.
#[must_use]
pub fn rows(what: &str, ours: &Samples, floor: &Samples, aims: [&str; 2]) -> Vec<[String; 5]> {
    let (spent, floor_spent) = (ours.cpu.mean(), floor.cpu.mean());
    let least = (ours.wall.least(), floor.wall.least());
    vec![
        compared(
            &format!("{what}, p50"),
            ours.wall.p50(),
            floor.wall.p50(),
            aims[0],
        ),
        compared(&format!("{what}, the least"), least.0, least.1, ""),
        compared(&format!("{what}, CPU"), spent, floor_spent, aims[1]),
    ]
}

/// A time as people say it: three digits and a unit.
#[must_use]
pub fn shown(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    match micros {
        less if less < 1e3 => format!("{less:.0} µs"),
        less if less < 1e4 => format!("{:.2} ms", less / 1e3),
        less if less < 1e6 => format!("{:.1} ms", less / 1e3),
        more => format!("{:.3} s", more / 1e6),
    }
}
