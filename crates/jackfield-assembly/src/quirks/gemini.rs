//! The quirks of servers with the Gemini dialect.

use jackfield_provider_gemini::config::{Profile, ThinkingControl};

use super::{Quirk, flag, word};

impl super::Profile for Profile {
    const QUIRKS: &'static [Quirk<Self>] = &[
        flag!(json_with_tools),
        flag!(media_in_results),
        flag!(signed_calls),
        word!(
            thinking,
            "budget" => ThinkingControl::Budget { can_be_off: true },
            "budget_always" => ThinkingControl::Budget { can_be_off: false },
            "level" => ThinkingControl::Level { minimal: true },
            "level_from_low" => ThinkingControl::Level { minimal: false },
            "none" => ThinkingControl::None,
        ),
    ];
}
