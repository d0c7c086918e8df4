//! The functions: exact if there is an exact result, otherwise approximate.

use num::{BigInt, BigRational, Integer as _, Signed as _, ToPrimitive as _, Zero as _};

use super::evaluate::{Evaluator, Value};
use super::fault::CalculationError;
use super::names::Function;
use super::real::Real;
use super::units::Unit;

/// Applies a function to its arguments, of which there are as many as it takes.
pub(crate) fn call(
    evaluator: &Evaluator<'_>,
    function: Function,
    arguments: &[Value],
) -> Result<Value, CalculationError> {
    let (Some(first), second) = (arguments.first(), arguments.get(1)) else {
        return Err(CalculationError::syntax("a function lacks its argument"));
    };
    let required =
        || second.ok_or_else(|| CalculationError::syntax("a function lacks its second argument"));
    let whole = |number: i64| Value::from(Real::from(number));
    let ten = whole(10);
    let fold = |operation: &dyn Fn(&Value, &Value) -> Result<Value, CalculationError>| {
        let mut rest = arguments.iter().skip(1);
        rest.try_fold(first.clone(), |result, next| operation(&result, next))
    };
    match function {
        Function::Abs => Ok(first.with(first.real.abs())),
        Function::Ceil => Ok(first.with(first.real.round(BigRational::ceil))),
        Function::Floor => Ok(first.with(first.real.round(BigRational::floor))),
        Function::Trunc => Ok(first.with(first.real.round(BigRational::trunc))),
        Function::Round => match second {
            None => Ok(first.with(first.real.round(BigRational::round))),
            Some(places) => round_to(first, places),
        },
        Function::Acos => bounded(first, "acos", -1.0..=1.0, f64::acos),
        Function::Asin => bounded(first, "asin", -1.0..=1.0, f64::asin),
        Function::Acosh => bounded(first, "acosh", 1.0..=f64::MAX, f64::acosh),
        Function::Atan => bounded(first, "atan", f64::MIN..=f64::MAX, f64::atan),
        Function::Atanh => bounded(first, "atanh", -1.0..=1.0, f64::atanh),
        Function::Asinh => bounded(first, "asinh", f64::MIN..=f64::MAX, f64::asinh),
        Function::Tanh => bounded(first, "tanh", f64::MIN..=f64::MAX, f64::tanh),
        Function::Sinh => hyperbolic(first, true),
        Function::Cosh => hyperbolic(first, false),
        Function::Cos => circular("cos", first, 3, f64::cos),
        Function::Sin => circular("sin", first, 0, f64::sin),
        Function::Tan => tangent(first),
        Function::Cot => evaluator.divide(&whole(1), &tangent(first)?),
        Function::Exp => exponential(first),
        Function::Ln => logarithm(first, None),
        Function::LogTwo => logarithm(first, Some(&whole(2))),
        Function::Log => logarithm(first, Some(second.unwrap_or(&ten))),
        Function::Sqrt => root(evaluator, first, &whole(2)),
        Function::Cbrt => root(evaluator, first, &whole(3)),
        Function::Factorial => factorial(first),
        Function::Choose => selections(first, required()?, false),
        Function::Permute => selections(first, required()?, true),
        Function::Mod => remainder(evaluator, first, required()?),
        Function::Pow => power(first, required()?),
        Function::Root => root(evaluator, first, required()?),
        Function::Gcd => fold(&|a, b| common(a, b, BigInt::gcd)),
        Function::Lcm => fold(&|a, b| common(a, b, BigInt::lcm)),
        Function::Max => fold(&|a, b| extreme(evaluator, a, b, false)),
        Function::Min => fold(&|a, b| extreme(evaluator, a, b, true)),
        Function::Sum => fold(&|a, b| evaluator.add(a, b)),
        Function::Mean => {
            let sum = fold(&|a, b| evaluator.add(a, b))?;
            let count = i64::try_from(arguments.len()).unwrap_or(i64::MAX);
            evaluator.divide(&sum, &whole(count))
        }
    }
}

