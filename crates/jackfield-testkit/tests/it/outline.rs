//! Outlines: what they compare, and what they are told by notes.

use std::collections::BTreeSet;

use jackfield_domain::block::Block;
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_testkit::arb;
use jackfield_testkit::outline::{self, Node};
use proptest::prelude::*;

fn texts(texts: &[&str]) -> Node {
    let blocks: Vec<Block> = texts.iter().map(|text| Block::text(*text)).collect();
    outline::of_blocks(&blocks)
}

fn note(kind: NoteKind, path: &str) -> Note {
    Note::new(kind, NoteEffect::Meaning, "any", path)
}

#[test]
fn a_difference_needs_a_note_and_a_note_a_difference() {
    let (told, back) = (texts(&["a", "b"]), texts(&["a", "c"]));
    let done = BTreeSet::new();
    let check = |back: &Node, path: &str| {
        outline::check(&told, back, &[note(NoteKind::Approximated, path)], &done)
    };
    for path in ["blocks", "blocks[1]", "blocks[1].text"] {
        assert_eq!(check(&back, path), Ok(()), "{path}");
        assert!(check(&told, path).is_err(), "{path}");
    }
    for path in ["blocks[0]", "blocks[1].annotations", "blocks[10]", "block"] {
        assert!(check(&back, path).is_err(), "{path}");
    }
    assert!(outline::check(&told, &back, &[], &done).is_err());
}

#[test]
fn what_a_note_says_is_gone_is_taken_out() {
    let mut told = texts(&["a", "b", "c"]);
    assert!(outline::remove(
        &mut told,
        &note(NoteKind::Dropped, "blocks[0]")
    ));
    assert!(!outline::remove(
        &mut told,
        &note(NoteKind::Dropped, "blocks[0]")
    ));
    assert!(!outline::remove(
        &mut told,
        &note(NoteKind::Approximated, "blocks[1]")
    ));
    // The others keep the paths that they had.
    assert!(outline::take(&mut told, "blocks[2]").is_some());
    assert_eq!(outline::differences(&told, &texts(&["b"])), [""; 0]);
}

proptest! {
    #[test]
    fn what_is_equal_has_the_same_outline(request in arb::model_request()) {
        let told = outline::of_request(&request);
        prop_assert_eq!(outline::differences(&told, &outline::of_request(&request)), [""; 0]);
    }
}
