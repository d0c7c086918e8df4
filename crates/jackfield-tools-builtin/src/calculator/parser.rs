//! Parses tokens into an expression: precedence, implied multiplication, units, and limited depth.

use super::fault::CalculationError;
use super::lexer::{Token, TokenKind};
use super::names::{self, Constant, Function};
use super::numbers::Number;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    Binary(Operator, Box<Self>, Box<Self>),
    Call(Function, Vec<Self>),
    Constant(Constant),
    /// The value in another unit, in the engine's form.
    Convert(Box<Self>, String),
    Factorial(Box<Self>),
    Negate(Box<Self>),
    Number(Number),
    Percent(Box<Self>),
    Unit(&'static str),
}

/// An operator between two operands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Operator {
    Add,
    Divide,
    Modulo,
    Multiply,
    Power,
    Subtract,
}

/// An expression, and notes on the interpretations chosen.
#[derive(Debug)]
pub(crate) struct ParsedExpression {
    pub(crate) expression: Expression,
    pub(crate) notes: Vec<String>,
}

/// Parses tokens into one expression of at most `max_depth` levels.
pub(crate) fn parse(
    tokens: Vec<Token>,
    max_depth: usize,
) -> Result<ParsedExpression, CalculationError> {
    let mut parser = Parser {
        tokens,
        position: 0,
        max_depth,
        notes: Vec::new(),
    };
    let expression = parser.expression(0)?;
    match parser.peek(0) {
        None => Ok(ParsedExpression {
            expression,
            notes: parser.notes,
        }),
        Some(TokenKind::Close) => Err(CalculationError::syntax(
            "a bracket is closed that was not opened",
        )),
        Some(kind) => Err(unexpected(kind)),
    }
}

/// Each method parses one level of precedence, the loosest first, and takes the current depth.
struct Parser {
    tokens: Vec<Token>,
    position: usize,
    max_depth: usize,
    notes: Vec<String>,
}

impl Parser {
    fn expression(&mut self, depth: usize) -> Result<Expression, CalculationError> {
        let mut value = self.sum(depth)?;
        while self.at_conversion() {
            self.position += 1;
            let target = self.target()?;
            value = Expression::Convert(Box::new(value), target);
        }
        Ok(value)
    }

    fn sum(&mut self, depth: usize) -> Result<Expression, CalculationError> {
        let mut value = self.product(depth)?;
        loop {
            let operator = match self.peek(0) {
                Some(TokenKind::Plus) => Operator::Add,
                Some(TokenKind::Minus) => Operator::Subtract,
                _ => return Ok(value),
            };
            self.position += 1;
            let other = self.product(depth)?;
            value = Expression::Binary(operator, Box::new(value), Box::new(other));
        }
    }

    fn product(&mut self, depth: usize) -> Result<Expression, CalculationError> {
        let mut value = self.signed(depth, true)?;
        loop {
            let (operator, written) = match self.peek(0) {
                Some(TokenKind::Times) => (Operator::Multiply, true),
                Some(TokenKind::Divide) => (Operator::Divide, true),
                Some(TokenKind::Percent) => (self.remainder_sign()?, true),
                Some(TokenKind::Name(name)) if is_of(name) => (Operator::Multiply, true),
                Some(TokenKind::Name(name)) if name.eq_ignore_ascii_case("mod") => {
                    (Operator::Modulo, true)
                }
                Some(TokenKind::Open) => (Operator::Multiply, false),
                Some(TokenKind::Name(_)) if !self.at_conversion() => (Operator::Multiply, false),
                _ => return Ok(value),
            };
            self.position += usize::from(written);
            let other = self.signed(depth, true)?;
            if operator == Operator::Divide
                && matches!(value, Expression::Number(_))
                && is_quantity(&other)
            {
                self.notes.push(
                    "the unit after the fraction was read as the unit of the whole fraction"
                        .to_owned(),
                );
                value = fraction_of_unit(value, other);
                continue;
            }
            value = Expression::Binary(operator, Box::new(value), Box::new(other));
        }
    }

