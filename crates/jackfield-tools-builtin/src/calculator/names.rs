//! The names in expressions: functions, constants and units.

/// A function.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Function {
    Abs,
    Acos,
    Acosh,
    Asin,
    Asinh,
    Atan,
    Atanh,
    Cbrt,
    Ceil,
    Choose,
    Cos,
    Cosh,
    Cot,
    Exp,
    Factorial,
    Floor,
    Gcd,
    Lcm,
    Ln,
    Log,
    LogTwo,
    Max,
    Mean,
    Min,
    Mod,
    Permute,
    Pow,
    Root,
    Round,
    Sin,
    Sinh,
    Sqrt,
    Sum,
    Tan,
    Tanh,
    Trunc,
}

impl Function {
    /// Returns the function with this name, including names of other traditions.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "abs" => Self::Abs,
            "acos" | "arccos" => Self::Acos,
            "acosh" | "arcosh" | "arccosh" => Self::Acosh,
            "asin" | "arcsin" => Self::Asin,
            "asinh" | "arsinh" | "arcsinh" => Self::Asinh,
            "atan" | "arctan" | "arctg" => Self::Atan,
            "atanh" | "artanh" | "arctanh" => Self::Atanh,
            "cbrt" => Self::Cbrt,
            "ceil" | "ceiling" => Self::Ceil,
            "ncr" | "comb" | "choose" | "binomial" => Self::Choose,
            "cos" => Self::Cos,
            "cosh" => Self::Cosh,
            "cot" | "ctg" => Self::Cot,
            "exp" => Self::Exp,
            "factorial" | "fact" => Self::Factorial,
            "floor" => Self::Floor,
            "gcd" => Self::Gcd,
            "lcm" => Self::Lcm,
            "ln" => Self::Ln,
            "log" | "log10" | "lg" => Self::Log,
            "log2" => Self::LogTwo,
            "max" => Self::Max,
            "mean" | "avg" | "average" => Self::Mean,
            "min" => Self::Min,
            "mod" => Self::Mod,
            "npr" | "perm" => Self::Permute,
            "pow" | "power" => Self::Pow,
            "root" => Self::Root,
            "round" => Self::Round,
            "sin" => Self::Sin,
            "sinh" => Self::Sinh,
            "sqrt" => Self::Sqrt,
            "sum" => Self::Sum,
            "tan" | "tg" => Self::Tan,
            "tanh" => Self::Tanh,
            "trunc" => Self::Trunc,
            _ => return None,
        })
    }

    /// Returns the smallest and the largest number of arguments.
    pub(crate) fn arity(self) -> (usize, usize) {
        match self {
            Self::Abs
            | Self::Acos
            | Self::Acosh
            | Self::Asin
            | Self::Asinh
            | Self::Atan
            | Self::Atanh
            | Self::Cbrt
            | Self::Ceil
            | Self::Cos
            | Self::Cosh
            | Self::Cot
            | Self::Exp
            | Self::Factorial
            | Self::Floor
            | Self::Ln
            | Self::LogTwo
            | Self::Sin
            | Self::Sinh
            | Self::Sqrt
            | Self::Tan
            | Self::Tanh
            | Self::Trunc => (1, 1),
            Self::Log | Self::Round => (1, 2),
            Self::Choose | Self::Mod | Self::Permute | Self::Pow | Self::Root => (2, 2),
            Self::Gcd | Self::Lcm | Self::Max | Self::Mean | Self::Min | Self::Sum => {
                (1, usize::MAX)
            }
        }
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
    let mut near: Vec<(usize, &'static str)> = SUGGESTIONS
        .iter()
        .chain(UNITS.iter().filter(|unit| unit.len() > 3))
        .map(|known| (strsim::osa_distance(name, known), *known))
        .filter(|(distance, known)| *distance <= 2 && *distance * 2 < known.len())
        .collect();
    near.sort_unstable();
    near.into_iter().map(|(_, known)| known).take(3).collect()
}

const SUGGESTIONS: &[&str] = &[
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cbrt",
    "ceil",
    "cos",
    "cosh",
    "cot",
    "exp",
    "factorial",
    "floor",
    "gcd",
    "lcm",
    "ln",
    "log",
    "log2",
    "max",
    "mean",
    "min",
    "mod",
    "ncr",
    "npr",
    "phi",
    "pi",
    "pow",
    "root",
    "round",
    "sin",
    "sinh",
    "sqrt",
    "sum",
    "tan",
    "tanh",
    "tau",
    "trunc",
];

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
