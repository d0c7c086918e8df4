//! Which profile a model of OpenAI's has.

use jackfield_dialect_openai::profile::Profile;

#[test]
fn current_models_and_unknown_ones_have_the_current_profile() {
    for model in [
        "gpt-6-astra",
        "gpt-5.6-sol",
        "gpt-5.4-mini",
        "o3",
        "something-new",
    ] {
        assert_eq!(Profile::openai(model), Profile::OPENAI, "{model}");
    }
}

#[test]
fn models_before_reasoning_have_their_own() {
    for model in [
        "gpt-4o",
        "gpt-4.1-mini",
        "gpt-3.5-turbo",
        "ft:gpt-4o-mini-2024-07-18:acme::1",
    ] {
        let profile = Profile::openai(model);
        assert_eq!(profile, Profile::OPENAI_WITHOUT_REASONING, "{model}");
    }
}
