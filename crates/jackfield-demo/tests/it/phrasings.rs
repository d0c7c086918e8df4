//! Arithmetic as people write it, in three languages.

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
        ("What is 15% of 2500?", &["15% of 2500"]),
        ("what's 15 % of 2,500", &["15% of 2500"]),
        ("15 percent of 2500 dollars, please", &["15% of 2500"]),
        ("How much is 7.5% of $1,200,000?", &["7.5% of 1200000"]),
        (
            "fifteen percent of two thousand five hundred",
            &["15% of 2500"],
        ),
        ("сколько будет 15% от 2500", &["15% of 2500"]),
        (
            "Сколько будет 15 процентов от 2 500 рублей?",
            &["15% of 2500"],
        ),
        ("посчитай 7,5% от 1200", &["7.5% of 1200"]),
        ("пятнадцать процентов от двести", &["15% of 200"]),
        ("2500的15%是多少", &["15% of 2500"]),
        ("２５００的１５％是多少？", &["15% of 2500"]),
        ("2500元的百分之15是多少", &["15% of 2500"]),
        ("一千的百分之十五等于多少", &["15% of 1000"]),
        ("请计算2,500的15%", &["15% of 2500"]),
    ]);
}

#[test]
fn expressions_are_found_among_words() {
    check(&[
        ("what is 12*(3+4)", &["12 * (3 + 4)"]),
        ("12*(3+4)", &["12 * (3 + 4)"]),
        ("12 × (3 + 4) = ?", &["12 * (3 + 4)"]),
        ("please compute 123 + 456", &["123 + 456"]),
        ("Hi! Could you tell me what 17 x 23 is?", &["17 * 23"]),
        ("12x3", &["12 * 3"]),
        ("10 / 4 - 1", &["10 / 4 - 1"]),
        ("-5 + 3", &["-5 + 3"]),
        ("2 ** 10", &["2^10"]),
        ("2^0.5 + .5", &["2^0.5 + 0.5"]),
        ("3/4 of 100", &["(3 / 4) * 100"]),
        ("2(3+4)", &["2 * (3 + 4)"]),
        ("((1+2)*3", &["(1 + 2) * 3"]),
        ("1.5e3 / 3", &["1.5e3 / 3"]),
        ("сколько будет 12*(3+4)?", &["12 * (3 + 4)"]),
        ("Вычисли 1,5 + 2,25", &["1.5 + 2.25"]),
        ("请问 12*(3+4) 等于多少？", &["12 * (3 + 4)"]),
        ("帮我算一下（1＋2）×3", &["(1 + 2) * 3"]),
    ]);
}

#[test]
fn operators_in_words_are_operators() {
    check(&[
        ("What is two plus two?", &["2 + 2"]),
        ("seven times eight", &["7 * 8"]),
        ("forty-two divided by 6", &["42 / 6"]),
        ("Multiply 6 by 7", &["6 * 7"]),
        ("subtract 3 from 10", &["10 - 3"]),
        ("the sum of 1, 2 and 3", &["1 + 2 + 3"]),
        ("the average of 4, 8 and 9", &["mean(4, 8, 9)"]),
        ("2 to the power of 10", &["2^10"]),
        ("9 squared", &["9^2"]),
        ("17 mod 5", &["17 mod 5"]),
        ("сколько будет два плюс два", &["2 + 2"]),
        ("Сколько будет 12 умножить на 7?", &["12 * 7"]),
        ("умножь 12 на 7", &["12 * 7"]),
        ("100 разделить на 8", &["100 / 8"]),
        ("вычти 3 из 10", &["10 - 3"]),
        ("прибавь 5 к 20", &["20 + 5"]),
        ("5 в квадрате", &["5^2"]),
        ("2 в степени 10", &["2^10"]),
        ("三加五等于几", &["3 + 5"]),
        ("12乘以7是多少", &["12 * 7"]),
        ("100除以8等于多少", &["100 / 8"]),
        ("二十五减七", &["25 - 7"]),
        ("2的10次方是多少", &["2^10"]),
        ("5的平方", &["5^2"]),
    ]);
}

#[test]
fn functions_are_found_with_and_without_parentheses() {
    check(&[
        ("sqrt(2)", &["sqrt(2)"]),
        ("What is the square root of 144?", &["sqrt(144)"]),
        ("√2 + 1", &["sqrt(2) + 1"]),
        ("sin(30 deg)", &["sin(30 deg)"]),
        ("sin 30°", &["sin(30 deg)"]),
        ("sine of 30 degrees", &["sin(30 deg)"]),
        ("cos(pi/3)", &["cos(pi / 3)"]),
        ("2pi * 5", &["2 * pi * 5"]),
        ("log(1000)", &["log(1000)"]),
        ("max(1,500)", &["max(1, 500)"]),
        ("what is 5!", &["5!"]),
        ("корень из 144", &["sqrt(144)"]),
        ("чему равен синус 30 градусов", &["sin(30 deg)"]),
        ("факториал 5", &["factorial(5)"]),
        ("16的平方根", &["sqrt(16)"]),
        ("根号2是多少", &["sqrt(2)"]),
        ("30度的正弦", &["sin(30 deg)"]),
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
fn numbers_are_read_as_they_are_written() {
    check(&[
        ("12,5 + 3", &["12.5 + 3"]),
        ("1 000 + 1", &["1000 + 1"]),
        ("1,000,000 / 8", &["1000000 / 8"]),
        ("сколько будет 1,500 + 2", &["1.500 + 2"]),
        ("посчитай 10% от 1 000 000,5", &["10% of 1000000.5"]),
        ("the sum of 1,2,3", &["1 + 2 + 3"]),
        ("two hundred and fifty times 4", &["250 * 4"]),
        ("三百二十一加一", &["321 + 1"]),
        ("5 factorial", &["5!"]),
        ("20% off 80", &["80 - 20%"]),
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
        ("- 2+3\n- 4*5", &["2 + 3", "4 * 5"]),
        ("2+2 - easy, right?", &["2 + 2"]),
        ("One question - 2+2", &["2 + 2"]),
        ("what is -5 + 3", &["-5 + 3"]),
    ]);
}

#[test]
fn numbers_in_other_uses_are_left_alone() {
    check(&[
        ("I have 3 apples", &[]),
        ("Are you available 24/7 for me", &[]),
        ("See pages 10-12 of the report", &[]),
        ("The meeting of 2024-05-06 was long", &[]),
        ("Version 1.2.3 is out, version 1.2.4 is next", &[]),
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