/// Returns the remainder with the sign of the divisor, for any real numbers.
pub(crate) fn remainder(
    evaluator: &Evaluator<'_>,
    value: &Value,
    divisor: &Value,
) -> Result<Value, CalculationError> {
    let quotient = evaluator.divide(value, divisor)?;
    let turns = quotient.with(quotient.real.round(BigRational::floor));
    evaluator.subtract(value, &evaluator.multiply(divisor, &turns)?)
}

/// Raises a value to a power.
pub(crate) fn power(base: &Value, exponent: &Value) -> Result<Value, CalculationError> {
    let power = exponent
        .plain()
        .ok_or_else(|| CalculationError::domain("an exponent must be a plain number"))?;
    if base.unit.is_none() {
        return number_power(&base.real, &power).map(Value::from);
    }
    if power.abs().to_f64() > 100.0 {
        return Err(CalculationError::domain(
            "a quantity cannot be raised to this power",
        ));
    }
    Ok(Value {
        real: number_power(&base.real, &power)?,
        unit: Unit::default().times(&base.unit, &power.ratio()),
    })
}

fn number_power(base: &Real, exponent: &Real) -> Result<Real, CalculationError> {
    if base.is_zero() {
        return if exponent.is_zero() {
            Err(CalculationError::domain(
                "zero to the power of zero is undefined",
            ))
        } else if exponent.is_negative() {
            Err(CalculationError::DivisionByZero)
        } else {
            Ok(base.clone())
        };
    }
    if base.is(1) {
        return Ok(base.clone());
    }
    check_magnitude(exponent.to_f64() * base.log10())?;
    let Some(whole) = exponent.whole() else {
        if base.is_negative() {
            return Err(CalculationError::domain(
                "a negative number to a fractional power is not a real number: for a cube root use cbrt(x)",
            ));
        }
        let fraction = exponent.ratio();
        let (above, below) = (fraction.numer().to_i32(), fraction.denom().to_u32());
        if exponent.is_exact()
            && let (Some(above @ -20..=20), Some(below @ 2..=10)) = (above, below)
            && let Some(root) = base.root(below)
        {
            return root.power(above);
        }
        return Real::exp(&(base.ln() * fraction));
    };
    // Whole numbers stay exact; exact fractions of that many digits would be slow and of no use.
    let size = base.size() * whole.to_f64().unwrap_or(f64::INFINITY).abs();
    if let Some(small) = whole.to_i32()
        && (size <= MAX_FRACTION_SIZE
            || base.is_exact() && exponent.is_exact() && base.whole().is_some())
    {
        return Ok(base.power(small)?.limited_by(exponent));
    }
    if base.is(-1) {
        return Ok(if whole.is_odd() {
            base.clone()
        } else {
            base.negate()
        });
    }
    let size = Real::exp(&(base.abs().ln() * whole.clone()))?;
    Ok(if base.is_negative() && whole.is_odd() {
        size.negate()
    } else {
        size
    })
}

fn root(
    evaluator: &Evaluator<'_>,
    value: &Value,
    degree: &Value,
) -> Result<Value, CalculationError> {
    let exponent = evaluator.divide(&Real::from(1).into(), degree)?;
    if !value.real.is_negative() || value.plain().is_none() {
        return power(value, &exponent);
    }
    if degree.real.whole().is_some_and(|degree| degree.is_odd()) {
        let opposite = power(&value.with(value.real.negate()), &exponent)?;
        return Ok(opposite.with(opposite.real.negate()));
    }
    Err(CalculationError::domain(
        "the root of a negative number is not a real number",
    ))
}

fn exponential(value: &Value) -> Result<Value, CalculationError> {
    let power = plain(value, "exp")?;
    if power.is_zero() {
        return Ok(Real::from(1).into());
    }
    check_magnitude(power.to_f64() * std::f64::consts::LOG10_E)?;
    Real::exp(&power.ratio()).map(Value::from)
}

