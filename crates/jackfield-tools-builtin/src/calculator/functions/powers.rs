//! Powers, roots and logarithms: exact if the result is, and within the limit on size.

use super::super::evaluate::{Evaluator, MAX_LOG, Value, check_magnitude};
use super::super::fault::CalculationError;
use super::super::wide::DoubleDouble;
use super::{plain, plain_whole};

/// Raises a value to a power.
pub(crate) fn power(
    evaluator: &mut Evaluator<'_>,
    base: Value,
    exponent: Value,
) -> Result<Value, CalculationError> {
    let Some(exponent_wide) = exponent.wide else {
        return Err(CalculationError::domain(
            "an exponent must be a plain number",
        ));
    };
    if exponent_wide.nearest().abs() > 1e15 && base.wide.is_none_or(|wide| !is_trivial(wide)) {
        return Err(match base.wide.map(|wide| wide.abs().log10() > 0.0) {
            Some(above_one) if above_one != exponent_wide.is_negative() => {
                CalculationError::Overflow
            }
            Some(_) => CalculationError::Underflow,
            None => CalculationError::domain("a quantity cannot be raised to this power"),
        });
    }
    let whole_exponent = exponent_wide.whole();
    let Some(base_wide) = base.wide else {
        // A quantity: the engine handles the unit, so the exponent must be small.
        return if exponent_wide.abs().nearest() <= 100.0 {
            exact_power(evaluator, base, exponent)
        } else {
            Err(CalculationError::domain(
                "a quantity cannot be raised to this power",
            ))
        };
    };
    if evaluator.is_zero(base)? {
        return if exponent_wide.is_zero() {
            Err(CalculationError::domain(
                "zero to the power of zero is undefined",
            ))
        } else if exponent_wide.is_negative() {
            Err(CalculationError::DivisionByZero)
        } else {
            Ok(base)
        };
    }
    if evaluator.is_exactly(base, 1)? {
        return Ok(base);
    }
    check_magnitude(exponent_wide.nearest() * base_wide.log10())?;
    match whole_exponent {
        Some(whole) => whole_power(evaluator, base, base_wide, exponent, whole),
        None if base_wide.is_negative() => Err(CalculationError::domain(
            "a negative number to a fractional power is not a real number: for a cube root use cbrt(x)",
        )),
        None => {
            if is_simple_fraction(exponent) && base.size <= MAX_FRACTION_SIZE / 10.0 {
                let result = exact_power(evaluator, base, exponent)?;
                if evaluator.engine.is_exact(result.register)? {
                    return Ok(result);
                }
            }
            evaluator.approximate(base_wide.power_of(exponent_wide))
        }
    }
}

/// Integers stay exact unless they are too large to be written. Exact fractions with that many digits would be slow
/// and of no use.
fn whole_power(
    evaluator: &mut Evaluator<'_>,
    base: Value,
    base_wide: DoubleDouble,
    exponent: Value,
    whole: i64,
) -> Result<Value, CalculationError> {
    let size = base.size * whole.abs() as f64;
    let exact = evaluator.engine.is_exact(exponent.register)?;
    if exact && (base.whole || size <= MAX_FRACTION_SIZE) {
        let result = exact_power(evaluator, base, exponent)?;
        return Ok(Value {
            whole: base.whole && whole >= 0,
            ..result
        });
    }
    let power = base_wide.abs().power(whole.unsigned_abs());
    let power = if whole < 0 {
        DoubleDouble::from(1.0) / power
    } else {
        power
    };
    evaluator.approximate(if base_wide.is_negative() && whole % 2 != 0 {
        -power
    } else {
        power
    })
}

/// Computes the power with the engine, which is slow for large ones.
fn exact_power(
    evaluator: &mut Evaluator<'_>,
    base: Value,
    exponent: Value,
) -> Result<Value, CalculationError> {
    let operation = format!("{} ^ {}", base.register, exponent.register);
    let register = evaluator.engine.keep(&operation)?;
    let wide = base.wide.zip(exponent.wide).map(|(base, exponent)| {
        let size = match exponent.whole() {
            Some(whole) if whole < 0 => {
                DoubleDouble::from(1.0) / base.abs().power(whole.unsigned_abs())
            }
            Some(whole) => base.abs().power(whole.unsigned_abs()),
            None => base.abs().power_of(exponent),
        };
        let odd = exponent.whole().is_some_and(|whole| whole % 2 != 0);
        if base.is_negative() && odd {
            -size
        } else {
            size
        }
    });
    let times = exponent.wide.map_or(1.0, |wide| wide.abs().nearest());
    Ok(Value {
        register,
        wide,
        rough: wide.is_some() && (base.rough || exponent.rough),
        size: base.size * times.max(1.0),
        whole: false,
    })
}

