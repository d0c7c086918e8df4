//! Reads an expression, and works it out on the way.

use std::f64::consts::E;

use num::{BigInt, BigRational};

use super::functions;
use super::number::{Number, too_large, too_small};
use crate::answer::ToolFault;

/// Works out an expression: its value, and notes on how it was read.
pub(super) fn evaluate(expression: &str) -> Result<(Number, Vec<String>), ToolFault> {
    let mut parser = Parser {
        characters: plain(expression),
        position: 0,
        depth: 0,
        in_list: false,
        notes: Vec::new(),
    };
    if parser.characters.is_empty() {
        return Err(fault(
            "the expression is empty: write something like `2 + 2`",
        ));
    }
    let value = parser.sum()?;
    match parser.peek() {
        None => Ok((value.number, parser.notes)),
        Some(character) => Err(unexpected(character)),
    }
}

/// Each method reads one level of precedence, the loosest first.
struct Parser {
    characters: Vec<char>,
    position: usize,
    depth: usize,
    /// Whether a comma separates arguments here.
    in_list: bool,
    notes: Vec<String>,
}

struct Value {
    number: Number,
    is_percentage: bool,
}

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        Self {
            number,
            is_percentage: false,
        }
    }
}

type Parsed = Result<Value, ToolFault>;

impl Parser {
    /// Percentages are of the value before them, as people expect: `100 + 10%` is 110; but `10% + 5%` is 15%.
    fn sum(&mut self) -> Parsed {
        let mut left = self.product()?;
        loop {
            let is_plus = self.takes('+');
            if !is_plus && !self.takes('-') {
                return Ok(left);
            }
            let right = self.product()?;
            let mut number = if is_plus {
                right.number
            } else {
                right.number.negate()
            };
            if right.is_percentage && !left.is_percentage {
                number = number.multiply(&left.number)?;
            }
            left.number = left.number.add(&number)?;
            left.is_percentage &= right.is_percentage;
        }
    }

    fn product(&mut self) -> Parsed {
        let mut left = self.signed()?;
        loop {
            let operation = if self.takes('*') || self.takes_word(&["of", "от"]) {
                Number::multiply
            } else if self.takes('/') {
                Number::divide
            } else if self.takes_word(&["mod"]) {
                functions::remainder
            } else if self
                .peek()
                .is_some_and(|next| next == '(' || next.is_alphabetic())
            {
                Number::multiply
            } else {
                return Ok(left);
            };
            let right = self.signed()?;
            left = operation(&left.number, &right.number)?.into();
        }
    }

    fn signed(&mut self) -> Parsed {
        if self.takes('-') {
            let value = self.deeper(Self::signed)?;
            return Ok(Value {
                number: value.number.negate(),
                ..value
            });
        }
        if self.takes('+') {
            return self.deeper(Self::signed);
        }
        self.power()
    }

    fn power(&mut self) -> Parsed {
        let base = self.postfix()?;
        if self.takes('^') {
            let exponent = self.deeper(Self::signed)?;
            return Ok(base.number.power(&exponent.number)?.into());
        }
        Ok(base)
    }

    fn postfix(&mut self) -> Parsed {
        let mut value = self.primary()?;
        loop {
            if self.takes('!') {
                value = functions::factorial(&value.number)?.into();
            } else if self.takes('%') {
                if value.is_percentage || self.is_at_value() {
                    return Err(fault(
                        "`%` means a percentage, and is unclear here: write `15% of 200` or `15% * 200`, and `17 mod 5` for a remainder",
                    ));
                }
                value.number = value.number.divide(&Number::from(100))?;
                value.is_percentage = true;
            } else {
                return Ok(value);
            }
        }
    }

    fn primary(&mut self) -> Parsed {
        match self.peek() {
            Some('(') => {
                self.position += 1;
                let in_list = std::mem::replace(&mut self.in_list, false);
                let value = self.deeper(Self::sum)?;
                self.in_list = in_list;
                self.close()?;
                Ok(value)
            }
            Some(digit) if digit.is_ascii_digit() || digit == '.' => Ok(self.number()?.into()),
            Some(letter) if letter.is_alphabetic() => Ok(self.name()?.into()),
            Some(other) => Err(fault(format!(
                "`{}` stands where a value is expected",
                other.escape_debug()
            ))),
            None => Err(fault("the expression ends where a value is expected")),
        }
    }

