//! Evaluates an expression: numbers are ours, units are fend-core's, and percentages are people's.

use super::MAX_DIGITS;
use super::digits::{self, WrittenResult};
use super::fault::CalculationError;
use super::functions;
use super::names::Constant;
use super::parser::{Expression, Operator};
use super::real::Real;
use super::thread::Deadline;
use super::units::{self, Unit};

/// A number with its unit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Value {
    pub(crate) real: Real,
    pub(crate) unit: Unit,
}

impl Value {
    /// The same in the same unit, with another number.
    pub(crate) fn with(&self, real: Real) -> Self {
        Self {
            real,
            unit: self.unit.clone(),
        }
    }

    /// The value as a plain number, with angles in radians.
    pub(crate) fn plain(&self) -> Option<Real> {
        let radians = self.unit.radians()?;
        self.real.multiply(&radians).ok()
    }
}

impl From<Real> for Value {
    fn from(real: Real) -> Self {
        Self {
            real,
            unit: Unit::default(),
        }
    }
}

/// Evaluates an expression, and formats its result.
pub(crate) fn evaluate(
    expression: &Expression,
    deadline: &Deadline<'_>,
) -> Result<WrittenResult, CalculationError> {
    let value = Evaluator { deadline }.value(expression)?;
    deadline.check()?;
    if value.unit.is_none() {
        return Ok(digits::write(&value.real, MAX_DIGITS));
    }
    let (number, unit) = units::shown(&value, deadline)?;
    let mut written = digits::write(&number, MAX_DIGITS);
    written.text = format!("{} {unit}", written.text);
    Ok(written)
}

/// Evaluates expressions until a deadline.
pub(crate) struct Evaluator<'deadline> {
    pub(crate) deadline: &'deadline Deadline<'deadline>,
}

impl Evaluator<'_> {
    fn value(&self, expression: &Expression) -> Result<Value, CalculationError> {
        self.deadline.check()?;
        match expression {
            Expression::Binary(operator, left, right) => self.binary(*operator, left, right),
            Expression::Call(function, arguments) => {
                let arguments = arguments
                    .iter()
                    .map(|argument| self.value(argument))
                    .collect::<Result<Vec<Value>, CalculationError>>()?;
                functions::call(self, *function, &arguments)
            }
            Expression::Constant(constant) => constant_value(*constant).map(Value::from),
            Expression::Convert(inner, target) => {
                let inner = self.value(inner)?;
                self.convert(&inner, target)
            }
            Expression::Factorial(inner) => functions::factorial(&self.value(inner)?),
            Expression::Negate(inner) => {
                let inner = self.value(inner)?;
                Ok(inner.with(inner.real.negate()))
            }
            Expression::Number(number) => Ok(Real::parse(number.text()).into()),
            Expression::Percent(inner) => {
                let inner = self.value(inner)?;
                Ok(inner.with(inner.real.divide(&Real::from(100))?))
            }
            Expression::Unit(unit) => Ok(Value {
                real: Real::from(1),
                unit: Unit::named(unit),
            }),
        }
    }

    /// Percentages are relative to the left operand, as people expect: `100 + 10%` is 110. Sums of percentages are
    /// plain: `10% + 5%` is 15%.
    fn binary(
        &self,
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
            let factor = self.apply(operator, &Real::from(1).into(), &right)?;
            self.multiply(&left, &factor)
        } else {
            self.apply(operator, &left, &right)
        }
    }

    fn apply(
        &self,
        operator: Operator,
        left: &Value,
        right: &Value,
    ) -> Result<Value, CalculationError> {
        match operator {
            Operator::Add => self.add(left, right),
            Operator::Divide => self.divide(left, right),
            Operator::Modulo => functions::remainder(self, left, right),
            Operator::Multiply => self.multiply(left, right),
            Operator::Power => functions::power(left, right),
            Operator::Subtract => self.subtract(left, right),
        }
    }

    pub(crate) fn add(&self, left: &Value, right: &Value) -> Result<Value, CalculationError> {
        self.combine(left, '+', right)
    }

    pub(crate) fn subtract(&self, left: &Value, right: &Value) -> Result<Value, CalculationError> {
        self.combine(left, '-', right)
    }

    pub(crate) fn multiply(&self, left: &Value, right: &Value) -> Result<Value, CalculationError> {
        let real = left.real.multiply(&right.real)?;
        self.joined(left, right, real, 1)
    }

    pub(crate) fn divide(&self, left: &Value, right: &Value) -> Result<Value, CalculationError> {
        let real = left.real.divide(&right.real)?;
        self.joined(left, right, real, -1)
    }

    /// The number in the units of both; units such as km/m come to a plain number.
    fn joined(
        &self,
        left: &Value,
        right: &Value,
        real: Real,
        power: i64,
    ) -> Result<Value, CalculationError> {
        let unit = left
            .unit
            .clone()
            .times(&right.unit, &Real::from(power).ratio());
        if !(left.unit.is_none() || right.unit.is_none() || unit.is_none()) {
            let factor = units::work_out(&unit.to_string(), true, self.deadline)?;
            if factor.unit.is_none() {
                return Ok(real.multiply(&factor.real)?.into());
            }
        }
        Ok(Value { real, unit })
    }

    fn combine(&self, left: &Value, sign: char, right: &Value) -> Result<Value, CalculationError> {
        let angles = left.unit.radians().zip(right.plain());
        let other = if left.unit == right.unit {
            right.real.clone()
        } else if let Some((radians, right)) = angles {
            right.divide(&radians)?
        } else {
            let operation = format!("{} {sign} {}", units::written(left), units::written(right));
            let exact = left.real.is_exact() && right.real.is_exact();
            return units::work_out(&operation, exact, self.deadline);
        };
        let other = if sign == '-' { other.negate() } else { other };
        Ok(left.with(left.real.add(&other)?))
    }

    fn convert(&self, value: &Value, target: &str) -> Result<Value, CalculationError> {
        let unit = Unit::named(target);
        if let Some((plain, radians)) = value.plain().zip(unit.radians()) {
            let real = plain.divide(&radians)?;
            return Ok(Value { real, unit });
        }
        let operation = format!("{} to {target}", units::written(value));
        units::work_out(&operation, value.real.is_exact(), self.deadline)
    }
}

fn constant_value(constant: Constant) -> Result<Real, CalculationError> {
    match constant {
        Constant::E => Real::exp(&Real::from(1).ratio()),
        Constant::Phi => {
            let root = Real::exp(&(Real::from(5).ln() / num::BigInt::from(2)))?;
            root.add(&Real::from(1))?.divide(&Real::from(2))
        }
        Constant::Pi => Ok(Real::pi()),
        Constant::Tau => Real::pi().multiply(&Real::from(2)),
    }
}

fn is_percentage(expression: &Expression) -> bool {
    if let Expression::Binary(Operator::Add | Operator::Subtract, left, right) = expression {
        return is_percentage(left) && is_percentage(right);
    }
    if let Expression::Negate(inner) = expression {
        return is_percentage(inner);
    }
    matches!(expression, Expression::Percent(_))
}
