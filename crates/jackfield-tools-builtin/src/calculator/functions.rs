//! The functions: exact if there is an exact result, otherwise to the precision of a [`DoubleDouble`] number.

mod counting;
mod powers;

use self::counting::{
    Selection, common_divisor, common_multiple, fold, larger, selections, smaller,
};
use self::powers::{exponential, logarithm, root};
use super::engine::Rounding;
use super::evaluate::{Evaluator, Value, check_magnitude};
use super::fault::CalculationError;
use super::names::Function;
use super::parser::Operator;
use super::wide::DoubleDouble;

pub(crate) use self::counting::factorial;
pub(crate) use self::powers::power;

/// Applies a function to its arguments, after checking their number.
pub(crate) fn call(
    evaluator: &mut Evaluator<'_>,
    function: Function,
    arguments: &[Value],
) -> Result<Value, CalculationError> {
    let (Some(first), second) = (arguments.first().copied(), arguments.get(1).copied()) else {
        return Err(CalculationError::syntax("a function lacks its argument"));
    };
    let required =
        || second.ok_or_else(|| CalculationError::syntax("a function lacks its second argument"));
    match function {
        Function::Abs => absolute(evaluator, first),
        Function::Ceil => rounded(evaluator, first, Rounding::Up),
        Function::Floor => rounded(evaluator, first, Rounding::Down),
        Function::Trunc => rounded(evaluator, first, Rounding::TowardsZero),
        Function::Round => match second {
            None => rounded(evaluator, first, Rounding::Nearest),
            Some(places) => round_to(evaluator, first, places),
        },
        Function::Acos => bounded(evaluator, first, "acos", (-1.0, 1.0), f64::acos),
        Function::Asin => bounded(evaluator, first, "asin", (-1.0, 1.0), f64::asin),
        Function::Acosh => bounded(evaluator, first, "acosh", (1.0, f64::MAX), f64::acosh),
        Function::Atan => bounded(evaluator, first, "atan", EVERYWHERE, f64::atan),
        Function::Atanh => bounded(evaluator, first, "atanh", (-1.0, 1.0), f64::atanh),
        Function::Asinh => bounded(evaluator, first, "asinh", EVERYWHERE, f64::asinh),
        Function::Tanh => bounded(evaluator, first, "tanh", EVERYWHERE, f64::tanh),
        Function::Sinh => hyperbolic(evaluator, first, |up, down| up - down),
        Function::Cosh => hyperbolic(evaluator, first, |up, down| up + down),
        Function::Cos => circular(evaluator, "cos", first, f64::cos),
        Function::Sin => circular(evaluator, "sin", first, f64::sin),
        Function::Tan => tangent(evaluator, first),
        Function::Cot => {
            let tangent = tangent(evaluator, first)?;
            let one = evaluator.whole(1)?;
            evaluator.divide(one, tangent)
        }
        Function::Exp => exponential(evaluator, first),
        Function::Ln => logarithm(evaluator, first, None),
        Function::LogTwo => {
            let base = evaluator.whole(2)?;
            logarithm(evaluator, first, Some(base))
        }
        Function::Log => {
            let base = match second {
                None => evaluator.whole(10)?,
                Some(base) => base,
            };
            logarithm(evaluator, first, Some(base))
        }
        Function::Sqrt => {
            let degree = evaluator.whole(2)?;
            root(evaluator, first, degree)
        }
        Function::Cbrt => {
            let degree = evaluator.whole(3)?;
            root(evaluator, first, degree)
        }
        Function::Factorial => factorial(evaluator, first),
        Function::Choose => selections(evaluator, Selection::Unordered, first, required()?),
        Function::Permute => selections(evaluator, Selection::Ordered, first, required()?),
        Function::Mod => remainder(evaluator, first, required()?),
        Function::Pow => power(evaluator, first, required()?),
        Function::Root => root(evaluator, first, required()?),
        Function::Gcd => fold(evaluator, arguments, common_divisor),
        Function::Lcm => fold(evaluator, arguments, common_multiple),
        Function::Max => fold(evaluator, arguments, larger),
        Function::Min => fold(evaluator, arguments, smaller),
        Function::Sum => fold(evaluator, arguments, Evaluator::add),
        Function::Mean => {
            let sum = fold(evaluator, arguments, Evaluator::add)?;
            let count = evaluator.whole(u32::try_from(arguments.len()).unwrap_or(u32::MAX))?;
            evaluator.divide(sum, count)
        }
    }
}