    fn name(&mut self) -> Result<Number, ToolFault> {
        if self.takes_word(DEGREES) {
            return degree();
        }
        let name = self.word();
        self.position += name.chars().count();
        let lower = name.to_lowercase();
        match lower.as_str() {
            "e" => return Ok(Number::Float(E)),
            "phi" | "φ" => return Ok(Number::Float(f64::midpoint(1.0, 5_f64.sqrt()))),
            "pi" | "π" => return Ok(Number::Pi(BigRational::from(BigInt::from(1)))),
            "tau" | "τ" => return Ok(Number::Pi(BigRational::from(BigInt::from(2)))),
            _ => {}
        }
        let Some((counts, function)) = functions::named(&lower) else {
            let shown: String = name.chars().take(40).collect();
            return Err(fault(format!(
                "`{shown}` is not known: no variables, units, currencies and dates, but pi e phi tau deg {}",
                functions::names()
            )));
        };
        let mut arguments = Vec::new();
        if self.takes('(') {
            let in_list = std::mem::replace(&mut self.in_list, *counts.end() > 1);
            loop {
                arguments.push(self.deeper(Self::sum)?.number);
                if !self.takes(',') && !self.takes(';') {
                    break;
                }
            }
            self.in_list = in_list;
            self.close()?;
        } else {
            let mut argument = self.deeper(Self::signed)?.number;
            if self.takes_word(DEGREES) {
                argument = argument.multiply(&degree()?)?;
            }
            arguments.push(argument);
        }
        if !counts.contains(&arguments.len()) {
            let count = match (counts.start(), counts.end()) {
                (1, 1) => "1 argument".to_owned(),
                (least, most) if least == most => {
                    format!("{least} arguments, separated by a comma")
                }
                (least, most) => format!("{least} or {most} arguments, separated by a comma"),
            };
            return Err(fault(format!("`{name}` takes {count}")));
        }
        function(&arguments)
    }

    fn number(&mut self) -> Result<Number, ToolFault> {
        let rest = &self.characters[self.position..];
        if let ['0', base @ ('x' | 'X' | 'b' | 'B' | 'o' | 'O'), ..] = rest {
            let base = match base {
                'x' | 'X' => 16,
                'b' | 'B' => 2,
                _ => 8,
            };
            let digits = rest[2..]
                .iter()
                .take_while(|digit| digit.is_ascii_alphanumeric());
            let digits: String = digits.collect();
            self.position += 2 + digits.len();
            let number = BigInt::parse_bytes(digits.as_bytes(), base);
            let number = number
                .ok_or_else(|| fault(format!("`{digits}` is not a number of base {base}")))?;
            return Ok(Number::Exact(number.into()));
        }
        let is_digit = |at: usize| rest.get(at).is_some_and(char::is_ascii_digit);
        let belongs = |at: &usize| match rest.get(*at) {
            Some(',') => !self.in_list && is_digit(at + 1),
            Some('_') => is_digit(at + 1),
            Some(other) => other.is_ascii_digit() || *other == '.',
            None => false,
        };
        let length = (0..).take_while(belongs).count();
        let written: String = rest[..length].iter().collect();
        let (exponent, exponent_length) = exponent(&rest[length..])?;
        let plain = decimal(&written).ok_or_else(|| {
            fault(format!(
                "`{written}` is not a number: write digits without groups, such as `1234.5`"
            ))
        })?;
        if written.matches(',').count() == 1 && !written.contains('.') {
            self.notes.push(format!("`{written}` was read as {plain}"));
        }
        self.position += length + exponent_length;
        let (whole, decimals) = plain.split_once('.').unwrap_or((&plain, ""));
        let digits = format!("{whole}{decimals}")
            .parse::<BigInt>()
            .unwrap_or_default();
        let shift = exponent - decimals.len() as i64;
        let scale = BigInt::from(10).pow(shift.unsigned_abs() as u32);
        match shift {
            0.. => Number::fraction(digits * scale, BigInt::from(1)),
            _ => Number::fraction(digits, scale),
        }
    }

    fn close(&mut self) -> Result<(), ToolFault> {
        if self.takes(')') {
            return Ok(());
        }
        let fault = self.peek().map(unexpected);
        Err(fault.unwrap_or_else(|| self::fault("a bracket is not closed")))
    }

    fn deeper(&mut self, parse: fn(&mut Self) -> Parsed) -> Parsed {
        if self.depth == MAX_DEPTH {
            return Err(fault(format!(
                "nested deeper than {MAX_DEPTH} levels: split the expression"
            )));
        }
        self.depth += 1;
        let value = parse(self);
        self.depth -= 1;
        value
    }

    /// Whether a value follows, and no operator.
    fn is_at_value(&mut self) -> bool {
        let word = self.word().to_lowercase();
        let is_operator = matches!(word.as_str(), "of" | "от" | "mod");
        let is_value = |next: char| next.is_alphanumeric() || next == '(' || next == '.';
        !is_operator && self.peek().is_some_and(is_value)
    }

