//! Parses numbers in common notations: points, commas, grouped digits, exponents, other bases.

use super::fault::CalculationError;

/// A number in text form: decimal digits with at most one point, and an exponent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Number {
    text: String,
}

impl Number {
    /// Creates an integer from decimal digits.
    pub(crate) fn whole(digits: String) -> Self {
        Self { text: digits }
    }

    /// Returns its digits.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether it is written as an integer.
    pub(crate) fn is_whole(&self) -> bool {
        !self.text.contains('.') && !self.text.contains("e-")
    }
}

/// The largest exponent of ten in a number.
const MAX_EXPONENT: u32 = 9_999;

/// Parses the number at the start of the characters: the number, its length in characters, and a note if its
/// separators are ambiguous.
///
/// A comma groups thousands if all groups fit (`2,500`), and is the decimal separator otherwise (`2,5`); where it
/// separates arguments, it is neither.
pub(crate) fn read(
    characters: &[char],
    comma_separates: bool,
) -> Result<(Number, usize, Option<String>), CalculationError> {
    if let Some(read) = other_base(characters)? {
        return Ok(read);
    }
    let length = extent(characters, comma_separates);
    let written: String = characters[..length].iter().collect();
    let (mantissa, note) = mantissa(&written)?;
    let (exponent, exponent_length) = exponent(&characters[length..])?;
    let note = note.then(|| format!("`{written}` was read as {mantissa}"));
    let text = format!("{mantissa}{exponent}");
    Ok((Number { text }, length + exponent_length, note))
}

fn other_base(
    characters: &[char],
) -> Result<Option<(Number, usize, Option<String>)>, CalculationError> {
    let base = match characters {
        ['0', 'x' | 'X', digit, ..] if digit.is_ascii_hexdigit() => 16,
        ['0', 'b' | 'B', '0' | '1', ..] => 2,
        ['0', 'o' | 'O', '0'..='7', ..] => 8,
        _ => return Ok(None),
    };
    let digits: String = characters[2..]
        .iter()
        .take_while(|character| character.is_ascii_alphanumeric())
        .collect();
    let value = u128::from_str_radix(&digits, base).map_err(|_| {
        CalculationError::syntax(format!(
            "`0{}{digits}` is not a number of base {base} with at most 128 bits",
            characters[1]
        ))
    })?;
    let number = Number::whole(value.to_string());
    Ok(Some((number, 2 + digits.len(), None)))
}

/// Returns the length of the number without its exponent, in characters.
fn extent(characters: &[char], comma_separates: bool) -> usize {
    let digit_at = |index: usize| characters.get(index).is_some_and(char::is_ascii_digit);
    let mut length = 0;
    let mut group = 0;
    while let Some(character) = characters.get(length) {
        let belongs = match character {
            digit if digit.is_ascii_digit() => {
                group += 1;
                length += 1;
                continue;
            }
            ' ' => {
                // Only where it can be nothing but grouped thousands: `2 500`.
                (1..=3).contains(&group)
                    && digit_at(length + 1)
                    && digit_at(length + 2)
                    && digit_at(length + 3)
                    && !digit_at(length + 4)
            }
            ',' => !comma_separates && digit_at(length + 1),
            '.' => digit_at(length + 1) || (length > 0 && !characters[..length].contains(&'.')),
            grouping if GROUPING.contains(grouping) => digit_at(length + 1),
            _ => false,
        };
        if !belongs {
            break;
        }
        group = 0;
        length += 1;
    }
    length
}

/// Returns the number without its separators, and whether it was ambiguous.
fn mantissa(written: &str) -> Result<(String, bool), CalculationError> {
    let refuse = |why: &str| {
        Err(CalculationError::syntax(format!(
            "`{written}` is not a number: {why}"
        )))
    };
    let (whole, decimals) = match written.split_once('.') {
        Some((whole, decimals)) => (whole, Some(decimals)),
        None => (written, None),
    };
    if decimals.is_some_and(|decimals| !decimals.chars().all(|digit| digit.is_ascii_digit())) {
        return refuse("write the decimals after one point, without separators");
    }
    let separators: Vec<char> = whole
        .chars()
        .filter(|character| !character.is_ascii_digit())
        .collect();
    let Some(separator) = separators.first().copied() else {
        return Ok((join(whole, decimals), false));
    };
    if separators.iter().any(|other| *other != separator) {
        return refuse("it mixes separators");
    }
    let groups: Vec<&str> = whole.split(separator).collect();
    let digits = groups.concat();
    if separator == '_' {
        return Ok((join(&digits, decimals), false));
    }
    if are_thousands(&groups) || (separator == ',' && are_lakhs(&groups)) {
        // A single comma might be a decimal comma with three decimals.
        let note = matches!(separator, ',' | ' ') && groups.len() == 2 && decimals.is_none();
        return Ok((join(&digits, decimals), note));
    }
    match (separator, groups.as_slice(), decimals) {
        (',', [whole, decimals], None) => Ok((join(whole, Some(decimals)), true)),
        _ => refuse("its digits are not grouped in threes"),
    }
}

fn join(whole: &str, decimals: Option<&str>) -> String {
    let whole = if whole.is_empty() { "0" } else { whole };
    match decimals {
        Some(decimals) if !decimals.is_empty() => format!("{whole}.{decimals}"),
        Some(_) | None => whole.to_owned(),
    }
}

fn are_thousands(groups: &[&str]) -> bool {
    let (first, rest) = (groups[0], &groups[1..]);
    (1..=3).contains(&first.len()) && first != "0" && rest.iter().all(|group| group.len() == 3)
}

/// Returns whether the digits are grouped as in India: `12,34,567`.
fn are_lakhs(groups: &[&str]) -> bool {
    match groups {
        [first, middle @ .., last] => {
            (1..=2).contains(&first.len())
                && *first != "0"
                && !middle.is_empty()
                && middle.iter().all(|group| group.len() == 2)
                && last.len() == 3
        }
        [] | [_] => false,
    }
}

/// Parses an exponent such as `e-3`: its plain form, and its length in characters.
fn exponent(characters: &[char]) -> Result<(String, usize), CalculationError> {
    let (sign, digits_from) = match characters {
        ['e' | 'E', '+', digit, ..] if digit.is_ascii_digit() => ("", 2),
        ['e' | 'E', '-', digit, ..] if digit.is_ascii_digit() => ("-", 2),
        ['e' | 'E', digit, ..] if digit.is_ascii_digit() => ("", 1),
        _ => return Ok((String::new(), 0)),
    };
    let digits: String = characters[digits_from..]
        .iter()
        .take_while(|character| character.is_ascii_digit())
        .collect();
    match digits.parse::<u32>() {
        Ok(value) if value <= MAX_EXPONENT => {
            Ok((format!("e{sign}{value}"), digits_from + digits.len()))
        }
        Ok(_) | Err(_) if sign.is_empty() => Err(CalculationError::Overflow),
        Ok(_) | Err(_) => Err(CalculationError::Underflow),
    }
}

/// Grouping signs other than the comma and the plain space: apostrophes, underscore, fixed spaces.
const GROUPING: &[char] = &['_', '\'', '’', '\u{A0}', '\u{202F}', '\u{2009}'];
