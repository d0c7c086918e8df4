//! Where formulas are in a text in Markdown: `$…$`, `$$…$$`, `\(…\)` and `\[…\]`.
//!
//! They are found before the text is read as Markdown, which would take the backslashes, and lines that begin with `-` for
//! a list. Letters stand in their place, as many as there are bytes, so that each place stays what it is.

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag};

use crate::OPTIONS;

/// A formula of a text.
pub(crate) struct Formula {
    pub(crate) is_display: bool,
    /// None if it cannot be read, or is not yet.
    pub(crate) mathml: Option<String>,
    pub(crate) range: Range<usize>,
    /// What is between its signs.
    pub(crate) tex: String,
}

/// The formulas of a text, in order.
#[derive(Default)]
pub(crate) struct Formulas {
    pub(crate) found: Vec<Formula>,
    /// The text with letters in their place; none without formulas.
    text: Option<String>,
}

impl Formulas {
    /// The formulas of a text. If it may grow, one that has not ended is one, too, without anything in it.
    pub(crate) fn find(text: &str, may_grow: bool) -> Self {
        let mut all = Self::default();
        if !SIGNS.iter().any(|sign| text.contains(sign)) {
            return all;
        }
        let places = Places::of(text);
        let mut at = 0;
        while let Some(next) = after(text, at).find(['$', '\\']) {
            let start = at + next;
            if let Some(end) = places.closed_to(start) {
                at = end;
                continue;
            }
            let Some(sign) = Sign::at(text, start) else {
                let rest = after(text, start);
                let is_pair = rest.starts_with("\\\\") || rest.starts_with("\\$");
                at = start + run(rest).max(1 + usize::from(is_pair));
                continue;
            };
            at = start + sign.open().len();
            match sign.end(text, at, &places) {
                End::At(end) => {
                    let inner = text.get(at..end - sign.open().len()).unwrap_or_default();
                    if sign.is_formula(text, start, inner) {
                        all.found.push(Formula {
                            is_display: sign.is_display(),
                            mathml: None,
                            range: start..end,
                            tex: tex(text, start, inner, &places),
                        });
                        at = end;
                    }
                }
                End::None => {}
                End::Open if may_grow => {
                    all.found.push(Formula {
                        is_display: sign.is_display(),
                        mathml: None,
                        range: start..text.len(),
                        tex: String::new(),
                    });
                    break;
                }
                End::Open => {}
            }
        }
        let mut plain = String::with_capacity(text.len());
        for Formula { range, .. } in &all.found {
            plain.push_str(text.get(plain.len()..range.start).unwrap_or_default());
            plain.extend(range.clone().map(|_| STAND_IN));
        }
        plain.push_str(after(text, plain.len()));
        all.text = Some(plain);
        all
    }

    /// The text with letters in place of formulas.
    pub(crate) fn text<'a>(&'a self, text: &'a str) -> &'a str {
        self.text.as_deref().unwrap_or(text)
    }

    /// The formulas within a range.
    pub(crate) fn within(&self, range: &Range<usize>) -> &[Formula] {
        let start = self
            .found
            .partition_point(|one| one.range.start < range.start);
        let end = self.found.partition_point(|one| one.range.end <= range.end);
        self.found.get(start..end).unwrap_or_default()
    }
}

/// What formulas begin and end with.
#[derive(Clone, Copy)]
enum Sign {
    Bracket,
    Dollar,
    Dollars,
    Parenthesis,
}

/// Where a formula ends.
enum End {
    At(usize),
    None,
    /// The text ends before it.
    Open,
}

impl Sign {
    /// The sign that begins a formula here.
    fn at(text: &str, start: usize) -> Option<Self> {
        let rest = after(text, start);
        if rest.starts_with('\\') {
            let all = [Self::Bracket, Self::Parenthesis];
            return all.into_iter().find(|sign| rest.starts_with(sign.open()));
        }
        match run(rest) {
            1 => {
                let before = text.get(..start)?.chars().next_back();
                let next = rest.chars().nth(1)?;
                let is_word = before.is_some_and(char::is_alphanumeric);
                (!is_word && !next.is_whitespace()).then_some(Self::Dollar)
            }
            2 => Some(Self::Dollars),
            _more => None,
        }
    }

