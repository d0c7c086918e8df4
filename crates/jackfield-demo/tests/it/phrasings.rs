//! Arithmetic among other words, in three languages; the questions that are shown are in `shown.rs`.

use crate::asking::{Talk, calculate, calls};

fn check(cases: &[(&str, &[&str])]) {
    for (text, expressions) in cases {
        let asked = calls(&Talk::asking(text).reply());
        let wanted: Vec<_> = expressions.iter().map(|one| calculate(one)).collect();
        assert_eq!(asked, wanted, "{text}");
    }
}

#[test]
fn percentages_are_understood_in_three_languages() {
    check(&[
        ("what's 15 % of 2,500", &["15% of 2,500"]),
        ("сколько будет 15% от 2500", &["15% of 2500"]),
        ("посчитай 7,5% от 1200", &["7,5% of 1200"]),
        ("2500的15%是多少", &["15% of 2500"]),
        ("2500 的 15% 是多少", &["15% of 2500"]),
        ("２５００的１５％是多少？", &["15% of 2500"]),
    ]);
}

#[test]
fn expressions_are_found_among_words() {
    check(&[
        ("what is 12*(3+4)", &["12 * (3 + 4)"]),
        ("12*(3+4)", &["12 * (3 + 4)"]),
        ("12 × (3 + 4) = ?", &["12 * (3 + 4)"]),
        ("12÷4−1", &["12 / 4 - 1"]),
        ("please compute 123 + 456", &["123 + 456"]),
        ("10 / 4 - 1", &["10 / 4 - 1"]),
        ("-5 + 3", &["-5 + 3"]),
        ("2^0.5 + .5", &["2^0.5 + .5"]),
        ("2(3+4)", &["2 * (3 + 4)"]),
        ("2*sqrt(9 + 7)", &["2 * sqrt(9 + 7)"]),
        ("сколько будет 12*(3+4)?", &["12 * (3 + 4)"]),
        ("请问 12*(3+4) 等于多少？", &["12 * (3 + 4)"]),
        ("帮我算一下（1＋2）×3", &["(1 + 2) * 3"]),
    ]);
}

#[test]
fn several_questions_are_several_calls() {
    check(&[
        ("2+2 and 3*3", &["2 + 2", "3 * 3"]),
        ("What is 2+2? And 10% of 50?", &["2 + 2", "10% of 50"]),
        ("сколько будет 2+2 и 3*3?", &["2 + 2", "3 * 3"]),
        ("2+2等于多少？3*3呢？", &["2 + 2", "3 * 3"]),
        ("2+2, and again 2+2", &["2 + 2"]),
    ]);
}

#[test]
fn half_an_expression_is_not_answered() {
    check(&[
        ("x^2 + 3", &[]),
        ("what is 3 * x", &[]),
        ("solve 2 + 3 * y = 17", &[]),
        ("0x10 + 1", &[]),
        ("room B-12 + 3", &[]),
        ("y + 3 + 2", &[]),
        ("y - 3 + 2", &[]),
        ("- 2+3\n- 4*5", &["2 + 3", "4 * 5"]),
        ("2+2 - easy, right?", &["2 + 2"]),
        ("One question - 2+2", &["2 + 2"]),
        ("what is -5 + 3", &["-5 + 3"]),
        ("3/4 of 100", &[]),
        ("2 + 3!", &[]),
        ("2 + 3²", &[]),
        ("√2 + 1", &[]),
        ("f(2) * 3", &[]),
        ("max(1, 2+3)", &[]),
        ("2 * (3 + 4", &[]),
        ("1e3 * 2 + 1", &[]),
        ("10% of 1 000", &[]),
        ("10% of 1,000,000", &[]),
        ("(1+2)的15%", &[]),
        ("2+2万", &[]),
    ]);
}

#[test]
fn operators_in_words_make_half_an_expression_of_what_is_in_digits() {
    check(&[
        ("subtract 3*2 from 10", &[]),
        ("2 + 3 squared", &[]),
        ("half of 3*4", &[]),
        ("sqrt 2 * 3", &[]),
        ("2 + 17 x 23", &[]),
        ("2+2 умножить на 7", &[]),
        ("2+2乘以7", &[]),
        ("2+2的平方", &[]),
    ]);
}

#[test]
fn numbers_in_other_uses_are_left_alone() {
    check(&[
        ("I have 3 apples", &[]),
        ("Are you available 24/7 for me", &[]),
        ("See pages 10-12 of the report", &[]),
        ("The meeting of 2024-05-06 was long", &[]),
        ("Call 8-800-555-35-35 or +7 495 123-45-67", &[]),
        ("Version 1.2.3 is out, version 1.2.4 is next", &[]),
        ("from 1.2.3 + 4 on", &[]),
        ("my 5th try - the 2nd today", &[]),
        ("C++ or C#?", &[]),
        ("UTC+3", &[]),
        ("one of two", &[]),
        ("у меня 3 яблока", &[]),
        ("на 5-й странице", &[]),
        ("我有三个苹果", &[]),
        ("一下子", &[]),
        ("15%", &[]),
        ("((((", &[]),
        ("+ - * /", &[]),
    ]);
}
