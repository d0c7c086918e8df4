//! The calculator: exact where a person expects it, and with bounds on all work.
//!
//! An expression is worked out while it is read, with the fractions of `num`. Whatever the expression, its depth and the
//! size of all numbers are bounded, and so is the time.
//!
//! Ambiguities of expressions are resolved as follows:
//!
//! - `a + b%` and `a - b%` take the percentage of `a`; elsewhere `b%` is the fraction; between two values (`17 % 5`) the
//!   sign is refused.
//! - A comma groups thousands where the groups fit (`2,500` is 2500, with a note), is a decimal comma elsewhere (`2,5` is
//!   2.5, with a note), and separates arguments in functions that take several.
//! - Full-width digits and signs, `×`, `÷`, `−`, `√`, `²`, `°`, `π`, and `of` also as `от` and `的`, are read as what they
//!   stand for.
//! - Angles are radians unless they say `deg`; `log` is to base 10, `ln` the natural one.
//! - `-2^2` is -4, `2^3^2` is 2^9, and `6/2(1+2)` is 9.

mod functions;
mod number;
mod parser;

use serde_json::{Value, json};

use crate::answer::{ToolAnswer, ToolFault};

#[derive(Clone, Debug, Default)]
pub struct Calculator;

impl Calculator {
    #[must_use]
    pub const fn new() -> Self {
        Self
    }

    /// Evaluates the expression in the arguments on a thread for such work.
    ///
    /// # Errors
    ///
    /// Returns a fault as [`answer_blocking`](Self::answer_blocking) does.
    pub async fn answer(&self, arguments: &Value) -> Result<ToolAnswer, ToolFault> {
        let arguments = arguments.clone();
        let answer = tokio::task::spawn_blocking(move || Self.answer_blocking(&arguments));
        let gone = |_| {
            Err(ToolFault::Exhausted(
                "the calculation was given up: try again".to_owned(),
            ))
        };
        answer.await.unwrap_or_else(gone)
    }

    /// Evaluates the expression in the arguments, and blocks the caller's thread.
    ///
    /// # Errors
    ///
    /// Returns a fault if the expression is invalid, has no answer or takes too much work.
    pub fn answer_blocking(&self, arguments: &Value) -> Result<ToolAnswer, ToolFault> {
        let Some(Value::String(expression)) = arguments.get("expression") else {
            return Err(ToolFault::Arguments(
                "`expression` is missing: give the expression as a string".to_owned(),
            ));
        };
        let count = expression.chars().count();
        if count > MAX_CHARACTERS {
            return Err(ToolFault::Arguments(format!(
                "the expression has {count} characters, at most {MAX_CHARACTERS} are allowed: split it"
            )));
        }
        let (number, notes) = parser::evaluate(expression)?;
        let (result, exact) = number.write()?;
        let mut text = if exact {
            result.clone()
        } else {
            format!("approx. {result}")
        };
        let mut structured = json!({ "expression": expression, "result": result, "exact": exact });
        if !notes.is_empty() {
            text.push_str(&format!("\n({})", notes.join("; ")));
            structured["notes"] = json!(notes);
        }
        Ok(ToolAnswer { text, structured })
    }

    /// Returns the tool's description for a model.
    #[must_use]
    pub const fn description() -> &'static str {
        "Works out an arithmetic or scientific expression exactly (fractions, large numbers, percentages). \
         Use it for every calculation instead of mental arithmetic. \
         Operators: + - * / ^ ! mod, brackets, `15% of 2500`, `100 + 10%` (= 110). \
         Functions: sqrt cbrt root(x, n) pow(x, y) exp ln log (base 10) log2 log(x, base) \
         sin cos tan asin acos atan sinh cosh tanh (radians unless written `30 deg`) \
         abs round(x) round(x, places) floor ceil trunc factorial ncr npr gcd lcm min max sum mean. \
         Constants: pi e phi tau. \
         One expression at a time; no variables, no units, no currencies, no dates."
    }

    /// Returns the JSON Schema of the arguments.
    #[must_use]
    pub fn input_schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "expression": {
                    "type": "string",
                    "description": "The expression, with a point before decimals. Examples: `0.1 + 0.2`, `2500 * 15%`, `10000 * (1 + 0.05/12)^(12*10)`, `sin(30 deg)`, `max(3, 7/2)`.",
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
                "result": {"type": "string", "description": "The result in decimal digits."},
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

/// The longest expression, in characters.
const MAX_CHARACTERS: usize = 500;
