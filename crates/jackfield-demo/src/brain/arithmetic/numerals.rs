//! Numbers, in digits and in words.

use crate::brain::language::Language;

/// A number in digits at the beginning of a text, as the calculator writes it, and its length.
///
/// Thousands may be set apart by spaces or, but in Russian, by commas; the decimal point may be a
/// comma, too. Inside parentheses a comma is always one between arguments.
pub(super) fn digits(text: &[char], language: Language, depth: usize) -> Option<(String, usize)> {
    let is_digit = |at: usize| text.get(at).is_some_and(char::is_ascii_digit);
    let run = |from: usize| (from..).take_while(|at| is_digit(*at)).count();
    let sign = |at: usize| text.get(at).copied();
    if sign(0) == Some('0') && sign(1) == Some('x') {
        return None;
    }
    let mut length = run(0);
    if length == 0 && !(sign(0) == Some('.') && is_digit(1)) {
        return None;
    }
    let mut number: String = text.iter().take(length).collect();
    let comma_groups = depth == 0 && language != Language::Russian;
    let groups = sign(length).filter(|sign| *sign == ' ' || (*sign == ',' && comma_groups));
    if groups.is_some() && (1..=3).contains(&length) && !number.starts_with('0') {
        while sign(length) == groups && run(length + 1) == 3 {
            number.extend(text.iter().skip(length + 1).take(3));
            length += 4;
        }
    }
    let decimals = run(length + 1);
    // `1,2,3` is a list.
    let after = length + 1 + decimals;
    let is_list = sign(after) == Some(',') && is_digit(after + 1);
    let has_comma_groups = groups == Some(',') && number.len() < length;
    let point = match sign(length) {
        Some('.') => true,
        Some(',') => depth == 0 && !is_list && !has_comma_groups,
        Some(_) | None => false,
    };
    if point && decimals > 0 {
        let whole = if number.is_empty() { "0" } else { &number };
        let part: String = text.iter().skip(length + 1).take(decimals).collect();
        number = format!("{whole}.{part}");
        length = after;
    }
    if sign(length) == Some('e') {
        let signed = usize::from(matches!(sign(length + 1), Some('+' | '-')));
        let exponent = run(length + 1 + signed);
        if exponent > 0 {
            number.extend(text.iter().skip(length).take(1 + signed + exponent));
            length += 1 + signed + exponent;
        }
    }
    Some((number, length))
}

/// A whole number in words at the beginning of a text, and its length.
pub(super) fn words(text: &[char]) -> Option<(u64, usize)> {
    chinese(text).or_else(|| spaced(text))
}

/// `twenty-five`, `сто двадцать`: each word smaller than the one before, or a multiple of it.
fn spaced(text: &[char]) -> Option<(u64, usize)> {
    let (mut total, mut current, mut length, mut at) = (0_u64, 0_u64, 0, 0);
    let (mut below, mut step) = (u64::MAX, u64::MAX);
    loop {
        let letters = text
            .iter()
            .skip(at)
            .take_while(|c| c.is_alphabetic())
            .count();
        let word: String = text.iter().skip(at).take(letters).collect();
        let Some((_, value)) = WORDS.iter().find(|(known, _)| *known == word) else {
            break;
        };
        match *value {
            100 if current > 0 && current < 10 => {
                current *= 100;
                below = 100;
            }
            value @ (1_000 | 1_000_000) if value < step => {
                total += current.max(1) * value;
                (current, below, step) = (0, value, value);
            }
            value if value < below => {
                current += value;
                below = match value {
                    20.. if value % 100 == 0 => 100,
                    20.. => 10,
                    _ => 1,
                };
            }
            _ => break,
        }
        at += letters;
        length = at;
        if !matches!(text.get(at), Some(' ' | '-')) {
            break;
        }
        at += 1;
        // `two hundred and fifty`
        let rest = text.get(at..).unwrap_or_default();
        if below >= 100 && rest.starts_with(&['a', 'n', 'd', ' ']) {
            at += 4;
        }
    }
    (length > 0).then_some((total + current, length))
}

/// 二十五, 一百零三, 两万.
fn chinese(text: &[char]) -> Option<(u64, usize)> {
    let (mut total, mut section, mut digit) = (0_u64, 0_u64, None);
    let mut length = 0;
    for c in text.iter().take(MAX_NUMERALS) {
        if let Some(value) = CHINESE_DIGITS.iter().position(|known| known.contains(c)) {
            digit = u64::try_from(value).ok();
        } else if let Some((_, power)) = CHINESE_POWERS.iter().find(|(known, _)| known == c) {
            // 十 alone is ten; the other powers need something before them.
            let many = match (digit.take(), *c) {
                (Some(digit), _) => digit,
                (None, '十') => 1,
                (None, _) if section > 0 && *power >= 10_000 => 0,
                (None, _) => break,
            };
            if *power >= 10_000 {
                total = total.saturating_add((section + many).saturating_mul(*power));
                section = 0;
            } else {
                section = section.saturating_add(many * power);
            }
        } else {
            break;
        }
        length += 1;
    }
    (length > 0).then(|| {
        (
            total
                .saturating_add(section)
                .saturating_add(digit.unwrap_or(0)),
            length,
        )
    })
}

/// The longest number in Chinese words that is read.
const MAX_NUMERALS: usize = 16;

const CHINESE_DIGITS: &[&[char]] = &[
    &['零', '〇'],
    &['一'],
    &['二', '两'],
    &['三'],
    &['四'],
    &['五'],
    &['六'],
    &['七'],
    &['八'],
    &['九'],
];

const CHINESE_POWERS: &[(char, u64)] = &[
    ('十', 10),
    ('百', 100),
    ('千', 1_000),
    ('万', 10_000),
    ('亿', 100_000_000),
];

#[rustfmt::skip]
const WORDS: &[(&str, u64)] = &[
    ("zero", 0), ("one", 1), ("two", 2), ("three", 3), ("four", 4), ("five", 5), ("six", 6), ("seven", 7),
    ("eight", 8), ("nine", 9), ("ten", 10), ("eleven", 11), ("twelve", 12), ("thirteen", 13), ("fourteen", 14),
    ("fifteen", 15), ("sixteen", 16), ("seventeen", 17), ("eighteen", 18), ("nineteen", 19), ("twenty", 20),
    ("thirty", 30), ("forty", 40), ("fifty", 50), ("sixty", 60), ("seventy", 70), ("eighty", 80), ("ninety", 90),
    ("hundred", 100), ("thousand", 1_000), ("million", 1_000_000),
    ("ноль", 0), ("один", 1), ("два", 2), ("две", 2), ("три", 3), ("четыре", 4), ("пять", 5), ("шесть", 6),
    ("семь", 7), ("восемь", 8), ("девять", 9), ("десять", 10), ("одиннадцать", 11), ("двенадцать", 12),
    ("тринадцать", 13), ("четырнадцать", 14), ("пятнадцать", 15), ("шестнадцать", 16), ("семнадцать", 17),
    ("восемнадцать", 18), ("девятнадцать", 19), ("двадцать", 20), ("тридцать", 30), ("сорок", 40),
    ("пятьдесят", 50), ("шестьдесят", 60), ("семьдесят", 70), ("восемьдесят", 80), ("девяносто", 90),
    ("сто", 100), ("двести", 200), ("триста", 300), ("четыреста", 400), ("пятьсот", 500), ("тысяча", 1_000),
    ("тысячи", 1_000), ("тысяч", 1_000), ("миллион", 1_000_000),
];
