//! Settings that a vendor does not take.

use jackfield_domain::note::NoteEffect;
use jackfield_domain::settings::{ResponseFormat, Settings};

use crate::notes::{ExtensionPath, Notes};

/// Notes every setting of a request that the vendor does not take: all that are set, except those in `taken`, by their
/// names in [`Settings`].
///
/// A setting that the domain gets later is noted without a change of the dialect.
pub fn drop_all_but(taken: &[&str], settings: &Settings, notes: &mut Notes) {
    let Settings {
        // A server without cache points loses nothing.
        cache: _,
        cache_ttl: _,
        effort,
        end_user,
        extensions,
        frequency_penalty,
        // They are for a dialect that knows them.
        headers: _,
        max_output_tokens,
        parallel_calls,
        presence_penalty,
        response_format,
        seed,
        service_tier,
        stop,
        temperature,
        thinking,
        thinking_shown,
        top_k,
        top_p,
        verbosity,
    } = settings;
    let others = [
        ("effort", effort.is_some(), NoteEffect::Quality),
        ("end_user", end_user.is_some(), NoteEffect::Quality),
        (
            "frequency_penalty",
            frequency_penalty.is_some(),
            NoteEffect::Quality,
        ),
        (
            "max_output_tokens",
            max_output_tokens.is_some(),
            NoteEffect::Cost,
        ),
        (
            "parallel_calls",
            parallel_calls.is_some(),
            NoteEffect::Quality,
        ),
        (
            "presence_penalty",
            presence_penalty.is_some(),
            NoteEffect::Quality,
        ),
        (
            "response_format",
            *response_format != ResponseFormat::Text,
            NoteEffect::Meaning,
        ),
        ("seed", seed.is_some(), NoteEffect::Quality),
        ("service_tier", service_tier.is_some(), NoteEffect::Cost),
        ("stop", !stop.is_empty(), NoteEffect::Meaning),
        ("temperature", temperature.is_some(), NoteEffect::Quality),
        ("thinking", thinking.is_some(), NoteEffect::Quality),
        (
            "thinking_shown",
            thinking_shown.is_some(),
            NoteEffect::Cosmetic,
        ),
        ("top_k", top_k.is_some(), NoteEffect::Quality),
        ("top_p", top_p.is_some(), NoteEffect::Quality),
        ("verbosity", verbosity.is_some(), NoteEffect::Quality),
    ];
    for (name, is_set, effect) in others {
        if is_set && !taken.contains(&name) {
            let path = format_args!("settings.{name}");
            notes.dropped(effect, "setting_not_supported", path);
        }
    }
    if taken.contains(&"extensions") {
        return;
    }
    for extension in extensions {
        let path = ExtensionPath {
            extension,
            parent: "settings",
        };
        notes.foreign(extension, path);
    }
}