    /// The next character that is no space.
    fn peek(&mut self) -> Option<char> {
        while let Some(character) = self.characters.get(self.position) {
            if !character.is_whitespace() {
                return Some(*character);
            }
            self.position += 1;
        }
        None
    }

    fn takes(&mut self, expected: char) -> bool {
        let is_there = self.peek() == Some(expected);
        self.position += usize::from(is_there);
        is_there
    }

    fn takes_word(&mut self, words: &[&str]) -> bool {
        let word = self.word();
        let is_there = words.contains(&word.to_lowercase().as_str());
        self.position += if is_there { word.chars().count() } else { 0 };
        is_there
    }

    /// The letters and digits that follow.
    fn word(&mut self) -> String {
        self.peek();
        let rest = self.characters[self.position..].iter();
        rest.take_while(|next| next.is_alphanumeric() || **next == '_')
            .collect()
    }
}

/// The characters of an expression, with the usual form of each sign.
fn plain(expression: &str) -> Vec<char> {
    let mut plain = String::new();
    for character in expression.replace("**", "^").chars() {
        match character {
            '\u{FF01}'..='\u{FF5E}' => plain.extend(char::from_u32(u32::from(character) - 0xFEE0)),
            '×' | '·' | '⋅' => plain.push('*'),
            '÷' | '∕' => plain.push('/'),
            '−' | '–' => plain.push('-'),
            '[' => plain.push('('),
            ']' => plain.push(')'),
            '²' => plain.push_str("^2"),
            '³' => plain.push_str("^3"),
            '√' => plain.push_str(" sqrt "),
            '°' => plain.push_str(" deg "),
            '的' => plain.push_str(" of "),
            other => plain.push(other),
        }
    }
    let end = |last: char| last == '=' || last == '?' || last.is_whitespace();
    plain.trim_end_matches(end).trim_start().chars().collect()
}

/// Digits with at most one point. A comma groups thousands if all groups fit (`2,500`), and is the point elsewhere
/// (`2,5`).
fn decimal(written: &str) -> Option<String> {
    let written = written.replace('_', "");
    let (whole, decimals) = written.split_once('.').unwrap_or((&written, ""));
    let groups: Vec<&str> = whole.split(',').collect();
    let (first, rest) = groups.split_first()?;
    let is_grouped = (1..=3).contains(&first.len()) && *first != "0";
    match rest {
        _ if decimals.contains(['.', ',']) || written == "." => None,
        [] => Some(written),
        _ if is_grouped && rest.iter().all(|group| group.len() == 3) => {
            Some(written.replace(',', ""))
        }
        [_] if !written.contains('.') => Some(written.replace(',', ".")),
        _ => None,
    }
}

/// The exponent that begins here, such as `e-3`, and its length.
fn exponent(characters: &[char]) -> Result<(i64, usize), ToolFault> {
    let (is_negative, start) = match characters {
        ['e' | 'E', sign @ ('+' | '-'), digit, ..] if digit.is_ascii_digit() => (*sign == '-', 2),
        ['e' | 'E', digit, ..] if digit.is_ascii_digit() => (false, 1),
        _ => return Ok((0, 0)),
    };
    let digits = characters[start..]
        .iter()
        .take_while(|digit| digit.is_ascii_digit());
    let digits: String = digits.collect();
    match digits.parse::<i64>() {
        Ok(exponent) if exponent < 10_000 => {
            let exponent = if is_negative { -exponent } else { exponent };
            Ok((exponent, start + digits.len()))
        }
        _ if is_negative => Err(too_small()),
        _ => Err(too_large()),
    }
}

fn degree() -> Result<Number, ToolFault> {
    Number::Pi(BigRational::from(BigInt::from(1))).divide(&Number::from(180))
}

fn unexpected(character: char) -> ToolFault {
    fault(match character {
        ',' | ';' => {
            "`,` separates nothing here: write decimals with a point, and a list only in a function such as max(1, 2)"
                .to_owned()
        }
        ')' => "a bracket is closed that was not opened".to_owned(),
        '.' | '0'..='9' => "two values stand side by side: write an operator between them".to_owned(),
        other => format!("`{}` has no meaning here", other.escape_debug()),
    })
}

fn fault(text: impl Into<String>) -> ToolFault {
    ToolFault::Arguments(text.into())
}

const DEGREES: &[&str] = &["deg", "degree", "degrees"];
/// The deepest nesting of brackets, functions, signs and powers.
const MAX_DEPTH: usize = 50;
