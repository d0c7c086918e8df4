//! Splits an expression into tokens, with digits and operators in any script.

use super::fault::CalculationError;
use super::names::Function;
use super::numbers::{self, Number};

/// A token, and whether white space precedes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) spaced: bool,
}

/// The kind of a token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    Bang,
    Close,
    Divide,
    Minus,
    Name(String),
    Number(Number),
    Open,
    Percent,
    Plus,
    Power,
    Separator,
    Times,
}

/// The tokens of an expression, and notes on the interpretations chosen.
#[derive(Debug)]
pub(crate) struct TokenList {
    pub(crate) tokens: Vec<Token>,
    pub(crate) notes: Vec<String>,
}

/// Splits an expression into tokens.
pub(crate) fn tokens(expression: &str) -> Result<TokenList, CalculationError> {
    let text = expression.trim();
    let text = text.trim_end_matches(|last: char| "=＝?？".contains(last) || last.is_whitespace());
    let characters = text
        .chars()
        .map(plain)
        .collect::<Result<Vec<char>, CalculationError>>()?;
    let mut lexer = Lexer {
        characters,
        position: 0,
        tokens: Vec::new(),
        notes: Vec::new(),
        lists: Vec::new(),
    };
    while lexer.next()? {}
    if lexer.tokens.is_empty() {
        return Err(CalculationError::Empty);
    }
    Ok(TokenList {
        tokens: lexer.tokens,
        notes: lexer.notes,
    })
}

struct Lexer {
    characters: Vec<char>,
    position: usize,
    tokens: Vec<Token>,
    notes: Vec<String>,
    /// For each open bracket, whether a comma in it separates arguments.
    lists: Vec<bool>,
}

impl Lexer {
    fn next(&mut self) -> Result<bool, CalculationError> {
        let start = self.position;
        while self.peek(0).is_some_and(char::is_whitespace) {
            self.position += 1;
        }
        let spaced = self.position > start;
        let Some(character) = self.peek(0) else {
            return Ok(false);
        };
        let followed_by_digit = self.peek(1).is_some_and(|next| next.is_ascii_digit());
        if character.is_ascii_digit() || (character == '.' && followed_by_digit) {
            let in_list = self.lists.last().copied().unwrap_or(false);
            let (number, length, note) = numbers::read(&self.characters[self.position..], in_list)?;
            self.position += length;
            self.notes.extend(note);
            self.push(TokenKind::Number(number), spaced);
        } else if character.is_alphabetic() || character == '_' {
            self.name(spaced);
        } else {
            self.symbol(character, spaced)?;
        }
        Ok(true)
    }

    fn name(&mut self, spaced: bool) {
        let rest = &self.characters[self.position..];
        let length = match rest {
            // Written without spaces: `2500的15%`.
            ['的', ..] => 1,
            // Between numbers the letter is a multiplication sign: `3x4`.
            ['x' | 'X' | 'х' | 'Х', next, ..]
                if next.is_ascii_digit() && self.follows_operand() =>
            {
                1
            }
            _ => rest
                .iter()
                .take_while(|character| character.is_alphanumeric() || **character == '_')
                .count(),
        };
        let name: String = rest[..length].iter().collect();
        self.position += length;
        let kind = match name.as_str() {
            "x" | "X" | "х" | "Х" if self.follows_operand() => {
                self.note("`x` was read as a multiplication sign");
                TokenKind::Times
            }
            _ => TokenKind::Name(name),
        };
        self.push(kind, spaced);
    }

    fn symbol(&mut self, character: char, spaced: bool) -> Result<(), CalculationError> {
        self.position += 1;
        let kind = match character {
            '+' => TokenKind::Plus,
            '-' => TokenKind::Minus,
            '*' if self.take('*') => TokenKind::Power,
            '*' => TokenKind::Times,
            '/' if self.peek(0) == Some('/') => {
                return Err(CalculationError::syntax(
                    "`//` is not understood: use floor(a / b)",
                ));
            }
            '/' => TokenKind::Divide,
            ':' => {
                self.note("`:` was read as division");
                TokenKind::Divide
            }
            '^' => TokenKind::Power,
            '!' => TokenKind::Bang,
            '%' => TokenKind::Percent,
            ';' | ',' => TokenKind::Separator,
            '(' => {
                let in_list = matches!(
                    self.tokens.last().map(|token| &token.kind),
                    Some(TokenKind::Name(name)) if takes_a_list(name)
                );
                self.lists.push(in_list);
                TokenKind::Open
            }
            ')' => {
                self.lists.pop();
                TokenKind::Close
            }
            '√' => TokenKind::Name("sqrt".to_owned()),
            '∛' => TokenKind::Name("cbrt".to_owned()),
            '℃' => TokenKind::Name("°C".to_owned()),
            '℉' => TokenKind::Name("°F".to_owned()),
            '°' if self.take('C') || self.take('С') => TokenKind::Name("°C".to_owned()),
            '°' if self.take('F') => TokenKind::Name("°F".to_owned()),
            '°' => TokenKind::Name("deg".to_owned()),
            other => {
                if let Some(digit) = superscript(other) {
                    self.superscript(digit);
                    return Ok(());
                }
                return Err(meaningless(other));
            }
        };
        self.push(kind, spaced);
        Ok(())
    }

