//! The words and signs of arithmetic in three languages.

use super::numerals;
use crate::brain::language::{Language, is_han};
use crate::brain::text::{is_letter, stands_at};

/// A word or a sign, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WordToken {
    pub(super) at: usize,
    pub(super) end: usize,
    pub(super) kind: WordKind,
}

/// What a word or a sign means.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum WordKind {
    Close,
    Comma,
    Constant(&'static str),
    Factorial,
    Function(&'static str),
    /// Stands between the operands of a verb; tells whether the second of them comes first.
    Joint {
        swaps: bool,
    },
    Number(String),
    /// `20% off 80`.
    Off,
    /// `15% of 2500`.
    Of,
    Open,
    Operator(&'static str),
    /// Anything that is no arithmetic.
    Other,
    /// 的, as in `2500的15%`.
    PartsOf,
    Percent,
    /// 百分之, as in `百分之15`.
    PercentBefore,
    /// A power that is said after its base: `squared`.
    Power(&'static str),
    /// 次方, as in `2的10次方`.
    PowerMark,
    /// A function that is said after its argument: 的平方根.
    RootOf(&'static str),
    Unit(&'static str),
    /// An operator that is said before its operands: `multiply 6 by 7`.
    Verb(&'static str),
}

/// Reads a text in lower case.
pub(super) fn read(text: &[char], language: Language) -> Vec<WordToken> {
    let mut tokens = Vec::new();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&c) = text.get(at) {
        if c == ' ' || CURRENCY_SIGNS.contains(&c) {
            at += 1;
            continue;
        }
        let (kind, length) = read_one(text, at, language, depth);
        match kind {
            Some(WordKind::Open) => depth += 1,
            Some(WordKind::Close) => depth = depth.saturating_sub(1),
            _ => {}
        }
        let end = at + length.max(1);
        if let Some(kind) = kind {
            tokens.push(WordToken { at, end, kind });
        }
        at = end;
    }
    tokens
}

/// The token at a place and its length; `None` for a word that is passed over.
fn read_one(
    text: &[char],
    at: usize,
    language: Language,
    depth: usize,
) -> (Option<WordKind>, usize) {
    let rest = text.get(at..).unwrap_or_default();
    // What comes after `1,` in `1,2,3` is an item, too.
    let is_item =
        matches!(text.get(at.saturating_sub(2)..at), Some([a, ',']) if a.is_ascii_digit());
    let depth = depth + usize::from(is_item);
    if let Some((digits, length)) = numerals::digits(rest, language, depth) {
        return match unknown_suffix(text, at + length) {
            0 => (Some(WordKind::Number(digits)), length),
            // `5th`, `5km`, `1.2.3`: not a number to calculate with.
            more => (Some(WordKind::Other), length + more),
        };
    }
    if let Some((value, length)) = numerals::words(rest) {
        let starts_word =
            at == 0 || !is_letter(text, at - 1) || rest.first().is_some_and(|c| is_han(*c));
        if starts_word && !(is_letter(text, at + length) && is_letter(text, at + length - 1)) {
            return (Some(WordKind::Number(value.to_string())), length);
        }
    }
    if let Some((kind, length)) = phrase(text, at) {
        return (kind, length);
    }
    if text.get(at).is_some_and(char::is_ascii_digit) {
        // `0x1f`
        let is_part = |at: &usize| text.get(*at).is_some_and(char::is_ascii_alphanumeric);
        return (Some(WordKind::Other), (at..).take_while(is_part).count());
    }
    if is_letter(text, at) {
        let letters = (at..).take_while(|at| is_letter(text, *at)).count();
        return (Some(WordKind::Other), letters);
    }
    (Some(WordKind::Other), 1)
}

/// The length of what makes the digits before it a part of something else.
fn unknown_suffix(text: &[char], at: usize) -> usize {
    let has = |at: usize, test: fn(&char) -> bool| text.get(at).is_some_and(test);
    let is_dot = |at: usize| has(at, |c| matches!(c, '.' | ':'));
    if is_dot(at) && has(at + 1, char::is_ascii_digit) {
        let part = |c: &&char| c.is_ascii_digit() || matches!(c, '.' | ':');
        return text.iter().skip(at).take_while(part).count();
    }
    if !is_letter(text, at) || phrase(text, at).is_some() {
        return 0;
    }
    (at..).take_while(|at| is_letter(text, *at)).count()
}

/// The longest known phrase at a place.
fn phrase(text: &[char], at: usize) -> Option<(Option<WordKind>, usize)> {
    let here = PHRASES
        .iter()
        .filter(|(words, _)| stands_at(text, at, words));
    let (words, kind) = here.max_by_key(|(words, _)| words.len())?;
    Some((kind.clone(), words.chars().count()))
}

const CURRENCY_SIGNS: &[char] = &['$', '€', '£', '¥', '₽', '₹'];

const SWAPS: Option<WordKind> = Some(WordKind::Joint { swaps: true });
const JOINS: Option<WordKind> = Some(WordKind::Joint { swaps: false });

const fn op(sign: &'static str) -> Option<WordKind> {
    Some(WordKind::Operator(sign))
}

const fn function(name: &'static str) -> Option<WordKind> {
    Some(WordKind::Function(name))
}

const fn verb(sign: &'static str) -> Option<WordKind> {
    Some(WordKind::Verb(sign))
}

const DEGREES: Option<WordKind> = Some(WordKind::Unit("deg"));

/// What each phrase means; `None` is passed over.
#[rustfmt::skip]
const PHRASES: &[(&str, Option<WordKind>)] = &[
    ("(", Some(WordKind::Open)), (")", Some(WordKind::Close)), (",", Some(WordKind::Comma)),
    ("+", op("+")), ("-", op("-")), ("*", op("*")), ("/", op("/")), ("^", op("^")), ("**", op("^")),
    ("%", Some(WordKind::Percent)), ("!", Some(WordKind::Factorial)), ("°", DEGREES),
    ("²", Some(WordKind::Power("2"))), ("³", Some(WordKind::Power("3"))),
    ("√", function("sqrt")), ("∛", function("cbrt")),
    ("π", Some(WordKind::Constant("pi"))), ("pi", Some(WordKind::Constant("pi"))), ("пи", Some(WordKind::Constant("pi"))),
    ("e", Some(WordKind::Constant("e"))), ("tau", Some(WordKind::Constant("tau"))),
    // English.
    ("plus", op("+")), ("minus", op("-")), ("times", op("*")), ("x", op("*")), ("х", op("*")),
    ("multiplied by", op("*")), ("divided by", op("/")), ("over", op("/")), ("mod", op("mod")), ("modulo", op("mod")),
    ("to the power of", op("^")), ("to the power", op("^")), ("raised to", op("^")),
    ("squared", Some(WordKind::Power("2"))), ("cubed", Some(WordKind::Power("3"))),
    ("percent", Some(WordKind::Percent)), ("per cent", Some(WordKind::Percent)), ("of", Some(WordKind::Of)), ("of the", Some(WordKind::Of)), ("off", Some(WordKind::Off)),
    ("square root of", function("sqrt")), ("root of", function("sqrt")), ("cube root of", function("cbrt")),
    ("factorial of", function("factorial")), ("factorial", Some(WordKind::Factorial)),
    ("sine of", function("sin")), ("cosine of", function("cos")), ("tangent of", function("tan")),
    ("absolute value of", function("abs")), ("natural logarithm of", function("ln")),
    ("logarithm of", function("log")), ("log of", function("log")),
    ("sqrt", function("sqrt")), ("sqrt of", function("sqrt")), ("cbrt", function("cbrt")), ("abs", function("abs")),
    ("sin", function("sin")), ("cos", function("cos")), ("tan", function("tan")), ("tg", function("tan")),
    ("cot", function("cot")), ("ctg", function("cot")),
    ("asin", function("asin")), ("acos", function("acos")), ("atan", function("atan")),
    ("arcsin", function("asin")), ("arccos", function("acos")), ("arctan", function("atan")), ("arctg", function("atan")),
    ("sinh", function("sinh")), ("cosh", function("cosh")), ("tanh", function("tanh")),
    ("ln", function("ln")), ("log", function("log")), ("lg", function("log")), ("log10", function("log")), ("log2", function("log2")),
    ("exp", function("exp")), ("floor", function("floor")), ("ceil", function("ceil")), ("round", function("round")),
    ("max", function("max")), ("min", function("min")), ("gcd", function("gcd")), ("lcm", function("lcm")),
    ("pow", function("pow")), ("average of", verb("mean")), ("mean of", verb("mean")),
    ("deg", DEGREES), ("degree", DEGREES), ("degrees", DEGREES),
    ("rad", Some(WordKind::Unit("rad"))), ("radian", Some(WordKind::Unit("rad"))), ("radians", Some(WordKind::Unit("rad"))),
    ("add", verb("+")), ("sum of", verb("+")), ("subtract", verb("-")), ("difference between", verb("-")),
    ("multiply", verb("*")), ("product of", verb("*")), ("divide", verb("/")), ("quotient of", verb("/")),
    ("by", JOINS), ("and", JOINS), ("from", SWAPS), ("to", SWAPS),
    ("dollars", None), ("euros", None), ("roubles", None), ("rubles", None), ("yuan", None),
    // Russian.
    ("плюс", op("+")), ("минус", op("-")), ("умножить на", op("*")), ("умноженное на", op("*")), ("помножить на", op("*")),
    ("умножено на", op("*")), ("разделить на", op("/")), ("поделить на", op("/")), ("делить на", op("/")),
    ("деленное на", op("/")), ("в степени", op("^")), ("по модулю", op("mod")),
    ("в квадрате", Some(WordKind::Power("2"))), ("в кубе", Some(WordKind::Power("3"))),
    ("процент", Some(WordKind::Percent)), ("процента", Some(WordKind::Percent)), ("процентов", Some(WordKind::Percent)),
    ("от", Some(WordKind::Of)), ("из", SWAPS),
    ("квадратный корень из", function("sqrt")), ("корень квадратный из", function("sqrt")), ("корень из", function("sqrt")),
    ("корень", function("sqrt")), ("кубический корень из", function("cbrt")),
    ("факториал", function("factorial")), ("синус", function("sin")), ("косинус", function("cos")), ("тангенс", function("tan")),
    ("логарифм", function("log")), ("натуральный логарифм", function("ln")), ("модуль", function("abs")),
    ("градус", DEGREES), ("градуса", DEGREES), ("градусов", DEGREES), ("радиан", Some(WordKind::Unit("rad"))),
    ("сложи", verb("+")), ("сложить", verb("+")), ("прибавь", verb("+")), ("прибавить", verb("+")), ("сумма", verb("+")), ("сумму", verb("+")),
    ("вычти", verb("-")), ("вычесть", verb("-")), ("отними", verb("-")), ("разность", verb("-")),
    ("умножь", verb("*")), ("умножить", verb("*")), ("произведение", verb("*")), ("перемножь", verb("*")),
    ("раздели", verb("/")), ("разделить", verb("/")), ("подели", verb("/")), ("поделить", verb("/")), ("частное", verb("/")),
    ("на", JOINS), ("и", JOINS), ("к", SWAPS),
    ("рубль", None), ("рубля", None), ("рублей", None), ("руб", None), ("долларов", None), ("евро", None),
    // Chinese.
    ("加", op("+")), ("加上", op("+")), ("减", op("-")), ("减去", op("-")), ("乘", op("*")), ("乘以", op("*")), ("乘上", op("*")),
    ("除以", op("/")), ("的", Some(WordKind::PartsOf)), ("百分之", Some(WordKind::PercentBefore)),
    ("的平方根", Some(WordKind::RootOf("sqrt"))), ("的立方根", Some(WordKind::RootOf("cbrt"))), ("的阶乘", Some(WordKind::Factorial)),
    ("的平方", Some(WordKind::Power("2"))), ("的立方", Some(WordKind::Power("3"))), ("次方", Some(WordKind::PowerMark)), ("次幂", Some(WordKind::PowerMark)),
    ("的正弦", Some(WordKind::RootOf("sin"))), ("的余弦", Some(WordKind::RootOf("cos"))), ("的正切", Some(WordKind::RootOf("tan"))),
    ("根号", function("sqrt")), ("平方根", function("sqrt")), ("度", DEGREES),
    ("元", None), ("块", None), ("块钱", None), ("美元", None), ("人民币", None),
];
