//! Properties that depend on the model.

/// The capabilities of a model. The fields are public, as another server may support less, or more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Profile {
    /// Whether an answer can be held to JSON while tools are offered.
    pub json_with_tools: bool,
    /// Whether the result of a call can hold images and PDFs.
    pub media_in_results: bool,
    /// Whether the first call of a step needs a thought signature.
    pub signed_calls: bool,
    /// How the thinking is controlled.
    pub thinking: ThinkingControl,
}

/// How the thinking of a model is controlled.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ThinkingControl {
    /// By a budget in tokens.
    Budget { can_be_off: bool },
    /// By a level, or a budget; it is never off.
    Level {
        /// Whether the lowest level is `MINIMAL`, and not `LOW`.
        minimal: bool,
    },
    /// The model does not think.
    None,
}

impl Profile {
    /// The newest models (Gemini 3 and later).
    pub const NEWEST: Self = Self {
        json_with_tools: true,
        media_in_results: true,
        signed_calls: true,
        thinking: ThinkingControl::Level { minimal: true },
    };

    /// The profile of a model, by its id; that of the newest models for an unknown id.
    ///
    /// Levels, signatures and media in results came with Gemini 3; budgets with 2.5, of which the pro models always
    /// think; the pro models of 3 begin at the level `LOW` (Gemini API documentation, thinking and thought
    /// signatures, 2026-11).
    #[must_use]
    pub fn of(model: &str) -> Self {
        let is_pro = model.contains("pro");
        let old = |thinking| Self {
            json_with_tools: false,
            media_in_results: false,
            signed_calls: false,
            thinking,
        };
        if model.contains("gemma") {
            return old(ThinkingControl::None);
        }
        match version(model) {
            Some(version) if version < (2, 5) => old(ThinkingControl::None),
            Some(version) if version < (3, 0) => old(ThinkingControl::Budget {
                can_be_off: !is_pro,
            }),
            Some(_) if is_pro => Self {
                thinking: ThinkingControl::Level { minimal: false },
                ..Self::NEWEST
            },
            Some(_) | None => Self::NEWEST,
        }
    }
}

/// Major and minor version in an id such as `gemini-2.5-flash`.
fn version(model: &str) -> Option<(u32, u32)> {
    let (_, rest) = model.split_once("gemini-")?;
    let number = rest.split('-').next()?;
    let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}