    /// Decides about a `%` before an operand: `10 % 3` is a remainder, `15% 200` may be a mistake.
    fn remainder_sign(&mut self) -> Result<Operator, CalculationError> {
        let spaced = |ahead: usize| {
            self.tokens
                .get(self.position + ahead)
                .is_some_and(|token| token.spaced)
        };
        if !spaced(0) && spaced(1) {
            return Err(CalculationError::syntax(
                "`%` before a value is unclear: write `15% of 200` or `15% * 200`, and `17 mod 5` for a remainder",
            ));
        }
        self.notes
            .push("`%` between two values was read as the remainder".to_owned());
        Ok(Operator::Modulo)
    }

    fn signed(&mut self, depth: usize, units: bool) -> Result<Expression, CalculationError> {
        match self.peek(0) {
            Some(TokenKind::Minus) => {
                self.position += 1;
                let value = self.signed(self.deeper(depth)?, units)?;
                Ok(Expression::Negate(Box::new(value)))
            }
            Some(TokenKind::Plus) => {
                self.position += 1;
                self.signed(self.deeper(depth)?, units)
            }
            _ => self.power(depth, units),
        }
    }

    /// An exponent does not include a following unit: `10^3 kg` is a thousand kilograms.
    fn power(&mut self, depth: usize, units: bool) -> Result<Expression, CalculationError> {
        let mut value = self.postfix(depth)?;
        if self.peek(0) == Some(&TokenKind::Power) {
            self.position += 1;
            let exponent = self.signed(self.deeper(depth)?, false)?;
            value = Expression::Binary(Operator::Power, Box::new(value), Box::new(exponent));
        }
        while units && let Some(unit) = self.unit_at(0) {
            self.position += 1;
            let mut factor = Expression::Unit(unit);
            if self.peek(0) == Some(&TokenKind::Power) {
                self.position += 1;
                let exponent = self.signed(self.deeper(depth)?, false)?;
                factor = Expression::Binary(Operator::Power, Box::new(factor), Box::new(exponent));
            }
            value = Expression::Binary(Operator::Multiply, Box::new(value), Box::new(factor));
        }
        Ok(value)
    }

    fn postfix(&mut self, depth: usize) -> Result<Expression, CalculationError> {
        let mut value = self.primary(depth)?;
        loop {
            match self.peek(0) {
                Some(TokenKind::Bang) => value = Expression::Factorial(Box::new(value)),
                Some(TokenKind::Percent) if !self.at_operand(1) => {
                    if matches!(value, Expression::Percent(_)) {
                        return Err(CalculationError::syntax("`%%` has no meaning here"));
                    }
                    value = Expression::Percent(Box::new(value));
                }
                _ => return Ok(value),
            }
            self.position += 1;
        }
    }

    fn primary(&mut self, depth: usize) -> Result<Expression, CalculationError> {
        let Some(kind) = self.peek(0).cloned() else {
            return Err(CalculationError::syntax(
                "the expression ends where a value is expected",
            ));
        };
        match kind {
            TokenKind::Number(number) => {
                self.position += 1;
                if matches!(self.peek(0), Some(TokenKind::Number(_))) {
                    return Err(CalculationError::syntax(
                        "two numbers stand side by side: write an operator between them",
                    ));
                }
                Ok(Expression::Number(number))
            }
            TokenKind::Open => {
                let deeper = self.deeper(depth)?;
                self.position += 1;
                if self.peek(0) == Some(&TokenKind::Close) {
                    return Err(CalculationError::syntax(
                        "there is nothing between the brackets",
                    ));
                }
                let value = self.expression(deeper)?;
                self.close()?;
                Ok(value)
            }
            TokenKind::Name(name) => self.name(&name, depth),
            other @ (TokenKind::Bang
            | TokenKind::Close
            | TokenKind::Divide
            | TokenKind::Minus
            | TokenKind::Percent
            | TokenKind::Plus
            | TokenKind::Power
            | TokenKind::Separator
            | TokenKind::Times) => Err(unexpected(&other)),
        }
    }

