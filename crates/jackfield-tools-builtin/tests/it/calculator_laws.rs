//! Laws that the calculator keeps for any expression.

use std::time::{Duration, Instant};

use jackfield_tools_builtin::{Calculator, ToolAnswer, ToolFault};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

fn ask(expression: &str) -> Result<ToolAnswer, ToolFault> {
    Calculator::new().answer_blocking(&json!({ "expression": expression }))
}

fn text(expression: &str) -> String {
    match ask(expression) {
        Ok(answer) => answer.text,
        Err(fault) => format!("fault: {fault}"),
    }
}

/// Asks, and checks what must hold whatever is asked.
fn check_bounds(expression: &str) -> Result<(), TestCaseError> {
    let start = Instant::now();
    let result = ask(expression);
    let taken = start.elapsed();
    prop_assert!(
        taken < Duration::from_secs(3),
        "{taken:?} for {expression:?}"
    );
    match result {
        Ok(answer) => {
            let result = answer.structured["result"].as_str().unwrap_or_default();
            prop_assert!(
                result.len() <= 250,
                "{} bytes for {expression:?}",
                result.len()
            );
            prop_assert!(
                result.starts_with(|first: char| first.is_ascii_digit() || first == '-'),
                "{result:?} for {expression:?}"
            );
        }
        Err(fault) => {
            let fault = fault.to_string();
            prop_assert!(!fault.is_empty() && fault.chars().count() < 400);
            prop_assert!(
                !fault.contains("was given up"),
                "a panic for {expression:?}"
            );
        }
    }
    Ok(())
}

const WORDS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "7",
    "10",
    "12",
    "0.1",
    "2.5",
    "1e3",
    "1e-9",
    "99999999999999999999",
    "(",
    "(",
    "(",
    ")",
    ")",
    ")",
    "+",
    "-",
    "*",
    "/",
    "^",
    "^",
    "!",
    "%",
    "%",
    "mod",
    "of",
    ",",
    ";",
    "sqrt(",
    "cbrt(",
    "sin(",
    "cos ",
    "tan(",
    "asin(",
    "atan(",
    "sinh(",
    "cosh(",
    "tanh(",
    "exp(",
    "ln(",
    "log(",
    "log2(",
    "abs(",
    "floor(",
    "round(",
    "max(",
    "min(",
    "gcd(",
    "lcm(",
    "ncr(",
    "factorial(",
    "pow(",
    "root(",
    "sum(",
    "mean(",
    "pi",
    "e",
    "tau",
    "deg",
    "°",
    " ",
    "√",
    "²",
    "×",
    "÷",
    "−",
    "％",
    "的",
    "от",
    "=",
    "x",
    "1,000",
    "2,5",
];

fn number() -> impl Strategy<Value = String> {
    (0u32..100_000, 0u32..4).prop_map(|(digits, decimals)| {
        let scale = 10u32.pow(decimals);
        let (whole, rest) = (digits / scale, digits % scale);
        match decimals {
            0 => whole.to_string(),
            _ => format!("{whole}.{rest:0width$}", width = decimals as usize),
        }
    })
}

/// Well-formed expressions of numbers, operators and functions.
fn expression() -> impl Strategy<Value = String> {
    number().prop_recursive(5, 40, 3, |inner| {
        let operator = select(vec!["+", "-", "*", "/", "^", " mod ", "% + ", "% of "]);
        let function = select(vec![
            "sqrt",
            "cbrt",
            "sin",
            "tan",
            "atan",
            "sinh",
            "exp",
            "ln",
            "log",
            "abs",
            "floor",
            "round",
            "-",
            "factorial",
        ]);
        prop_oneof![
            (inner.clone(), operator, inner.clone()).prop_map(|(a, o, b)| format!("({a}{o}{b})")),
            (function, inner.clone()).prop_map(|(f, a)| format!("{f}({a})")),
            inner.prop_map(|a| format!("({a})!")),
        ]
    })
}

