//! Functions of integers, and functions of any number of arguments.

use super::super::evaluate::{Evaluator, Value, check_magnitude};
use super::super::fault::CalculationError;
use super::super::parser::Operator;
use super::super::wide::DoubleDouble;
use super::{absolute, plain, remainder};

/// Returns the factorial.
pub(crate) fn factorial(
    evaluator: &mut Evaluator<'_>,
    value: Value,
) -> Result<Value, CalculationError> {
    let number = counting(value, "a factorial")?;
    check_magnitude(factorial_log(number))?;
    let register = evaluator.engine.keep(&format!("{}!", value.register))?;
    let wide = (2..=number).fold(DoubleDouble::from(1.0), |product, factor| {
        product * DoubleDouble::from(factor as f64)
    });
    Ok(Value {
        register,
        wide: Some(wide),
        rough: value.rough,
        size: wide.log10() + 1.0,
        whole: true,
    })
}

/// Whether the order of the selection counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Selection {
    Ordered,
    Unordered,
}

/// The number of ways to choose some elements of a set.
pub(crate) fn selections(
    evaluator: &mut Evaluator<'_>,
    selection: Selection,
    of: Value,
    chosen: Value,
) -> Result<Value, CalculationError> {
    let number = counting(of, "a number of choices")?;
    let taken = counting(chosen, "a number of choices")?;
    if taken > number {
        return evaluator.whole(0);
    }
    // The engine computes the factorial of the whole set.
    check_magnitude(factorial_log(number))?;
    let (operator, steps) = match selection {
        Selection::Ordered => ("nPr", taken),
        Selection::Unordered => ("nCr", taken.min(number - taken)),
    };
    let operation = format!("{} {operator} {}", of.register, chosen.register);
    let register = evaluator.engine.keep(&operation)?;
    let wide = (0..steps).fold(DoubleDouble::from(1.0), |product, index| {
        let product = product * DoubleDouble::from((number - index) as f64);
        match selection {
            Selection::Ordered => product,
            Selection::Unordered => product / DoubleDouble::from((index + 1) as f64),
        }
    });
    Ok(Value {
        register,
        wide: Some(wide),
        rough: of.rough || chosen.rough,
        size: wide.log10() + 1.0,
        whole: true,
    })
}

/// Applies an operation to all arguments, from left to right.
pub(crate) fn fold<'stop>(
    evaluator: &mut Evaluator<'stop>,
    arguments: &[Value],
    mut operation: impl FnMut(&mut Evaluator<'stop>, Value, Value) -> Result<Value, CalculationError>,
) -> Result<Value, CalculationError> {
    let mut arguments = arguments.iter().copied();
    let Some(mut result) = arguments.next() else {
        return Err(CalculationError::syntax("a function lacks its argument"));
    };
    for next in arguments {
        result = operation(evaluator, result, next)?;
    }
    Ok(result)
}

/// Returns the larger of two values.
pub(crate) fn larger(
    evaluator: &mut Evaluator<'_>,
    left: Value,
    right: Value,
) -> Result<Value, CalculationError> {
    extreme(evaluator, left, right, Operator::Add)
}

/// Returns the smaller of two values.
pub(crate) fn smaller(
    evaluator: &mut Evaluator<'_>,
    left: Value,
    right: Value,
) -> Result<Value, CalculationError> {
    extreme(evaluator, left, right, Operator::Subtract)
}

/// Half of the sum plus or minus the distance of two values: exact, and for any unit.
fn extreme(
    evaluator: &mut Evaluator<'_>,
    left: Value,
    right: Value,
    distance_sign: Operator,
) -> Result<Value, CalculationError> {
    let sum = evaluator.add(left, right)?;
    let difference = evaluator.subtract(left, right)?;
    let distance = absolute(evaluator, difference)?;
    let twice = evaluator.apply(distance_sign, sum, distance)?;
    let two = evaluator.whole(2)?;
    let result = evaluator.divide(twice, two)?;
    Ok(Value {
        size: left.size.max(right.size),
        whole: left.whole && right.whole,
        ..result
    })
}

/// The least common multiple of integers.
pub(crate) fn common_multiple(
    evaluator: &mut Evaluator<'_>,
    left: Value,
    right: Value,
) -> Result<Value, CalculationError> {
    let divisor = common_divisor(evaluator, left, right)?;
    let product = evaluator.multiply(left, right)?;
    let product = absolute(evaluator, product)?;
    let multiple = evaluator.divide(product, divisor)?;
    Ok(Value {
        whole: true,
        ..multiple
    })
}

/// The greatest common divisor of integers, by Euclid's algorithm.
pub(crate) fn common_divisor(
    evaluator: &mut Evaluator<'_>,
    left: Value,
    right: Value,
) -> Result<Value, CalculationError> {
    if !(left.whole && right.whole) {
        return Err(CalculationError::domain("gcd and lcm take whole numbers"));
    }
    let mut larger = absolute(evaluator, left)?;
    let mut smaller = absolute(evaluator, right)?;
    while !evaluator.is_zero(smaller)? {
        evaluator.engine.check_time()?;
        let rest = remainder(evaluator, larger, smaller)?;
        (larger, smaller) = (smaller, rest);
    }
    if evaluator.is_zero(larger)? {
        return Err(CalculationError::domain(
            "gcd and lcm of zeros are undefined",
        ));
    }
    Ok(larger)
}

/// Returns the value as a non-negative integer.
fn counting(value: Value, what: &str) -> Result<u64, CalculationError> {
    let wide = plain(value, what)?;
    if wide.log10() > 15.0 && !wide.is_negative() {
        return Err(CalculationError::Overflow);
    }
    wide.whole()
        .and_then(|whole| u64::try_from(whole).ok())
        .ok_or_else(|| {
            CalculationError::domain(format!(
                "{what} is defined only for whole numbers from zero upwards"
            ))
        })
}

/// The logarithm to base 10 of a factorial, by Stirling's formula.
fn factorial_log(number: u64) -> f64 {
    let number = number as f64;
    if number < 2.0 {
        return 0.0;
    }
    number * (number.log10() - std::f64::consts::LOG10_E)
        + (number * std::f64::consts::TAU).log10() / 2.0
}
