//! The functions: exact where there is an exact result, and those of floats elsewhere.

use std::f64::consts::E;
use std::ops::RangeInclusive;

use num::{BigInt, BigRational, Integer as _, One as _, Signed as _, ToPrimitive as _, Zero as _};

use super::number::{Number, bounded, gcd, too_large, undefined};
use crate::answer::ToolFault;

type Outcome = Result<Number, ToolFault>;

/// A function of as many arguments as it takes.
pub(super) type Function = fn(&[Number]) -> Outcome;

/// Finds a function: how many arguments it takes, and the function.
pub(super) fn named(name: &str) -> Option<(&'static RangeInclusive<usize>, Function)> {
    let mut rows = FUNCTIONS.iter();
    let row = rows.find(|(names, ..)| names.split(' ').any(|known| known == name))?;
    Some((&row.1, row.2))
}

/// The usual names of all functions.
pub(super) fn names() -> String {
    let names = FUNCTIONS
        .iter()
        .filter_map(|(names, ..)| names.split(' ').next());
    names.collect::<Vec<_>>().join(" ")
}

/// The remainder with the sign of the divisor.
pub(super) fn remainder(value: &Number, divisor: &Number) -> Outcome {
    let turns = match (value, divisor) {
        // The fraction itself is not needed, and may take long to reduce.
        (Number::Exact(a), Number::Exact(b)) if !b.is_zero() => {
            let turns = (a.numer() * b.denom()).div_floor(&(a.denom() * b.numer()));
            Number::Exact(BigRational::from(turns))
        }
        _ => rounded(&value.divide(divisor)?, BigRational::floor, f64::floor)?,
    };
    value.add(&divisor.multiply(&turns)?.negate())
}

pub(super) fn factorial(value: &Number) -> Outcome {
    let number = count(value)?;
    Ok(Number::Exact(falling(number, number)?.into()))
}

fn smooth(value: &Number, function: fn(f64) -> f64) -> Outcome {
    let result = function(value.to_f64()?);
    match value.whole().and_then(BigInt::to_i32) {
        // Zeros and ones of zeros and ones are exact.
        Some(0 | 1) if result == 0.0 || result == 1.0 => Ok(Number::from(result as i32)),
        _ => Number::float(result),
    }
}

/// The angle as this part of half a turn, if it is a whole number of them, within one turn.
fn parts(angle: &Number, part: i64) -> Option<i64> {
    let Number::Pi(ratio) = angle else {
        return None;
    };
    let (parts, rest) = (ratio.numer() * part).div_rem(ratio.denom());
    parts
        .mod_floor(&BigInt::from(2 * part))
        .to_i64()
        .filter(|_| rest.is_zero())
}

fn circular(angle: &Number, function: fn(f64) -> f64) -> Outcome {
    if angle.to_f64()?.abs() > 1e15 {
        return Err(undefined(
            "the angle is too large for its functions to mean anything",
        ));
    }
    smooth(angle, function)
}

/// The sine of an angle and so many sixths of half a turn, or this function.
fn sine(angle: &Number, later: i64, function: fn(f64) -> f64) -> Outcome {
    let halves = match parts(angle, 6).map(|sixths| (sixths + later) % 12) {
        Some(0 | 6) => 0,
        Some(1 | 5) => 1,
        Some(3) => 2,
        Some(7 | 11) => -1,
        Some(9) => -2,
        Some(_) | None => return circular(angle, function),
    };
    Number::from(halves).divide(&Number::from(2))
}

fn tangent(angle: &Number) -> Outcome {
    match parts(angle, 4).map(|quarters| quarters % 4) {
        Some(0) => Ok(Number::from(0)),
        Some(1) => Ok(Number::from(1)),
        Some(2) => Err(undefined("tan is not defined for this angle")),
        Some(_) => Ok(Number::from(-1)),
        None => circular(angle, f64::tan),
    }
}

