//! The calculator: exact where a person expects it, and with limits on all resources.
//!
//! An expression is split into tokens, parsed by our own parser, and evaluated with the fractions of `num` and the
//! units of fend-core, on a separate thread.
//!
//! Ambiguities of expressions are resolved as follows:
//!
//! - `a + b%` and `a - b%` take the percentage of `a`; elsewhere `b%` is the fraction; between two
//!   values (`17 % 5`) the sign is the remainder, with a note.
//! - A comma groups thousands where the groups fit (`2,500` is 2500, with a note), is a decimal
//!   comma elsewhere (`2,5` is 2.5, with a note), and separates arguments in functions that take
//!   several.
//! - Full-width digits and signs, `×`, `÷`, `−`, `√`, `²`, `°`, `π`, and `of` also as `от` and
//!   `的`, are read as what they stand for.
//! - Angles are radians unless they say `deg`; `log` is to base 10, `ln` the natural one.
//! - `-2^2` is -4, `2^3^2` is 2^9, `6/2(1+2)` is 9, and a unit belongs to the number before it.

mod digits;
mod evaluate;
mod fault;
mod functions;
mod lexer;
mod names;
mod numbers;
mod parser;
mod real;
mod thread;
mod units;

use std::time::Duration;

use serde_json::{Value, json};

use self::digits::WrittenResult;
use self::fault::CalculationError;
use self::parser::ParsedExpression;
use self::thread::ThreadSlots;
use crate::answer::{ToolAnswer, ToolFault};

/// Evaluates expressions.
#[derive(Clone, Debug)]
pub struct Calculator {
    places: ThreadSlots,
}

impl Calculator {
    /// Creates a calculator; its clones share the limit on concurrent calculations.
    #[must_use]
    pub fn new() -> Self {
        Self {
            places: ThreadSlots::new(MAX_THREADS),
        }
    }

    /// Evaluates the expression in the arguments.
    ///
    /// Dropping the future stops the calculation.
    ///
    /// # Errors
    ///
    /// Returns a fault if the expression is invalid, has no answer or takes too long.
    pub async fn answer(&self, arguments: &Value) -> Result<ToolAnswer, ToolFault> {
        let (written, parsed) = read(arguments)?;
        let ParsedExpression { expression, notes } = parsed;
        let result = self.places.run(expression).await?;
        Ok(answer(&written, &result, &notes))
    }

    /// Evaluates the expression in the arguments, and blocks the caller's thread.
    ///
    /// # Errors
    ///
    /// Returns a fault as [`answer`](Self::answer) does, and also if too many calculations run.
    pub fn answer_blocking(&self, arguments: &Value) -> Result<ToolAnswer, ToolFault> {
        let (written, parsed) = read(arguments)?;
        let ParsedExpression { expression, notes } = parsed;
        let result = self.places.run_blocking(expression)?;
        Ok(answer(&written, &result, &notes))
    }

    /// Returns the tool's description for a model.
    #[must_use]
    pub const fn description() -> &'static str {
        "Works out an arithmetic or scientific expression exactly (fractions, large numbers, percentages, units). \
         Use it for every calculation instead of mental arithmetic. \
         Operators: + - * / ^ ! mod, brackets, `15% of 2500`, `100 + 10%` (= 110). \
         Functions: sqrt cbrt root(x, n) pow(x, y) exp ln log (base 10) log2 log(x, base) \
         sin cos tan asin acos atan sinh cosh tanh (radians unless written `30 deg`) \
         abs round(x) round(x, places) floor ceil trunc factorial ncr npr gcd lcm min max sum mean. \
         Constants: pi e phi tau. Units: `5 km to miles`, `20 °C to °F`. \
         One expression at a time; no variables, no currencies, no dates."
    }

    /// Returns the JSON Schema of the arguments.
    #[must_use]
    pub fn input_schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "expression": {
                    "type": "string",
                    "description": "The expression, with a point before decimals. Examples: `0.1 + 0.2`, `2500 * 15%`, `10000 * (1 + 0.05/12)^(12*10)`, `sin(30 deg)`, `max(3, 7/2)`, `100 km / 2 h to m/s`.",
                    "minLength": 1,
                    "maxLength": MAX_CHARACTERS,
                },
            },
            "required": ["expression"],
            "additionalProperties": false,
        })
    }

    /// Returns the JSON Schema of the structured answer.
    #[must_use]
    pub fn output_schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "expression": {"type": "string", "description": "The expression as given."},
                "result": {"type": "string", "description": "The result in decimal digits, with its unit if it has one."},
                "exact": {"type": "boolean", "description": "Whether no digit was left out."},
                "notes": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "How the expression was read where it could be read in another way.",
                },
            },
            "required": ["expression", "result", "exact"],
            "additionalProperties": false,
        })
    }
}

impl Default for Calculator {
    fn default() -> Self {
        Self::new()
    }
}

fn read(arguments: &Value) -> Result<(String, ParsedExpression), ToolFault> {
    let Some(Value::String(expression)) = arguments.get("expression") else {
        return Err(ToolFault::Arguments(
            "`expression` is missing: give the expression as a string".to_owned(),
        ));
    };
    let actual = expression.chars().count();
    if actual > MAX_CHARACTERS {
        return Err(CalculationError::TooLong {
            actual,
            limit: MAX_CHARACTERS,
        }
        .into());
    }
    let tokens = lexer::tokens(expression)?;
    let mut parsed = parser::parse(tokens.tokens, MAX_DEPTH)?;
    parsed.notes.splice(0..0, tokens.notes);
    Ok((expression.clone(), parsed))
}

fn answer(expression: &str, result: &WrittenResult, notes: &[String]) -> ToolAnswer {
    let mut text = if result.exact {
        result.text.clone()
    } else {
        format!("approx. {}", result.text)
    };
    let mut structured = json!({
        "expression": expression,
        "result": result.text,
        "exact": result.exact,
    });
    if !notes.is_empty() {
        text.push_str(&format!("\n({})", notes.join("; ")));
        structured["notes"] = json!(notes);
    }
    ToolAnswer { text, structured }
}

/// The longest expression, in characters.
const MAX_CHARACTERS: usize = 500;

/// The deepest nesting of brackets, functions, signs and powers.
const MAX_DEPTH: usize = 50;

/// The most digits of an exact result.
const MAX_DIGITS: usize = 100;

/// The most concurrent calculations.
const MAX_THREADS: usize = 4;

/// The time limit of one calculation.
const TIME_LIMIT: Duration = Duration::from_millis(250);