/// Returns whether all powers of the number have its size.
fn is_trivial(base: DoubleDouble) -> bool {
    base.is_zero() || base.abs().whole() == Some(1)
}

pub(crate) fn exponential(
    evaluator: &mut Evaluator<'_>,
    value: Value,
) -> Result<Value, CalculationError> {
    let wide = plain(value, "exp")?;
    if evaluator.is_exactly(value, 0)? {
        return evaluator.whole(1);
    }
    check_magnitude(wide.nearest() * std::f64::consts::LOG10_E)?;
    evaluator.approximate(wide.exp())
}

/// The logarithm to a base, or the natural one; an integer if that is exact.
pub(crate) fn logarithm(
    evaluator: &mut Evaluator<'_>,
    value: Value,
    base: Option<Value>,
) -> Result<Value, CalculationError> {
    let wide = plain(value, "a logarithm")?;
    if wide.is_zero() || wide.is_negative() {
        return Err(CalculationError::domain(
            "a logarithm is defined only for numbers above zero",
        ));
    }
    if evaluator.is_exactly(value, 1)? {
        return evaluator.whole(0);
    }
    let Some(base) = base else {
        return evaluator.approximate(DoubleDouble::from(wide.ln()));
    };
    let base_wide = plain(base, "the base of a logarithm")?;
    if base_wide.is_zero() || base_wide.is_negative() || base_wide.ln() == 0.0 {
        return Err(CalculationError::domain(
            "the base of a logarithm must be above zero, and not one",
        ));
    }
    let result = wide.ln() / base_wide.ln();
    if (result - result.round()).abs() < 1e-9 && result.abs() < MAX_LOG {
        let turns = evaluator.whole(result.round().abs() as u32)?;
        let turns = if result < 0.0 {
            evaluator.negate(turns)?
        } else {
            turns
        };
        let back = power(evaluator, base, turns)?;
        let difference = evaluator.subtract(back, value)?;
        if evaluator.is_zero(difference)? && evaluator.engine.is_exact(difference.register)? {
            return Ok(turns);
        }
    }
    evaluator.approximate(DoubleDouble::from(result))
}

pub(crate) fn root(
    evaluator: &mut Evaluator<'_>,
    value: Value,
    degree: Value,
) -> Result<Value, CalculationError> {
    let one = evaluator.whole(1)?;
    let exponent = evaluator.divide(one, degree)?;
    let negative = value.wide.is_some_and(DoubleDouble::is_negative);
    if !negative {
        let square = evaluator.is_exactly(degree, 2)?;
        let result = power(evaluator, value, exponent)?;
        return match value.wide {
            Some(wide) if square && !evaluator.engine.is_exact(result.register)? => {
                evaluator.approximate(wide.root())
            }
            Some(_) | None => Ok(result),
        };
    }
    if plain_whole(degree).is_some_and(|degree| degree % 2 != 0) {
        let opposite = evaluator.negate(value)?;
        let result = power(evaluator, opposite, exponent)?;
        return evaluator.negate(result);
    }
    Err(CalculationError::domain(
        "the root of a negative number is not a real number",
    ))
}

/// Returns whether an exponent is a fraction like 1/2 or 2/3, whose root may be exact.
fn is_simple_fraction(exponent: Value) -> bool {
    let is_fraction = |wide: DoubleDouble| {
        (2..=10).any(|denominator| {
            let numerator = wide * DoubleDouble::from(f64::from(denominator));
            numerator
                .whole()
                .is_some_and(|numerator| numerator.abs() <= 20)
        })
    };
    exponent.size < 8.0 && exponent.wide.is_some_and(is_fraction)
}

/// The most digits of a fraction that is raised to a power exactly: with more digits its decimals could not be
/// written in full anyway.
const MAX_FRACTION_SIZE: f64 = 2_000.0;
