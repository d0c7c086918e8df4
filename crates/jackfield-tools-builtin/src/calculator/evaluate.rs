//! Evaluates an expression: the percent rules of people, and two kinds of arithmetic in parallel.
//!
//! Every value is in the exact engine, and also a [`DoubleDouble`] number, which predicts sizes.

use super::engine::{Register, ValueEngine};
use super::fault::CalculationError;
use super::functions;
use super::names::Constant;
use super::numbers::Number;
use super::parser::{Expression, Operator};
use super::wide::DoubleDouble;

/// A value in the engine, with its known properties.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub(crate) register: Register,
    /// The value as a plain number (angles in radians); `None` if it has a unit.
    pub(crate) wide: Option<DoubleDouble>,
    /// Whether it is certainly not exact, so that the wide number is as good as the engine's.
    pub(crate) rough: bool,
    /// The approximate number of decimal digits of the exact form, numerator and denominator together.
    pub(crate) size: f64,
    /// Whether it is certainly an integer.
    pub(crate) whole: bool,
}

/// Evaluates expressions with one engine.
pub(crate) struct Evaluator<'stop> {
    pub(crate) engine: ValueEngine<'stop>,
}

impl Evaluator<'_> {
    /// Evaluates an expression.
    pub(crate) fn value(&mut self, expression: &Expression) -> Result<Value, CalculationError> {
        match expression {
            Expression::Binary(operator, left, right) => self.binary(*operator, left, right),
            Expression::Call(function, arguments) => {
                let arguments = arguments
                    .iter()
                    .map(|argument| self.value(argument))
                    .collect::<Result<Vec<Value>, CalculationError>>()?;
                functions::call(self, *function, &arguments)
            }
            Expression::Constant(constant) => self.constant(*constant),
            Expression::Convert(inner, target) => {
                let inner = self.value(inner)?;
                let register = self
                    .engine
                    .keep(&format!("{} to {target}", inner.register))?;
                Ok(Value { register, ..inner })
            }
            Expression::Factorial(inner) => {
                let inner = self.value(inner)?;
                functions::factorial(self, inner)
            }
            Expression::Negate(inner) => {
                let inner = self.value(inner)?;
                self.negate(inner)
            }
            Expression::Number(number) => self.number(number),
            Expression::Percent(inner) => {
                let inner = self.value(inner)?;
                let hundred = self.whole(100)?;
                self.divide(inner, hundred)
            }
            Expression::Unit(unit) => self.unit(unit),
        }
    }

    /// Percentages are relative to the left operand, as people expect: `100 + 10%` is 110. Sums of percentages are
    /// plain: `10% + 5%` is 15%.
    fn binary(
        &mut self,
        operator: Operator,
        left: &Expression,
        right: &Expression,
    ) -> Result<Value, CalculationError> {
        let of_left = matches!(operator, Operator::Add | Operator::Subtract)
            && is_percentage(right)
            && !is_percentage(left);
        let left = self.value(left)?;
        let right = self.value(right)?;
        if of_left {
            let one = self.whole(1)?;
            let factor = self.apply(operator, one, right)?;
            self.multiply(left, factor)
        } else {
            self.apply(operator, left, right)
        }
    }

    /// Applies an operator to two values.
    pub(crate) fn apply(
        &mut self,
        operator: Operator,
        left: Value,
        right: Value,
    ) -> Result<Value, CalculationError> {
        match operator {
            Operator::Add => self.add(left, right),
            Operator::Divide => self.divide(left, right),
            Operator::Modulo => functions::remainder(self, left, right),
            Operator::Multiply => self.multiply(left, right),
            Operator::Power => functions::power(self, left, right),
            Operator::Subtract => self.subtract(left, right),
        }
    }

    pub(crate) fn add(&mut self, left: Value, right: Value) -> Result<Value, CalculationError> {
        let operation = format!("{} + {}", left.register, right.register);
        self.combined(&operation, left, right, |a, b| a + b)
    }

    pub(crate) fn subtract(
        &mut self,
        left: Value,
        right: Value,
    ) -> Result<Value, CalculationError> {
        let operation = format!("{} - {}", left.register, right.register);
        self.combined(&operation, left, right, |a, b| a - b)
    }

    pub(crate) fn multiply(
        &mut self,
        left: Value,
        right: Value,
    ) -> Result<Value, CalculationError> {
        let operation = format!("{} * {}", left.register, right.register);
        self.combined(&operation, left, right, |a, b| a * b)
    }

    pub(crate) fn divide(&mut self, left: Value, right: Value) -> Result<Value, CalculationError> {
        if self.is_zero(right)? {
            return Err(CalculationError::DivisionByZero);
        }
        let operation = format!("{} / {}", left.register, right.register);
        let quotient = self.combined(&operation, left, right, |a, b| a / b)?;
        Ok(Value {
            whole: false,
            ..quotient
        })
    }

    pub(crate) fn negate(&mut self, value: Value) -> Result<Value, CalculationError> {
        let register = self.engine.keep(&format!("-{}", value.register))?;
        Ok(Value {
            register,
            wide: value.wide.map(|wide| -wide),
            ..value
        })
    }

    /// Stores an integer.
    pub(crate) fn whole(&mut self, number: u32) -> Result<Value, CalculationError> {
        self.number(&Number::whole(number.to_string()))
    }

    /// Stores an approximate number.
    pub(crate) fn approximate(&mut self, wide: DoubleDouble) -> Result<Value, CalculationError> {
        if !wide.is_zero() {
            check_magnitude(wide.log10())?;
        }
        let literal = self.engine.keep(&wide.literal())?;
        let register = self.engine.keep(&format!("approximately {literal}"))?;
        Ok(Value {
            register,
            wide: Some(wide),
            rough: true,
            size: APPROXIMATE_SIZE + wide.log10().abs().min(MAX_LOG),
            whole: false,
        })
    }

    /// Returns whether the value is exactly zero.
    pub(crate) fn is_zero(&mut self, value: Value) -> Result<bool, CalculationError> {
        match value.wide {
            // Sums near zero are read back from the engine.
            Some(wide) if !wide.is_zero() => Ok(false),
            Some(_) | None => self.engine.is_zero(value.register),
        }
    }

    /// Returns whether the value is exactly this integer.
    pub(crate) fn is_exactly(
        &mut self,
        value: Value,
        number: u32,
    ) -> Result<bool, CalculationError> {
        let near = |wide: DoubleDouble| wide.whole() == Some(i64::from(number));
        if !value.wide.is_some_and(near) {
            return Ok(false);
        }
        let number = self.whole(number)?;
        let difference = self.subtract(value, number)?;
        self.is_zero(difference)
    }

    fn combined(
        &mut self,
        operation: &str,
        left: Value,
        right: Value,
        wide: impl FnOnce(DoubleDouble, DoubleDouble) -> DoubleDouble,
    ) -> Result<Value, CalculationError> {
        let register = self.engine.keep(operation)?;
        let wide = match left.wide.zip(right.wide) {
            Some((a, b)) => {
                let result = wide(a, b);
                // Cancellation leaves few digits; the exact value has all of them.
                if result.is_remnant_of(a) && result.is_remnant_of(b) {
                    Some(self.engine.plain_number(register)?.unwrap_or(result))
                } else {
                    Some(result)
                }
            }
            None => None,
        };
        Ok(Value {
            register,
            wide,
            rough: wide.is_some() && (left.rough || right.rough),
            size: left.size + right.size,
            whole: left.whole && right.whole,
        })
    }

    fn number(&mut self, number: &Number) -> Result<Value, CalculationError> {
        let register = self.engine.keep(number.text())?;
        Ok(Value {
            register,
            wide: Some(DoubleDouble::parse(number.text())),
            rough: false,
            size: number.size(),
            whole: number.is_whole(),
        })
    }

    fn constant(&mut self, constant: Constant) -> Result<Value, CalculationError> {
        let golden =
            || (DoubleDouble::from(1.0) + DoubleDouble::from(5.0).root()) / DoubleDouble::from(2.0);
        let (name, wide) = match constant {
            // These two have no better form than their digits.
            Constant::E => return self.approximate(DoubleDouble::e()),
            Constant::Phi => return self.approximate(golden()),
            Constant::Pi => ("pi", DoubleDouble::pi()),
            Constant::Tau => ("tau", DoubleDouble::from(2.0) * DoubleDouble::pi()),
        };
        let register = self.engine.keep(name)?;
        Ok(Value {
            register,
            wide: Some(wide),
            rough: false,
            size: APPROXIMATE_SIZE,
            whole: false,
        })
    }

    fn unit(&mut self, unit: &str) -> Result<Value, CalculationError> {
        let wide = match unit {
            "deg" | "degree" | "degrees" => Some(DoubleDouble::pi() / DoubleDouble::from(180.0)),
            "rad" | "radian" | "radians" => Some(DoubleDouble::from(1.0)),
            "turn" | "turns" => Some(DoubleDouble::from(2.0) * DoubleDouble::pi()),
            _ => None,
        };
        let register = self.engine.keep(unit)?;
        Ok(Value {
            register,
            wide,
            rough: false,
            size: APPROXIMATE_SIZE,
            whole: false,
        })
    }
}

/// Refuses numbers of more than 10000 digits or decimals, by their logarithm to base 10.
pub(crate) fn check_magnitude(log: f64) -> Result<(), CalculationError> {
    if log > MAX_LOG {
        Err(CalculationError::Overflow)
    } else if log < -MAX_LOG {
        Err(CalculationError::Underflow)
    } else {
        Ok(())
    }
}

fn is_percentage(expression: &Expression) -> bool {
    match expression {
        Expression::Percent(_) => true,
        Expression::Negate(inner) => is_percentage(inner),
        Expression::Binary(Operator::Add | Operator::Subtract, left, right) => {
            is_percentage(left) && is_percentage(right)
        }
        Expression::Binary(..)
        | Expression::Call(..)
        | Expression::Constant(_)
        | Expression::Convert(..)
        | Expression::Factorial(_)
        | Expression::Number(_)
        | Expression::Unit(_) => false,
    }
}

/// The most digits of a number before or after the point.
pub(crate) const MAX_LOG: f64 = 10_000.0;

/// The approximate number of digits that the engine keeps of an approximate number.
const APPROXIMATE_SIZE: f64 = 80.0;
