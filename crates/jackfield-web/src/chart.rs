//! Charts as SVG: bars one below the other, or columns side by side.
//!
//! A chart is a picture without words of its own: labels and numbers come with the values, and the page names
//! it and its colours. Nothing in it runs, and it loads nothing.

use std::fmt::Write as _;

/// A value of a chart, in parts that are stacked.
#[derive(Clone, Debug, PartialEq)]
pub struct ChartBar {
    pub label: String,
    /// Its parts, none below zero; their colours are those of [`COLOURS`], in order.
    pub parts: Vec<f64>,
    pub value: String,
}

/// The colours of parts, in the light and in the dark.
pub const COLOURS: [(&str, &str); 3] = [
    ("#6a4bb4", "#b7a0f3"),
    ("#0b7a75", "#63cfc8"),
    ("#b0561a", "#f0a878"),
];

/// Bars one below the other, each with its label at the left and its value at the right.
#[must_use]
pub fn bars(bars: &[ChartBar]) -> String {
    let most = highest(bars);
    let mut svg = opened(WIDTH, bars.len() as f64 * LINE + GAP);
    for (nth, bar) in bars.iter().enumerate() {
        let top = nth as f64 * LINE + GAP;
        let middle = top + THICK / 2.0 + 4.0;
        text(
            &mut svg,
            LABEL - GAP,
            middle,
            "end",
            &shortened(&bar.label, 28),
        );
        let mut at = LABEL;
        for (part, value) in bar.parts.iter().enumerate() {
            let width = share(*value, most) * (WIDTH - LABEL - VALUE);
            rectangle(&mut svg, part, [at, top, width, THICK]);
            at += width;
        }
        text(
            &mut svg,
            at + 6.0,
            middle,
            "start",
            &shortened(&bar.value, 24),
        );
    }
    svg.push_str("</svg>");
    svg
}

/// Columns side by side, with labels below some of them and the highest value at the top.
#[must_use]
pub fn columns(bars: &[ChartBar]) -> String {
    let most = highest(bars);
    let mut svg = opened(WIDTH, HEIGHT + 34.0);
    let step = (WIDTH - 2.0 * GAP) / (bars.len().max(1) as f64);
    let labelled = bars.len().div_ceil(MOST_LABELS).max(1);
    for (nth, bar) in bars.iter().enumerate() {
        let left = GAP + nth as f64 * step;
        let mut bottom = HEIGHT + 16.0;
        for (part, value) in bar.parts.iter().enumerate() {
            let height = share(*value, most) * HEIGHT;
            bottom -= height;
            let width = (step * 0.8).min(THICK * 3.0);
            rectangle(
                &mut svg,
                part,
                [left + (step - width) / 2.0, bottom, width, height],
            );
        }
        if nth % labelled == 0 {
            let label = shortened(&bar.label, 12);
            // The first and the last one stay within the picture.
            let half = label.chars().count() as f64 * LETTER / 2.0;
            let middle = (left + step / 2.0).min(WIDTH - half).max(half);
            text(&mut svg, middle, HEIGHT + 30.0, "middle", &label);
        }
    }
    let line = HEIGHT + 16.0;
    // Writing into a text does not fail.
    let _ = write!(
        svg,
        "<line x1=\"{GAP}\" y1=\"{line}\" x2=\"{}\" y2=\"{line}\"/>",
        WIDTH - GAP
    );
    let top = bars
        .iter()
        .max_by(|one, other| one.sum().total_cmp(&other.sum()));
    if let Some(top) = top {
        text(&mut svg, GAP, 11.0, "start", &shortened(&top.value, 24));
    }
    svg.push_str("</svg>");
    svg
}

impl ChartBar {
    fn sum(&self) -> f64 {
        self.parts.iter().sum()
    }
}

fn highest(bars: &[ChartBar]) -> f64 {
    bars.iter().map(ChartBar::sum).fold(0.0, f64::max)
}

/// The share of a value in the highest one, from 0 to 1.
fn share(value: f64, most: f64) -> f64 {
    if most > 0.0 && value.is_finite() {
        (value / most).clamp(0.0, 1.0)
    } else {
        0.0
    }
}

fn opened(width: f64, height: f64) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\"><style>text{{font:12px system-ui,sans-serif;fill:#1c2024}}line{{stroke:#9aa4b0}}"
    );
    let mut dark = "text{fill:#e4e7eb}".to_owned();
    for (nth, (light, at_night)) in COLOURS.iter().enumerate() {
        let _ = write!(svg, ".p{nth}{{fill:{light}}}");
        let _ = write!(dark, ".p{nth}{{fill:{at_night}}}");
    }
    let _ = write!(svg, "@media(prefers-color-scheme:dark){{{dark}}}</style>");
    svg
}

fn rectangle(svg: &mut String, part: usize, [x, y, width, height]: [f64; 4]) {
    if width > 0.0 && height > 0.0 {
        let part = part % COLOURS.len();
        let _ = write!(
            svg,
            "<rect class=\"p{part}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
        );
    }
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, words: &str) {
    let _ = write!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">"
    );
    for letter in words.chars() {
        match letter {
            '&' => svg.push_str("&amp;"),
            '<' => svg.push_str("&lt;"),
            '>' => svg.push_str("&gt;"),
            letter => svg.push(letter),
        }
    }
    svg.push_str("</text>");
}

/// A text of at most so many characters, without those that XML cannot have.
fn shortened(words: &str, most: usize) -> String {
    let is_letter =
        |letter: &char| !letter.is_control() && !matches!(letter, '\u{fffe}' | '\u{ffff}');
    let mut seen = words.chars().filter(is_letter);
    let mut line: String = seen.by_ref().take(most).collect();
    if seen.next().is_some() {
        line.pop();
        line.push('…');
    }
    line
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 160.0;
/// The room for labels at the left.
const LABEL: f64 = 200.0;
/// The room for values at the right.
const VALUE: f64 = 130.0;
const LINE: f64 = 24.0;
const THICK: f64 = 14.0;
const GAP: f64 = 8.0;
/// The width of a letter or a digit, about.
const LETTER: f64 = 7.0;
/// The maximum number of labels below columns.
const MOST_LABELS: usize = 8;