    const fn open(self) -> &'static str {
        match self {
            Self::Bracket => "\\[",
            Self::Dollar => "$",
            Self::Dollars => "$$",
            Self::Parenthesis => "\\(",
        }
    }

    const fn close(self) -> &'static str {
        match self {
            Self::Bracket => "\\]",
            Self::Dollar => "$",
            Self::Dollars => "$$",
            Self::Parenthesis => "\\)",
        }
    }

    const fn is_display(self) -> bool {
        matches!(self, Self::Bracket | Self::Dollars)
    }

    /// The end of a formula whose inner begins at a place.
    fn end(self, text: &str, start: usize, places: &Places) -> End {
        let is_row = contains(&places.tables, start).is_some();
        let code = places.code.partition_point(|range| range.start < start);
        let code = places
            .code
            .get(code)
            .map_or(text.len(), |range| range.start);
        let limit = code.min(start.saturating_add(MAX_FORMULA));
        let mut at = start;
        while at < limit {
            let rest = after(text, at);
            let Some(first) = rest.chars().next() else {
                break;
            };
            if rest.starts_with(self.close()) && self.may_close(text, at, start, places) {
                return End::At(at + self.close().len());
            }
            let is_other = match self {
                Self::Bracket | Self::Parenthesis => {
                    rest.starts_with("\\[") || rest.starts_with("\\(")
                }
                Self::Dollar => first == '$' || is_line_end(first),
                Self::Dollars => false,
            };
            let ends_cell = is_row && (first == '|' || is_line_end(first));
            if is_other || ends_cell || is_line_end(first) && is_blank(rest) {
                return End::None;
            }
            at += first.len_utf8();
            if first == '\\' {
                at += after(text, at).chars().next().map_or(0, char::len_utf8);
            }
        }
        if limit == text.len() && !matches!(self, Self::Dollar) && !is_row {
            End::Open
        } else {
            End::None
        }
    }

    /// Whether the sign here ends a formula. A price is none, so one dollar has no space before it, and no word behind it.
    fn may_close(self, text: &str, at: usize, start: usize, places: &Places) -> bool {
        if !matches!(self, Self::Dollar) {
            return true;
        }
        let before = text
            .get(start..at)
            .and_then(|inner| inner.chars().next_back());
        let next = after(text, at + 1).chars().next();
        before.is_some_and(|before| !before.is_whitespace())
            && next.is_none_or(|next| !next.is_alphanumeric() && next != '$')
            && contains(&places.links, at).is_none()
    }

    /// Whether it is a formula: brackets may be signs of Markdown that were made plain, unless they are all of a line.
    fn is_formula(self, text: &str, start: usize, inner: &str) -> bool {
        let before = text
            .get(..start)
            .unwrap_or_default()
            .trim_end_matches([' ', '\t']);
        let begins_line = before.is_empty() || before.ends_with(is_line_end);
        let has_sign = inner.contains(['\\', '^', '_', '=', '+', '<', '{', '|']);
        let is_bracket = matches!(self, Self::Bracket);
        !inner.trim().is_empty() && (!is_bracket || has_sign || begins_line)
    }
}

/// What is between the signs, without the signs of Markdown for a quotation or a cell.
fn tex(text: &str, start: usize, inner: &str, places: &Places) -> String {
    if contains(&places.tables, start).is_some() {
        return inner.replace("\\|", "|");
    }
    if !inner.contains(is_line_end) {
        return inner.to_owned();
    }
    let before = text.get(..start).unwrap_or_default();
    let line = before.rsplit(is_line_end).next().unwrap_or_default();
    if !line.trim_start().starts_with('>') {
        return inner.to_owned();
    }
    let lines = inner.split(is_line_end);
    let lines = lines.map(|line| line.trim_start_matches([' ', '>']));
    lines.collect::<Vec<_>>().join("\n")
}

/// The places of a text where formulas cannot be, or end.
struct Places {
    code: Vec<Range<usize>>,
    links: Vec<Range<usize>>,
    tables: Vec<Range<usize>>,
}

impl Places {
    fn of(text: &str) -> Self {
        let (mut code, mut links, mut tables) = (Vec::new(), Vec::new(), Vec::new());
        let parser = Parser::new_ext(text, OPTIONS);
        let definitions = parser.reference_definitions().iter();
        let definitions: Vec<_> = definitions.map(|(_, one)| one.span.clone()).collect();
        for (event, range) in parser.into_offset_iter() {
            if let Event::Code(_) | Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock) = event {
                code.push(range);
            } else if let Event::Start(Tag::Link { .. } | Tag::Image { .. }) = event {
                let is_inner = contains(&links, range.start).is_some();
                links.extend((!is_inner).then_some(range));
            } else if let Event::Start(Tag::Table(_)) = event {
                tables.push(range);
            }
        }
        code.extend(definitions);
        code.sort_by_key(|range| range.start);
        Self {
            code,
            links,
            tables,
        }
    }

    /// The end of the code or the link that is here.
    fn closed_to(&self, at: usize) -> Option<usize> {
        let found = contains(&self.code, at).or_else(|| contains(&self.links, at));
        found.map(|range| range.end)
    }
}

/// The range that has a place, of ranges in order.
fn contains(ranges: &[Range<usize>], at: usize) -> Option<&Range<usize>> {
    let next = ranges.partition_point(|range| range.start <= at);
    let range = ranges.get(next.checked_sub(1)?)?;
    range.contains(&at).then_some(range)
}

fn after(text: &str, at: usize) -> &str {
    text.get(at..).unwrap_or_default()
}

/// How many dollars a text begins with.
fn run(text: &str) -> usize {
    text.len() - text.trim_start_matches('$').len()
}

const fn is_line_end(letter: char) -> bool {
    matches!(letter, '\n' | '\r')
}

/// Whether the line behind the end of a line has nothing, or only the signs of a quotation.
fn is_blank(rest: &str) -> bool {
    let line = rest.strip_prefix("\r\n").or_else(|| rest.get(1..));
    let line = line.unwrap_or_default();
    line.trim_start_matches([' ', '\t', '>'])
        .starts_with(is_line_end)
}

/// What a text with formulas has.
const SIGNS: [&str; 3] = ["$", "\\(", "\\["];
/// Stands in place of each byte of a formula: a letter that means nothing in Markdown.
const STAND_IN: char = 'Q';
/// The most bytes of a formula.
const MAX_FORMULA: usize = 4 << 10;
