//! The parts of a sign-in: challenges, places of metadata, scopes and times.

use jackfield_tools_mcp::for_tests::{
    Challenge, canonical, covers, covers_scope, is_stale, union, well_known,
};
use url::Url;

fn challenge(error: &str, metadata: &str, scope: &str) -> Option<Challenge> {
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    Some(Challenge {
        error: text(error),
        resource_metadata: text(metadata),
        scope: text(scope),
    })
}

#[test]
fn challenges_are_read_as_servers_write_them() {
    let cases = [
        ("Bearer", challenge("", "", "")),
        (
            r#"Bearer resource_metadata="https://a.example/m", scope="read write""#,
            challenge("", "https://a.example/m", "read write"),
        ),
        (
            r#"bearer realm="a, b", Error=insufficient_scope , scope = "x""#,
            challenge("insufficient_scope", "", "x"),
        ),
        (
            r#"Basic realm="Bearer", Bearer scope="a\"b""#,
            challenge("", "", "a\"b"),
        ),
        (
            r#"Bearer scope="a", Basic realm="x", scope="y""#,
            challenge("", "", "a"),
        ),
        (
            r#"Bearer scope="not closed"#,
            challenge("", "", "not closed"),
        ),
        (r#"Bearer , =x, scope="a""#, challenge("", "", "")),
        ("Digest qop=auth", None),
        ("", None),
    ];
    for (text, read) in cases {
        assert_eq!(Challenge::parse(text), read, "{text}");
    }
}

#[test]
fn well_known_places_stand_before_the_path() {
    let shown = |base: &str, name: &str, only| {
        let places = well_known(&Url::parse(base).unwrap(), name, only);
        places.iter().map(Url::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        shown("https://a.example/mcp?x=1", "r", false),
        [
            "https://a.example/.well-known/r/mcp",
            "https://a.example/.well-known/r"
        ]
    );
    assert_eq!(
        shown("https://a.example/t/", "r", true),
        ["https://a.example/.well-known/r/t"]
    );
    assert_eq!(
        shown("https://a.example", "r", false),
        ["https://a.example/.well-known/r"]
    );
}

#[test]
fn a_resource_covers_its_own_path_and_all_below_it() {
    let server = Url::parse("https://a.example/mcp").unwrap();
    for (resource, is_covered) in [
        ("https://a.example/mcp", true),
        ("https://a.example/mcp/", true),
        ("https://a.example", true),
        ("https://A.example:443/", true),
        ("https://a.example/mc", false),
        ("https://a.example/mcp/more", false),
        ("https://b.example/mcp", false),
        ("http://a.example/mcp", false),
        ("mcp", false),
    ] {
        assert_eq!(covers(resource, &server), is_covered, "{resource}");
    }
}

#[test]
fn the_identifier_of_a_server_has_no_idle_slash() {
    let shown = |text: &str| canonical(&Url::parse(text).unwrap());
    assert_eq!(shown("https://a.example/?k=v"), "https://a.example");
    assert_eq!(shown("https://a.example/mcp/#x"), "https://a.example/mcp/");
}

#[test]
fn a_registration_covers_its_scope_and_without_one_everything() {
    assert!(covers_scope(Some("read write"), Some("write")));
    assert!(covers_scope(Some("read"), None));
    assert!(covers_scope(None, Some("write")));
    assert!(!covers_scope(Some("read"), Some("read write")));
}

#[test]
fn scopes_are_joined_without_repetition() {
    assert_eq!(union(Some("a b"), Some("b  c")).as_deref(), Some("a b c"));
    assert_eq!(union(None, Some("a")).as_deref(), Some("a"));
    assert_eq!(union(None, Some(" ")), None);
    let many: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
    let bounded = union(Some(&many.join(" ")), Some("more"));
    assert_eq!(bounded.unwrap().split(' ').count(), 200);
    assert_eq!(
        union(Some(&"x".repeat(8 << 10)), Some("y")).as_deref(),
        Some("y")
    );
}

#[test]
fn a_token_is_stale_shortly_before_its_end() {
    assert!(!is_stale(1000, None, u64::MAX));
    let stale = |lifetime: u64, now| is_stale(1000, Some(1000 + lifetime), now);
    assert_eq!((stale(3600, 4539), stale(3600, 4540)), (false, true));
    // Otherwise a token of a short life would be renewed for each call.
    assert_eq!((stale(30, 1026), stale(30, 1027)), (false, true));
}
