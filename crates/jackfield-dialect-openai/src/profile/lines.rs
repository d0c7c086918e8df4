//! The lines of OpenAI's models: the levels of effort of each, and its tools on Chat Completions.
//!
//! A model that is in no line is sent what the client says. The facts are of 2026-11; those without a source are
//! from the reference of `reasoning_effort` in the vendor's SDKs.

use jackfield_domain::settings::Effort::{self, ExtraHigh, High, Low, Max, Medium, Minimal};

use super::{EFFORTS, Profile};

/// Models that differ in no setting.
struct ModelLine {
    efforts: &'static [Effort],
    max_effort: bool,
    /// The names of its models, without what follows a hyphen.
    names: &'static [&'static str],
    tools_without_effort: bool,
}

/// The first line that has a name is its line.
const LINES: &[ModelLine] = &[
    // The page of gpt-6.2-sol: "rejects requests that set reasoning effort to none". Whether Chat Completions takes
    // tools with an effort is not known.
    line(
        &["gpt-6.2-astra", "gpt-6.2-sol"],
        &[Low, Medium, High, ExtraHigh, Max],
    ),
    // Efforts by endpoint, and tools at no effort on Chat Completions: BerriAI/litellm-docs#1173,
    // bolna-ai/bolna#1019, genkit#6303; the error texts of gpt-6.1-sol.
    line(
        &["gpt-6-astra", "gpt-6.1-sol"],
        &[Low, Medium, High, ExtraHigh, Max],
    )
    .with_tools_without_effort()
    .with_max_on_responses_only(),
    // The pages of gpt-6-sol ("only when reasoning_effort is none") and gpt-6.1-terra.
    line(
        &["gpt-6-luna", "gpt-6-sol", "gpt-6.1-terra"],
        &[Effort::None, Low, Medium, High, ExtraHigh, Max],
    )
    .with_tools_without_effort(),
    // BerriAI/litellm#34569; the levels of Chat Completions: mnfst/modelparams.dev#236.
    line(
        &["gpt-5.6"],
        &[Effort::None, Low, Medium, High, ExtraHigh, Max],
    )
    .with_tools_without_effort()
    .with_max_on_responses_only(),
    line(
        &["gpt-5.5-pro", "gpt-5.4-pro", "gpt-5.2-pro"],
        &[Medium, High, ExtraHigh],
    ),
    line(
        &["gpt-5.5", "gpt-5.4"],
        &[Effort::None, Low, Medium, High, ExtraHigh],
    )
    .with_tools_without_effort(),
    line(
        &["gpt-5.3-codex", "gpt-5.2-codex", "gpt-5.1-codex-max"],
        &[Low, Medium, High, ExtraHigh],
    ),
    line(&["gpt-5.2"], &[Effort::None, Low, Medium, High, ExtraHigh]),
    line(&["gpt-5.1"], &[Effort::None, Low, Medium, High]),
    line(&["gpt-5-pro"], &[High]),
    line(&["gpt-5-codex"], &[Low, Medium, High]),
    line(&["gpt-5"], &[Minimal, Low, Medium, High]),
    line(&["o1", "o3", "o4"], &[Low, Medium, High]),
    // They reason; their levels are not known.
    line(&["codex", "computer-use"], EFFORTS),
];

/// The words in names of models that have a line's name and another kind of settings.
const OTHERS: [&str; 2] = ["-chat", "-search"];

const fn line(names: &'static [&'static str], efforts: &'static [Effort]) -> ModelLine {
    ModelLine {
        efforts,
        max_effort: true,
        names,
        tools_without_effort: false,
    }
}

impl ModelLine {
    const fn with_max_on_responses_only(mut self) -> Self {
        self.max_effort = false;
        self
    }

    const fn with_tools_without_effort(mut self) -> Self {
        self.tools_without_effort = true;
        self
    }

    fn has(&self, model: &str) -> bool {
        let rest = self
            .names
            .iter()
            .filter_map(|name| model.strip_prefix(name));
        let mut rest = rest.filter(|rest| rest.is_empty() || rest.starts_with('-'));
        rest.next().is_some()
    }
}

impl Profile {
    /// The profile of an OpenAI model, by its id: that of its line, and the plain one if it has none.
    #[must_use]
    pub fn openai(model: &str) -> Self {
        let old = ["gpt-4", "gpt-3.5", "chatgpt-4"];
        // Fine-tuned models have the name of their base model: `ft:gpt-4o-mini-2024-07-18:…`.
        let fine_tuned = model.strip_prefix("ft:");
        let base = fine_tuned.and_then(|model| model.split(':').next());
        let model = base.unwrap_or(model);
        if old.iter().any(|old| model.starts_with(old)) {
            return Self::OPENAI_WITHOUT_REASONING;
        }
        if model.is_empty() {
            return Self::OPENAI;
        }
        let tool_search = has_tool_search(model);
        let is_other = OTHERS.iter().any(|word| model.contains(word));
        let mut lines = LINES.iter().filter(|line| !is_other && line.has(model));
        match lines.next() {
            Some(line) => Self {
                efforts: line.efforts,
                max_effort: line.max_effort,
                tool_search,
                tools_without_effort: line.tools_without_effort,
                ..Self::OPENAI
            },
            None => Self {
                tool_search,
                ..Self::OPENAI_PLAIN
            },
        }
    }
}

/// Whether an OpenAI model has tool search: `gpt-5.4` and later (the vendor's guide on it, 2026-11).
fn has_tool_search(model: &str) -> bool {
    let Some(version) = model.strip_prefix("gpt-") else {
        return false;
    };
    let number = |text: &str| {
        let digits = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        text.get(..digits)
            .and_then(|digits| digits.parse::<u32>().ok())
    };
    let minor = version.split_once('.').and_then(|(_, minor)| number(minor));
    let version = (number(version).unwrap_or(0), minor.unwrap_or(0));
    version >= (5, 4)
}