/// The logarithm to a base, or the natural one; an integer if that is exact.
fn logarithm(value: &Value, base: Option<&Value>) -> Result<Value, CalculationError> {
    let value = plain(value, "a logarithm")?;
    if value.is_zero() || value.is_negative() {
        return Err(CalculationError::domain(
            "a logarithm is defined only for numbers above zero",
        ));
    }
    if value.is(1) && value.is_exact() {
        return Ok(Real::from(0).into());
    }
    let Some(base) = base else {
        return Ok(Real::approximate(value.ln()).into());
    };
    let base = plain(base, "the base of a logarithm")?;
    if base.is_zero() || base.is_negative() || base.is(1) {
        return Err(CalculationError::domain(
            "the base of a logarithm must be above zero, and not one",
        ));
    }
    let result = value.ln() / base.ln();
    if let Some(turns) = result.round().to_integer().to_i32()
        && value.is_exact()
        && base.is_exact()
        && f64::from(turns).abs() < MAX_LOG
        && (base.size() * f64::from(turns).abs() < value.size() * 2.0 + 20.0)
        && base.power(turns)? == value
    {
        return Ok(Real::from(i64::from(turns)).into());
    }
    Ok(Real::approximate(result).into())
}

fn tangent(value: &Value) -> Result<Value, CalculationError> {
    let angle = plain(value, "tan")?;
    let quarters = angle.turns().map(|turns| turns * BigInt::from(4));
    let quarters = quarters.filter(BigRational::is_integer);
    match quarters.and_then(|quarters| quarters.to_integer().mod_floor(&BigInt::from(4)).to_i64()) {
        Some(2) => Err(CalculationError::domain(
            "tan is not defined for this angle",
        )),
        Some(exact) => Ok(Real::from([0, 1, 0, -1][exact as usize % 4]).into()),
        None => circular("tan", value, 1, f64::tan),
    }
}

/// The sine of an angle, or the same a number of twelfths of a turn later; exact where it is known to be.
fn circular(
    name: &str,
    value: &Value,
    later: i64,
    function: fn(f64) -> f64,
) -> Result<Value, CalculationError> {
    let angle = plain(value, name)?;
    if name != "tan"
        && let Some(twelfths) = angle.turns().map(|turns| turns * BigInt::from(6))
        && twelfths.is_integer()
    {
        let twelfths: BigInt = twelfths.to_integer() + later;
        let halves = match twelfths.mod_floor(&BigInt::from(12)).to_i64() {
            Some(0 | 6) => Some(0),
            Some(1 | 5) => Some(1),
            Some(3) => Some(2),
            Some(7 | 11) => Some(-1),
            Some(9) => Some(-2),
            Some(_) | None => None,
        };
        if let Some(halves) = halves {
            return Ok(Real::from(halves).divide(&Real::from(2))?.into());
        }
    }
    let float = angle.to_f64();
    if float.abs() > 1e15 {
        return Err(CalculationError::domain(format!(
            "the angle is too large for {name} to mean anything"
        )));
    }
    Ok(Real::float(function(float)).into())
}

/// A function that is defined between two bounds; its zero, at zero or one, is exact.
fn bounded(
    value: &Value,
    name: &str,
    bounds: std::ops::RangeInclusive<f64>,
    function: fn(f64) -> f64,
) -> Result<Value, CalculationError> {
    let argument = plain(value, name)?;
    let result = function(argument.to_f64());
    if !bounds.contains(&argument.to_f64()) || !result.is_finite() {
        return Err(CalculationError::domain(format!(
            "{name} is not defined for this value"
        )));
    }
    if result == 0.0 && (argument.is_zero() || argument.is(1)) {
        return Ok(Real::from(0).into());
    }
    Ok(Real::float(result).into())
}

fn hyperbolic(value: &Value, is_sine: bool) -> Result<Value, CalculationError> {
    let power = plain(value, "a hyperbolic function")?;
    if power.is_zero() {
        return Ok(Real::from(i64::from(!is_sine)).into());
    }
    let float = power.to_f64();
    check_magnitude(float.abs() * std::f64::consts::LOG10_E)?;
    if is_sine && float.abs() < 1e-9 {
        // The difference of two numbers near one would have few significant digits.
        return Ok(Real::float(float.sinh()).into());
    }
    let up = Real::exp(&power.ratio())?;
    let down = Real::exp(&-power.ratio())?;
    let down = if is_sine { down.negate() } else { down };
    Ok(up.add(&down)?.divide(&Real::from(2))?.into())
}