/// The logarithm to a base, which is whole if that is exact.
fn logarithm(value: &Number, base: &Number) -> Outcome {
    if value.sign().is_le() {
        return Err(undefined(
            "a logarithm is defined only for numbers above zero",
        ));
    }
    if base.sign().is_le() || base.compare(&Number::from(1))?.is_eq() {
        return Err(undefined(
            "the base of a logarithm must be above zero, and not one",
        ));
    }
    let result = value.ln() / base.ln();
    let whole = Number::from(result.round() as i32);
    if let (Number::Exact(value), Ok(Number::Exact(power))) = (value, base.power(&whole))
        && (value.numer(), value.denom()) == (power.numer(), power.denom())
    {
        return Ok(whole);
    }
    Number::float(result)
}

fn root(value: &Number, degree: &Number) -> Outcome {
    let exponent = Number::from(1).divide(degree)?;
    if value.sign().is_ge() {
        return value.power(&exponent);
    }
    if degree.whole().is_some_and(BigInt::is_odd) {
        return Ok(value.clone().negate().power(&exponent)?.negate());
    }
    Err(undefined(
        "the root of a negative number is not a real number",
    ))
}

fn rounded(
    value: &Number,
    exact: fn(&BigRational) -> BigRational,
    float: fn(f64) -> f64,
) -> Outcome {
    match value {
        Number::Exact(ratio) => Ok(Number::Exact(exact(ratio))),
        Number::Float(_) | Number::Pi(_) => Number::float(float(value.to_f64()?)),
    }
}

fn round(arguments: &[Number]) -> Outcome {
    let places = arguments
        .get(1)
        .map_or(Some(0), |places| places.whole()?.to_i32());
    let Some(places @ -100..=100) = places else {
        return Err(undefined(
            "round(x, n) takes a whole number n from -100 to 100",
        ));
    };
    let scale = Number::from(10).power(&Number::from(places))?;
    let scaled = arguments[0].multiply(&scale)?;
    rounded(&scaled, BigRational::round, f64::round)?.divide(&scale)
}

fn count(value: &Number) -> Result<u64, ToolFault> {
    let number = value.whole().filter(|number| !number.is_negative());
    let refused = || undefined("only whole numbers from zero upwards can be counted");
    number.ok_or_else(refused)?.to_u64().ok_or_else(too_large)
}

/// So many factors: the number, and each one less than the one before.
fn falling(number: u64, factors: u64) -> Result<BigInt, ToolFault> {
    (0..factors).try_fold(BigInt::one(), |product, index| {
        bounded(product * (number - index))
    })
}

/// The number of ways to choose some elements of a set.
fn choices(of: &Number, chosen: &Number, is_ordered: bool) -> Outcome {
    let (number, chosen) = (count(of)?, count(chosen)?);
    let ways = match number.checked_sub(chosen) {
        None => BigInt::zero(),
        Some(_) if is_ordered => falling(number, chosen)?,
        Some(left) => {
            let chosen = chosen.min(left);
            falling(number, chosen)? / falling(chosen, chosen)?
        }
    };
    Ok(Number::Exact(ways.into()))
}

fn whole_numbers(
    numbers: &[Number],
    join: fn(&BigInt, &BigInt) -> Result<BigInt, ToolFault>,
) -> Outcome {
    let refused = || undefined("gcd and lcm take whole numbers");
    let mut whole = numbers
        .iter()
        .map(|number| number.whole().ok_or_else(refused));
    let first = whole.next().ok_or_else(refused)??.abs();
    let joined = whole.try_fold(first, |joined, next| join(&joined, next?))?;
    Ok(Number::Exact(joined.into()))
}

fn multiple(a: &BigInt, b: &BigInt) -> Result<BigInt, ToolFault> {
    let common = gcd(a, b)?.max(BigInt::one());
    bounded((a / common * b).abs())
}

