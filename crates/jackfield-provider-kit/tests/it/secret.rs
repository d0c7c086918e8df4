//! Secrets.

use jackfield_provider_kit::secret::{InvalidSecret, Secret};

#[test]
fn a_secret_is_not_shown() {
    let secret = Secret::new("sk-123");
    assert_eq!(format!("{secret:?}"), "[redacted]");
    let value = secret.header_value("Bearer ").unwrap();
    assert_eq!(value.to_str().unwrap(), "Bearer sk-123");
    assert!(!format!("{value:?}").contains("sk-123"));
}

#[test]
fn the_line_break_of_a_file_is_no_part_of_a_secret() {
    assert_eq!(Secret::new(" sk-123\r\n").expose(), "sk-123");
}

#[test]
fn a_text_loses_every_copy_of_the_secret() {
    let secret = Secret::new("sk-123");
    assert_eq!(
        secret.redact("no sk-123, wrong sk-123"),
        "no [redacted], wrong [redacted]"
    );
    assert_eq!(Secret::new("").redact("as it was"), "as it was");
}

#[test]
fn what_no_header_can_hold_is_refused_without_repeating_it() {
    for (text, expected) in [
        ("", InvalidSecret::Empty),
        ("   ", InvalidSecret::Empty),
        ("s3cret s3cret", InvalidSecret::Unsendable),
        ("s3cret\r\nx: y", InvalidSecret::Unsendable),
        ("s3crét", InvalidSecret::Unsendable),
    ] {
        let error = Secret::new(text).header_value("").unwrap_err();
        assert_eq!(error, expected);
        assert!(!format!("{error} {error:?}").contains("s3cr"));
    }
}
