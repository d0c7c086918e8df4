//! The capabilities of models, by their names.

use std::collections::HashMap;
use std::sync::Arc;

use jackfield_dialect_claude::options::{Profile as ClaudeProfile, version};
use jackfield_dialect_claude::property_names::PropertyNames;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::CacheMode;
use jackfield_domain::tool::InputFormat;

/// The capabilities of a model behind Converse.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ModelProfile {
    /// Whether a request may have cache points that the client did not set.
    pub auto_cache_points: bool,
    /// Which cache points requests have whose settings do not say so.
    pub cache: CacheMode,
    /// Whether a request may have cache points.
    pub cache_points: bool,
    /// What a Claude model takes; `None` for all others.
    pub claude: Option<ClaudeProfile>,
    /// Whether a call of any tool can be forced.
    pub forced_any: bool,
    /// Whether a call of one tool can be forced.
    pub forced_tool: bool,
    /// Whether a cache point may last an hour, if the client did not set it.
    pub hour_cache_points: bool,
    /// Whether a result can hold images.
    pub images_in_results: bool,
    /// Whether the model's reasoning goes back to it.
    pub reasoning: bool,
    /// Whether a result says that it is an error.
    pub result_status: bool,
    /// Whether replies to requests with tools are streamed.
    pub streams_tools: bool,
    /// Whether the answer can be held to a schema.
    pub structured_output: bool,
}

impl ModelProfile {
    /// A model of which nothing is known.
    pub const UNKNOWN: Self = Self {
        auto_cache_points: false,
        cache: CacheMode::Auto,
        cache_points: false,
        claude: None,
        forced_any: false,
        forced_tool: false,
        hour_cache_points: false,
        images_in_results: false,
        reasoning: true,
        result_status: false,
        streams_tools: true,
        structured_output: true,
    };

    /// The profile of a model, by its id or its ARN.
    ///
    /// Of `ToolChoice`, images in `ToolResultContentBlock`, `ToolResultBlock` and `CachePointBlock` the service model, and the user guide, name Claude and
    /// Nova; of `any` Mistral, too (2026-11). An ARN of an application's inference profile does not name its model.
    #[must_use]
    pub fn of(model: &str) -> Self {
        let name = model.to_ascii_lowercase();
        if name.contains("anthropic") || name.contains("claude") {
            let version = version(&name);
            // The first with cache points are Haiku 3.5 and the second Sonnet 3.5, both of 2024-10-22; an hour came with
            // 4.5 (the user guide's page on prompt caching, 2026-11).
            return Self {
                auto_cache_points: version.is_none_or(|version| version >= (3, 7))
                    || name.contains("-3-5-") && name.contains("20241022"),
                hour_cache_points: version.is_none_or(|version| version >= (4, 5)),
                ..Self::of_claude(ClaudeProfile::of(&name))
            };
        }
        if name.contains("amazon.nova") {
            return Self {
                auto_cache_points: true,
                cache_points: true,
                forced_any: true,
                forced_tool: true,
                images_in_results: true,
                result_status: true,
                structured_output: false,
                ..Self::UNKNOWN
            };
        }
        Self {
            forced_any: name.contains("mistral"),
            images_in_results: name.contains("meta.llama4"),
            // DeepSeek refuses a conversation with reasoning (the user guide's page on R1, 2026-11).
            reasoning: !name.contains("deepseek"),
            // "This model doesn't support tool use in streaming mode" (reports of Llama 4, 2026).
            streams_tools: !name.contains("meta.") && !name.contains("deepseek.r1"),
            ..Self::UNKNOWN
        }
    }

    /// The profile of a new Claude model that takes this.
    #[must_use]
    pub const fn of_claude(claude: ClaudeProfile) -> Self {
        Self {
            auto_cache_points: true,
            cache: CacheMode::Auto,
            cache_points: true,
            claude: Some(claude),
            forced_any: claude.forced_tools,
            forced_tool: claude.forced_tools,
            hour_cache_points: true,
            images_in_results: true,
            reasoning: true,
            result_status: true,
            streams_tools: true,
            structured_output: claude.structured_output,
        }
    }

    /// The least tokens that are cached.
    pub(crate) fn cache_minimum(&self) -> u64 {
        self.claude
            .map_or(NOVA_MINIMUM, |claude| claude.cache_minimum)
    }

    /// The properties that Claude takes under other names, by tool.
    pub(crate) fn property_names(
        &self,
        request: &ModelRequest,
    ) -> HashMap<String, Arc<PropertyNames>> {
        let tools = request.tools.iter().filter(|_| self.claude.is_some());
        let renamed = tools.filter_map(|tool| match &tool.input {
            InputFormat::Json(schema) => {
                let names = PropertyNames::of(schema)?;
                Some((tool.name.to_string(), Arc::new(names)))
            }
            InputFormat::Text(_) => None,
        });
        renamed.collect()
    }

    /// Whether the conversation may end with words of the model, which it continues.
    pub(crate) fn prefill(&self) -> bool {
        self.claude.is_none_or(|claude| claude.prefill)
    }

    /// Whether temperature and the like are supported.
    pub(crate) fn sampling(&self) -> bool {
        self.claude.is_none_or(|claude| claude.sampling)
    }

    /// Whether a message in the conversation may be the system's.
    pub(crate) fn system_messages(&self) -> bool {
        self.claude.is_some_and(|claude| claude.system_messages)
    }
}

/// The least tokens that Nova caches (the user guide's page on prompt caching).
const NOVA_MINIMUM: u64 = 1024;