/// Returns the remainder with the sign of the divisor, for any real numbers.
pub(crate) fn remainder(
    evaluator: &mut Evaluator<'_>,
    value: Value,
    divisor: Value,
) -> Result<Value, CalculationError> {
    let natural = |value: Value| value.whole && !value.wide.is_none_or(DoubleDouble::is_negative);
    if natural(value) && natural(divisor) {
        let operation = format!("{} mod {}", value.register, divisor.register);
        let register = evaluator.engine.keep(&operation)?;
        return Ok(Value {
            register,
            wide: evaluator.engine.plain_number(register)?,
            rough: value.rough || divisor.rough,
            size: value.size.min(divisor.size),
            whole: true,
        });
    }
    let quotient = evaluator.divide(value, divisor)?;
    let turns = rounded(evaluator, quotient, Rounding::Down)?;
    let whole = evaluator.multiply(divisor, turns)?;
    let rest = evaluator.subtract(value, whole)?;
    Ok(Value {
        whole: value.whole && divisor.whole,
        size: value.size.min(divisor.size).max(1.0),
        ..rest
    })
}

/// The engine knows the exact sines and cosines, but only the zeros of the tangent.
fn tangent(evaluator: &mut Evaluator<'_>, value: Value) -> Result<Value, CalculationError> {
    plain(value, "tan")?;
    let eighths = evaluator.engine.eighths(value.register)?;
    match eighths.map(|eighths| eighths.rem_euclid(4)) {
        Some(1) => evaluator.whole(1),
        Some(3) => {
            let one = evaluator.whole(1)?;
            evaluator.negate(one)
        }
        Some(_) | None => circular(evaluator, "tan", value, f64::tan),
    }
}

/// Returns the engine's exact result if it has one, and the approximation otherwise.
fn exact_or(
    evaluator: &mut Evaluator<'_>,
    operation: &str,
    wide: DoubleDouble,
) -> Result<Value, CalculationError> {
    let approximate = evaluator.approximate(wide)?;
    let register = evaluator.engine.keep(operation)?;
    if evaluator.engine.is_exact(register)? {
        return Ok(Value {
            register,
            rough: false,
            ..approximate
        });
    }
    Ok(approximate)
}

fn absolute(evaluator: &mut Evaluator<'_>, value: Value) -> Result<Value, CalculationError> {
    let register = evaluator.engine.keep(&format!("abs {}", value.register))?;
    Ok(Value {
        register,
        wide: value.wide.map(DoubleDouble::abs),
        ..value
    })
}

fn rounded(
    evaluator: &mut Evaluator<'_>,
    value: Value,
    rounding: Rounding,
) -> Result<Value, CalculationError> {
    if value.rough && value.wide.is_some_and(|wide| wide.log10() > 40.0) {
        // All of its digits are before the point.
        return Ok(value);
    }
    let register = evaluator.engine.round(value.register, rounding)?;
    let wide = match value.wide {
        Some(_) => evaluator.engine.plain_number(register)?,
        None => None,
    };
    Ok(Value {
        register,
        wide,
        rough: value.rough,
        size: wide.map_or(value.size, |wide| wide.log10().max(0.0) + 1.0),
        whole: wide.is_some(),
    })
}

