//! Units: fend-core knows what they are, and gets no more than one operation on them.
//!
//! Its parser takes exponential time for some nested expressions, which cannot be interrupted, and its functions
//! are those of floats. So the numbers are ours, and a unit is a text that it wrote or reads.

use fend_core::{Context, Interrupt as _};
use num::{BigInt, BigRational, One as _, Zero as _};

use super::evaluate::Value;
use super::fault::CalculationError;
use super::real::{Real, fraction};
use super::thread::Deadline;

/// A product of units with powers; without any, there is no unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Unit(Vec<(String, BigRational)>);

impl Unit {
    pub(crate) fn named(name: &str) -> Self {
        Self(vec![(name.to_owned(), BigRational::one())])
    }

    pub(crate) const fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Its name, if it is no product.
    fn name(&self) -> Option<&str> {
        match self.0.as_slice() {
            [(name, power)] if power.is_one() => Some(name),
            _ => None,
        }
    }

    /// This unit times another one to a power.
    pub(crate) fn times(mut self, other: &Self, exponent: &BigRational) -> Self {
        for (name, power) in &other.0 {
            let power = power * exponent;
            match self.0.iter_mut().find(|(known, _)| known == name) {
                Some((_, known)) => *known += power,
                None => self.0.push((name.clone(), power)),
            }
        }
        self.0.retain(|(_, power)| !power.is_zero());
        self
    }

    /// How many radians it is, if it is an angle or nothing.
    pub(crate) fn radians(&self) -> Option<Real> {
        match self.name() {
            None => self.is_none().then(|| Real::from(1)),
            Some("rad" | "radian" | "radians") => Some(Real::from(1)),
            Some("deg" | "degs" | "degree" | "degrees") => Real::pi().divide(&Real::from(180)).ok(),
            Some("turn" | "turns") => Real::pi().multiply(&Real::from(2)).ok(),
            Some(_) => None,
        }
    }
}

impl std::fmt::Display for Unit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(name) = self.name() {
            return f.write_str(name);
        }
        let mut between = "";
        for (name, power) in &self.0 {
            write!(f, "{between}({name})^({power})")?;
            between = " * ";
        }
        Ok(())
    }
}

/// Works out an operation in fend-core's own words.
pub(crate) fn work_out(
    operation: &str,
    exact: bool,
    deadline: &Deadline<'_>,
) -> Result<Value, CalculationError> {
    let written = evaluate(&format!("{operation} to fraction"), deadline)?;
    let number = written.strip_prefix("approx. ");
    let exact = exact && number.is_none();
    let number = number.unwrap_or(&written);
    let (number, unit) = number.split_once(' ').unwrap_or((number, ""));
    let (above, below) = number.split_once('/').unwrap_or((number, "1"));
    let whole = |digits: &str| digits.parse::<BigInt>().ok();
    let (Some(above), Some(below)) = (whole(above), whole(below).filter(|below| !below.is_zero()))
    else {
        return Err(CalculationError::domain("the result is not a real number"));
    };
    let ratio = fraction(above, below);
    Ok(Value {
        real: if exact {
            Real::exact(ratio)
        } else {
            Real::approximate(ratio)
        },
        unit: if unit.is_empty() {
            Unit::default()
        } else {
            Unit::named(&unit.replace(" / ", "/"))
        },
    })
}

/// The value in the unit that it is shown in, and the name of that.
pub(crate) fn shown(
    value: &Value,
    deadline: &Deadline<'_>,
) -> Result<(Real, String), CalculationError> {
    let value = match value.unit.name() {
        Some(_) => value.clone(),
        None => {
            let factor = work_out(&value.unit.to_string(), true, deadline)?;
            factor.with(value.real.multiply(&factor.real)?)
        }
    };
    let count = if value.real.is(1) { "1" } else { "2" };
    // Without a conversion the engine would choose another unit.
    let written = evaluate(&format!("{count} ({0}) to ({0})", value.unit), deadline)?;
    let name = written.strip_prefix("approx. ").unwrap_or(&written);
    let name = name.trim_start_matches(|c: char| c.is_ascii_digit()).trim();
    let name = if name == "degs" { "deg" } else { name };
    Ok((value.real, name.replace(" / ", "/")))
}

/// A value in fend-core's words.
pub(crate) fn written(value: &Value) -> String {
    format!("(({}) {})", value.real.ratio(), value.unit)
}

fn evaluate(text: &str, deadline: &Deadline<'_>) -> Result<String, CalculationError> {
    let result = fend_core::evaluate_with_interrupt(text, &mut Context::new(), deadline);
    result
        .map(|result| result.get_main_result().to_owned())
        .map_err(|message| classify(&message, deadline))
}

/// Its errors are only texts.
fn classify(message: &str, deadline: &Deadline<'_>) -> CalculationError {
    if deadline.should_interrupt() || message == "interrupted" {
        return deadline.fault();
    }
    match message {
        "division by zero" => CalculationError::DivisionByZero,
        "exponent too large" | "value is too large" => CalculationError::Overflow,
        other => {
            // Some errors contain numbers of any length.
            let other: String = other.chars().take(200).collect();
            CalculationError::domain(other.replace("unitless", "a plain number"))
        }
    }
}
