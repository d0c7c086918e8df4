//! The profiles of services and servers that run models of many vendors.
//!
//! The facts are from their documentation, or the sources named there, as of 2026-11. What no source says is as with
//! [`Profile::COMPATIBLE`].

use jackfield_domain::settings::Effort;

use super::{
    InlineThinking, MaxTokens, MessageOrder, Prefill, Profile, SystemRole, ToolChoiceForms,
};

impl Profile {
    /// Cerebras Inference (<https://inference-docs.cerebras.ai>, API reference): penalties are refused with 400, the
    /// limit on output is `max_completion_tokens`, and most models read no images.
    pub const CEREBRAS: Self = Self {
        images: false,
        image_addresses: false,
        max_tokens: MaxTokens::MaxCompletionTokens,
        penalties: false,
        ..Self::COMPATIBLE
    };

    /// Fireworks (<https://docs.fireworks.ai>, `OpenAI` compatibility and chat completions).
    pub const FIREWORKS: Self = Self {
        parallel_calls: true,
        tool_choice: ToolChoiceForms::Named,
        top_k: true,
        ..Self::COMPATIBLE
    };

    /// Groq (<https://console.groq.com/docs/openai> and its API reference): no model supports penalties.
    pub const GROQ: Self = Self {
        max_tokens: MaxTokens::MaxCompletionTokens,
        parallel_calls: true,
        penalties: false,
        service_tier: true,
        tool_choice: ToolChoiceForms::Named,
        ..Self::COMPATIBLE
    };

    /// LM Studio's server (<https://lmstudio.ai/docs/developer>): images are inline, and `tool_choice` is a word.
    pub const LM_STUDIO: Self = Self {
        image_addresses: false,
        top_k: true,
        ..Self::COMPATIBLE
    };

    /// `OpenRouter` (<https://openrouter.ai/docs/api-reference>): it maps roles, reasoning and documents to each
    /// model's own form, and its `reasoning_details` have to come back unchanged.
    pub const OPENROUTER: Self = Self {
        efforts: &[
            Effort::None,
            Effort::Minimal,
            Effort::Low,
            Effort::Medium,
            Effort::High,
            Effort::ExtraHigh,
        ],
        files: true,
        // It separates reasoning.
        inline_thinking: InlineThinking::None,
        message_order: MessageOrder::Free,
        parallel_calls: true,
        strict_tools: true,
        system_role: SystemRole::System,
        tool_choice: ToolChoiceForms::Named,
        top_k: true,
        usage_cost: true,
        ..Self::COMPATIBLE
    };

    /// `SGLang`'s server (<https://docs.sglang.io>, `OpenAI` APIs): guided decoding serves each form of a choice.
    pub const SGLANG: Self = Self {
        prefill: Prefill::ContinueFinalMessage,
        tool_choice: ToolChoiceForms::Named,
        top_k: true,
        ..Self::COMPATIBLE
    };

    /// Together (<https://docs.together.ai>, `OpenAI` compatibility and chat completions).
    pub const TOGETHER: Self = Self {
        tool_choice: ToolChoiceForms::Named,
        top_k: true,
        ..Self::COMPATIBLE
    };

    /// xAI (<https://docs.x.ai>, API reference): its reasoning models refuse penalties and stop sequences, and their
    /// reasoning has a field of its own.
    pub const XAI: Self = Self {
        inline_thinking: InlineThinking::None,
        max_tokens: MaxTokens::MaxCompletionTokens,
        message_order: MessageOrder::Free,
        parallel_calls: true,
        penalties: false,
        stop: false,
        system_role: SystemRole::System,
        tool_choice: ToolChoiceForms::Named,
        ..Self::COMPATIBLE
    };
}
