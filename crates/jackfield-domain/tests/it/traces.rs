//! Trace contexts: what is one, and the spans below it.

use jackfield_domain::trace::{TraceContext, TraceParent};

#[test]
fn a_context_is_one_only_in_the_form_of_one() {
    let found = TraceContext::parse(PARENT, Some("a=b")).unwrap();
    assert_eq!(
        (&*found.parent, found.state.as_deref()),
        (PARENT, Some("a=b"))
    );
    let long = "a".repeat(513);
    assert_eq!(
        TraceContext::parse(PARENT, Some(&long)).unwrap().state,
        None
    );
    let later = PARENT.replacen("00", "01", 1) + "-more";
    assert!(TraceContext::parse(&later, None).is_some());
    for parent in [
        "",
        "00",
        "ö",
        &PARENT.replacen("00", "ff", 1),
        &PARENT.to_uppercase(),
        &format!("{PARENT}-more"),
        &format!("{later}{}", "-more".repeat(200)),
        &PARENT[..PARENT.len() - 1],
        &PARENT.replace("00f067aa0ba902b7", "0000000000000000"),
        &PARENT.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
    ] {
        assert!(TraceContext::parse(parent, None).is_none(), "{parent}");
    }
}

#[test]
fn a_call_within_a_span_is_a_span_of_the_same_trace() {
    let context = TraceContext::parse(PARENT, Some("a=b")).unwrap();
    let [one, two] = ["one", "two"].map(|name| context.child(name).unwrap());
    assert_eq!(one, context.child("one").unwrap());
    assert_ne!(one.parent, two.parent);
    assert_eq!(one.parent[..36], PARENT[..36]);
    assert_ne!(one.parent[36..], PARENT[36..]);
    assert_eq!(one.state, context.state);
    let unsampled = TraceContext::parse(&PARENT.replace("-01", "-00"), None);
    assert_eq!(unsampled.unwrap().child("one"), None);
}

#[test]
fn a_parent_has_a_trace_a_span_and_flags() {
    let parent = TraceParent::parse(PARENT).unwrap();
    assert_eq!(parent.span, [0, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 2, 0xb7]);
    assert_eq!(parent.trace[..3], [0x4b, 0xf9, 0x2f]);
    assert!(parent.is_sampled);
    let unsampled = PARENT.replace("-01", "-00");
    assert!(!TraceParent::parse(&unsampled).unwrap().is_sampled);
}

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