    fn name(&mut self, name: &str, depth: usize) -> Result<Expression, CalculationError> {
        let lower = name.to_lowercase();
        let function = Function::named(&lower);
        let called = self.peek(1) == Some(&TokenKind::Open);
        if let Some(unit) = self.unit_at(0)
            && !(called && function.is_some())
        {
            self.position += 1;
            return Ok(Expression::Unit(unit));
        }
        if let Some(function) = function {
            self.position += 1;
            let deeper = self.deeper(depth)?;
            let arguments = if called {
                self.arguments(function, name, deeper)?
            } else if function.arity().0 == 1 {
                vec![self.signed(deeper, true)?]
            } else {
                return Err(arity_fault(function, name));
            };
            return Ok(Expression::Call(function, arguments));
        }
        if let Some(constant) = Constant::named(&lower) {
            self.position += 1;
            return Ok(Expression::Constant(constant));
        }
        Err(unknown(name))
    }

    fn arguments(
        &mut self,
        function: Function,
        name: &str,
        depth: usize,
    ) -> Result<Vec<Expression>, CalculationError> {
        self.position += 1;
        let mut arguments = Vec::new();
        if self.peek(0) != Some(&TokenKind::Close) {
            arguments.push(self.expression(depth)?);
            while self.peek(0) == Some(&TokenKind::Separator) {
                self.position += 1;
                arguments.push(self.expression(depth)?);
            }
        }
        self.close()?;
        let (least, most) = function.arity();
        if (least..=most).contains(&arguments.len()) {
            Ok(arguments)
        } else {
            Err(arity_fault(function, name))
        }
    }

    /// Parses the target unit of a conversion: units with powers, multiplied and divided.
    fn target(&mut self) -> Result<String, CalculationError> {
        let mut target = String::new();
        loop {
            let Some(unit) = self.unit_at(0) else {
                return Err(match self.peek(0) {
                    Some(TokenKind::Name(name)) => unknown(name),
                    Some(_) | None => {
                        CalculationError::syntax("after `to` comes a unit, such as `km/h`")
                    }
                });
            };
            self.position += 1;
            target.push_str(unit);
            if let (Some(TokenKind::Power), Some(TokenKind::Number(power))) =
                (self.peek(0), self.peek(1))
                && power.is_whole()
                && power.text().len() < 3
            {
                target.push('^');
                target.push_str(power.text());
                self.position += 2;
            }
            match self.peek(0) {
                Some(TokenKind::Times) => target.push('*'),
                Some(TokenKind::Divide) => target.push('/'),
                _ => return Ok(target),
            }
            self.position += 1;
        }
    }

    fn close(&mut self) -> Result<(), CalculationError> {
        match self.peek(0) {
            Some(TokenKind::Close) => {
                self.position += 1;
                Ok(())
            }
            None => Err(CalculationError::syntax("a bracket is not closed")),
            Some(kind) => Err(unexpected(kind)),
        }
    }

