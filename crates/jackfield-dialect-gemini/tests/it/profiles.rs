//! What models can do, by their names.

use jackfield_dialect_gemini::options::{Profile, ThinkingControl};

#[test]
fn a_models_name_says_what_it_can_do() {
    let level = |minimal| ThinkingControl::Level { minimal };
    let budget = |can_be_off| ThinkingControl::Budget { can_be_off };
    for (model, signed, thinking) in [
        ("gemini-4-flash", true, level(true)),
        ("gemini-3.8-flash", true, level(true)),
        ("gemini-3.1-flash-lite", true, level(true)),
        ("gemini-3-pro-preview", true, level(false)),
        ("models/gemini-3.1-pro-preview", true, level(false)),
        ("gemini-2.5-flash-lite", false, budget(true)),
        ("gemini-2.5-pro", false, budget(false)),
        ("gemini-2.0-flash", false, ThinkingControl::None),
        ("gemma-3-27b-it", false, ThinkingControl::None),
        ("gemini-flash-latest", true, level(true)),
        ("another", true, level(true)),
    ] {
        let profile = Profile::of(model);
        assert_eq!(profile.thinking, thinking, "{model}");
        assert_eq!(
            [
                profile.json_with_tools,
                profile.media_in_results,
                profile.signed_calls
            ],
            [signed; 3],
            "{model}"
        );
    }
}
