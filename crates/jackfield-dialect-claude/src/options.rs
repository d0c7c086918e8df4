//! Properties that depend on the model and on the version of the API.

use jackfield_domain::settings::CacheMode;

/// The capabilities of a model. The fields are public, as a self-hosted server may support less, or more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Profile {
    /// Whether the model can decide about thinking (`thinking.type = "adaptive"`).
    pub adaptive_thinking: bool,
    /// The value of the `anthropic-version` header.
    pub api_version: &'static str,
    /// Which cache points requests have whose settings do not say so.
    pub cache: CacheMode,
    /// The least tokens that the vendor caches.
    pub cache_minimum: u64,
    /// Whether `output_config.effort` is supported.
    pub effort: bool,
    /// Whether a call can be forced (`tool_choice` of `any` or `tool`).
    pub forced_tools: bool,
    /// Whether the conversation may end with a prefilled assistant message.
    pub prefill: bool,
    /// Whether `temperature`, `top_p` and `top_k` are supported.
    pub sampling: bool,
    /// Whether `temperature` and `top_p` are supported in one request.
    pub sampling_pair: bool,
    /// Whether the answer can be constrained to a schema (`output_config.format`).
    pub structured_output: bool,
    /// Whether a message in the conversation may have the role `system`.
    pub system_messages: bool,
    /// Whether thinking can be given a budget (`thinking.type = "enabled"`).
    pub thinking_budget: bool,
    /// Whether thinking can be disabled.
    pub thinking_off: bool,
    /// Whether tools can be deferred until a result refers to them (`defer_loading`, `tool_reference`).
    pub tool_references: bool,
}

impl Profile {
    /// The newest models (Opus 5.5, Fable 5.1 and later), under API version 2026-10-21.
    pub const NEWEST: Self = Self {
        adaptive_thinking: true,
        api_version: "2026-10-21",
        cache: CacheMode::Auto,
        cache_minimum: 512,
        effort: true,
        forced_tools: false,
        prefill: false,
        sampling: false,
        sampling_pair: false,
        structured_output: true,
        system_messages: true,
        thinking_budget: false,
        thinking_off: false,
        tool_references: true,
    };

    /// The profile of a model, by its id; that of the newest models for an unknown id. If it is not Claude's, without
    /// references to tools, and with a prefill, which its server may refuse.
    ///
    /// Sampling parameters are refused after Opus 4.6, forced calls and `disabled` thinking from 5.1 on, the role
    /// `system` in the conversation before 4.8 (Claude platform docs, migration page 2026-10-21), references to tools
    /// before 4.5 (tool search page, 2026-11), a temperature beside `top_p` from 4.1 on (what the API answers, in reports
    /// of users of Opus 4.1, Haiku 4.5, Sonnet 4.5 and 4.6, 2025-08 to 2026-03). Models up to 4.6 use the older API
    /// version, the last with sampling.
    #[must_use]
    pub fn of(model: &str) -> Self {
        let Some(version) = version(model) else {
            let is_claude = model.contains("claude");
            return Self {
                // A server that only speaks like Claude may continue words of the model, and not know references.
                prefill: !is_claude,
                tool_references: is_claude,
                ..Self::NEWEST
            };
        };
        let old = version <= (4, 6);
        let opus_4_5 = version == (4, 5) && model.contains("opus");
        Self {
            adaptive_thinking: version >= (4, 6),
            api_version: if old { "2023-06-01" } else { "2026-10-21" },
            cache: CacheMode::Auto,
            cache_minimum: cache_minimum(model, version),
            effort: version >= (4, 6) || opus_4_5,
            forced_tools: version < (5, 1),
            prefill: version < (4, 6),
            sampling: old,
            sampling_pair: version < (4, 1),
            structured_output: version >= (4, 5),
            system_messages: version >= (4, 8),
            thinking_budget: old && version >= (3, 7),
            thinking_off: version < (5, 1),
            tool_references: version >= (4, 5),
        }
    }
}

impl Default for Profile {
    fn default() -> Self {
        Self::NEWEST
    }
}

/// The least tokens that the vendor caches of this model (`prompt_cache_min_tokens` in `litellm` 1.110.2, 2026-11). It
/// ignores a cache point after fewer.
fn cache_minimum(model: &str, version: (u32, u32)) -> u64 {
    let is = |name: &str| model.contains(name);
    match version {
        (4, 5) if is("haiku") || is("opus") => 4096,
        (4, 6) if is("opus") => 4096,
        (4, 7) if is("opus") => 2048,
        (5, 0) if is("opus") => 512,
        version if version >= (5, 5) || is("fable") || is("mythos") => 512,
        _ => 1024,
    }
}

/// Major and minor version in an id such as `claude-opus-4-6`, `claude-3-5-haiku-20241022` or
/// `anthropic.claude-sonnet-4-20250514-v1:0`: the first one or two short numbers after `claude`.
#[must_use]
pub fn version(model: &str) -> Option<(u32, u32)> {
    let (_, rest) = model.split_once("claude")?;
    let mut parts = rest
        .split(|c: char| !c.is_ascii_alphanumeric())
        .skip_while(|part| !is_short_number(part));
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next().filter(|part| is_short_number(part));
    Some((major, minor.and_then(|part| part.parse().ok()).unwrap_or(0)))
}

/// Whether this is a version number, and not a date.
fn is_short_number(part: &str) -> bool {
    (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit())
}
