//! What must not get lost.

use jackfield_dialect_kit::strict::check;
use jackfield_domain::failure::{ModelFailureKind, Phase, RetryAdvice};
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_testkit::arb;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use NoteEffect::{Cosmetic, Cost, Meaning, Quality};

fn dropped(effect: NoteEffect, code: &'static str, path: &str) -> Note {
    Note::new(NoteKind::Dropped, effect, code, path)
}

fn refusal(notes: &[Note], strict: NoteEffect) -> String {
    let failure = check(notes, Some(strict)).err();
    failure.map(|failure| failure.message).unwrap_or_default()
}

#[test]
fn a_setting_is_named_with_what_would_become_of_it_and_how_to_go_on() {
    let notes = [
        dropped(Quality, "sampling_not_supported", "settings.top_k"),
        Note::new(
            NoteKind::Approximated,
            Cosmetic,
            "max_tokens_defaulted",
            "settings.max_output_tokens",
        ),
    ];
    assert_eq!(
        refusal(&notes, Cost),
        "nothing was sent, as the turn is strict about cost: settings.top_k would be left out \
         (sampling not supported; quality); leave that out or change it, or be strict about meaning only",
    );
}

#[test]
fn a_conversation_that_lost_its_state_can_go_on_in_three_ways() {
    let path = |n| format!("messages[{n}].blocks[0].opaque[0]");
    let notes: Vec<Note> = (1..6)
        .map(|n| dropped(Quality, "state_withheld", &path(n)))
        .collect();
    assert_eq!(
        refusal(&notes, Quality),
        "nothing was sent, as the turn is strict about quality: messages[1].blocks[0].opaque[0] and 4 \
         like it would be left out (state withheld; quality); what stands in the conversation is sent \
         with every question: be strict about meaning only, ask a model that can be told it (state goes \
         back to the model that made it alone), or begin another conversation",
    );
    assert_eq!(check(&notes, Some(Meaning)), Ok(()));
}

#[test]
fn the_worst_is_told_first_and_only_some_of_many() {
    let names = ["a", "b", "c", "d", "e"];
    let mut notes: Vec<Note> = names
        .iter()
        .map(|name| dropped(Cost, "setting_not_supported", &format!("settings.{name}")))
        .collect();
    let act = "settings.extensions[0]";
    notes.push(Note::new(
        NoteKind::Refused,
        Meaning,
        "provider_would_act",
        act,
    ));
    let told = refusal(&notes, Cost);
    assert!(
        told.contains("cost: settings.extensions[0] would not be passed on"),
        "{told}"
    );
    assert!(told.contains("settings.c"), "{told}");
    assert!(!told.contains("settings.d"), "{told}");
    assert!(told.contains(", and 2 more; "), "{told}");
    assert!(told.ends_with("or do not be strict"), "{told}");
}

#[test]
fn a_path_is_one_line_and_no_page() {
    let path = format!(
        "settings.response_format.schema#/{}\n{}",
        "a\r",
        "b".repeat(1_000)
    );
    let told = refusal(&[dropped(Quality, "keyword", &path)], Quality);
    assert!(!told.contains(char::is_control), "{told}");
    assert!(told.len() < 400, "{told}");
}

proptest! {
    /// The threshold decides, and nothing else does; a refusal is final, and its line names the worst.
    #[test]
    fn a_request_is_refused_for_what_counts(
        notes in vec(arb::note(), 0..6),
        strict in option::of(prop::sample::select(&[Cosmetic, Cost, Quality, Meaning][..])),
    ) {
        let counts = |note: &&Note| {
            note.kind != NoteKind::Carried && strict.is_some_and(|strict| note.effect >= strict)
        };
        let worst = notes.iter().filter(counts).map(|note| note.effect).max();
        match check(&notes, strict) {
            Ok(()) => prop_assert_eq!(worst, None),
            Err(failure) => {
                prop_assert!(worst.is_some());
                prop_assert_eq!(failure.kind, ModelFailureKind::Unsupported);
                prop_assert_eq!(failure.phase, Phase::BeforeSend);
                prop_assert_eq!(failure.advice, RetryAdvice::Never);
                prop_assert!(!failure.message.contains(char::is_control), "{}", failure.message);
                // Whatever weaker strictness the line advises has to let it pass.
                let weaker = [("meaning only", Meaning), ("quality only", Quality), ("cost only", Cost)];
                let advised = weaker.iter().find(|(words, _)| failure.message.contains(words));
                prop_assert_eq!(check(&notes, advised.map(|(_, effect)| *effect)), Ok(()));
            }
        }
    }
}
