//! What is known of a model by its id.

use std::sync::Arc;

use jackfield_dialect_claude::options::Profile;
use jackfield_dialect_claude::request;

use crate::arb::owner;

#[test]
fn unknown_ids_have_the_profile_of_the_newest_models() {
    for id in [
        "claude-opus-5-5",
        "claude-fable-5-1",
        "claude-mythos-preview",
        "claude-opus-6",
    ] {
        assert_eq!(Profile::of(id), Profile::NEWEST, "{id}");
    }
    // A server that only speaks like Claude.
    let other = Profile {
        prefill: true,
        tool_references: false,
        ..Profile::NEWEST
    };
    for id in ["qwen3", ""] {
        assert_eq!(Profile::of(id), other, "{id}");
    }
}

#[test]
fn ids_of_every_form_are_read() {
    let old = Profile::of("claude-sonnet-4-5");
    for id in [
        "claude-sonnet-4-5-20250929",
        "anthropic.claude-sonnet-4-5-20250929-v1:0",
        "claude-sonnet-4-5@20250929",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    ] {
        assert_eq!(Profile::of(id), old, "{id}");
    }
    assert_eq!(
        Profile::of("claude-3-5-haiku-20241022"),
        Profile::of("anthropic/claude-3.5-sonnet")
    );
    assert!(!Profile::of("claude-sonnet-4-20250514").structured_output);
}

#[test]
fn what_models_take_changed_with_their_versions() {
    let of = |id: &str| Profile::of(id);
    assert!(of("claude-opus-4-6").sampling && !of("claude-opus-4-7").sampling);
    assert!(
        !of("claude-opus-4-7").system_messages
            && of("claude-opus-4-8").system_messages
            && of("claude-sonnet-5").system_messages
    );
    assert!(
        of("claude-fable-5").forced_tools
            && !of("claude-fable-5-1").forced_tools
            && !of("claude-haiku-5-5").forced_tools
    );
    assert!(of("claude-opus-5").thinking_off && !of("claude-opus-5-5").thinking_off);
    assert!(of("claude-opus-4-5").effort && !of("claude-haiku-4-5").effort);
    assert!(of("claude-haiku-4-5").tool_references && !of("claude-opus-4-1").tool_references);
    assert_eq!(of("claude-opus-4-6").api_version, "2023-06-01");
    assert_eq!(of("claude-opus-4-7").api_version, "2026-10-21");
}

#[test]
fn a_model_that_takes_one_sampling_parameter_gets_the_temperature() {
    for (model, temperature, top_p, code) in [
        ("claude-opus-4-20250514", Some(0.5), Some(0.9), None),
        (
            "claude-opus-4-1",
            Some(0.5),
            None,
            Some("top_p_beside_temperature"),
        ),
        (
            "claude-sonnet-4-6",
            Some(0.5),
            None,
            Some("top_p_beside_temperature"),
        ),
        ("claude-sonnet-4-6", None, Some(0.9), None),
    ] {
        let mut request = crate::examples::request();
        let settings = Arc::make_mut(&mut request.settings);
        (settings.temperature, settings.top_p) = (temperature, Some(0.9));
        let profile = Profile::of(model);
        let (body, notes) =
            request::to_wire(&request, &owner(), &profile, true).expect("it can be said");
        assert_eq!(
            (body.temperature, body.top_p),
            (temperature, top_p),
            "{model}"
        );
        let codes: Vec<&str> = notes.iter().map(|note| &*note.code).collect();
        assert_eq!(codes, Vec::from_iter(code), "{model}");
    }
}

#[test]
fn a_temperature_out_of_bounds_is_noted_once() {
    for (model, temperature, sent, code) in [
        ("claude-opus-4-6", 0.5, Some(0.5), None),
        ("claude-opus-4-6", 1.5, Some(1.0), Some("sampling_cut")),
        ("claude-opus-4-6", -1.0, Some(0.0), Some("sampling_cut")),
        ("claude-opus-4-6", f64::NAN, None, Some("sampling_cut")),
        ("claude-opus-5-5", 1.5, None, Some("sampling_not_supported")),
    ] {
        let mut request = crate::examples::request();
        Arc::make_mut(&mut request.settings).temperature = Some(temperature);
        let profile = Profile::of(model);
        let (body, notes) =
            request::to_wire(&request, &owner(), &profile, true).expect("it can be said");
        assert_eq!(body.temperature, sent, "{model} {temperature}");
        let codes: Vec<&str> = notes.iter().map(|note| &*note.code).collect();
        assert_eq!(
            codes,
            code.into_iter().collect::<Vec<_>>(),
            "{model} {temperature}"
        );
    }
}
