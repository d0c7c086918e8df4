//! What the calculator answers, and what it refuses.

use std::time::{Duration, Instant};

use jackfield_tools_builtin::{Calculator, ToolAnswer, ToolFault};
use serde_json::json;
use tokio::task::JoinSet;

/// Works out each expression and compares the text of the answer, without notes.
fn check(cases: &[(&str, &str)]) {
    let calculator = Calculator::new();
    let mut wrong = Vec::new();
    for (expression, expected) in cases {
        let shown = match ask(&calculator, expression) {
            Ok(answer) => answer.text.lines().next().unwrap_or("").to_owned(),
            Err(fault) => format!("fault: {fault}"),
        };
        let matches = match expected.strip_suffix('…') {
            Some(start) => shown.starts_with(start),
            None => shown == *expected,
        };
        if !matches {
            wrong.push(format!(
                "{expression}\n   gives {shown}\n   not   {expected}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn ask(calculator: &Calculator, expression: &str) -> Result<ToolAnswer, ToolFault> {
    calculator.answer_blocking(&json!({ "expression": expression }))
}

#[test]
fn results_are_exact_where_a_person_expects_it() {
    check(&[
        ("0.1 + 0.2", "0.3"),
        ("1/3 * 3", "1"),
        ("2 + 2", "4"),
        ("2+2=", "4"),
        ("2 + 2 = ?", "4"),
        ("1.10 * 3", "3.3"),
        ("2^100", "1267650600228229401496703205376"),
        ("2^-2", "0.25"),
        ("-2^2", "-4"),
        ("2^3^2", "512"),
        ("2**3", "8"),
        ("6/2(1+2)", "9"),
        ("2(3)(4)", "24"),
        ("1 - -1", "2"),
        ("--5", "5"),
        ("5!", "120"),
        ("-3!", "-6"),
        ("3!!", "720"),
        ("sqrt(16)", "4"),
        ("√16 + 1", "5"),
        ("sqrt(1/4)", "0.5"),
        ("cbrt(-27)", "-3"),
        ("root(1024, 10)", "2"),
        ("8^(1/3)", "2"),
        ("8^(2/3)", "4"),
        ("sin(30 deg)", "0.5"),
        ("sin 30°", "0.5"),
        ("cos(60 degrees)", "0.5"),
        ("sin(pi)", "0"),
        ("sin(0)", "0"),
        ("cos(0)", "1"),
        ("tan(45 deg)", "1"),
        ("tan(-pi/4)", "-1"),
        ("tan(3 pi/4)", "-1"),
        ("log(1000)", "3"),
        ("log10(0.001)", "-3"),
        ("log2(1/8)", "-3"),
        ("log(81, 3)", "4"),
        ("ln(1)", "0"),
        ("exp(0)", "1"),
        ("asin(0)", "0"),
        ("acos(1)", "0"),
        ("round(2.5)", "3"),
        ("round(-2.5)", "-3"),
        ("round(3.14159, 2)", "3.14"),
        ("round(1234, -2)", "1200"),
        ("floor(-2.1)", "-3"),
        ("ceil(2.1)", "3"),
        ("trunc(-2.9)", "-2"),
        ("abs(-3.5)", "3.5"),
        ("17 mod 5", "2"),
        ("-5 mod 3", "1"),
        ("5.5 mod 2", "1.5"),
        ("max(3, 7/2, 2)", "3.5"),
        ("min(3, -7)", "-7"),
        ("sum(1, 2, 3)", "6"),
        ("mean(1, 2, 3, 4)", "2.5"),
        ("gcd(84, 36)", "12"),
        ("gcd(2^100, 6^50)", "1125899906842624"),
        ("7^5000 mod 13", "3"),
        ("lcm(4, 6)", "12"),
        ("ncr(50, 6)", "15890700"),
        ("npr(5, 2)", "20"),
        ("pow(2, 10)", "1024"),
        ("0xFF + 0b11", "258"),
        ("1e3 + 1.5E-1", "1000.15"),
        (
            "1e-50",
            "0.00000000000000000000000000000000000000000000000001",
        ),
        ("2pi / pi", "2"),
        ("(2^200) mod 7", "4"),
        ("floor(10^30 + 1/3)", "1000000000000000000000000000000"),
        ("round(-(10^30) - 1/2)", "-1000000000000000000000000000001"),
        (
            "abs(-(2^200))",
            "1606938044258990275541962092341162602522202993782792835301376",
        ),
        ("0 * (1/3)", "0"),
        ("(-1)^(10^20)", "1"),
        ("sqrt(10^300)", "1e150"),
        ("1.5^900 / 1.5^899", "1.5"),
        ("max(87.5, pi)", "87.5"),
        ("pi - pi", "0"),
    ]);
}

#[test]
fn percentages_are_a_persons() {
    check(&[
        ("15% of 2500", "375"),
        ("2500 * 15%", "375"),
        ("100 + 10%", "110"),
        ("100 - 10%", "90"),
        ("100 + -10%", "90"),
        ("100 + (10%)", "110"),
        ("100 + 10% + 10%", "121"),
        ("50 / 25%", "200"),
        ("15%", "0.15"),
        ("10% + 5%", "0.15"),
        ("10% * 2", "0.2"),
        ("100 + 15% of 200", "130"),
        ("(5 + 5)% of 50", "5"),
        ("200 - 10% * 2", "199.8"),
        ("1/3 of 90", "30"),
        ("100 + 2^2%", "approx. 101.01395947979"),
    ]);
}

#[test]
fn what_is_not_exact_says_so() {
    check(&[
        ("1/3", "approx. 0.333333333333333"),
        ("2/3", "approx. 0.666666666666667"),
        ("sqrt(2)", "approx. 1.4142135623731"),
        ("sqrt(2)*sqrt(2)", "approx. 2"),
        ("sqrt(2e-40)", "approx. 1.4142135623731e-20"),
        ("pi", "approx. 3.14159265358979"),
        ("e", "approx. 2.71828182845905"),
        ("phi", "approx. 1.61803398874989"),
        ("e^2.5", "approx. 12.1824939607035"),
        ("sinh(50)", "approx. 2.59235276429354e21"),
        ("sinh(1e-10)", "approx. 1e-10"),
        ("sin(0.5)^2 + cos(0.5)^2", "approx. 1"),
        ("sin(1e-20)", "approx. 1e-20"),
        ("ln(2)", "approx. 0.693147180559945"),
        ("ln(1.0000000001)", "approx. 9.9999999995e-11"),
        ("log10(2)", "approx. 0.301029995663981"),
        ("asin(0.5) / deg", "approx. 30"),
        ("2^0.3", "approx. 1.23114441334492"),
        ("1.05^0.0833", "approx. 1.00407249082026"),
        ("1.05^(1/12)", "approx. 1.00407412378365"),
        ("10000*(1+0.05/365)^(365*30)", "approx. 44812.286885245…"),
        ("1.0000001^1000000", "approx. 1.10517091254979"),
        ("1.000000001^(10^9)", "approx. 2.7182818270999"),
        ("200!", "approx. 7.88657867364791e374"),
        ("2^1000", "approx. 1.07150860718627e301"),
        ("1/7^100", "approx. 3.09169040809022e-85"),
    ]);
}

#[test]
fn exact_results_of_any_magnitude_are_told_from_rounded_ones() {
    check(&[
        ("10^99", &format!("1{}", "0".repeat(99))),
        ("10^200", "1e200"),
        ("10^-200", "1e-200"),
        ("1e-9999", "1e-9999"),
        ("1/3e2000", "approx. 3.33333333333333e-2001"),
        ("1e4000 * 1e4000 / 1e4000", "1e4000"),
        ("-(10^300) - 1", "approx. -1e300"),
        ("10^150 * 1.5", "1.5e150"),
        ("3 * 10^5000", "3e5000"),
        ("10^99 + 1", &format!("1{}1", "0".repeat(98))),
        ("10^100 + 1", "approx. 1e100"),
    ]);
}

#[test]
fn other_scripts_and_habits_are_read() {
    check(&[
        ("2500×15%", "375"),
        ("２５００×１５％", "375"),
        ("（１＋２）×３", "9"),
        ("2500的15%", "375"),
        ("15% от 2500", "375"),
        ("2,5 * 4", "10"),
        ("0,125 * 8", "1"),
        ("1,234,567.89 + 0.11", "1234568"),
        ("2,500 + 0", "2500"),
        ("1_000_000", "1000000"),
        ("10 ÷ 4", "2.5"),
        ("5 − 3", "2"),
        ("3² + 4²", "25"),
        ("2π / π", "2"),
        ("tg(45°)", "1"),
        ("[1 + 2] * 3", "9"),
    ]);
}

#[test]
fn a_choice_in_reading_is_noted() {
    let calculator = Calculator::new();
    let cases = [
        ("2,5 * 4", "`2,5` was read as 2.5"),
        ("2,500 * 4", "`2,500` was read as 2500"),
    ];
    for (expression, note) in cases {
        let answer = ask(&calculator, expression).unwrap();
        assert_eq!(answer.structured["notes"], json!([note]), "{expression}");
        assert!(
            answer.text.ends_with(&format!("\n({note})")),
            "{expression}"
        );
    }
    let plain = ask(&calculator, "1,234,567 + 0.5").unwrap();
    assert_eq!(
        plain.structured,
        json!({"expression": "1,234,567 + 0.5", "result": "1234567.5", "exact": true})
    );
}

#[test]
fn nonsense_is_refused_in_words() {
    check(&[
        ("", "fault: the expression is empty…"),
        ("  ", "fault: the expression is empty…"),
        ("=", "fault: the expression is empty…"),
        (
            "1 +",
            "fault: the expression ends where a value is expected",
        ),
        ("* 2", "fault: `*` stands where a value is expected"),
        ("1 2", "fault: two values stand side by side…"),
        ("1 1/2", "fault: two values stand side by side…"),
        ("2 500", "fault: two values stand side by side…"),
        ("(1", "fault: a bracket is not closed"),
        ("1)", "fault: a bracket is closed that was not opened"),
        ("()", "fault: `)` stands where a value is expected"),
        (
            "50%%",
            "fault: `%` means a percentage, and is unclear here…",
        ),
        (
            "15% 200",
            "fault: `%` means a percentage, and is unclear here…",
        ),
        (
            "17 % 5",
            "fault: `%` means a percentage, and is unclear here…",
        ),
        (
            "17 % (2+3)",
            "fault: `%` means a percentage, and is unclear here…",
        ),
        (".", "fault: `.` is not a number…"),
        ("1.2.3", "fault: `1.2.3` is not a number…"),
        ("1,2,3", "fault: `1,2,3` is not a number…"),
        ("12,34,567", "fault: `12,34,567` is not a number…"),
        ("1.234,56", "fault: `1.234,56` is not a number…"),
        ("x = 3", "fault: `x` is not known…"),
        ("3 x 4", "fault: `x` is not known…"),
        ("3 = 3", "fault: `=` has no meaning here"),
        ("1; 2", "fault: `,` separates nothing here…"),
        ("1\n2", "fault: two values stand side by side…"),
        ("10 : 4", "fault: `:` has no meaning here"),
        ("\\x. x", "fault: `\\\\` stands where a value is expected"),
        ("@debug 1", "fault: `@` stands where a value is expected"),
        ("today", "fault: `today` is not known…"),
        (
            "5 km to miles",
            "fault: `km` is not known: no variables, units…",
        ),
        ("20 °C", "fault: `C` is not known: no variables, units…"),
        ("$5 + 10%", "fault: `$` stands where a value is expected"),
        ("1 & 2", "fault: `&` has no meaning here"),
        ("7 // 2", "fault: `/` stands where a value is expected"),
        ("squrt(4)", "fault: `squrt` is not known: …"),
        ("max()", "fault: `)` stands where a value is expected"),
        ("sqrt(1; 2)", "fault: `sqrt` takes 1 argument"),
        ("log(1, 2, 3)", "fault: `log` takes 1 or 2 arguments…"),
        ("pow(2)", "fault: `pow` takes 2 arguments…"),
        ("1 +\u{202E} 2", "fault: `\\u{202e}` stands where a value…"),
        ("1\u{200B}2", "fault: `\\u{200b}` has no meaning here"),
        ("٣ + ٤", "fault: `٣` stands where a value is expected"),
        ("2e99999", "fault: the result is too large…"),
        ("0xZZ", "fault: `ZZ` is not a number of base 16"),
    ]);
}

#[test]
fn what_has_no_answer_says_why() {
    check(&[
        ("1/0", "fault: division by zero"),
        ("0/0", "fault: division by zero"),
        ("1/(0.1 + 0.2 - 0.3)", "fault: division by zero"),
        ("1/(10^40 + 1 - 10^40 - 1)", "fault: division by zero"),
        ("1/(1/3 + 1/3 + 1/3 - 1)", "fault: division by zero"),
        ("1/((1/7 - 1/49*7) * 5)", "fault: division by zero"),
        ("5 mod 0", "fault: division by zero"),
        ("0^-1", "fault: division by zero"),
        ("0^0", "fault: zero to the power of zero is undefined"),
        ("sqrt(-1)", "fault: the root of a negative number…"),
        (
            "(-8)^(1/3)",
            "fault: a negative number to a fractional power…",
        ),
        ("ln(0)", "fault: a logarithm is defined only…"),
        ("ln(-1)", "fault: a logarithm is defined only…"),
        ("ln(0.1 + 0.2 - 0.3)", "fault: a logarithm is defined only…"),
        ("log(2, 1)", "fault: the base of a logarithm…"),
        (
            "asin(2)",
            "fault: the function is not defined for this value",
        ),
        (
            "acosh(0.5)",
            "fault: the function is not defined for this value",
        ),
        ("atanh(1)", "fault: the result is too large…"),
        ("tan(90 deg)", "fault: tan is not defined for this angle"),
        ("sin(10^100)", "fault: the angle is too large…"),
        ("(-1)!", "fault: only whole numbers from zero upwards…"),
        (
            "(exp(-166.17))!",
            "fault: only whole numbers from zero upwards…",
        ),
        ("2.5!", "fault: only whole numbers from zero upwards…"),
        ("10^10^10", "fault: the result is too large…"),
        ("9^9^9^9", "fault: the result is too large…"),
        ("(10^6)!", "fault: the result is too large…"),
        ("5!!!", "fault: the result is too large…"),
        ("10^-10^10", "fault: the result is too close to zero…"),
        ("exp(10^6)", "fault: the result is too large…"),
        ("2^2^2^2^2^2", "fault: the result is too large…"),
        ("(1 + 10^-30)^(10^40)", "fault: the result is too large…"),
        ("0.5^(10^20)", "fault: the result is too close to zero…"),
        ("ncr(100000, 50000)", "fault: the result is too large…"),
        ("gcd(1.5, 2)", "fault: gcd and lcm take whole numbers"),
        ("exp(1000)", "fault: the result is too large…"),
        ("exp(-1000)", "fault: the result is too close to zero…"),
        (
            "2^9999 / 3^6000",
            "fault: the numbers have too many digits to work with…",
        ),
    ]);
}

#[test]
fn length_and_depth_are_bounded() {
    let nested = |open: &str, close: &str, depth: usize| {
        format!("{}1{}", open.repeat(depth), close.repeat(depth))
    };
    check(&[
        (&nested("(", ")", 50), "1"),
        (
            &nested("(", ")", 51),
            "fault: nested deeper than 50 levels…",
        ),
        (
            &nested("(", ")", 240),
            "fault: nested deeper than 50 levels…",
        ),
        (&nested("1+(", ")", 50), "51"),
        (&nested("2(", ")", 50), "1125899906842624"),
        (
            &nested("abs(", ")", 51),
            "fault: nested deeper than 50 levels…",
        ),
        (
            &nested("-", "", 400),
            "fault: nested deeper than 50 levels…",
        ),
        (
            &nested("√", "", 400),
            "fault: nested deeper than 50 levels…",
        ),
        (
            &nested("1^", "", 200),
            "fault: nested deeper than 50 levels…",
        ),
        (
            &nested("abs ", "", 100),
            "fault: nested deeper than 50 levels…",
        ),
        (
            &nested("max(1,", ")", 51),
            "fault: nested deeper than 50 levels…",
        ),
        (&vec!["1"; 250].join("+"), "250"),
        (
            &vec!["1"; 251].join("+"),
            "fault: the expression has 501 characters…",
        ),
        (&format!("1{}", "!".repeat(499)), "1"),
        (&"9".repeat(500), "approx. 1e500"),
    ]);
}

#[test]
fn no_expression_takes_longer_than_its_limit() {
    let calculator = Calculator::new();
    let many = |one: &str| vec![one; 501 / (one.len() + 1)].join("+");
    let slow = [
        &*many("sqrt(3^9999)"),
        &many("cbrt(7^9999)"),
        &many("3000!"),
        &many("1e9999"),
        &many("9^9999 mod 7^5999"),
        &many("1/3^4000"),
        &many("log(7^9999, 7)"),
        &many("lcm(2^4000, 3^4000)"),
        "1/3^2000 + 1/7^1500 + 1/11^1000 + 1/13^1000 + 1/17^900 + 1/19^800 + 1/23^700",
        "1.1^1800 * 1.3^1800 * 1.7^1800 * 1.9^1800 / 3^9000 / 7^9000 / 11^9000 mod 1.7",
        "(1/3^9000 + 1/7^9000 + 1/11^9000 + 1/13^8900 + 1/17^8000 + 1/19^7000) mod (1/23^7000)",
        "gcd(3^9000 + 1, 7^9000 + 2)",
        "lcm(2^9999, 3^9999, 5^9999, 7^9999)",
    ];
    for expression in slow {
        let start = Instant::now();
        let result = ask(&calculator, expression);
        let taken = start.elapsed();
        assert!(
            taken < Duration::from_secs(2),
            "{expression} took {taken:?}"
        );
        if let Err(fault) = result {
            assert!(
                matches!(fault, ToolFault::Exhausted(_) | ToolFault::Unanswerable(_)),
                "{expression} gives {fault:?}"
            );
        }
    }
}

#[test]
fn arguments_of_another_shape_are_refused() {
    let calculator = Calculator::new();
    for arguments in [json!({}), json!({"expression": 5}), json!([]), json!(null)] {
        let fault = calculator.answer_blocking(&arguments).unwrap_err();
        assert!(matches!(fault, ToolFault::Arguments(_)), "{arguments}");
    }
}

#[tokio::test]
async fn many_calculations_at_once_all_get_their_answer() {
    let calculator = Calculator::new();
    let mut tasks = JoinSet::new();
    for number in 0..50 {
        let calculator = calculator.clone();
        tasks.spawn(async move {
            let arguments = json!({"expression": format!("{number} * 2")});
            let answer = calculator.answer(&arguments).await.unwrap();
            assert_eq!(answer.text, (number * 2).to_string());
        });
    }
    tasks.join_all().await;
}