proptest! {
    #[test]
    fn any_text_is_answered_or_refused_in_time(expression in "\\PC{0,600}") {
        check_bounds(&expression)?;
    }

    #[test]
    fn any_characters_are_answered_or_refused_in_time(expression in vec(any::<char>(), 0..60)) {
        check_bounds(&String::from_iter(expression))?;
    }

    #[test]
    fn any_words_are_answered_or_refused_in_time(words in vec(select(WORDS), 0..40)) {
        check_bounds(&words.concat())?;
    }

    #[test]
    fn any_expression_is_answered_or_refused_in_time(expression in expression()) {
        check_bounds(&expression)?;
    }

    #[test]
    fn any_nesting_is_answered_or_refused_in_time(
        (open, close) in select(vec![
            ("(", ")"), ("-", ""), ("1+(", ")"), ("2(", ")"), ("2^(", ")"), ("2^", ""), ("√", ""),
            ("sin(", ")"), ("1-", ""), ("max(1,", ")"), ("", "!"), ("", "%"), ("(1+", "%)"),
            ("1/(1+", ")"), ("1*(2-", ")"), ("-(", ")"), ("[", "]"), ("(", ")²"), ("sqrt ", ""),
        ]),
        depth in 0usize..300,
    ) {
        check_bounds(&format!("{}1{}", open.repeat(depth), close.repeat(depth)))?;
    }

    #[test]
    fn the_same_expression_has_the_same_answer(expression in expression()) {
        prop_assert_eq!(ask(&expression), ask(&expression));
    }

    #[test]
    fn whole_numbers_agree_with_integer_arithmetic(a in -1_000_000_000i128..1_000_000_000, b in 1i128..1_000_000) {
        prop_assert_eq!(text(&format!("{a} + {b}")), (a + b).to_string());
        prop_assert_eq!(text(&format!("{a} - {b}")), (a - b).to_string());
        prop_assert_eq!(text(&format!("{a} * {b}")), (a * b).to_string());
        prop_assert_eq!(text(&format!("({a}) mod {b}")), a.rem_euclid(b).to_string());
        prop_assert_eq!(text(&format!("floor(({a}) / {b})")), a.div_euclid(b).to_string());
        prop_assert_eq!(text(&format!("max({a}, {b}) - {b}")), (a.max(b) - b).to_string());
    }

    #[test]
    fn decimals_add_up_exactly(a in 0u64..1_000_000_000, b in 0u64..1_000_000_000) {
        let cents = |value: u64| format!("{}.{:02}", value / 100, value % 100);
        let sum = format!("{} + {} - {}", cents(a), cents(b), cents(a + b));
        prop_assert_eq!(text(&sum), "0");
    }

    #[test]
    fn percentages_are_plain_fractions(a in number(), b in number()) {
        let pairs = [
            (format!("{a} + {b}%"), format!("{a} * (1 + {b}/100)")),
            (format!("{a} - {b}%"), format!("{a} * (1 - {b}/100)")),
            (format!("{a} * {b}%"), format!("{a} * {b} / 100")),
            (format!("{b}% of {a}"), format!("{a} * {b} / 100")),
            (format!("{a} / {b}%"), format!("{a} / ({b} / 100)")),
            (format!("{b}%"), format!("{b} / 100")),
        ];
        for (percent, fraction) in pairs {
            prop_assert_eq!(text(&percent), text(&fraction), "{} and {}", percent, fraction);
        }
    }

    #[test]
    fn fractions_are_exact(a in 1u32..100_000, b in 1u32..100_000, n in 1u32..30) {
        prop_assert_eq!(text(&format!("{a} / {b} * {b}")), a.to_string());
        prop_assert_eq!(text(&format!("({a}/{b})^{n} * ({b}/{a})^{n}")), "1");
        prop_assert_eq!(text(&format!("sqrt(({a}/{b})^2) * {b}")), a.to_string());
    }

    #[test]
    fn functions_agree_with_floats(x in 0.001f64..30.0) {
        let cases: [(&str, f64); 14] = [
            ("sqrt", x.sqrt()), ("cbrt", x.cbrt()), ("sin", x.sin()), ("cos", x.cos()),
            ("atan", x.atan()), ("sinh", x.sinh()), ("cosh", x.cosh()), ("tanh", x.tanh()),
            ("asinh", x.asinh()), ("exp", x.exp()), ("ln", x.ln()), ("log2", x.log2()),
            ("log", x.log10()), ("2.5^", 2.5f64.powf(x)),
        ];
        for (function, expected) in cases {
            let shown = text(&format!("{function}({x})"));
            let value: f64 = shown.trim_start_matches("approx. ").parse().unwrap_or(f64::NAN);
            prop_assert!(
                (value - expected).abs() <= expected.abs() * 1e-11 + 1e-14,
                "{}({}) gives {}, a float {}", function, x, shown, expected
            );
        }
    }
}
