//! Tables: columns as wide as needed, narrower if space is short, and cells below each other if there is none.

use anstyle::Style;
use pulldown_cmark::Alignment;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use super::flow::{Flow, Gap};
use crate::render::plain::{DIM, NAME};

#[derive(Debug, Default)]
pub(super) struct MarkdownTable {
    alignments: Vec<Alignment>,
    /// The rows; the first is the head.
    rows: Vec<Vec<String>>,
}

impl MarkdownTable {
    pub(super) const fn new(alignments: Vec<Alignment>) -> Self {
        Self {
            alignments,
            rows: Vec::new(),
        }
    }

    pub(super) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn begin_cell(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.push(String::new());
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        if let Some(cell) = self.rows.last_mut().and_then(|row| row.last_mut()) {
            cell.push_str(&text.replace(['\n', '\t'], " "));
        }
    }

    pub(super) fn draw(&self, flow: &mut Flow) {
        let Some(widths) = self.fit(flow.room()) else {
            return self.draw_below(flow);
        };
        for (place, row) in self.rows.iter().enumerate() {
            let style = if place == 0 { NAME } else { Style::new() };
            let cells = widths.iter().enumerate().map(|(column, width)| {
                let cell = row.get(column).map_or("", String::as_str);
                wrap(cell, *width)
            });
            let cells: Vec<Vec<String>> = cells.collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            for line in 0..height {
                for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
                    let text = cell.get(line).map_or("", String::as_str);
                    let alignment = self.alignments.get(column).copied();
                    let last = column + 1 == widths.len();
                    if column > 0 {
                        flow.glue(DIM, " │ ");
                    }
                    flow.glue(style, &padded(text, *width, alignment, last));
                }
                flow.part(Gap::Line);
            }
            if place == 0 {
                let rules = widths.iter().map(|width| "─".repeat(*width));
                flow.line(DIM, &rules.collect::<Vec<_>>().join("─┼─"));
            }
        }
    }

    /// Renders every row as lines of head and cell.
    fn draw_below(&self, flow: &mut Flow) {
        let Some((head, rows)) = self.rows.split_first() else {
            return;
        };
        for (place, row) in rows.iter().enumerate() {
            flow.part(if place == 0 { Gap::None } else { Gap::Blank });
            for (name, cell) in head.iter().zip(row) {
                flow.text(NAME, &format!("{name}: "));
                flow.text(Style::new(), cell);
                flow.part(Gap::Line);
            }
        }
        if rows.is_empty() {
            flow.text(NAME, &head.join(", "));
            flow.part(Gap::Line);
        }
    }

    /// The column widths, if they fit.
    fn fit(&self, room: usize) -> Option<Vec<usize>> {
        let columns = self.rows.iter().map(Vec::len).max()?;
        let between = columns.checked_sub(1)? * 3;
        let room = room.checked_sub(between)?;
        let mut widths: Vec<usize> = (0..columns)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| cell.width()).max().unwrap_or(0).max(1)
            })
            .collect();
        // The widest column shrinks first, as it loses least.
        let mut over = widths.iter().sum::<usize>().saturating_sub(room);
        while over > 0 {
            let widest = widths.iter_mut().max()?;
            if *widest <= NARROWEST {
                return None;
            }
            (*widest, over) = (*widest - 1, over - 1);
        }
        Some(widths)
    }
}

/// Breaks a text into lines of at most this width.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_word_bounds() {
        let fits = |line: &String| line.width() + word.width() <= width;
        if lines.last().is_some_and(fits) {
            if let Some(line) = lines.last_mut() {
                line.push_str(word);
            }
        } else if word.width() <= width {
            lines.push(word.trim_start().to_owned());
        } else {
            for sign in word.graphemes(true) {
                match lines.last_mut() {
                    Some(line) if line.width() + sign.width() <= width => line.push_str(sign),
                    _ => lines.push(sign.to_owned()),
                }
            }
        }
    }
    lines
        .iter()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

fn padded(text: &str, width: usize, alignment: Option<Alignment>, last: bool) -> String {
    let room = width.saturating_sub(text.width());
    let left = match alignment {
        Some(Alignment::Right) => room,
        Some(Alignment::Center) => room / 2,
        Some(Alignment::Left | Alignment::None) | None => 0,
    };
    let right = if last { 0 } else { room - left };
    format!("{}{text}{}", " ".repeat(left), " ".repeat(right))
}

/// The minimum width of a column.
const NARROWEST: usize = 6;
