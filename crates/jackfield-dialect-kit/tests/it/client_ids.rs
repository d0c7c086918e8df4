//! Our ids for a client's calls.

use std::collections::HashSet;

use jackfield_dialect_kit::client_ids::ClientIds;
use jackfield_testkit::arb as kit;
use proptest::prelude::*;

use crate::owner;

#[test]
fn an_id_of_our_form_is_kept_and_another_one_is_remembered() {
    let owner = owner();
    let mut ids = ClientIds::new(&owner);
    let (id, upstream) = ids.register_call("call_a");
    assert_eq!((id.as_str(), upstream), ("call_a", None));
    for odd in ["functions.clock:0", "", &"x".repeat(41)] {
        let (id, upstream) = ids.register_call(odd);
        let upstream = upstream.expect("the client's own");
        assert_eq!((&*upstream.id, &upstream.owner), (odd, &owner));
        assert_eq!(ids.resolve_result(odd), id);
    }
}

#[test]
fn a_result_answers_the_last_call_of_its_text() {
    let owner = owner();
    let mut ids = ClientIds::new(&owner);
    let (first, _) = ids.register_call("call_a");
    assert_eq!(ids.resolve_result("call_a"), first);
    let (second, upstream) = ids.register_call("call_a");
    assert_ne!(second, first);
    assert_eq!(&*upstream.expect("the client's own").id, "call_a");
    assert_eq!(ids.resolve_result("call_a"), second);
}

#[test]
fn a_result_without_a_call_keeps_its_id_where_it_can() {
    let owner = owner();
    let ids = ClientIds::new(&owner);
    assert_eq!(ids.resolve_result("call_z").as_str(), "call_z");
    assert_eq!(ids.resolve_result("a b"), ids.resolve_result("a b"));
    assert_ne!(ids.resolve_result("a b"), ids.resolve_result("a c"));
}

proptest! {
    #[test]
    fn every_call_has_its_own_id_and_the_same_one_each_time(texts in prop::collection::vec(prop_oneof![kit::text().prop_map(|text| text.to_string()), "call_[ab]"], 0..8)) {
        let owner = owner();
        let (mut ids, mut again) = (ClientIds::new(&owner), ClientIds::new(&owner));
        let mut seen = HashSet::new();
        for text in &texts {
            let made = ids.register_call(text);
            prop_assert_eq!(&again.register_call(text), &made);
            prop_assert_eq!(ids.resolve_result(text), made.0.clone());
            prop_assert!(seen.insert(made.0));
        }
    }
}