    /// Reads `²` as `^2`, and `⁻¹⁰` as `^-10`.
    fn superscript(&mut self, first: char) {
        self.push(TokenKind::Power, false);
        let mut digits = String::new();
        let mut next = Some(first);
        while let Some(digit) = next {
            if digit == '-' && digits.is_empty() {
                self.push(TokenKind::Minus, false);
            } else {
                digits.push(digit);
            }
            next = self.peek(0).and_then(superscript);
            if next.is_some() {
                self.position += 1;
            }
        }
        if !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_digit()) {
            self.push(TokenKind::Number(Number::whole(digits)), false);
        }
    }

    fn follows_operand(&self) -> bool {
        matches!(
            self.tokens.last().map(|token| &token.kind),
            Some(TokenKind::Number(_) | TokenKind::Close)
        )
    }

    fn take(&mut self, expected: char) -> bool {
        let found = self.peek(0) == Some(expected);
        self.position += usize::from(found);
        found
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.position + ahead).copied()
    }

    fn push(&mut self, kind: TokenKind, spaced: bool) {
        self.tokens.push(Token { kind, spaced });
    }

    fn note(&mut self, note: &str) {
        if !self.notes.iter().any(|known| known == note) {
            self.notes.push(note.to_owned());
        }
    }
}

fn takes_a_list(name: &str) -> bool {
    Function::named(&name.to_lowercase()).is_some_and(|function| function.arity().1 > 1)
}

/// Returns the plain form of a character, or the reason why it is not permitted.
fn plain(character: char) -> Result<char, CalculationError> {
    Ok(match character {
        // The full-width forms are in the order of the plain ones.
        '\u{FF01}'..='\u{FF5E}' => {
            char::from_u32(u32::from(character) - 0xFEE0).unwrap_or(character)
        }
        '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
            return Err(CalculationError::syntax(
                "one expression on one line, please: call again for the next one",
            ));
        }
        '\t' => ' ',
        '×' | '·' | '⋅' | '∙' | '∗' | '✕' | '✖' => '*',
        '÷' | '∕' | '⁄' => '/',
        '−' | '–' | '—' | '‐' | '‑' => '-',
        '、' => ',',
        '[' => '(',
        ']' => ')',
        '\u{200B}'..='\u{200F}'
        | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}'
        | '\u{061C}'
        | '\u{FEFF}'
        | '\u{00AD}' => {
            return Err(CalculationError::syntax(format!(
                "the invisible character U+{:04X} is not allowed",
                u32::from(character)
            )));
        }
        control if control.is_control() => {
            return Err(CalculationError::syntax(format!(
                "the control character U+{:04X} is not allowed",
                u32::from(control)
            )));
        }
        other => other,
    })
}

fn superscript(character: char) -> Option<char> {
    Some(match character {
        '⁰' => '0',
        '¹' => '1',
        '²' => '2',
        '³' => '3',
        '⁴'..='⁹' => char::from_digit(u32::from(character) - 0x2070, 10).unwrap_or(character),
        '⁻' => '-',
        _ => return None,
    })
}

fn meaningless(character: char) -> CalculationError {
    match character {
        '=' | '<' | '>' => CalculationError::syntax(
            "comparisons and assignments are not understood: write one expression to work out",
        ),
        '$' | '€' | '£' | '¥' | '₽' | '₹' => {
            CalculationError::syntax("currency signs are not understood: write the amounts alone")
        }
        '&' | '|' | '~' => {
            CalculationError::syntax("bitwise and logical operators are not understood")
        }
        numeric if numeric.is_numeric() => {
            CalculationError::syntax("only the digits 0 to 9 are understood (also full-width ones)")
        }
        other => {
            CalculationError::syntax(format!("`{}` has no meaning here", other.escape_debug()))
        }
    }
}
