//! The names in expressions: functions, constants and units.

/// A function.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[rustfmt::skip]
pub(crate) enum Function {
    Abs, Acos, Acosh, Asin, Asinh, Atan, Atanh, Cbrt, Ceil, Choose, Cos, Cosh, Cot, Exp, Factorial,
    Floor, Gcd, Lcm, Ln, Log, LogTwo, Max, Mean, Min, Mod, Permute, Pow, Root, Round, Sin, Sinh,
    Sqrt, Sum, Tan, Tanh, Trunc,
}

impl Function {
    /// Returns the function with this name, including names of other traditions.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let row = FUNCTIONS
            .iter()
            .find(|(_, _, names)| names.contains(&name))?;
        Some(row.0)
    }

    /// Returns the smallest and the largest number of arguments.
    pub(crate) fn arity(self) -> (usize, usize) {
        let row = FUNCTIONS.iter().find(|(function, _, _)| *function == self);
        row.map_or((1, 1), |(_, arity, _)| *arity)
    }
}

/// A named number.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Constant {
    E,
    Phi,
    Pi,
    Tau,
}

impl Constant {
    /// Returns the constant that has this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "e" => Self::E,
            "phi" | "φ" => Self::Phi,
            "pi" | "π" => Self::Pi,
            "tau" | "τ" => Self::Tau,
            _ => return None,
        })
    }
}

/// Returns the engine's name of a unit. This list of our own excludes currencies, dates and other names that the
/// engine knows.
pub(crate) fn unit(name: &str) -> Option<&'static str> {
    if let Some(unit) = UNITS.iter().find(|unit| **unit == name) {
        return Some(unit);
    }
    let (_, unit) = OTHER_UNIT_NAMES.iter().find(|(other, _)| *other == name)?;
    Some(unit)
}

/// Returns known names that resemble an unknown one, the nearest first.
pub(crate) fn similar(name: &str) -> Vec<&'static str> {
    let functions = FUNCTIONS.iter().filter_map(|(_, _, names)| names.first());
    let mut near: Vec<(usize, &'static str)> = functions
        .chain(&["phi", "pi", "tau"])
        .chain(UNITS.iter().filter(|unit| unit.len() > 3))
        .map(|known| (strsim::osa_distance(name, known), *known))
        .filter(|(distance, known)| *distance <= 2 && *distance * 2 < known.len())
        .collect();
    near.sort_unstable();
    near.into_iter().map(|(_, known)| known).take(3).collect()
}

/// Functions with the numbers of arguments that they take, and their names, the usual one first.
#[rustfmt::skip]
const FUNCTIONS: &[(Function, (usize, usize), &[&str])] = &[
    (Function::Abs, (1, 1), &["abs"]),
    (Function::Acos, (1, 1), &["acos", "arccos"]),
    (Function::Acosh, (1, 1), &["acosh", "arcosh", "arccosh"]),
    (Function::Asin, (1, 1), &["asin", "arcsin"]),
    (Function::Asinh, (1, 1), &["asinh", "arsinh", "arcsinh"]),
    (Function::Atan, (1, 1), &["atan", "arctan", "arctg"]),
    (Function::Atanh, (1, 1), &["atanh", "artanh", "arctanh"]),
    (Function::Cbrt, (1, 1), &["cbrt"]),
    (Function::Ceil, (1, 1), &["ceil", "ceiling"]),
    (Function::Choose, (2, 2), &["ncr", "comb", "choose", "binomial"]),
    (Function::Cos, (1, 1), &["cos"]),
    (Function::Cosh, (1, 1), &["cosh"]),
    (Function::Cot, (1, 1), &["cot", "ctg"]),
    (Function::Exp, (1, 1), &["exp"]),
    (Function::Factorial, (1, 1), &["factorial", "fact"]),
    (Function::Floor, (1, 1), &["floor"]),
    (Function::Gcd, (1, MANY), &["gcd"]),
    (Function::Lcm, (1, MANY), &["lcm"]),
    (Function::Ln, (1, 1), &["ln"]),
    (Function::Log, (1, 2), &["log", "log10", "lg"]),
    (Function::LogTwo, (1, 1), &["log2"]),
    (Function::Max, (1, MANY), &["max"]),
    (Function::Mean, (1, MANY), &["mean", "avg", "average"]),
    (Function::Min, (1, MANY), &["min"]),
    (Function::Mod, (2, 2), &["mod"]),
    (Function::Permute, (2, 2), &["npr", "perm"]),
    (Function::Pow, (2, 2), &["pow", "power"]),
    (Function::Root, (2, 2), &["root"]),
    (Function::Round, (1, 2), &["round"]),
    (Function::Sin, (1, 1), &["sin"]),
    (Function::Sinh, (1, 1), &["sinh"]),
    (Function::Sqrt, (1, 1), &["sqrt"]),
    (Function::Sum, (1, MANY), &["sum"]),
    (Function::Tan, (1, 1), &["tan", "tg"]),
    (Function::Tanh, (1, 1), &["tanh"]),
    (Function::Trunc, (1, 1), &["trunc"]),
];

const MANY: usize = usize::MAX;

#[rustfmt::skip]
const UNITS: &[&str] = &[
    // Length.
    "nm", "µm", "mm", "cm", "m", "km", "meter", "meters", "metre", "metres", "kilometer",
    "kilometers", "kilometre", "kilometres", "centimeter", "centimeters", "inch", "inches", "ft",
    "foot", "feet", "yd", "yard", "yards", "mi", "mile", "miles", "nmi",
    // Mass.
    "mg", "g", "kg", "gram", "grams", "kilogram", "kilograms", "tonne", "tonnes", "oz", "ounce",
    "ounces", "lb", "lbs", "pound", "pounds",
    // Time.
    "ns", "ms", "s", "second", "seconds", "min", "minute", "minutes", "h", "hr", "hour", "hours",
    "day", "days", "week", "weeks", "month", "months", "year", "years",
    // Area and volume.
    "hectare", "hectares", "acre", "acres", "ml", "L", "liter", "liters", "litre", "litres",
    "gallon", "gallons", "pint", "pints", "cup", "cups",
    // Speed.
    "mph", "kph", "knot", "knots",
    // Temperature.
    "°C", "°F", "K", "celsius", "fahrenheit", "kelvin",
    // Force, energy, power, pressure.
    "N", "J", "kJ", "MJ", "cal", "kcal", "Wh", "kWh", "W", "kW", "MW", "hp", "Pa", "kPa", "MPa",
    "bar", "atm", "psi",
    // Data.
    "bit", "bits", "byte", "bytes", "B", "kB", "KB", "MB", "GB", "TB", "PB", "KiB", "MiB", "GiB",
    "TiB", "bps", "kbps", "Mbps", "Gbps",
    // Frequency and electricity.
    "Hz", "kHz", "MHz", "GHz", "V", "mV", "A", "mA", "ohm", "ohms",
    // Angle.
    "deg", "degree", "degrees", "rad", "radian", "radians", "turn", "turns",
];

const OTHER_UNIT_NAMES: &[(&str, &str)] = &[
    ("C", "°C"),
    ("F", "°F"),
    ("μm", "µm"),
    ("um", "µm"),
    ("l", "L"),
    ("mL", "ml"),
    ("sec", "s"),
    ("secs", "s"),
    ("mins", "min"),
    ("hrs", "h"),
];
