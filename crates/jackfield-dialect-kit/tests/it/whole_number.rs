//! Whole numbers, however they are written.

use jackfield_dialect_kit::whole_number;
use proptest::prelude::*;
use serde::Deserialize;

#[derive(Debug, Deserialize, PartialEq)]
struct Asked {
    #[serde(deserialize_with = "whole_number::number")]
    most: u64,
    #[serde(default, deserialize_with = "whole_number::optional")]
    seed: Option<i64>,
}

fn read(most: &str, seed: &str) -> Result<Asked, serde_json::Error> {
    serde_json::from_str(&format!("{{\"most\":{most},\"seed\":{seed}}}"))
}

#[test]
fn what_is_whole_is_read_in_any_form() {
    for (text, number) in [
        ("1000", 1000),
        ("1e3", 1000),
        ("1000.0", 1000),
        ("1.5E1", 15),
        ("-0.0", 0),
        ("18446744073709551615", u64::MAX),
    ] {
        assert_eq!(read(text, "null").expect(text).most, number, "{text}");
        let json = serde_json::from_str(text).expect("JSON");
        assert_eq!(
            whole_number::from_value(&json),
            Some(number.into()),
            "{text}"
        );
    }
    assert_eq!(read("1", "-2e1").expect("numbers").seed, Some(-20));
    assert_eq!(read("1", "null").expect("numbers").seed, None);
    assert_eq!(
        serde_json::from_str::<Asked>("{\"most\":1}")
            .expect("a number")
            .seed,
        None
    );
}

#[test]
fn what_is_not_whole_or_not_a_number_is_refused() {
    for text in [
        "1.5",
        "-1",
        "1e30",
        "1e-3",
        "\"1000\"",
        "true",
        "[1]",
        "null",
        "18446744073709551616",
    ] {
        let refused = read(text, "null").expect_err(text).to_string();
        assert!(
            refused.contains("a whole number in its range"),
            "{text}: {refused}"
        );
    }
    assert!(read("1", "1.5").is_err());
    assert_eq!(whole_number::from_value(&serde_json::json!("1")), None);
}

proptest! {
    #[test]
    fn a_number_is_what_it_is_with_and_without_a_fraction(number in 0..9_007_199_254_740_992_u64) {
        let plain = read(&number.to_string(), "null").expect("a number");
        let with_fraction = read(&format!("{number}.0"), "null").expect("a number");
        prop_assert_eq!(plain, with_fraction);
    }
}
