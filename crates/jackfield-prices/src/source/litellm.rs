//! LiteLLM's `model_prices_and_context_window.json`: dollars for a token, by model (1.110.2).

use std::collections::BTreeSet;
use std::sync::Arc;

use jackfield_domain::price::ServiceTier;
use serde_json::value::RawValue;

use super::json::{self, Fields, line_of};
use super::partial::{PartialPrice, Unit};
use super::{Match, NO_NAME, PriceFile, Source, SourceModel, decimal, is_name};
use crate::line::is_day;

pub(super) fn read(text: &str) -> PriceFile {
    let mut file = PriceFile {
        source: Source::LiteLlm,
        ..PriceFile::default()
    };
    let models = match serde_json::from_str::<Fields<'_>>(text) {
        Ok(models) => models.0,
        Err(error) => {
            file.problem(
                true,
                || error.line(),
                "",
                format!("this is not JSON: {error}"),
            );
            return file;
        }
    };
    let (mut names, mut fields) = (BTreeSet::new(), BTreeSet::new());
    for (name, value) in &models {
        if !names.insert(name) {
            file.problem(true, || line_of(text, value), name, "is there twice");
        } else if !is_name(name) {
            file.problem(true, || line_of(text, value), name, NO_NAME);
        } else if name != SAMPLE && name != RULES {
            model(&mut file, text, (name, value), &mut fields);
        }
    }
    file
}

fn model(
    file: &mut PriceFile,
    text: &str,
    (name, value): (&str, &RawValue),
    unknown: &mut BTreeSet<String>,
) {
    let Some(fields) = json::fields(value) else {
        file.problem(true, || line_of(text, value), name, "is not an object");
        return;
    };
    let (mut price, mut seen) = (PartialPrice::default(), BTreeSet::new());
    let (mut provider, mut mode, mut retires) = (None, None, None);
    let (mut is_whole, mut fast) = (true, None);
    for (key, value) in &fields {
        let line = || line_of(text, value);
        let mut wrong = |file: &mut PriceFile, what: String| {
            file.problem(true, line, name, what);
            is_whole = false;
        };
        if !seen.insert(key) {
            wrong(file, format!("`{key}` is there twice"));
            continue;
        }
        match &**key {
            "litellm_provider" => provider = json::string(value),
            "mode" => mode = json::string(value),
            "deprecation_date" => retires = json::string(value).filter(|day| is_day(day)),
            "provider_specific_entry" => fast = fast_factor(value),
            "tiered_pricing" => {
                file.problem(false, line, name, "its price by ranges is not read");
                is_whole = false;
            }
            key => match rate_of(key) {
                Some(_) if value.get() == "null" => {}
                Some((unit, above, tier)) => match decimal::amount(value.get(), PICOS) {
                    Ok(rate) => price.set(tier, above, unit, rate),
                    Err(what) => wrong(file, format!("`{key}` {what}")),
                },
                None if is_known(key) => {}
                None if PRICED.iter().any(|part| key.contains(part)) => {
                    wrong(file, format!("`{key}` is not known, and may be a price"));
                }
                None if unknown.insert(key.to_owned()) => {
                    file.problem(false, line, name, format!("`{key}` is not known"));
                }
                None => {}
            },
        }
    }
    if let Some(factor) = fast {
        price.multiply(ServiceTier::Fast, factor);
    }
    let is_ours = mode.as_deref().is_some_and(|mode| MODES.contains(&mode));
    if let (true, true, Some(provider), Some(price)) = (is_whole, is_ours, provider, price.price())
    {
        file.models.push(SourceModel {
            matches: Match::Never,
            name: name.into(),
            price,
            provider: provider.into(),
            retires: retires.map(Arc::from),
        });
    }
}

/// What a field is the rate of, the input tokens above which it holds, and its tier.
fn rate_of(key: &str) -> Option<(Unit, u64, Option<ServiceTier>)> {
    let (key, tier) = TIERS
        .iter()
        .find_map(|(end, tier)| Some((key.strip_suffix(end)?, Some(*tier))))
        .unwrap_or((key, None));
    let (key, above) = match key.strip_suffix("k_tokens") {
        Some(rest) => {
            let (key, thousands) = rest.rsplit_once("_above_")?;
            (key, thousands.parse::<u32>().ok()?)
        }
        None => (key, 0),
    };
    let (_, unit) = RATES.iter().find(|(name, _)| *name == key)?;
    Some((*unit, u64::from(above) * 1000, tier))
}

/// Whether a field changes no price of tokens.
fn is_known(key: &str) -> bool {
    key.starts_with("supports_")
        || OTHERS.contains(&key)
        || NOT_TOKENS.iter().any(|begin| key.starts_with(begin))
        || OTHER_TIERS
            .iter()
            .any(|end| key.strip_suffix(end).and_then(rate_of).is_some())
}

