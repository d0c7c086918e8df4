//! The quirks of servers with an OpenAI dialect.

use std::sync::LazyLock;

use jackfield_domain::settings::Effort;
use jackfield_provider_openai::profile::{
    BlankContent, EndUser, IdForm, InlineThinking, MaxTokens, MessageOrder, Prefill, Profile,
    ReasoningEcho, StructuredOutput, SystemRole, ToolChoiceForms,
};
use serde_json::Value;

use super::{Quirk, flag, word};

impl super::Profile for Profile {
    const QUIRKS: &'static [Quirk<Self>] = &[
        flag!(audio),
        word!(blank_content, "empty" => BlankContent::Empty, "null" => BlankContent::Null),
        flag!(cache_key),
        flag!(cache_points),
        word!(
            call_ids,
            "nine-alphanumeric" => IdForm::NineAlphanumeric,
            "usual" => IdForm::Usual,
        ),
        flag!(custom_tools),
        Quirk {
            name: "efforts",
            set: |profile, value| {
                profile.efforts = efforts(value)?;
                Ok(())
            },
        },
        flag!(encrypted_reasoning),
        word!(
            end_user,
            "none" => EndUser::None,
            "safety-identifier" => EndUser::SafetyIdentifier,
            "user" => EndUser::User,
        ),
        flag!(files),
        flag!(hosted_tools),
        flag!(image_addresses),
        flag!(images),
        word!(
            inline_thinking,
            "none" => InlineThinking::None,
            "opened" => InlineThinking::Opened,
            "tagged" => InlineThinking::Tagged,
        ),
        Quirk {
            name: "least_output",
            set: |profile, value| {
                let least = value.as_u64().and_then(|least| u32::try_from(least).ok());
                profile.least_output = least.ok_or("this is a number of tokens")?;
                Ok(())
            },
        },
        Quirk {
            name: "longest_description",
            set: |profile, value| {
                let longest = value.as_u64().and_then(|most| usize::try_from(most).ok());
                let longest = longest.filter(|most| *most > 0);
                profile.longest_description =
                    longest.ok_or("this is a number of characters, from 1 on")?;
                Ok(())
            },
        },
        flag!(max_effort),
        word!(
            max_tokens,
            "max_completion_tokens" => MaxTokens::MaxCompletionTokens,
            "max_tokens" => MaxTokens::MaxTokens,
        ),
        word!(
            message_order,
            "alternating" => MessageOrder::Alternating,
            "answer-after-tools" => MessageOrder::AnswerAfterTools,
            "free" => MessageOrder::Free,
        ),
        flag!(output_media),
        flag!(parallel_calls),
        flag!(penalties),
        word!(
            prefill,
            "as-it-is" => Prefill::AsItIs,
            "continue-final-message" => Prefill::ContinueFinalMessage,
            "prefix" => Prefill::Prefix,
            "repeated-prefix" => Prefill::RepeatedPrefix,
        ),
        word!(
            reasoning_echo,
            "always" => ReasoningEcho::Always,
            "as-it-came" => ReasoningEcho::AsItCame,
            "never" => ReasoningEcho::Never,
        ),
        flag!(refusals),
        flag!(sampling),
        flag!(seed),
        flag!(service_tier),
        flag!(stop),
        flag!(stream_usage),
        flag!(strict_tools),
        word!(
            structured_output,
            "json-object" => StructuredOutput::JsonObject,
            "none" => StructuredOutput::None,
            "schema" => StructuredOutput::Schema,
        ),
        word!(
            system_role,
            "developer" => SystemRole::Developer,
            "one-system" => SystemRole::OneSystem,
            "system" => SystemRole::System,
        ),
        flag!(thinking_switch),
        word!(
            tool_choice,
            "ignored" => ToolChoiceForms::Ignored,
            "named" => ToolChoiceForms::Named,
            "subset" => ToolChoiceForms::Subset,
            "words" => ToolChoiceForms::Words,
        ),
        flag!(tool_search),
        flag!(tools_without_effort),
        flag!(top_k),
        flag!(usage_cost),
        flag!(verbosity),
    ];
}

/// Parses effort levels.
fn efforts(value: &Value) -> Result<&'static [Effort], String> {
    let items = value.as_array().ok_or("this is a list of levels")?;
    let mut chosen = 0_usize;
    for item in items {
        chosen |= 1 << word(item, Effort::NAMES)? as usize;
    }
    Ok(SUBSETS.get(chosen).map(Vec::as_slice).unwrap_or_default())
}

/// All subsets of the levels. They are few, so each is kept as a static slice.
static SUBSETS: LazyLock<Vec<Vec<Effort>>> = LazyLock::new(|| {
    let subset = |chosen: usize| {
        let levels = Effort::NAMES.iter().enumerate();
        let chosen = levels.filter(move |(place, _)| chosen & (1 << place) != 0);
        chosen.map(|(_, (_, level))| *level).collect()
    };
    (0..1 << Effort::NAMES.len()).map(subset).collect()
});
