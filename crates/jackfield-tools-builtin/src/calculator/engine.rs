//! The exact arithmetic, one operation at a time.
//!
//! The underlying engine parses a whole language, and its parser takes exponential time for some nested
//! expressions, which cannot be interrupted. So it never gets an expression: values are in its variables, and each
//! text that it parses contains a single operation on them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fend_core::{Context, Interrupt};

use super::fault::CalculationError;
use super::wide::DoubleDouble;

/// A value in the engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Register(usize);

impl std::fmt::Display for Register {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "r{}", self.0)
    }
}

/// The direction of rounding to an integer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Rounding {
    Down,
    /// To the nearest one; halves are rounded away from zero.
    Nearest,
    TowardsZero,
    Up,
}

/// The engine with the values of one calculation.
pub(crate) struct ValueEngine<'stop> {
    context: Context,
    deadline: Deadline<'stop>,
    registers: usize,
}

impl<'stop> ValueEngine<'stop> {
    /// Creates an engine that gives up at the time limit, or when `stop` is set.
    pub(crate) fn new(limit: Duration, stop: &'stop AtomicBool) -> Self {
        Self {
            context: Context::new(),
            deadline: Deadline {
                limit,
                start: Instant::now(),
                stop,
            },
            registers: 0,
        }
    }

    /// Performs one operation, and keeps its result.
    pub(crate) fn keep(&mut self, operation: &str) -> Result<Register, CalculationError> {
        let register = Register(self.registers);
        self.registers += 1;
        self.context.set_echo_result(false);
        let assignment = format!("{register} = {operation}");
        self.evaluate(&assignment)?;
        Ok(register)
    }

    /// Writes a value with up to 100 significant digits; a rounded one begins with `approx. `.
    pub(crate) fn digits(&mut self, register: Register) -> Result<String, CalculationError> {
        self.show(&format!("{register} to 100 sf"))
    }

    /// Reads a value back, unless it has a unit.
    pub(crate) fn plain_number(
        &mut self,
        register: Register,
    ) -> Result<Option<DoubleDouble>, CalculationError> {
        let written = self.digits(register)?;
        let written = written.strip_prefix("approx. ").unwrap_or(&written);
        let size = written.strip_prefix('-').unwrap_or(written);
        let plain = size
            .chars()
            .all(|character| character.is_ascii_digit() || character == '.');
        Ok(plain.then(|| {
            let wide = DoubleDouble::parse(size);
            if size.len() < written.len() {
                -wide
            } else {
                wide
            }
        }))
    }

    /// Rounds a value in its own unit, to a whole number of any size.
    ///
    /// The engine's own rounding goes through floats, and is wrong for large numbers.
    pub(crate) fn round(
        &mut self,
        value: Register,
        to: Rounding,
    ) -> Result<Register, CalculationError> {
        let fraction = self.show(&format!("{value} to fraction"))?;
        let fraction = fraction.strip_prefix("approx. ").unwrap_or(&fraction);
        let fraction = fraction.split(' ').next().unwrap_or(fraction);
        let negative = fraction.starts_with('-');
        let Some((above, below)) = fraction.trim_start_matches('-').split_once('/') else {
            return Ok(value);
        };
        let above = self.keep(above)?;
        let below = self.keep(below)?;
        let rest = self.keep(&format!("{above} mod {below}"))?;
        let whole = self.keep(&format!("({above} - {rest}) / {below}"))?;
        let away_from_zero = match to {
            Rounding::Down => negative,
            Rounding::Nearest => {
                let double = self.keep(&format!("2 * {rest}"))?;
                let excess = self.keep(&format!("{double} - {below}"))?;
                !self.digits(excess)?.starts_with('-')
            }
            Rounding::TowardsZero => false,
            Rounding::Up => !negative,
        };
        let size = self.keep(&format!("{whole} + {}", u8::from(away_from_zero)))?;
        // Multiplies the value itself, so that the result keeps its unit and exactness.
        self.keep(&format!("{value} * ({size} * {below} / {above})"))
    }

    /// Returns the multiple of a quarter of a half-turn that equals an angle, if it is an integer.
    pub(crate) fn eighths(&mut self, angle: Register) -> Result<Option<i64>, CalculationError> {
        for half_turn in ["(180 deg)", "pi"] {
            let fraction = self.show(&format!("{angle} / {half_turn} to fraction"))?;
            let (numerator, denominator) = fraction.split_once('/').unwrap_or((&fraction, "1"));
            if let (Ok(numerator), "1" | "2" | "4") = (numerator.parse::<i64>(), denominator) {
                return Ok(denominator
                    .parse::<i64>()
                    .ok()
                    .and_then(|denominator| numerator.checked_mul(4 / denominator)));
            }
        }
        Ok(None)
    }

    /// Returns whether a value is known exactly, with any number of digits.
    pub(crate) fn is_exact(&mut self, register: Register) -> Result<bool, CalculationError> {
        let fraction = self.show(&format!("{register} to fraction"))?;
        Ok(!fraction.starts_with("approx."))
    }

    /// Returns whether a value is exactly zero, in any unit.
    pub(crate) fn is_zero(&mut self, register: Register) -> Result<bool, CalculationError> {
        let fraction = self.show(&format!("{register} to fraction"))?;
        Ok(fraction == "0" || fraction.starts_with("0 "))
    }

    /// Returns the timeout fault if no time is left.
    pub(crate) fn check_time(&self) -> Result<(), CalculationError> {
        if self.deadline.should_interrupt() {
            Err(self.out_of_time())
        } else {
            Ok(())
        }
    }

    fn show(&mut self, text: &str) -> Result<String, CalculationError> {
        self.context.set_echo_result(true);
        self.evaluate(text)
    }

    fn evaluate(&mut self, text: &str) -> Result<String, CalculationError> {
        let result = fend_core::evaluate_with_interrupt(text, &mut self.context, &self.deadline);
        match result {
            Ok(result) => Ok(result.get_main_result().to_owned()),
            Err(message) => Err(self.classify(&message)),
        }
    }

    /// The engine's errors are only texts: maps those with a specific fault.
    fn classify(&self, message: &str) -> CalculationError {
        if self.deadline.should_interrupt() || message == "interrupted" {
            return self.out_of_time();
        }
        match message {
            "division by zero" | "modulo by zero" => CalculationError::DivisionByZero,
            "exponent too large" | "value is too large" => CalculationError::Overflow,
            other => {
                // Some errors contain numbers of any length.
                let other: String = other.chars().take(200).collect();
                CalculationError::domain(other.replace("unitless", "a plain number"))
            }
        }
    }

    fn out_of_time(&self) -> CalculationError {
        CalculationError::OutOfTime(self.deadline.limit.as_millis())
    }
}

struct Deadline<'stop> {
    limit: Duration,
    start: Instant,
    stop: &'stop AtomicBool,
}

impl Interrupt for Deadline<'_> {
    fn should_interrupt(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.start.elapsed() >= self.limit
    }
}
