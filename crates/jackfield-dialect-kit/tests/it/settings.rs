//! Settings that a vendor does not take.

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::settings::drop_all_but;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::Extension;
use jackfield_domain::settings::{
    CacheMode, CacheTtl, Effort, ResponseFormat, Settings, ThinkingMode, Verbosity,
};
use serde_json::json;

#[test]
fn what_is_set_and_not_taken_is_noted_with_what_it_affects() {
    let noted = noted(&["max_output_tokens", "temperature"], &every_setting());
    let effect = |effect| {
        let with_it = noted.iter().filter(|(_, its)| *its == effect);
        with_it.map(|(path, _)| &**path).collect::<Vec<_>>()
    };
    assert_eq!(effect(NoteEffect::Cosmetic), ["settings.thinking_shown"]);
    assert_eq!(effect(NoteEffect::Cost), ["settings.service_tier"]);
    assert_eq!(
        effect(NoteEffect::Meaning),
        ["settings.response_format", "settings.stop"]
    );
    assert_eq!(
        effect(NoteEffect::Quality),
        [
            "settings.effort",
            "settings.end_user",
            "settings.frequency_penalty",
            "settings.parallel_calls",
            "settings.presence_penalty",
            "settings.seed",
            "settings.thinking",
            "settings.top_k",
            "settings.top_p",
            "settings.verbosity",
            "settings.extensions.elsewhere.mood",
        ]
    );
}

#[test]
fn what_is_taken_or_not_set_is_not_noted() {
    assert_eq!(noted(&[], &Settings::default()), []);
    let taken = [
        "effort",
        "end_user",
        "extensions",
        "frequency_penalty",
        "max_output_tokens",
        "parallel_calls",
        "presence_penalty",
        "response_format",
        "seed",
        "service_tier",
        "stop",
        "temperature",
        "thinking",
        "thinking_shown",
        "top_k",
        "top_p",
        "verbosity",
    ];
    assert_eq!(noted(&taken, &every_setting()), []);
}

fn noted(taken: &[&str], settings: &Settings) -> Vec<(String, NoteEffect)> {
    let mut notes = Notes::default();
    drop_all_but(taken, settings, &mut notes);
    let notes = notes.into_vec().into_iter();
    notes.map(|note| (note.path, note.effect)).collect()
}

fn every_setting() -> Settings {
    Settings {
        cache: Some(CacheMode::Off),
        cache_ttl: Some(CacheTtl::OneHour),
        effort: Some(Effort::Low),
        end_user: Some("user-1".into()),
        extensions: vec![Extension {
            dialect: "elsewhere".into(),
            path: "/mood".to_owned(),
            json: json!("fine"),
        }],
        frequency_penalty: Some(0.5),
        headers: Vec::new(),
        max_output_tokens: Some(256),
        parallel_calls: Some(false),
        presence_penalty: Some(0.5),
        response_format: ResponseFormat::JsonObject,
        seed: Some(7),
        service_tier: Some("flex".into()),
        stop: vec!["END".into()],
        temperature: Some(0.5),
        thinking: Some(ThinkingMode::Adaptive),
        thinking_shown: Some(true),
        top_k: Some(40),
        top_p: Some(0.5),
        verbosity: Some(Verbosity::Low),
    }
}
