//! Arithmetic in a text: numbers with signs and parentheses, written as the calculator takes them.
//!
//! Half an expression is worse than none: where something next to a span could belong to it, or the text has words
//! for operators, nothing is found.

use super::language::is_han;
use super::text::{has_any, lower, spaces, stands_at};

/// The expressions in a text, each with the place where it begins.
pub(super) fn find(text: &str) -> Vec<(usize, String)> {
    let text = lower(text);
    let mut found = Vec::new();
    if has_any(&text, OPERATOR_WORDS) {
        return found;
    }
    let asks = has_any(&text, CUES);
    let mut at = 0;
    while at < text.len() {
        let (stop, expression) = read(&text, at);
        let is_sum = |end| is_whole(&text, at, end) && (asks || !is_doubtful(&text, at, end));
        let sum = expression.filter(|(end, _)| is_sum(*end));
        found.extend(sum.map(|(_, expression)| (at, expression)));
        at = stop.max(at + 1);
    }
    found
}

/// Reads as far as an expression may go; returns where that is, and the expression with its end.
fn read(text: &[char], start: usize) -> (usize, Option<(usize, String)>) {
    let (mut at, mut depth, mut signs) = (start, 0, 0);
    let mut written = String::new();
    let mut whole = None;
    loop {
        let opener = OPENERS.iter().find(|opener| stands_at(text, at, opener));
        if let Some(opener) = opener {
            depth += 1;
            signs += usize::from(opener.len() > 1);
            written.push_str(opener);
            at = spaces(text, at + opener.len());
            continue;
        }
        let is_minus = text.get(at) == Some(&'-') && text.get(at + 1) != Some(&' ');
        if is_minus && !written.ends_with('-') {
            written.push('-');
            at += 1;
            continue;
        }
        let end = number_end(text, at);
        if end == at {
            // A dash between spaces is punctuation, and ends what stands before it.
            let before_dash = whole.filter(|(end, _)| is_dash(text, spaces(text, *end)));
            return (at, before_dash);
        }
        written.extend(text.iter().skip(at).take(end - at));
        at = end;
        loop {
            let next = spaces(text, at);
            match text.get(next) {
                Some('%') => written.push('%'),
                Some(')') if depth > 0 => {
                    depth -= 1;
                    written.push(')');
                }
                // `2500的15%`
                Some('的') if signs == 0 && depth == 0 => {
                    let part = spaces(text, next + 1);
                    let end = number_end(text, part);
                    if end == part || text.get(end) != Some(&'%') {
                        break;
                    }
                    let part: String = text.iter().skip(part).take(end - part).collect();
                    written = format!("{part}% of {written}");
                    signs += 1;
                    at = end + 1;
                    continue;
                }
                _ => break,
            }
            at = next + 1;
        }
        whole = (depth == 0 && signs > 0).then(|| (at, written.clone()));
        let next = spaces(text, at);
        let of = OF.iter().find(|of| stands_at(text, next, of));
        let (sign, length) = match (text.get(next), of) {
            (Some('^'), _) => ("^".to_owned(), 1),
            (Some(sign), _) if SIGNS.contains(sign) => (format!(" {sign} "), 1),
            (Some('('), _) if next == at => (" * ".to_owned(), 0),
            (_, Some(of)) if written.ends_with('%') => (" of ".to_owned(), of.chars().count()),
            _ => return (at, whole),
        };
        signs += 1;
        written.push_str(&sign);
        at = spaces(text, next + length);
    }
}

/// Where the number ends that begins here: `2`, `2.5`, `.5`, `2,5`; the calculator knows what a comma means.
fn number_end(text: &[char], at: usize) -> usize {
    let is_digit = |at: &usize| text.get(*at).is_some_and(char::is_ascii_digit);
    let digits = |from: usize| (from..).take_while(is_digit).count();
    let end = at + digits(at);
    let point = text.get(end);
    let is_point = point == Some(&'.') || point == Some(&',') && end > at;
    match digits(end + 1) {
        decimals @ 1.. if is_point => end + 1 + decimals,
        _ => end,
    }
}

