//! Assistants: models with a prompt, tools, limits and settings of their own, which are named as models are.

use jackfield_domain::opaque::Extension;
use jackfield_engine::TurnOptions;

use crate::place::ValueSource;
use crate::serve::ApprovalsMode;

/// An assistant, with all defaults.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConfiguredAssistant {
    /// How its calls that need approval are handled in the gateway.
    pub approvals: ApprovalsMode,
    /// Request fields of one dialect that the settings do not cover, each with its place.
    pub extensions: Vec<(Extension, ValueSource)>,
    /// Whether its turns are kept.
    pub kept: bool,
    /// The options of its turns. Those of the model's dialect have to be [added](crate::Assembly::options_of).
    pub options: TurnOptions,
    /// Where it is configured.
    pub place: ValueSource,
}

/// The name of the assistant that is there without configuration.
pub const DEFAULT_ASSISTANT: &str = "jackfield";