fn round_to(value: &Value, places: &Value) -> Result<Value, CalculationError> {
    let places = places.plain().and_then(|places| places.whole()?.to_i32());
    let places = places
        .filter(|places| (-100..=100).contains(places))
        .ok_or_else(|| {
            CalculationError::domain("round(x, n) takes a whole number n from -100 to 100")
        })?;
    let scale = Real::from(10).power(places)?;
    let scaled = value.real.multiply(&scale)?.round(BigRational::round);
    Ok(value.with(scaled.divide(&scale)?))
}

/// Returns the factorial.
pub(crate) fn factorial(value: &Value) -> Result<Value, CalculationError> {
    let number = counting(value, "a factorial")?;
    check_magnitude(factorial_log(number))?;
    let product = (2..=number).fold(BigInt::from(1), |product, factor| product * factor);
    Ok(counted(product, &[value]))
}

/// The number of ways to choose some elements of a set.
fn selections(of: &Value, chosen: &Value, is_ordered: bool) -> Result<Value, CalculationError> {
    let number = counting(of, "a number of choices")?;
    let taken = counting(chosen, "a number of choices")?;
    if taken > number {
        return Ok(Real::from(0).into());
    }
    check_magnitude(factorial_log(number))?;
    let steps = if is_ordered {
        taken
    } else {
        taken.min(number - taken)
    };
    let ways = (0..steps).fold(BigInt::from(1), |ways, index| {
        let ways = ways * (number - index);
        if is_ordered { ways } else { ways / (index + 1) }
    });
    Ok(counted(ways, &[of, chosen]))
}

/// A whole number made of others, as exact as they are.
fn counted(number: BigInt, from: &[&Value]) -> Value {
    let real = Real::exact(BigRational::from(number));
    let real = from
        .iter()
        .fold(real, |real, value| real.limited_by(&value.real));
    real.into()
}

/// The larger of two values or the smaller one, in the unit of the left one.
fn extreme(
    evaluator: &Evaluator<'_>,
    left: &Value,
    right: &Value,
    is_smaller: bool,
) -> Result<Value, CalculationError> {
    let difference = evaluator.subtract(left, right)?;
    if difference.real.is_zero() || difference.real.is_negative() == is_smaller {
        return Ok(left.clone());
    }
    evaluator.subtract(left, &difference)
}

/// The greatest common divisor of whole numbers, or the least common multiple.
fn common(
    left: &Value,
    right: &Value,
    function: fn(&BigInt, &BigInt) -> BigInt,
) -> Result<Value, CalculationError> {
    let whole = |value: &Value| value.plain().and_then(|real| real.whole());
    let (Some(a), Some(b)) = (whole(left), whole(right)) else {
        return Err(CalculationError::domain("gcd and lcm take whole numbers"));
    };
    if a.is_zero() && b.is_zero() {
        return Err(CalculationError::domain(
            "gcd and lcm of zeros are undefined",
        ));
    }
    // Checks the size, too.
    let result = counted(function(&a, &b).abs(), &[left, right]);
    Ok(result.with(result.real.multiply(&Real::from(1))?))
}

/// Returns the value as a non-negative integer.
fn counting(value: &Value, what: &str) -> Result<u64, CalculationError> {
    let number = plain(value, what)?;
    if number.log10() > 15.0 && !number.is_negative() {
        return Err(CalculationError::Overflow);
    }
    number
        .whole()
        .and_then(|whole| whole.to_u64())
        .ok_or_else(|| {
            CalculationError::domain(format!(
                "{what} is defined only for whole numbers from zero upwards"
            ))
        })
}

fn plain(value: &Value, name: &str) -> Result<Real, CalculationError> {
    value.plain().ok_or_else(|| {
        CalculationError::domain(format!("{name} takes a plain number, without a unit"))
    })
}

/// Refuses numbers of more than 10000 digits or decimals, by their logarithm to base 10.
fn check_magnitude(log: f64) -> Result<(), CalculationError> {
    if log > MAX_LOG {
        Err(CalculationError::Overflow)
    } else if log < -MAX_LOG {
        Err(CalculationError::Underflow)
    } else {
        Ok(())
    }
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

/// The most digits of a number before or after the point.
const MAX_LOG: f64 = 10_000.0;

/// The most digits of a fraction that is raised to a power exactly: with more digits its decimals could not be
/// written in full anyway.
const MAX_FRACTION_SIZE: f64 = 2_000.0;
