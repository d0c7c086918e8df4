//! One check and its result.

use std::time::Duration;

use crate::exit::Exit;

/// One check and its result.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DoctorCheck {
    /// Its area.
    pub area: Area,
    /// How to fix it, if there is anything to fix.
    pub help: Option<String>,
    /// The section of the troubleshooting page.
    pub page: Option<TroubleshootingSection>,
    /// The finding, in one sentence.
    pub finding: String,
    /// How long it took, if it had to wait.
    pub duration: Option<Duration>,
    /// The verdict.
    pub verdict: CheckResult,
}

/// The area of a check, in the order of the report.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Area {
    /// The program itself.
    Version,
    /// The user's directories.
    Folders,
    /// The configuration files.
    Configuration,
    /// The keys of providers.
    Keys,
    /// The providers.
    Providers,
    /// The configured models.
    Models,
    /// The routes.
    Routes,
    /// The MCP servers.
    Servers,
    /// The tools offered to a model, and the limits of a turn.
    Tools,
    /// The stored sessions.
    Sessions,
    /// The terminal.
    Terminal,
}

/// The verdict of a check.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CheckResult {
    /// Broken.
    Failed,
    /// In order.
    Fine,
    /// Not checked.
    Skipped,
    /// Working, but possibly not as intended.
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
    /// The model keeps calling tools.
    Loops,
    /// A model is not known.
    Models,
    /// A provider cannot be reached.
    Providers,
    /// Results look wrong.
    Results,
    /// A server is not available.
    Servers,
    /// Sessions are not stored, or cannot be resumed.
    Sessions,
    /// The terminal shows too little or too much.
    Terminal,
    /// Tools do not reach the model.
    Tools,
}

impl DoctorCheck {
    /// A check without findings.
    pub(super) fn passed(area: Area, finding: impl Into<String>) -> Self {
        Self {
            area,
            help: None,
            page: None,
            finding: finding.into(),
            duration: None,
            verdict: CheckResult::Fine,
        }
    }

    /// A failed check, with its fix.
    pub(super) fn failed(area: Area, finding: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            verdict: CheckResult::Failed,
            ..Self::passed(area, finding)
        }
    }

    /// A warning, with a suggestion.
    pub(super) fn warning(area: Area, finding: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            verdict: CheckResult::Warning,
            ..Self::failed(area, finding, help)
        }
    }

    /// A skipped check.
    pub(super) fn skipped(area: Area, finding: impl Into<String>) -> Self {
        Self {
            verdict: CheckResult::Skipped,
            ..Self::passed(area, finding)
        }
    }

    /// Adds the section of the troubleshooting page.
    pub(super) fn with_page(self, page: TroubleshootingSection) -> Self {
        Self {
            page: Some(page),
            ..self
        }
    }

    /// Adds the time that it took.
    pub(super) fn with_duration(self, duration: Duration) -> Self {
        Self {
            duration: Some(duration),
            ..self
        }
    }
}

impl DoctorCheck {
    /// The exit code if this check failed first. A rejected key is a configuration error, whichever check reports
    /// it.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self.page {
            Some(TroubleshootingSection::Keys) => Area::Keys.exit(),
            Some(_) | None => self.area.exit(),
        }
    }
}

impl Area {
    /// The name for programs, and the heading for people.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Folders => "folders",
            Self::Keys => "keys",
            Self::Models => "models",
            Self::Routes => "routes",
            Self::Providers => "providers",
            Self::Servers => "servers",
            Self::Sessions => "sessions",
            Self::Terminal => "terminal",
            Self::Tools => "tools",
            Self::Version => "version",
        }
    }

    /// The exit code if a check of this area failed first.
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
            Self::Models | Self::Providers | Self::Routes => Exit::Provider,
            Self::Servers => Exit::Server,
        }
    }
}

impl CheckResult {
    /// The name for programs.
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
    /// All sections.
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