fn extreme(numbers: &[Number], is_largest: bool) -> Outcome {
    let mut found = &numbers[0];
    for number in numbers {
        let order = number.compare(found)?;
        if (is_largest && order.is_gt()) || (!is_largest && order.is_lt()) {
            found = number;
        }
    }
    Ok(found.clone())
}

fn sum(numbers: &[Number]) -> Outcome {
    numbers
        .iter()
        .try_fold(Number::from(0), |sum, next| sum.add(next))
}

const MANY: RangeInclusive<usize> = 1..=usize::MAX;

/// The names of each, the usual one first; how many arguments it takes; what it does with them.
#[rustfmt::skip]
const FUNCTIONS: &[(&str, RangeInclusive<usize>, Function)] = &[
    ("abs", 1..=1, |x| Ok(if x[0].sign().is_lt() { x[0].clone().negate() } else { x[0].clone() })),
    ("ceil ceiling", 1..=1, |x| rounded(&x[0], BigRational::ceil, f64::ceil)),
    ("floor", 1..=1, |x| rounded(&x[0], BigRational::floor, f64::floor)),
    ("trunc", 1..=1, |x| rounded(&x[0], BigRational::trunc, f64::trunc)),
    ("round", 1..=2, round),
    ("sqrt", 1..=1, |x| root(&x[0], &Number::from(2))),
    ("cbrt", 1..=1, |x| root(&x[0], &Number::from(3))),
    ("root", 2..=2, |x| root(&x[0], &x[1])),
    ("pow power", 2..=2, |x| x[0].power(&x[1])),
    ("exp", 1..=1, |x| Number::Float(E).power(&x[0])),
    ("ln", 1..=1, |x| logarithm(&x[0], &Number::Float(E))),
    ("log log10 lg", 1..=2, |x| logarithm(&x[0], &x.get(1).cloned().unwrap_or_else(|| Number::from(10)))),
    ("log2", 1..=1, |x| logarithm(&x[0], &Number::from(2))),
    ("sin", 1..=1, |x| sine(&x[0], 0, f64::sin)),
    ("cos", 1..=1, |x| sine(&x[0], 3, f64::cos)),
    ("tan tg", 1..=1, |x| tangent(&x[0])),
    ("cot ctg", 1..=1, |x| Number::from(1).divide(&tangent(&x[0])?)),
    ("asin arcsin", 1..=1, |x| smooth(&x[0], f64::asin)),
    ("acos arccos", 1..=1, |x| smooth(&x[0], f64::acos)),
    ("atan arctan arctg", 1..=1, |x| smooth(&x[0], f64::atan)),
    ("sinh", 1..=1, |x| smooth(&x[0], f64::sinh)),
    ("cosh", 1..=1, |x| smooth(&x[0], f64::cosh)),
    ("tanh", 1..=1, |x| smooth(&x[0], f64::tanh)),
    ("asinh arcsinh", 1..=1, |x| smooth(&x[0], f64::asinh)),
    ("acosh arccosh", 1..=1, |x| smooth(&x[0], f64::acosh)),
    ("atanh arctanh", 1..=1, |x| smooth(&x[0], f64::atanh)),
    ("mod", 2..=2, |x| remainder(&x[0], &x[1])),
    ("factorial fact", 1..=1, |x| factorial(&x[0])),
    ("ncr comb choose binomial", 2..=2, |x| choices(&x[0], &x[1], false)),
    ("npr perm", 2..=2, |x| choices(&x[0], &x[1], true)),
    ("gcd", MANY, |x| whole_numbers(x, gcd)),
    ("lcm", MANY, |x| whole_numbers(x, multiple)),
    ("min", MANY, |x| extreme(x, false)),
    ("max", MANY, |x| extreme(x, true)),
    ("sum", MANY, sum),
    ("mean avg average", MANY, |x| sum(x)?.divide(&Number::from(x.len() as i32))),
];