/// Whether nothing beside a span belongs to it, as in `3 * 2x`, `3 + 1.2.3`, `10% of 1 000` and `3/4 of 8`.
fn is_whole(text: &[char], start: usize, end: usize) -> bool {
    let (before, after) = (text.get(..start), text.get(end..));
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    let mut near = before.iter().rev();
    let touches_before = match (near.next(), near.next()) {
        (Some('.' | ',' | ':'), Some(c)) => c.is_ascii_digit(),
        (Some(c), _) => *c == ')' || is_name(*c),
        (None, _) => false,
    };
    let touches_after = match after {
        ['.' | ',' | ':', c, ..] => c.is_ascii_digit(),
        [c, ..] => matches!(c, '!' | '°') || is_name(*c),
        [] => false,
    };
    let last = before.iter().rposition(|c| *c != ' ');
    let goes_on_before = last.is_some_and(|at| {
        text.get(at).is_some_and(|c| {
            c.is_ascii_digit()
                || HAN_SIGNS.contains(*c)
                || matches!(c, '%' | '^')
                || SIGNS.contains(c) && !is_dash(text, at)
        })
    });
    let next = spaces(text, end);
    let goes_on_after = match text.get(next..).unwrap_or_default() {
        ['的', c, ..] => c.is_ascii_digit() || *c == ' ',
        [c, ..] => c.is_ascii_digit() || *c == ')' || HAN_SIGNS.contains(*c),
        [] => false,
    } || OF.iter().any(|of| stands_at(text, next, of));
    !touches_before && !touches_after && !goes_on_before && !goes_on_after
}

/// Whether a sign is punctuation: it begins an item of a list, or is a dash between words or sums.
fn is_dash(text: &[char], at: usize) -> bool {
    let mut before = text.get(..at).unwrap_or_default().iter().rev();
    let is_spaced = text.get(at + 1) == Some(&' ');
    let begins_line = matches!(before.clone().find(|c| **c != ' '), None | Some('\n'));
    let is_between = text.get(at) == Some(&'-') && before.next() == Some(&' ');
    // `y - 3 + 2` is no sum after a dash.
    let is_after_name = matches!((before.next(), before.next()),
        (Some(c), None | Some(' ')) if c.is_alphabetic() && !is_han(*c));
    is_spaced && (begins_line || is_between && !is_after_name)
}

/// Whether a character makes a name of the number that it touches.
fn is_name(c: char) -> bool {
    c.is_alphanumeric() && !is_han(c) || matches!(c, '_' | '√' | '∛')
}

/// Whether a span is likelier a date, a range or `24/7`: digits with hyphens or slashes right between
/// them, among other words.
fn is_doubtful(text: &[char], start: usize, end: usize) -> bool {
    let (before, span) = text.split_at(start);
    let (span, after) = span.split_at(end - start);
    let is_alone = !before.iter().chain(after).any(|c| c.is_alphanumeric());
    let is_plain = |c: &char| c.is_ascii_digit() || matches!(c, '-' | '/');
    !is_alone && span.iter().all(is_plain)
}

const OPENERS: &[&str] = &["(", "sqrt("];
const SIGNS: &[char] = &['+', '-', '*', '/'];
/// `15% of 2500`, `15% от 2500`.
const OF: &[&str] = &["of", "от"];
/// Chinese operators and powers of ten, and the ends of longer ones: 乘以, 加上, 减去, 根号.
const HAN_SIGNS: &str = "加减乘除以上去号百千万亿";

/// What shows that a number is asked for.
#[rustfmt::skip]
const CUES: &[&str] = &[
    "=", "calculate", "compute", "evaluate", "how many", "how much", "solve", "work out",
    "вычисли", "посчитай", "сколько", "чему равно", "多少", "等于", "算",
];

/// Operators and numerals in words: a text with them is about more than can be read here.
#[rustfmt::skip]
const OPERATOR_WORDS: &[&str] = &[
    "plus", "minus", "times", "over", "mod", "modulo", "x", "х", "add", "subtract", "multiply", "multiplied", "divide",
    "divided", "sum", "product", "difference", "average", "half", "off", "percent", "per cent", "squared", "cubed",
    "power", "root", "factorial", "hundred", "thousand", "million", "sqrt ", "sin", "cos", "tan", "ln", "log",
    "плюс", "минус", "умножить", "умножь", "умноженное", "умножено", "разделить", "раздели", "поделить", "делить",
    "прибавь", "прибавить", "вычти", "вычесть", "сумма", "разность", "процент", "процента", "процентов", "половина",
    "степени", "квадрате", "кубе", "корень", "факториал", "тысяч", "тысячи", "миллион", "миллиона", "百分之", "平方", "次方",
];
