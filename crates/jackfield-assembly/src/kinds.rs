//! The kinds of providers that come with Jackfield, and the features that a build has them by.

use crate::presets::{BEDROCK, OLLAMA, PRESETS};

/// The kinds of this build that are providers without any configuration: they have an address.
pub(crate) fn with_address() -> impl Iterator<Item = &'static str> {
    let presets = PRESETS.iter().filter(|preset| preset.base_url.is_some());
    let kinds = presets.map(|preset| preset.kind);
    let kinds = kinds.chain(["claude", "gemini"]);
    kinds.filter(|kind| left_out(kind).is_none())
}

/// The feature of a kind of ours that this build leaves out; `None` for all others.
pub(crate) fn left_out(kind: &str) -> Option<&'static str> {
    let (feature, is_built_in) = feature(kind)?;
    (!is_built_in).then_some(feature)
}

/// The feature of a kind of ours, and whether this build has it.
pub(crate) fn feature(kind: &str) -> Option<(&'static str, bool)> {
    Some(match kind {
        BEDROCK => ("bedrock", cfg!(feature = "bedrock")),
        "claude" | "claude-bedrock" | "claude-foundry" => ("claude", cfg!(feature = "claude")),
        "claude-code" => ("claude-code", cfg!(feature = "claude-code")),
        "gemini" | "gemini-vertex" => ("gemini", cfg!(feature = "gemini")),
        OLLAMA => ("ollama", cfg!(feature = "ollama")),
        _ if PRESETS.iter().any(|preset| preset.kind == kind) => {
            ("openai", cfg!(feature = "openai"))
        }
        _ => return None,
    })
}

/// The preferred model of each vendor that this build has, the best vendor first.
pub(crate) fn models() -> impl Iterator<Item = (&'static str, &'static str)> {
    let models = MODELS.iter().copied();
    models.filter(|(provider, _)| left_out(provider).is_none())
}

/// The preferred model of each provider, the best provider first.
pub(crate) const MODELS: &[(&str, &str)] = &[
    ("claude", "claude-opus-5-5"),
    ("openai", "gpt-6-sol"),
    ("gemini", "gemini-3.8-flash"),
    ("mistral", "mistral-large-latest"),
    ("deepseek", "deepseek-flash"),
];
