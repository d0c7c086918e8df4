//! Changed tool definitions, for people who review them, and for programs.

use std::io::{self, Write};
use std::ops::Range;
use std::time::{Duration, Instant};

use jackfield_assembly::{ChangedTool, ServerToolbox};
use jackfield_domain::digest::Digest;
use jackfield_domain::text::hidden::{self, revealed};
use serde_json::{Map, Value, json};
use similar::{Algorithm, ChangeTag, DiffOp, TextDiff};

use crate::render::plain::{BAD, DIM, GOOD, NAME, WARM};
use crate::render::tools::document;

/// Prints the changes. The JSON includes whether they were accepted, if known.
///
/// # Errors
///
/// The stream cannot be written.
pub fn changes(
    out: &mut impl Write,
    server: &ServerToolbox,
    changed: &[ChangedTool],
    accepted: Option<bool>,
) -> io::Result<()> {
    let id = server.config.id.as_str();
    if let Some(accepted) = accepted {
        return document(out, &changes_json(id, changed, accepted));
    }
    if changed.is_empty() {
        writeln!(
            out,
            "nothing to accept: what `{id}` says of its tools is what was accepted"
        )?;
    }
    let until = Instant::now() + TOTAL_TIME_LIMIT;
    for one in changed {
        definition(out, id, one, until)?;
    }
    out.flush()
}

fn changes_json(id: &str, changed: &[ChangedTool], accepted: bool) -> Value {
    let changes = changed.iter().map(|one| {
        json!({
            "tool": (!one.tool.is_empty()).then_some(&*one.tool),
            "accepted": one.accepted.as_deref(),
            "accepted_digest": one.accepted_digest.to_hex(),
            "offered": &*one.offered,
            "offered_digest": Digest::of_json(&one.offered).to_hex(),
            "hidden_letters": hidden::found(&one.offered),
        })
    });
    json!({
        "id": id,
        "accepted": accepted,
        "changes": changes.collect::<Vec<_>>(),
    })
}

/// Prints the changes of one tool. After `until`, the diff is no longer minimal: a server can change thousands of
/// long texts at once.
///
/// # Errors
///
/// The stream cannot be written.
pub fn definition(
    out: &mut impl Write,
    id: &str,
    changed: &ChangedTool,
    until: Instant,
) -> io::Result<()> {
    if changed.tool.is_empty() {
        writeln!(out, "{NAME}{id}{NAME:#}")?;
    } else {
        let tool = revealed(&changed.tool).replace('\n', "<U+000A line end>");
        writeln!(out, "{NAME}{id}/{tool}{NAME:#}")?;
    }
    let empty = Value::Null;
    let accepted = changed.accepted.as_deref();
    if accepted.is_none() {
        writeln!(
            out,
            "  {WARM}!{WARM:#} what was accepted was too long to be kept: this is all that it says now"
        )?;
    }
    let accepted = accepted.unwrap_or(&empty);
    for (field, heading) in TEXTS {
        let text = |definition: &Value| {
            let text = definition.get(*field).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let (old, new) = (text(accepted), text(&changed.offered));
        if old != new {
            writeln!(out, "  {heading}")?;
            write_definition(out, &old, &new, until, words_diff)?;
        }
    }
    for (field, heading) in VALUES {
        let pretty = |definition: &Value| match definition.get(*field) {
            None => Ok(String::new()),
            Some(value) => serde_json::to_string_pretty(&sorted(value)),
        };
        let (old, new) = (pretty(accepted)?, pretty(&changed.offered)?);
        if old != new {
            writeln!(out, "  {heading}")?;
            write_definition(out, &old, &new, until, lines_diff)?;
        }
    }
    let hidden = hidden::found(&changed.offered);
    if !hidden.is_empty() {
        let all = hidden
            .iter()
            .map(|(name, count)| format!("{name} ({count})"));
        let all = all.collect::<Vec<_>>().join(", ");
        writeln!(out, "  {WARM}!{WARM:#} it has hidden letters: {all}")?;
    }
    writeln!(out)
}

/// Prints the difference of two texts, unless they are too long.
fn write_definition<W: Write>(
    out: &mut W,
    old: &str,
    new: &str,
    until: Instant,
    tell: fn(&mut W, &str, &str, Instant) -> io::Result<()>,
) -> io::Result<()> {
    let (old, old_rest) = bounded(old);
    let (new, new_rest) = bounded(new);
    let until = until.min(Instant::now() + TIME_LIMIT);
    tell(out, &revealed(old), &revealed(new), until)?;
    let rest = old_rest.len().max(new_rest.len());
    if rest > 0 {
        let how = if old_rest == new_rest {
            "have not changed"
        } else {
            "have changed, too"
        };
        writeln!(
            out,
            "    {WARM}!{WARM:#} {rest} more bytes are not shown here and {how}; --json has them"
        )?;
    }
    Ok(())
}

fn bounded(text: &str) -> (&str, &str) {
    text.split_at(text.floor_char_boundary(MAX_SHOWN))
}

/// Prints a word diff of prose, line by line.
fn words_diff(out: &mut impl Write, old: &str, new: &str, until: Instant) -> io::Result<()> {
    let (old, new) = (unmarked(old), unmarked(new));
    let (old, new) = (tokens(&old), tokens(&new));
    let ops = similar::capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(until));
    let mut lines = ChangedLines::default();
    let text =
        |tokens: &[&str], range: Range<usize>| tokens.get(range).unwrap_or_default().concat();
    for op in ops {
        let (old, new) = (text(&old, op.old_range()), text(&new, op.new_range()));
        match op {
            DiffOp::Equal { .. } => lines.push(ChangeTag::Equal, &new),
            DiffOp::Delete { .. } => lines.push(ChangeTag::Delete, &old),
            DiffOp::Insert { .. } => lines.push(ChangeTag::Insert, &new),
            DiffOp::Replace { .. } => {
                lines.push(ChangeTag::Delete, &old);
                lines.push(ChangeTag::Insert, &new);
            }
        }
    }
    lines.write(out)
}