fn round_to(
    evaluator: &mut Evaluator<'_>,
    value: Value,
    places: Value,
) -> Result<Value, CalculationError> {
    let places = plain_whole(places)
        .filter(|places| places.abs() <= 100)
        .ok_or_else(|| {
            CalculationError::domain("round(x, n) takes a whole number n from -100 to 100")
        })?;
    let ten = evaluator.whole(10)?;
    let exponent = evaluator.whole(u32::try_from(places.unsigned_abs()).unwrap_or(0))?;
    let scale = power(evaluator, ten, exponent)?;
    let (up, down): (Operator, Operator) = if places < 0 {
        (Operator::Divide, Operator::Multiply)
    } else {
        (Operator::Multiply, Operator::Divide)
    };
    let scaled = evaluator.apply(up, value, scale)?;
    let scaled = rounded(evaluator, scaled, Rounding::Nearest)?;
    evaluator.apply(down, scaled, scale)
}

/// A function that is defined between two bounds; its zero, at zero or one, is exact.
fn bounded(
    evaluator: &mut Evaluator<'_>,
    value: Value,
    name: &str,
    (least, most): (f64, f64),
    function: fn(f64) -> f64,
) -> Result<Value, CalculationError> {
    let wide = plain(value, name)?;
    let argument = wide.nearest();
    let result = function(argument);
    let outside = !(least..=most).contains(&argument) || !result.is_finite();
    if outside {
        return Err(CalculationError::domain(format!(
            "{name} is not defined for this value"
        )));
    }
    let zero_at = u32::from(result == 0.0 && argument != 0.0);
    if result == 0.0 && evaluator.is_exactly(value, zero_at)? {
        return evaluator.whole(0);
    }
    evaluator.approximate(DoubleDouble::from(result))
}

fn hyperbolic(
    evaluator: &mut Evaluator<'_>,
    value: Value,
    combine: fn(DoubleDouble, DoubleDouble) -> DoubleDouble,
) -> Result<Value, CalculationError> {
    let wide = plain(value, "a hyperbolic function")?;
    if evaluator.is_exactly(value, 0)? {
        let up = evaluator.whole(1)?;
        let zero = combine(DoubleDouble::from(1.0), DoubleDouble::from(1.0)).is_zero();
        return Ok(if zero { value } else { up });
    }
    check_magnitude(wide.nearest().abs() * std::f64::consts::LOG10_E)?;
    let small = wide.nearest();
    let sine = combine(DoubleDouble::from(1.0), DoubleDouble::from(1.0)).is_zero();
    if sine && small.abs() < 0.1 {
        // The difference of two numbers near one would have few significant digits.
        return evaluator.approximate(DoubleDouble::from(small.sinh()));
    }
    let up = wide.exp();
    let both = combine(up, DoubleDouble::from(1.0) / up);
    evaluator.approximate(both / DoubleDouble::from(2.0))
}

fn circular(
    evaluator: &mut Evaluator<'_>,
    name: &str,
    value: Value,
    function: fn(f64) -> f64,
) -> Result<Value, CalculationError> {
    let wide = plain(value, name)?;
    if wide.nearest().abs() > 1e15 {
        return Err(CalculationError::domain(format!(
            "the angle is too large for {name} to mean anything"
        )));
    }
    let result = function(wide.nearest());
    let operation = format!("{name} {}", value.register);
    match exact_or(evaluator, &operation, DoubleDouble::from(result)) {
        Err(CalculationError::DivisionByZero) => Err(CalculationError::domain(format!(
            "{name} is not defined for this angle"
        ))),
        other => other,
    }
}

fn plain(value: Value, name: &str) -> Result<DoubleDouble, CalculationError> {
    value.wide.ok_or_else(|| {
        CalculationError::domain(format!("{name} takes a plain number, without a unit"))
    })
}

fn plain_whole(value: Value) -> Option<i64> {
    value.wide.and_then(DoubleDouble::whole)
}

const EVERYWHERE: (f64, f64) = (f64::MIN, f64::MAX);
