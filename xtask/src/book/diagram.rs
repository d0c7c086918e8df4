//! State diagrams in the language of Mermaid, drawn as SVG, so that a page needs no script.
//!
//! It knows what our pages use: `stateDiagram-v2` with lines `A --> B: label`, `[*]` for begin and end, and
//! `A: text` for the words of a state. States stand in rows, each as far down as the longest way that leads there.

use std::fmt::Write as _;

use anyhow::bail;

/// Draws a diagram.
pub(super) fn svg(lines: &[&str]) -> anyhow::Result<String> {
    let mut diagram = Diagram::default();
    let mut lines = lines
        .iter()
        .map(|line| line.trim())
        .filter(|line| !line.is_empty());
    if lines.next() != Some("stateDiagram-v2") {
        bail!("this is no `stateDiagram-v2`");
    }
    for line in lines {
        diagram.read(line)?;
    }
    if diagram.arrows.is_empty() {
        bail!("the diagram has no arrows");
    }
    Ok(diagram.drawn())
}

#[derive(Default)]
struct Diagram {
    arrows: Vec<Arrow>,
    states: Vec<State>,
}

struct State {
    name: String,
    text: String,
}

struct Arrow {
    from: usize,
    label: String,
    to: usize,
}

impl Diagram {
    fn read(&mut self, line: &str) -> anyhow::Result<()> {
        if let Some((from, rest)) = line.split_once("-->") {
            let (to, label) = rest.split_once(':').unwrap_or((rest, ""));
            let from = self.state(from.trim(), "[begin]");
            let to = self.state(to.trim(), "[end]");
            self.arrows.push(Arrow {
                from,
                label: label.trim().to_owned(),
                to,
            });
            return Ok(());
        }
        let Some((name, text)) = line.split_once(':') else {
            bail!("this is neither an arrow nor the text of a state: {line}");
        };
        let state = self.state(name.trim(), "[begin]");
        if let Some(state) = self.states.get_mut(state) {
            state.text = text.trim().to_owned();
        }
        Ok(())
    }

    fn state(&mut self, name: &str, dot: &str) -> usize {
        let name = if name == "[*]" { dot } else { name };
        let known = self.states.iter().position(|state| state.name == name);
        known.unwrap_or_else(|| {
            self.states.push(State {
                name: name.to_owned(),
                text: name.to_owned(),
            });
            self.states.len() - 1
        })
    }

    /// The row of each state. An arrow to a state that was named before leads back, and moves nothing.
    fn rows(&self) -> Vec<usize> {
        let mut rows = vec![0; self.states.len()];
        for _ in 0..self.states.len() {
            for arrow in self.arrows.iter().filter(|arrow| arrow.from < arrow.to) {
                rows[arrow.to] = rows[arrow.to].max(rows[arrow.from] + 1);
            }
        }
        // The end stands below everything.
        let last = rows.iter().max().copied().unwrap_or(0);
        for (state, row) in self.states.iter().zip(&mut rows) {
            if state.name == "[end]" {
                let is_alone = last > 0 && *row == last;
                *row = if is_alone { last } else { last + 1 };
            }
        }
        rows
    }

