//! The collector of notes.

use jackfield_dialect_kit::notes::{ExtensionPath, Notes};
use jackfield_domain::block::Annotation;
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_domain::opaque::Extension;
use serde_json::json;

#[test]
fn notes_are_kept_in_order_with_what_they_say() {
    let mut notes = Notes::default();
    notes.dropped(NoteEffect::Cost, "tier", "settings.service_tier");
    notes.approximated(NoteEffect::Quality, "effort", format_args!("a[{}]", 1));
    notes.refused("acts", "store");
    let expected = [
        (
            NoteKind::Dropped,
            NoteEffect::Cost,
            "tier",
            "settings.service_tier",
        ),
        (
            NoteKind::Approximated,
            NoteEffect::Quality,
            "effort",
            "a[1]",
        ),
        // What would have made the provider act is never a small thing.
        (NoteKind::Refused, NoteEffect::Meaning, "acts", "store"),
    ];
    let expected = expected.map(|(kind, effect, code, path)| Note::new(kind, effect, code, path));
    assert_eq!(notes.into_vec(), expected);
}

#[test]
fn an_annotation_whose_source_is_sent_is_not_noted() {
    let annotation = Annotation {
        dialect: "claude".into(),
        json: json!({}),
        title: Some("A page".into()),
        url: None,
    };
    let told = |title, url| {
        let mut notes = Notes::default();
        notes.check_source(&annotation, title, url, "a");
        let notes = notes.into_vec().into_iter();
        notes.map(|note| note.path.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(told(Some("A page"), None), [""; 0]);
    assert_eq!(told(None, None), ["a.title"]);
    assert_eq!(
        told(Some("Another"), Some("https://x.example")),
        ["a.title", "a.url"]
    );
}

#[test]
fn an_extension_is_named_as_whoever_sent_it_knows_it() {
    let long = "ü".repeat(60);
    for (of, pointer, expected) in [
        (
            "settings",
            "/logit_bias",
            "settings.extensions.openai-chat.logit_bias".to_owned(),
        ),
        (
            "tools[2]",
            "/a~1b/c~0d",
            "tools[2].extensions.openai-chat.a/b.c~d".to_owned(),
        ),
        (
            "settings",
            "no pointer",
            "settings.extensions.openai-chat".to_owned(),
        ),
        (
            "settings",
            &format!("/{long}"),
            format!("settings.extensions.openai-chat.{}…", "ü".repeat(50)),
        ),
    ] {
        let extension = &Extension {
            dialect: "openai-chat".into(),
            json: json!(1),
            path: pointer.to_owned(),
        };
        assert_eq!(
            ExtensionPath {
                extension,
                parent: of
            }
            .to_string(),
            expected
        );
    }
}