/// The factor of the fast mode, in thousandths.
fn fast_factor(value: &RawValue) -> Option<u64> {
    let fields = json::fields(value)?;
    let (_, factor) = fields.iter().find(|(key, _)| key == "fast")?;
    // A thousandth of the scale of a dollar.
    let thousandths = decimal::amount(factor.get(), 3).ok()?.as_picos();
    (thousandths > 0).then_some(thousandths)
}

/// Picos in a dollar, as a power of ten.
const PICOS: i32 = 12;
/// The entry that explains the others.
const SAMPLE: &str = "sample_spec";
/// The entry with rules for models that are not there.
const RULES: &str = "fallback_generalizations";
/// What tokens of a conversation are asked with.
const MODES: &[&str] = &["chat", "completion", "embedding", "responses"];
const TIERS: &[(&str, ServiceTier)] = &[
    ("_batches", ServiceTier::Batch),
    ("_flex", ServiceTier::Flex),
    ("_priority", ServiceTier::Priority),
    ("_ultrafast", ServiceTier::Ultrafast),
];
/// Tiers that no reply names.
const OTHER_TIERS: &[&str] = &["_balanced", "_decisions"];
const RATES: &[(&str, Unit)] = &[
    ("cache_creation_input_token_cost", Unit::CacheWrite),
    (
        "cache_creation_input_token_cost_above_12hr",
        Unit::CacheWriteLong,
    ),
    (
        "cache_creation_input_token_cost_above_1hr",
        Unit::CacheWriteLong,
    ),
    ("cache_read_input_token_cost", Unit::CacheRead),
    ("input_cost_per_audio_token", Unit::AudioInput),
    ("input_cost_per_image_token", Unit::ImageInput),
    ("input_cost_per_token", Unit::Input),
    ("output_cost_per_audio_token", Unit::AudioOutput),
    ("output_cost_per_image_token", Unit::ImageOutput),
    ("output_cost_per_token", Unit::Output),
];
/// Parts of names of fields that may be prices.
const PRICED: &[&str] = &["cost", "multiplier", "pric", "uplift"];
/// What is billed by other things than tokens, by a region, or at other hours, which cost less.
const NOT_TOKENS: &[&str] = &[
    "annotation_cost_per_page",
    "cache_creation_input_audio_token_cost",
    "cache_read_input_audio_token_cost",
    "cache_read_input_image_token_cost",
    "citation_cost_per_token",
    "code_interpreter_cost_per_session",
    "computer_use_",
    "cost_per_second",
    "explicit_cache_read_input_token_cost",
    "fedramp_uplift_multiplier",
    "file_search_cost_",
    "google_maps_grounding_cost_per_query",
    "guardrail_cost_per_unit",
    "input_cost_per_audio_per_second",
    "input_cost_per_character",
    "input_cost_per_image",
    "input_cost_per_pixel",
    "input_cost_per_query",
    "input_cost_per_request",
    "input_cost_per_second",
    "input_cost_per_text_message",
    "input_cost_per_token_cache_hit",
    "input_cost_per_video_",
    "input_dbu_cost_per_token",
    "ocr_cost_",
    "off_peak_pricing",
    "output_cost_per_character",
    "output_cost_per_image",
    "output_cost_per_pixel",
    "output_cost_per_reasoning_token",
    "output_cost_per_second",
    "output_cost_per_video_",
    "output_dbu_cost_per_token",
    "regional_",
    "search_context_cost_per_query",
    "vector_store_cost_",
];
const OTHERS: &[&str] = &[
    "alias_of",
    "audio_transcription_config",
    "bedrock_converse_supports_strict_tools",
    "bedrock_output_config_effort_ceiling",
    "comment",
    "default_reasoning_effort",
    "deprecation_source",
    "gemini_audio_only_live",
    "gemini_native_audio",
    "max_input_tokens",
    "max_output_tokens",
    "max_tokens",
    "metadata",
    "output_vector_size",
    "prompt_cache_min_tokens",
    "reasoning_contexts",
    "reasoning_effort_levels",
    "reasoning_modes",
    "rpm",
    "rules",
    "search_free_requests",
    "source",
    "successor_model",
    "supported_audio_formats",
    "supported_endpoints",
    "supported_modalities",
    "supported_output_modalities",
    "supported_regions",
    "thinking_always_on",
    "thinking_on_by_default",
    "token_count_framing",
    "token_count_model",
    "token_count_responses_framing",
    "token_count_responses_tool_framing",
    "token_count_tokenizer",
    "token_count_tool_framing",
    "tpm",
    "use_openai_responses_path",
    "uses_embed_content",
    "vertex_ai_audio_api",
    "web_search_billing_unit",
];