/// Prints a line diff of JSON.
fn lines_diff(out: &mut impl Write, old: &str, new: &str, until: Instant) -> io::Result<()> {
    let diff = TextDiff::configure().deadline(until).diff_lines(old, new);
    for (place, hunk) in diff.grouped_ops(AROUND).iter().enumerate() {
        if place > 0 {
            writeln!(out, "    {DIM}…{DIM:#}")?;
        }
        for change in hunk.iter().flat_map(|op| diff.iter_changes(op)) {
            let line = change.value().trim_end_matches('\n');
            match change.tag() {
                ChangeTag::Delete => writeln!(out, "    {BAD}- {line}{BAD:#}")?,
                ChangeTag::Equal => writeln!(out, "      {line}")?,
                ChangeTag::Insert => writeln!(out, "    {GOOD}+ {line}{GOOD:#}")?,
            }
        }
    }
    Ok(())
}

/// Prose with marked changes, in lines.
#[derive(Default)]
struct ChangedLines {
    done: Vec<(bool, String)>,
    now: (bool, String),
}

impl ChangedLines {
    fn push(&mut self, tag: ChangeTag, text: &str) {
        let mut pieces = text.split('\n').enumerate().peekable();
        while let Some((place, piece)) = pieces.next() {
            // The changed part can be a line end, which is then shown as a sign.
            let changed = tag != ChangeTag::Equal;
            if place > 0 {
                if changed {
                    self.now.0 = true;
                }
                self.done.push(std::mem::take(&mut self.now));
            }
            if !changed {
                self.now.1.push_str(piece);
                continue;
            }
            let ends = pieces.peek().is_some();
            let end = if ends { "⏎" } else { "" };
            if piece.is_empty() && !ends {
                continue;
            }
            self.now.0 = true;
            let (style, open, close) = if tag == ChangeTag::Delete {
                (BAD, "[-", "-]")
            } else {
                (GOOD, "{+", "+}")
            };
            self.now
                .1
                .push_str(&format!("{style}{open}{piece}{end}{close}{style:#}"));
        }
    }

    fn write(mut self, out: &mut impl Write) -> io::Result<()> {
        self.done.push(self.now);
        let changed: Vec<usize> = (self.done.iter().enumerate())
            .filter_map(|(place, line)| line.0.then_some(place))
            .collect();
        let mut left_out = false;
        for (place, (_, line)) in self.done.iter().enumerate() {
            // The nearest changed line is the next one or the one before.
            let next = changed.partition_point(|line| *line < place);
            let near = [next.checked_sub(1), Some(next)].into_iter().flatten();
            let near = near.filter_map(|nth| changed.get(nth));
            if near
                .map(|line| line.abs_diff(place))
                .min()
                .is_some_and(|far| far <= AROUND)
            {
                writeln!(out, "    {line}")?;
                left_out = false;
            } else if !left_out {
                writeln!(out, "    {DIM}…{DIM:#}")?;
                left_out = true;
            }
        }
        Ok(())
    }
}

/// The text with everything escaped that looks like a change mark.
fn unmarked(text: &str) -> String {
    text.replace("[-", "<U+005B>-")
        .replace("-]", "-<U+005D>")
        .replace("{+", "<U+007B>+")
        .replace("+}", "+<U+007D>")
}

/// Splits a text into words and single other characters. In a language without spaces, each character is a word.
fn tokens(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() && c < '\u{2e80}';
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(end);
        tokens.push(token);
        rest = after;
    }
    tokens
}

/// Sorts the keys of every object, as their order is irrelevant.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            let fields = fields.into_iter();
            let fields: Map<String, Value> = fields
                .map(|(name, value)| (name.clone(), sorted(value)))
                .collect();
            fields.into()
        }
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// The prose fields of a definition, with their labels.
const TEXTS: &[(&str, &str)] = &[
    ("instructions", "what it says of itself"),
    ("title", "title"),
    ("description", "description"),
];
const VALUES: &[(&str, &str)] = &[
    ("_meta", "icon"),
    ("annotations", "annotations: what it says of its effects"),
    ("inputSchema", "arguments"),
    ("outputSchema", "structured results"),
];
/// The number of context lines around a change.
const AROUND: usize = 2;
/// The maximum number of bytes shown of each text.
const MAX_SHOWN: usize = 64 << 10;
/// How long a minimal diff is searched for; after that, a larger one is shown.
const TIME_LIMIT: Duration = Duration::from_millis(500);
/// The same limit for all changes of a server.
const TOTAL_TIME_LIMIT: Duration = Duration::from_secs(5);
