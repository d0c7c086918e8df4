//! One thing that was looked at.

use std::time::Duration;

use crate::exit::Exit;

/// One thing that was looked at, and what came of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DoctorCheck {
    /// What it belongs to.
    pub area: Area,
    /// What to do, if there is anything to do.
    pub help: Option<String>,
    /// Where more about it stands.
    pub page: Option<TroubleshootingSection>,
    /// What was found, in a sentence.
    pub says: String,
    /// How long it took, if it was waited for.
    pub took: Option<Duration>,
    /// Whether that is as it should be.
    pub verdict: CheckResult,
}

/// What a check belongs to, in the order in which they are told.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Area {
    /// The program itself.
    Version,
    /// The folders of the user.
    Folders,
    /// The configuration files.
    Configuration,
    /// The keys of providers.
    Keys,
    /// The providers.
    Providers,
    /// The models that are configured.
    Models,
    /// The MCP servers.
    Servers,
    /// The tools that a model would be offered, and the limits of a turn.
    Tools,
    /// The sessions that are kept.
    Sessions,
    /// The terminal.
    Terminal,
}

/// Whether something is as it should be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CheckResult {
    /// It does not work.
    Failed,
    /// It is.
    Fine,
    /// It was not looked at.
    Skipped,
    /// It works, and is perhaps not what is wanted.
    Warning,
}

/// A section of docs/troubleshooting.md.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TroubleshootingSection {
    /// Calls run one after another.
    CallsOneAfterAnother,
    /// The configuration is wrong.
    Configuration,
    /// A folder cannot be written.
    Folders,
    /// The gateway does not answer.
    Gateway,
    /// A key is missing or not accepted.
    Keys,
    /// The model calls and calls.
    Loops,
    /// A model is not known.
    Models,
    /// A provider cannot be reached.
    Providers,
    /// Results look wrong.
    Results,
    /// A server is not available.
    Servers,
    /// Sessions are not kept, or do not go on.
    Sessions,
    /// The terminal shows too little or too much.
    Terminal,
    /// Tools do not reach the model.
    Tools,
}

impl DoctorCheck {
    /// Something that is as it should be.
    pub(super) fn fine(area: Area, says: impl Into<String>) -> Self {
        Self {
            area,
            help: None,
            page: None,
            says: says.into(),
            took: None,
            verdict: CheckResult::Fine,
        }
    }

    /// Something that does not work, and what to do.
    pub(super) fn failed(area: Area, says: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            verdict: CheckResult::Failed,
            ..Self::fine(area, says)
        }
    }

    /// Something that is perhaps not what is wanted, and what to do then.
    pub(super) fn warning(area: Area, says: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            verdict: CheckResult::Warning,
            ..Self::failed(area, says, help)
        }
    }

    /// Something that was not looked at.
    pub(super) fn skipped(area: Area, says: impl Into<String>) -> Self {
        Self {
            verdict: CheckResult::Skipped,
            ..Self::fine(area, says)
        }
    }

    /// The same, with where more about it stands.
    pub(super) fn see(self, page: TroubleshootingSection) -> Self {
        Self {
            page: Some(page),
            ..self
        }
    }

    /// The same, with the time that it took.
    pub(super) fn in_time(self, took: Duration) -> Self {
        Self {
            took: Some(took),
            ..self
        }
    }
}

impl DoctorCheck {
    /// How a run ends in which this failed first. A key that is not accepted is one, whoever says so.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self.page {
            Some(TroubleshootingSection::Keys) => Area::Keys.exit(),
            Some(_) | None => self.area.exit(),
        }
    }
}

impl Area {
    /// The word for programs, and the heading for people.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Folders => "folders",
            Self::Keys => "keys",
            Self::Models => "models",
            Self::Providers => "providers",
            Self::Servers => "servers",
            Self::Sessions => "sessions",
            Self::Terminal => "terminal",
            Self::Tools => "tools",
            Self::Version => "version",
        }
    }

    /// How a run ends in which something of this area failed first.
    #[must_use]
    pub const fn exit(self) -> Exit {
        match self {
            Self::Configuration
            | Self::Folders
            | Self::Keys
            | Self::Sessions
            | Self::Terminal
            | Self::Tools
            | Self::Version => Exit::Configuration,
            Self::Models | Self::Providers => Exit::Provider,
            Self::Servers => Exit::Server,
        }
    }
}

impl CheckResult {
    /// The word for programs.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Fine => "ok",
            Self::Skipped => "skipped",
            Self::Warning => "warning",
        }
    }
}

impl TroubleshootingSection {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::CallsOneAfterAnother,
        Self::Configuration,
        Self::Folders,
        Self::Gateway,
        Self::Keys,
        Self::Loops,
        Self::Models,
        Self::Providers,
        Self::Results,
        Self::Servers,
        Self::Sessions,
        Self::Terminal,
        Self::Tools,
    ];

    /// The link, from the root of the repository.
    #[must_use]
    pub const fn link(self) -> &'static str {
        match self {
            Self::CallsOneAfterAnother => "docs/troubleshooting.md#calls-run-one-after-another",
            Self::Configuration => "docs/troubleshooting.md#the-configuration-is-wrong",
            Self::Folders => "docs/troubleshooting.md#a-folder-cannot-be-written",
            Self::Gateway => "docs/troubleshooting.md#the-gateway-does-not-answer",
            Self::Keys => "docs/troubleshooting.md#a-key-is-missing-or-not-accepted",
            Self::Loops => "docs/troubleshooting.md#the-model-calls-and-calls",
            Self::Models => "docs/troubleshooting.md#a-model-is-not-known",
            Self::Providers => "docs/troubleshooting.md#a-provider-cannot-be-reached",
            Self::Results => "docs/troubleshooting.md#results-look-wrong",
            Self::Servers => "docs/troubleshooting.md#a-server-is-not-available",
            Self::Sessions => "docs/troubleshooting.md#sessions-are-not-kept-or-do-not-go-on",
            Self::Terminal => "docs/troubleshooting.md#the-terminal-shows-too-little-or-too-much",
            Self::Tools => "docs/troubleshooting.md#tools-do-not-reach-the-model",
        }
    }
}
