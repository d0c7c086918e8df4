//! The built-in tools: calculator and current date and time.
//!
//! [`Builtins`] offers them as a toolbox; [`Calculator`] and [`CurrentDatetime`] also work alone.
//!
//! ```
//! use jackfield_tools_builtin::Calculator;
//! use serde_json::json;
//!
//! let calculator = Calculator::new();
//! let answer = calculator.answer_blocking(&json!({"expression": "0.1 + 0.2"}))?;
//! assert_eq!(answer.text, "0.3");
//! # Ok::<(), jackfield_tools_builtin::ToolFault>(())
//! ```

mod answer;
mod calculator;
mod datetime;
mod toolbox;

pub use answer::{ToolAnswer, ToolFault};
pub use calculator::Calculator;
pub use datetime::CurrentDatetime;
pub use toolbox::Builtins;
