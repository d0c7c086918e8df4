//! What reads as an expression, and how it is written for the calculator.

use super::tokens::{WordKind, WordToken};

/// The longest expression that begins at a place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    /// The token after the last one.
    pub(super) end: usize,
    /// Whether there is anything to work out: a number alone is not.
    pub(super) is_sum: bool,
    /// The expression as the calculator takes it.
    pub(super) text: String,
}

/// Returns the longest expression that begins with this token.
pub(super) fn longest(tokens: &[WordToken], at: usize) -> Option<Span> {
    SumGrammar { tokens }.expression(at, 0)
}

struct SumGrammar<'a> {
    tokens: &'a [WordToken],
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "whatever cannot go on here ends the span: a new kind of token does so, too"
)]
impl SumGrammar<'_> {
    fn kind(&self, at: usize) -> Option<&WordKind> {
        self.tokens.get(at).map(|token| &token.kind)
    }

    /// Operands with operators between them, as far as it goes.
    fn expression(&self, at: usize, depth: usize) -> Option<Span> {
        let mut span = match self.kind(at) {
            Some(WordKind::Verb(sign)) => self.verb(at, sign, depth)?,
            _ => self.operand(at, depth)?,
        };
        loop {
            let (sign, next) = match self.kind(span.end) {
                Some(WordKind::Operator(sign)) => (*sign, span.end + 1),
                // `2(3 + 4)` and `2pi`, but not `2 (two)`.
                Some(WordKind::Open | WordKind::Constant(_) | WordKind::Function(_))
                    if self.touches(span.end) =>
                {
                    ("*", span.end)
                }
                // `3/4 of 100`
                Some(WordKind::Of) if is_fraction(&span.text) => {
                    span.text = format!("({})", span.text);
                    ("*", span.end + 1)
                }
                _ => return Some(span),
            };
            let is_plus = matches!(self.kind(next), Some(WordKind::Operator("+")));
            let Some(right) = self.operand(next, depth).filter(|_| !is_plus) else {
                return Some(span);
            };
            span = joined(&span, sign, &right);
        }
    }

    /// A number, a group or a function, with what is said after it.
    fn operand(&self, at: usize, depth: usize) -> Option<Span> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut span = match self.kind(at)? {
            WordKind::Number(digits) => plain(at + 1, digits.clone()),
            WordKind::Constant(name) => plain(at + 1, (*name).to_owned()),
            WordKind::Operator(sign @ ("-" | "+")) => {
                let inner = self.operand(at + 1, depth + 1)?;
                let sign = if *sign == "-" { "-" } else { "" };
                Span {
                    text: format!("{sign}{}", inner.text),
                    ..inner
                }
            }
            WordKind::PercentBefore => match self.kind(at + 1)? {
                WordKind::Number(digits) => plain(at + 2, format!("{digits}%")),
                _ => return None,
            },
            WordKind::Open => {
                let inner = self.expression(at + 1, depth + 1)?;
                let closed = matches!(self.kind(inner.end)?, WordKind::Close);
                let group = Span {
                    end: inner.end + 1,
                    text: format!("({})", inner.text),
                    ..inner
                };
                Some(group).filter(|_| closed)?
            }
            WordKind::Function(name) => self.function(at, name, depth)?,
            _ => return None,
        };
        while let Some(more) = self.postfix(&span, depth) {
            span = more;
        }
        Some(span)
    }

    /// One thing that is said after an operand: `%`, `!`, `squared`, `of 2500`, 的15%.
    fn postfix(&self, span: &Span, depth: usize) -> Option<Span> {
        let next = span.end + 1;
        let worked_out = |text: String| Span {
            end: next,
            is_sum: true,
            text,
        };
        Some(match self.kind(span.end)? {
            WordKind::Percent => Span {
                end: next,
                is_sum: span.is_sum,
                text: format!("{}%", span.text),
            },
            WordKind::Unit(unit) => Span {
                end: next,
                is_sum: span.is_sum,
                text: format!("{} {unit}", span.text),
            },
            // `5 !` ends a sentence; `5 factorial` is a word apart.
            WordKind::Factorial if self.touches(span.end) || self.is_word(span.end) => {
                worked_out(format!("{}!", span.text))
            }
            WordKind::Power(power) => worked_out(format!("{}^{power}", span.text)),
            WordKind::RootOf(name) => worked_out(format!("{name}({})", span.text)),
            WordKind::Of if span.text.ends_with('%') => {
                let whole = self.operand(next, depth + 1)?;
                Span {
                    end: whole.end,
                    is_sum: true,
                    text: format!("{} of {}", span.text, whole.text),
                }
            }
            WordKind::Off if span.text.ends_with('%') => {
                let whole = self.operand(next, depth + 1)?;
                Span {
                    end: whole.end,
                    is_sum: true,
                    text: format!("{} - {}", whole.text, span.text),
                }
            }
            WordKind::PartsOf => match (self.operand(next, depth + 1)?, self.kind(next + 1)) {
                (part, _) if part.text.ends_with('%') => Span {
                    end: part.end,
                    is_sum: true,
                    text: format!("{} of {}", part.text, span.text),
                },
                (part, Some(WordKind::PowerMark)) if part.end == next + 1 => Span {
                    end: next + 2,
                    is_sum: true,
                    text: format!("{}^{}", span.text, part.text),
                },
                _ => return None,
            },
            _ => return None,
        })
    }

    /// `sqrt(2)`, `sqrt 2`, `max(1, 2, 3)`.
    fn function(&self, at: usize, name: &str, depth: usize) -> Option<Span> {
        let mut next = at + 1;
        if matches!(self.kind(next), Some(WordKind::Of)) {
            next += 1;
        }
        if !matches!(self.kind(next)?, WordKind::Open) {
            let argument = self.operand(next, depth + 1)?;
            let text = format!("{name}({})", argument.text);
            return Some(Span {
                end: argument.end,
                is_sum: true,
                text,
            });
        }
        let mut arguments = Vec::new();
        loop {
            let argument = self.expression(next + 1, depth + 1)?;
            next = argument.end;
            arguments.push(argument.text);
            match self.kind(next)? {
                WordKind::Comma => {}
                WordKind::Close => break,
                _ => return None,
            }
        }
        let text = format!("{name}({})", arguments.join(", "));
        Some(Span {
            end: next + 1,
            is_sum: true,
            text,
        })
    }

    /// `multiply 6 by 7`, `subtract 3 from 10`, `the sum of 1, 2 and 3`.
    fn verb(&self, at: usize, sign: &str, depth: usize) -> Option<Span> {
        let mut operands = vec![self.operand(at + 1, depth)?];
        let mut swap = false;
        while let Some(last) = operands.last() {
            let mut next = last.end;
            let mut joined = false;
            while let Some(kind) = self.kind(next) {
                match kind {
                    WordKind::Comma => {}
                    WordKind::Joint { swaps } => swap |= *swaps,
                    _ => break,
                }
                joined = true;
                next += 1;
            }
            match self.operand(next, depth).filter(|_| joined) {
                Some(operand) => operands.push(operand),
                None => break,
            }
        }
        let end = operands
            .last()
            .map(|last| last.end)
            .filter(|_| operands.len() > 1)?;
        if swap {
            operands.reverse();
        }
        let texts: Vec<String> = operands.into_iter().map(|operand| operand.text).collect();
        let text = if sign == "mean" {
            format!("mean({})", texts.join(", "))
        } else {
            texts.join(&format!(" {sign} "))
        };
        Some(Span {
            end,
            is_sum: true,
            text,
        })
    }

    /// Whether this token has more than one character.
    fn is_word(&self, at: usize) -> bool {
        self.tokens
            .get(at)
            .is_some_and(|token| token.end > token.at + 1)
    }

    /// Whether nothing stands between this token and the one before it.
    fn touches(&self, at: usize) -> bool {
        let pair = at
            .checked_sub(1)
            .and_then(|before| self.tokens.get(before..=at));
        matches!(pair, Some([before, token]) if before.end == token.at)
    }
}

fn plain(end: usize, text: String) -> Span {
    Span {
        end,
        is_sum: false,
        text,
    }
}

fn joined(left: &Span, sign: &str, right: &Span) -> Span {
    let (left, right, end) = (&left.text, &right.text, right.end);
    let text = if sign == "^" {
        format!("{left}^{right}")
    } else {
        format!("{left} {sign} {right}")
    };
    Span {
        end,
        is_sum: true,
        text,
    }
}

/// Whether a text is one number over another.
fn is_fraction(text: &str) -> bool {
    let is_whole = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    text.split_once(" / ")
        .is_some_and(|(over, under)| is_whole(over) && is_whole(under))
}

/// The deepest nesting; the calculator has a limit of its own.
const MAX_DEPTH: usize = 30;
