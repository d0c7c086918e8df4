//! Errors of calculations.

use crate::answer::ToolFault;

/// Why an expression has no answer.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum CalculationError {
    #[error("the calculator is busy with other calculations: try again")]
    Busy,
    #[error("division by zero")]
    DivisionByZero,
    #[error("{0}")]
    Domain(String),
    #[error("the expression is empty: write something like `2 + 2`")]
    Empty,
    #[error("the calculation took longer than {0} ms: make it smaller")]
    OutOfTime(u128),
    #[error("the result is too large: more than 10000 digits")]
    Overflow,
    #[error("{0}")]
    Syntax(String),
    #[error("nested deeper than {0} levels: split the expression")]
    TooDeep(usize),
    #[error("the expression has {actual} characters, at most {limit} are allowed: split it")]
    TooLong { actual: usize, limit: usize },
    #[error("the result is too close to zero: more than 10000 decimals")]
    Underflow,
}

impl CalculationError {
    /// Creates a fault about the syntax of the expression.
    pub(crate) fn syntax(text: impl Into<String>) -> Self {
        Self::Syntax(text.into())
    }

    /// Creates a fault about a value for which an operation is undefined.
    pub(crate) fn domain(text: impl Into<String>) -> Self {
        Self::Domain(text.into())
    }
}

impl From<CalculationError> for ToolFault {
    fn from(fault: CalculationError) -> Self {
        let text = fault.to_string();
        match fault {
            CalculationError::Empty
            | CalculationError::Syntax(_)
            | CalculationError::TooDeep(_)
            | CalculationError::TooLong { .. } => Self::Arguments(text),
            CalculationError::DivisionByZero
            | CalculationError::Domain(_)
            | CalculationError::Overflow
            | CalculationError::Underflow => Self::Unanswerable(text),
            CalculationError::Busy | CalculationError::OutOfTime(_) => Self::Exhausted(text),
        }
    }
}