    fn drawn(&self) -> String {
        let rows = self.rows();
        let row_count = rows.iter().max().map_or(1, |last| last + 1);
        let most = (0..row_count)
            .map(|row| rows.iter().filter(|of| **of == row).count())
            .max()
            .unwrap_or(1);
        let middle = most * COLUMN / 2 + LANE;
        let places: Vec<(usize, usize)> = rows
            .iter()
            .enumerate()
            .map(|(state, row)| {
                let peers = rows.iter().filter(|of| *of == row).count();
                let before = rows.iter().take(state).filter(|of| *of == row).count();
                let x = middle + before * COLUMN + COLUMN / 2 - peers * COLUMN / 2;
                (x, row * ROW + HEIGHT)
            })
            .collect();
        let (width, height) = (most * COLUMN + 2 * LANE, (row_count - 1) * ROW + 2 * HEIGHT);
        let mut svg = format!(
            "<svg class=\"states\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" role=\"img\" \
             xmlns=\"http://www.w3.org/2000/svg\" font-family=\"sans-serif\" font-size=\"14\" fill=\"none\" \
             stroke=\"currentColor\" style=\"max-width:100%\">"
        );
        svg.push_str(
            "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
             orient=\"auto-start-reverse\"><path d=\"M0 0L8 4L0 8z\" fill=\"currentColor\" stroke=\"none\"/></marker></defs>",
        );
        let mut lanes = 0;
        let mut labels = Vec::new();
        for arrow in &self.arrows {
            let (from, to) = (places[arrow.from], places[arrow.to]);
            let (path, label) = self.arrow(arrow, &rows, from, to, &mut lanes, width);
            let _ = write!(svg, "<path d=\"{path}\" marker-end=\"url(#tip)\"/>");
            labels.push((&arrow.label, label));
        }
        for (state, (x, y)) in self.states.iter().zip(&places) {
            match &*state.name {
                "[begin]" => {
                    let _ = write!(
                        svg,
                        "<circle cx=\"{x}\" cy=\"{y}\" r=\"8\" fill=\"currentColor\"/>"
                    );
                }
                "[end]" => {
                    let _ = write!(
                        svg,
                        "<circle cx=\"{x}\" cy=\"{y}\" r=\"8\"/><circle cx=\"{x}\" cy=\"{y}\" r=\"4\" fill=\"currentColor\"/>"
                    );
                }
                _ => {
                    let (left, top) = (x - WIDTH / 2, y - BOX / 2);
                    let _ = write!(
                        svg,
                        "<rect x=\"{left}\" y=\"{top}\" width=\"{WIDTH}\" height=\"{BOX}\" rx=\"8\" fill=\"var(--bg, white)\"/>\
                         <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\" fill=\"currentColor\" stroke=\"none\">{}</text>",
                        y + 5,
                        escaped(&state.text)
                    );
                }
            }
        }
        // Above everything else, so that no line and no box hides a letter.
        for (text, label) in labels {
            lettered(&mut svg, text, label);
        }
        // A blank line before and after keeps Markdown away from it.
        format!("\n<p>{svg}</svg></p>\n\n")
    }

    /// The line of an arrow, and the middle of its label. What leads to the next row is straight; what leads back, or
    /// over a row, goes by a lane of its own at the side.
    fn arrow(
        &self,
        arrow: &Arrow,
        rows: &[usize],
        from: (usize, usize),
        to: (usize, usize),
        lanes: &mut usize,
        width: usize,
    ) -> (String, (usize, usize)) {
        let half = |state: usize, across: bool| match (&*self.states[state].name, across) {
            ("[begin]" | "[end]", _) => 8,
            (_, true) => WIDTH / 2,
            (_, false) => BOX / 2,
        };
        let (row, next) = (rows[arrow.from], rows[arrow.to]);
        if next == row + 1 {
            let (top, bottom) = (
                from.1 + half(arrow.from, false),
                to.1 - half(arrow.to, false),
            );
            // Of arrows that part or meet, each has its label where they are farthest from each other.
            let parts = self
                .arrows
                .iter()
                .filter(|other| other.from == arrow.from)
                .count()
                > 1;
            let meets = self
                .arrows
                .iter()
                .filter(|other| other.to == arrow.to)
                .count()
                > 1;
            let share = match (parts, meets) {
                (true, false) => 6,
                (false, true) => 4,
                (false, false) | (true, true) => 5,
            };
            let at = |one: usize, other: usize| (one * (10 - share) + other * share) / 10;
            let label = (at(from.0, to.0), at(top, bottom));
            return (format!("M{} {top}L{} {bottom}", from.0, to.0), label);
        }
        if row == next && arrow.from != arrow.to {
            let (start, end) = if from.0 < to.0 {
                (from.0 + half(arrow.from, true), to.0 - half(arrow.to, true))
            } else {
                (from.0 - half(arrow.from, true), to.0 + half(arrow.to, true))
            };
            let label = (start.midpoint(end), from.1 - 10);
            return (format!("M{start} {}L{end} {}", from.1, to.1), label);
        }
        // On the side where one of the two stands at the edge of its row, so that nothing is between it and the lane;
        // else on both sides in turn.
        let is_at_edge = |state: usize, is_right: bool| {
            let mut peers = (0..rows.len()).filter(|other| rows[*other] == rows[state]);
            let edge = if is_right {
                peers.next_back()
            } else {
                peers.next()
            };
            let count = rows.iter().filter(|row| **row == rows[state]).count();
            count > 1 && edge == Some(state)
        };
        let at_edge = |is_right| is_at_edge(arrow.from, is_right) || is_at_edge(arrow.to, is_right);
        let is_right = match (at_edge(false), at_edge(true)) {
            (true, false) => false,
            (false, true) => true,
            _ => lanes.is_multiple_of(2),
        };
        let lane = *lanes / 2;
        *lanes += 1;
        let bend = LANE / 2 + lane * 12;
        let (start, end, side) = if is_right {
            (
                from.0 + half(arrow.from, true),
                to.0 + half(arrow.to, true),
                width - LANE + bend.min(LANE - 8),
            )
        } else {
            (
                from.0 - half(arrow.from, true),
                to.0 - half(arrow.to, true),
                LANE - bend.min(LANE - 8),
            )
        };
        let middle = from.1.midpoint(to.1);
        // Of such a curve, three quarters of the way are near the lane.
        let edge = start.midpoint(end);
        let label = ((edge + 3 * side) / 4, middle);
        (
            format!(
                "M{start} {}C{side} {} {side} {} {end} {}",
                from.1, from.1, to.1, to.1
            ),
            label,
        )
    }
}

