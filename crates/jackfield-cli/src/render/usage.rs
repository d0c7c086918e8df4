//! Usage and cost, for people and for programs.

pub mod prices;

use std::io::{self, Write};

use anstyle::Style;
use jackfield_domain::price::Cost;
use jackfield_domain::spending::report::{
    SpendingGroup, SpendingReport, SpendingRow, SpendingTotals, ToolSpending,
};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use crate::render::plain::{DIM, NAME};
use crate::render::tools::document;
use crate::render::wrap::cut;
use crate::render::{spent, window, words};

/// Prints all rows and their total.
///
/// # Errors
///
/// The stream cannot be written.
pub fn report(out: &mut impl Write, report: &SpendingReport, as_json: bool) -> io::Result<()> {
    let by = report.group().to_string();
    if as_json {
        let lines: Vec<Value> = if *report.group() == SpendingGroup::Tool {
            let tools = report.tools();
            tools.map(|(name, tool)| tool_json(name, tool)).collect()
        } else {
            let rows = report.rows();
            rows.map(|row| row_json(row, &by)).collect()
        };
        let json = json!({ "by": by, "lines": lines, "total": totals_json(report.total()) });
        return document(out, &json);
    }
    for (name, tool) in report.tools() {
        writeln!(out, "{NAME}{}{NAME:#}", words::one_line(name))?;
        let ToolSpending {
            bytes,
            calls,
            errors,
            tokens,
            duration: took,
            ..
        } = tool;
        let calls = words::counted(*calls, "call");
        let errors = words::counted(*errors, "error");
        let time = words::time(*took);
        writeln!(out, "  {calls} · {errors} · {time}")?;
        writeln!(out, "  {DIM}{bytes} bytes · ~{tokens} tokens{DIM:#}")?;
    }
    if report.total().replies + report.total().turns == 0 {
        writeln!(out, "{DIM}nothing was used{DIM:#}")?;
    } else if *report.group() != SpendingGroup::Tool {
        let rows = report.rows().map(|row| {
            let label = if *report.group() == SpendingGroup::Session && row.session.is_some() {
                format!("{}  {}", row.label, row.title)
            } else {
                row.label.clone()
            };
            let label = words::shortened(&label, MAX_LABEL);
            (label, &row.totals)
        });
        let total = ("all".to_owned(), report.total());
        let rows: Vec<_> = rows.chain([total]).collect();
        table(out, &by, &rows)?;
        for cost in report.total().costs.values() {
            if let Some(listed) = cost.listed.filter(|listed| *listed != cost.amount) {
                let listed = spent::cost(&Cost {
                    amount: listed,
                    ..cost.clone()
                });
                writeln!(out, "{DIM}by the prices of the models: {listed}{DIM:#}")?;
            }
        }
    }
    out.flush()
}

/// Prints rows with their sums as a table.
fn table(out: &mut impl Write, about: &str, rows: &[(String, &SpendingTotals)]) -> io::Result<()> {
    let head = [
        about, "turns", "replies", "input", "cached", "output", "cost",
    ];
    let cells = rows.iter().map(|(about, sums)| {
        let usage = &sums.usage;
        let mark = |estimated: u64| if estimated > 0 { "~" } else { "" };
        [
            about.clone(),
            sums.turns.to_string(),
            sums.replies.to_string(),
            format!("{}{}", mark(usage.estimated_input), usage.input),
            spent::cached(usage),
            format!("{}{}", mark(usage.estimated_output), usage.output),
            costs(sums),
        ]
    });
    let cells: Vec<[String; 7]> = cells.collect();
    let mut widths: Vec<usize> = head
        .iter()
        .enumerate()
        .map(|(column, head)| {
            let cells = cells.iter().filter_map(|row| row.get(column));
            cells
                .map(|cell| cell.width())
                .fold(head.width(), usize::max)
        })
        .collect();
    // Numbers stay whole in a narrow window.
    if let (Some(columns), [label, rest @ ..]) = (window(), &mut widths[..]) {
        let rest: usize = rest.iter().map(|width| width + 2).sum();
        *label = (*label).min(columns.saturating_sub(rest).max(MIN_LABEL));
    }
    let line = |cells: &[&str]| {
        let cells = cells.iter().zip(&widths).enumerate();
        let padded = cells.map(|(column, (cell, width))| {
            let cell = cut(cell, *width);
            let space = " ".repeat(width.saturating_sub(cell.width()));
            // Numbers stand at the right; the cost is the last column, and a text.
            match column {
                0 | 6 => format!("{cell}{space}"),
                _ => format!("{space}{cell}"),
            }
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    writeln!(out, "{DIM}{}{DIM:#}", line(&head))?;
    let last = cells.len().saturating_sub(1);
    for (place, row) in cells.iter().enumerate() {
        let cells: Vec<&str> = row.iter().map(String::as_str).collect();
        let style = if place == last { NAME } else { Style::new() };
        writeln!(out, "{style}{}{style:#}", line(&cells))?;
    }
    Ok(())
}

fn costs(sums: &SpendingTotals) -> String {
    let mut parts: Vec<String> = sums.costs.values().map(spent::cost).collect();
    if sums.unpriced > 0 {
        parts.push(if parts.is_empty() {
            "no price".to_owned()
        } else {
            format!("{} tokens without a price", sums.unpriced)
        });
    }
    if parts.is_empty() {
        parts.push("no cost".to_owned());
    }
    let mut text = parts.join(" + ");
    if sums.own_key_replies > 0 {
        let replies = sums.own_key_replies;
        text.push_str(&format!(" ({replies} with own keys)"));
    }
    text
}

fn row_json(row: &SpendingRow, by: &str) -> Value {
    let mut json = json!({ by: row.label });
    if let Some(session) = &row.session {
        insert(&mut json, "session", session.as_str().into());
    }
    if let (Value::Object(told), Value::Object(sums)) = (&mut json, totals_json(&row.totals)) {
        told.extend(sums);
    }
    json
}

fn totals_json(sums: &SpendingTotals) -> Value {
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
    } = sums;
    let mut json = spent::of_usage(usage);
    insert(&mut json, "attempts", (*attempts).into());
    insert(
        &mut json,
        "cost",
        costs.values().map(spent::of_cost).collect(),
    );
    insert(&mut json, "failures", (*failures).into());
    for (name, percent) in [("first_token_p50_ms", 50), ("first_token_p95_ms", 95)] {
        insert(&mut json, name, sums.first_token(percent).into());
    }
    insert(&mut json, "own_key_replies", (*own_key_replies).into());
    insert(&mut json, "replies", (*replies).into());
    insert(&mut json, "turns", (*turns).into());
    insert(&mut json, "unpriced_tokens", (*unpriced).into());
    json
}

fn tool_json(name: &str, tool: &ToolSpending) -> Value {
    let ToolSpending {
        bytes,
        calls,
        errors,
        starts,
        tokens,
        duration: took,
    } = tool;
    json!({
        "tool": name, "calls": calls, "errors": errors, "starts": starts, "bytes": bytes,
        "estimated_tokens": tokens, "ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    })
}

fn insert(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(fields) = object {
        fields.insert(key.to_owned(), value);
    }
}

/// The maximum length of a label, in characters.
const MAX_LABEL: usize = 40;

/// How many columns a label keeps in a narrow window.
const MIN_LABEL: usize = 8;
