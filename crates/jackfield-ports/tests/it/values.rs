//! Values that go through ports.

use jackfield_ports::identity_provider::SignInSecrets;
use jackfield_ports::journal::{JournalError, Outage, OutageError};
use jackfield_ports::upstream::endpoint_covers;

#[test]
fn a_cookie_of_a_sign_in_has_three_values() {
    let secrets = SignInSecrets {
        nonce: "n-1".to_owned(),
        state: "s_2".to_owned(),
        verifier: "v3".to_owned(),
    };
    assert_eq!(SignInSecrets::parse(&secrets.to_string()), Some(secrets));
    for text in [
        "",
        ".",
        "a.b",
        "a.b.",
        "a..c",
        "a.b.c.d",
        "a.b.c d",
        "a.b.\u{e9}",
    ] {
        assert_eq!(SignInSecrets::parse(text), None, "{text}");
    }
}

#[test]
fn an_outage_is_found_below_other_errors() {
    let why = "the database at 10.0.0.1 is full".to_owned();
    let outage = Outage::DiskFull;
    let source = OutageError { outage, why }.into();
    let error = JournalError::Unreachable { source };
    assert_eq!(Outage::of(&error), Some(outage));
    let source = "something else".into();
    assert_eq!(Outage::of(&JournalError::Unreachable { source }), None);
}

#[test]
fn an_endpoint_covers_itself_or_what_is_plainly_below_it() {
    assert!(endpoint_covers("/v1/files", "/v1/files"));
    for path in ["/v1/files/f-1", "/v1/files/f-1/content", "/v1/files/a.b"] {
        assert!(endpoint_covers("/v1/files/*", path), "{path}");
        assert!(!endpoint_covers("/v1/files", path), "{path}");
    }
    for path in [
        "",
        "/",
        "/v1/files",
        "/v1/files/",
        "/v1/files//x",
        "/v1/files/x/",
        "/v1/files/.",
        "/v1/files/../models",
        "/v1/files/...",
        "/v1/files/%2e%2e/models",
        "/v1/files/a%2Fb",
        "/v1/files/a\\b",
        "/v1/files/a?b",
        "/v1/files/a#b",
        "/v1/files/ä",
        "/V1/files/x",
        "//v1/files/x",
    ] {
        assert!(!endpoint_covers("/v1/files/*", path), "{path}");
    }
}