    /// Returns the engine's name of the unit at this place.
    fn unit_at(&self, ahead: usize) -> Option<&'static str> {
        let Some(TokenKind::Name(name)) = self.peek(ahead) else {
            return None;
        };
        if name == "in" {
            // An inch, unless the target unit of a conversion follows: `5 in to cm`, `5 km in miles`.
            return (!self.unit_named_at(ahead + 1)).then_some("inch");
        }
        let called = self.peek(ahead + 1) == Some(&TokenKind::Open);
        if called && Function::named(name).is_some() {
            return None;
        }
        names::unit(name)
    }

    fn unit_named_at(&self, ahead: usize) -> bool {
        matches!(self.peek(ahead), Some(TokenKind::Name(name)) if names::unit(name).is_some())
    }

    fn at_conversion(&self) -> bool {
        match self.peek(0) {
            Some(TokenKind::Name(name)) if name == "in" => self.unit_named_at(1),
            Some(TokenKind::Name(name)) => matches!(name.as_str(), "to" | "into" | "as"),
            _ => false,
        }
    }

    fn at_operand(&self, ahead: usize) -> bool {
        match self.peek(ahead) {
            Some(TokenKind::Number(_) | TokenKind::Open) => true,
            Some(TokenKind::Name(name)) => {
                !is_of(name) && !matches!(name.as_str(), "mod" | "to" | "into" | "as" | "in")
            }
            _ => false,
        }
    }

    fn deeper(&self, depth: usize) -> Result<usize, CalculationError> {
        if depth < self.max_depth {
            Ok(depth + 1)
        } else {
            Err(CalculationError::TooDeep(self.max_depth))
        }
    }

    fn peek(&self, ahead: usize) -> Option<&TokenKind> {
        self.tokens
            .get(self.position + ahead)
            .map(|token| &token.kind)
    }
}

/// Returns whether this is a number with a unit.
fn is_quantity(expression: &Expression) -> bool {
    let Expression::Binary(Operator::Multiply, left, right) = expression else {
        return false;
    };
    is_unit(right) && (matches!(**left, Expression::Number(_)) || is_quantity(left))
}

fn is_unit(expression: &Expression) -> bool {
    if let Expression::Binary(Operator::Power, base, _) = expression {
        return is_unit(base);
    }
    matches!(expression, Expression::Unit(_))
}

/// Makes `1 / (2 kg)` half a kilogram, as people mean by `1/2 kg`.
fn fraction_of_unit(numerator: Expression, quantity: Expression) -> Expression {
    if let Expression::Binary(Operator::Multiply, left, unit) = quantity {
        let number = Box::new(fraction_of_unit(numerator, *left));
        return Expression::Binary(Operator::Multiply, number, unit);
    }
    Expression::Binary(Operator::Divide, Box::new(numerator), Box::new(quantity))
}

/// Returns whether the word multiplies a share with a whole: in `15% of 200`, `15% от 200`, and in `200的15%`, where
/// the order is reversed but the product is the same.
fn is_of(name: &str) -> bool {
    matches!(name, "of" | "от" | "的")
}

fn unexpected(kind: &TokenKind) -> CalculationError {
    CalculationError::syntax(match kind {
        TokenKind::Bang => "`!` has no value before it",
        TokenKind::Close => "a bracket is closed where a value is expected",
        TokenKind::Divide => "`/` has no value before it",
        TokenKind::Minus | TokenKind::Plus => "a sign stands where none is expected",
        TokenKind::Name(_) | TokenKind::Number(_) | TokenKind::Open => {
            "two values stand side by side: write an operator between them"
        }
        TokenKind::Percent => "`%` has no value before it",
        TokenKind::Power => "`^` has no value before it",
        TokenKind::Separator => {
            "`,` separates nothing here: write decimals with a point, and a list only in a function such as max(1, 2)"
        }
        TokenKind::Times => "`*` has no value before it",
    })
}

fn unknown(name: &str) -> CalculationError {
    let shown: String = name.chars().take(40).collect();
    let near = names::similar(&name.to_lowercase());
    if near.is_empty() {
        CalculationError::syntax(format!(
            "`{shown}` is not known: variables, currencies and dates are not understood"
        ))
    } else {
        CalculationError::syntax(format!(
            "`{shown}` is not known; similar: {}",
            near.join(", ")
        ))
    }
}

fn arity_fault(function: Function, name: &str) -> CalculationError {
    let (least, most) = function.arity();
    let count = match (least, most) {
        (1, 1) => "one argument".to_owned(),
        (least, usize::MAX) => format!("at least {least} argument, separated by commas"),
        (least, most) if least == most => format!("{least} arguments, separated by a comma"),
        (least, most) => format!("{least} or {most} arguments, separated by a comma"),
    };
    CalculationError::syntax(format!("`{name}` takes {count}"))
}
