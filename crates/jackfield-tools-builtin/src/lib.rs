//! The built-in tools: calculator and current date and time.

mod answer;
mod calculator;

pub use answer::{Answer, ToolFault};
pub use calculator::Calculator;
