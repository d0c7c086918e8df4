//! Where extensions are put.

use jackfield_dialect_kit::pointer::{set, tokens};
use serde_json::{Map, json};

#[test]
fn a_value_is_put_below_objects_that_are_made_for_it() {
    let mut fields = Map::new();
    let path = tokens("/a~1b/c~0d").unwrap_or_default();
    assert!(set(&mut fields, &path, &json!(1)));
    assert_eq!(json!(fields), json!({ "a/b": { "c~d": 1 } }));
}

#[test]
fn nothing_is_put_over_another_value_or_below_one_that_is_no_object() {
    let mut fields = Map::from_iter([("a".to_owned(), json!(1))]);
    for path in ["/a", "/a/b"] {
        let path = tokens(path).unwrap_or_default();
        assert!(!set(&mut fields, &path, &json!(2)), "{path:?}");
    }
    assert_eq!(json!(fields), json!({ "a": 1 }));
}

#[test]
fn what_is_no_pointer_or_points_at_the_whole_has_no_tokens() {
    assert_eq!(tokens(""), None);
    assert_eq!(tokens("a/b"), None);
}
