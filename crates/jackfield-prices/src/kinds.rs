//! Under which kind of provider, and which name, a model of a source is asked for.

use crate::source::{Source, SourceModel};

/// The kind and the name of a model; `None` if no kind of ours asks for it.
pub(crate) fn name_of(source: Source, model: &SourceModel) -> Option<(&'static str, String)> {
    match source {
        Source::GenaiPrices => genai_name(&model.provider, &model.name),
        Source::LiteLlm => litellm_name(&model.provider, &model.name),
    }
}

fn litellm_name(provider: &str, name: &str) -> Option<(&'static str, String)> {
    let (_, kind, prefix) = LITELLM.iter().find(|(theirs, ..)| *theirs == provider)?;
    let model = name.strip_prefix(prefix).unwrap_or(name);
    let is_asked_for = match *kind {
        // A region before the name is not a part of it.
        "azure" | "bedrock" | "claude" | "openai" => {
            !model.contains('/') && !model.starts_with("ft:")
        }
        VERTEX => !model.contains('/') && is_googles(model),
        _ => true,
    };
    is_asked_for.then(|| (*kind, model.to_owned()))
}

fn genai_name(provider: &str, name: &str) -> Option<(&'static str, String)> {
    // The router of Hugging Face takes the provider behind the name.
    if let Some(behind) = provider.strip_prefix("huggingface_") {
        return Some(("huggingface", format!("{name}:{behind}")));
    }
    let (_, kind) = GENAI.iter().find(|(theirs, _)| *theirs == provider)?;
    let model = match *kind {
        "fireworks" => format!("accounts/fireworks/models/{name}"),
        _ => name.to_owned(),
    };
    let is_asked_for = match *kind {
        "bedrock" => !name.starts_with("regional."),
        "gemini" => is_googles(name),
        _ => true,
    };
    is_asked_for.then_some((*kind, model))
}

/// The provider of genai-prices whose models a kind has.
pub(crate) fn genai_provider(kind: &str) -> Option<&'static str> {
    let kind = if kind == VERTEX { "gemini" } else { kind };
    let (theirs, _) = GENAI.iter().find(|(_, ours)| *ours == kind)?;
    Some(theirs)
}

fn is_googles(model: &str) -> bool {
    ["gemini", "gemma", "text-embedding"]
        .iter()
        .any(|begin| model.starts_with(begin))
}

const VERTEX: &str = "gemini-vertex";

/// The providers of LiteLLM, the kinds, and what stands before the names there.
const LITELLM: &[(&str, &str, &str)] = &[
    ("anthropic", "claude", "anthropic/"),
    ("azure", "azure", "azure/"),
    ("bedrock", "bedrock", "bedrock/"),
    ("bedrock_converse", "bedrock", "bedrock/"),
    ("bedrock_mantle", "bedrock", "bedrock_mantle/"),
    ("cerebras", "cerebras", "cerebras/"),
    ("deepseek", "deepseek", "deepseek/"),
    ("fireworks_ai", "fireworks", "fireworks_ai/"),
    (
        "fireworks_ai-embedding-models",
        "fireworks",
        "fireworks_ai/",
    ),
    ("gemini", "gemini", "gemini/"),
    ("groq", "groq", "groq/"),
    ("mistral", "mistral", "mistral/"),
    ("openai", "openai", "openai/"),
    ("openrouter", "openrouter", "openrouter/"),
    ("text-completion-openai", "openai", "openai/"),
    ("together_ai", "together", "together_ai/"),
    ("vertex_ai", VERTEX, "vertex_ai/"),
    ("vertex_ai-embedding-models", VERTEX, "vertex_ai/"),
    ("vertex_ai-language-models", VERTEX, "vertex_ai/"),
    ("xai", "xai", "xai/"),
];

/// The providers of genai-prices, and the kinds.
const GENAI: &[(&str, &str)] = &[
    ("anthropic", "claude"),
    ("aws", "bedrock"),
    ("azure", "azure"),
    ("cerebras", "cerebras"),
    ("deepseek", "deepseek"),
    ("fireworks", "fireworks"),
    ("google", "gemini"),
    ("groq", "groq"),
    ("mistral", "mistral"),
    ("openai", "openai"),
    ("openrouter", "openrouter"),
    ("together", "together"),
    ("x-ai", "xai"),
];
