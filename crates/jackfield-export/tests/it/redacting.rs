//! What is private is taken out of the facts, and nothing else changes.

use jackfield_domain::fact::Fact;
use jackfield_export::{without_private, without_secrets_in};
use jackfield_testkit::arb;
use proptest::prelude::*;
use serde_json::json;

proptest! {
    #[test]
    fn the_facts_stay_what_they_are(step in arb::envelope()) {
        let told = without_private(std::slice::from_ref(&step));
        prop_assert_eq!(told.len(), 1);
        let kinds = |facts: &[Fact]| -> Vec<_> {
            facts.iter().map(std::mem::discriminant).collect()
        };
        prop_assert_eq!(kinds(&told[0].facts), kinds(&step.facts));
        prop_assert_eq!((told[0].step, told[0].now), (step.step, step.now));
        for (told, fact) in told[0].facts.iter().zip(&step.facts) {
            // What cost nothing to hide is what it was: who, when, which, and how it ended.
            prop_assert_eq!(told.usage(), fact.usage());
        }
    }
}

#[test]
fn keys_go_out_of_every_text_of_a_document() {
    for key in [
        "sk-ant-api03-not0a1real2key3AAAA",
        // The gateway's own.
        "jk_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    ] {
        let mut document = json!({ "a": [{ key: format!("it is {key}.") }], "n": 1 });
        without_secrets_in(&mut document);
        assert!(!document.to_string().contains(key), "{document}");
        assert_eq!(document["n"], 1);
    }
}