/// Writes a label around its middle.
fn lettered(svg: &mut String, text: &str, (x, y): (usize, usize)) {
    if text.is_empty() {
        return;
    }
    let lines = broken(text);
    let y = (y + 11).saturating_sub(7 * lines.len());
    // A broad stroke in the colour of the page keeps lines away from the letters.
    let _ = write!(
        svg,
        "<text y=\"{y}\" text-anchor=\"middle\" font-size=\"12\" fill=\"currentColor\" \
         stroke=\"var(--bg, white)\" stroke-width=\"5\" paint-order=\"stroke\">"
    );
    for (row, line) in lines.iter().enumerate() {
        let down = if row == 0 { 0 } else { 14 };
        let line = escaped(line);
        let _ = write!(svg, "<tspan x=\"{x}\" dy=\"{down}\">{line}</tspan>");
    }
    svg.push_str("</text>");
}

/// A label in one line, or a long one in two of about the same length.
fn broken(text: &str) -> Vec<&str> {
    if text.chars().count() <= LINE {
        return vec![text];
    }
    let spaces = text.match_indices(' ').map(|(at, _)| at);
    match spaces.min_by_key(|at| at.abs_diff(text.len() / 2)) {
        Some(at) => vec![&text[..at], &text[at + 1..]],
        None => vec![text],
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// The height of a state's box.
const BOX: usize = 34;
/// The width that a state has with the space around it.
const COLUMN: usize = 200;
/// The space above the first and below the last row.
const HEIGHT: usize = 24;
/// The space at both sides, for arrows that lead back.
const LANE: usize = 130;
/// The length of a label that stays in one line, in characters.
const LINE: usize = 18;
/// The distance between rows.
const ROW: usize = 100;
/// The width of a state's box.
const WIDTH: usize = 164;

#[cfg(test)]
mod tests {
    use super::{Diagram, svg};

    #[test]
    fn states_stand_below_those_that_lead_to_them() {
        let mut diagram = Diagram::default();
        for line in [
            "[*] --> A",
            "A --> B: one",
            "A --> C",
            "B --> C: two",
            "C --> A: back",
            "C --> [*]",
        ] {
            diagram.read(line).unwrap();
        }
        // In the order in which they are named: begin, A, B, C, end.
        assert_eq!(diagram.rows(), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn texts_are_drawn_and_escaped_and_other_diagrams_are_refused() {
        let drawn = svg(&["stateDiagram-v2", "  [*] --> A: x < y", "  A: A & B"]).unwrap();
        assert!(
            drawn.contains("x &lt; y") && drawn.contains("A &amp; B"),
            "{drawn}"
        );
        assert!(svg(&["flowchart TD", "A --> B"]).is_err());
        assert!(svg(&["stateDiagram-v2", "note right of A"]).is_err());
    }
}
