//! The quirks of servers with the Claude Messages dialect.

use jackfield_provider_claude::config::Profile;

use super::{Quirk, flag, word};

impl super::Profile for Profile {
    const QUIRKS: &'static [Quirk<Self>] = &[
        flag!(adaptive_thinking),
        word!(api_version, "2023-06-01" => "2023-06-01", "2026-10-21" => "2026-10-21"),
        flag!(effort),
        flag!(forced_tools),
        flag!(prefill),
        flag!(sampling),
        flag!(sampling_pair),
        flag!(structured_output),
        flag!(system_messages),
        flag!(thinking_budget),
        flag!(thinking_off),
        flag!(tool_references),
    ];
}
