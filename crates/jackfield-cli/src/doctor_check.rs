//! One check and its result.

use std::time::Duration;

use crate::exit::Exit;

/// One check and its result.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DoctorCheck {
    pub area: Area,
    /// How to fix it, if there is anything to fix.
    pub help: Option<String>,
    pub page: Option<TroubleshootingSection>,
    /// The finding, in one sentence.
    pub finding: String,
    /// How long it took, if it had to wait.
    pub duration: Option<Duration>,
    pub verdict: CheckResult,
}

/// The area of a check, in the order of the report.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Area {
    Version,
    Folders,
    Configuration,
    Keys,
    Providers,
    Models,
    Routes,
    Servers,
    /// The tools offered to a model, and the limits of a turn.
    Tools,
    Sessions,
    Terminal,
}

// The names for programs, which are also the headings for people.
jackfield_domain::named! { Area:
    Version = "version", Folders = "folders", Configuration = "configuration", Keys = "keys",
    Providers = "providers", Models = "models", Routes = "routes", Servers = "servers",
    Tools = "tools", Sessions = "sessions", Terminal = "terminal",
}

/// The verdict of a check.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CheckResult {
    Failed,
    /// In order.
    Fine,
    /// Not checked.
    Skipped,
    /// Working, but possibly not as intended.
    Warning,
}

jackfield_domain::named! { CheckResult:
    Failed = "failed", Fine = "ok", Skipped = "skipped", Warning = "warning",
}

/// A section of docs/troubleshooting.md.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TroubleshootingSection {
    /// Calls run one after another.
    CallsOneAfterAnother,
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

// The links, from the root of the repository.
jackfield_domain::named! { TroubleshootingSection:
    CallsOneAfterAnother = "docs/troubleshooting.md#calls-run-one-after-another",
    Configuration = "docs/troubleshooting.md#the-configuration-is-wrong",
    Folders = "docs/troubleshooting.md#a-folder-cannot-be-written",
    Gateway = "docs/troubleshooting.md#the-gateway-does-not-answer",
    Keys = "docs/troubleshooting.md#a-key-is-missing-or-not-accepted",
    Loops = "docs/troubleshooting.md#the-model-calls-and-calls",
    Models = "docs/troubleshooting.md#a-model-is-not-known",
    Providers = "docs/troubleshooting.md#a-provider-cannot-be-reached",
    Results = "docs/troubleshooting.md#results-look-wrong",
    Servers = "docs/troubleshooting.md#a-server-is-not-available",
    Sessions = "docs/troubleshooting.md#sessions-are-not-kept-or-do-not-go-on",
    Terminal = "docs/troubleshooting.md#the-terminal-shows-too-little-or-too-much",
    Tools = "docs/troubleshooting.md#tools-do-not-reach-the-model",
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
            page: area.page(),
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

    pub(super) fn skipped(area: Area, finding: impl Into<String>) -> Self {
        Self {
            verdict: CheckResult::Skipped,
            ..Self::passed(area, finding)
        }
    }

    /// Replaces the section of the troubleshooting page.
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
    const fn page(self) -> Option<TroubleshootingSection> {
        use TroubleshootingSection as Section;
        Some(match self {
            Self::Configuration => Section::Configuration,
            Self::Folders => Section::Folders,
            Self::Keys => Section::Keys,
            Self::Models => Section::Models,
            Self::Providers => Section::Providers,
            Self::Servers => Section::Servers,
            Self::Sessions => Section::Sessions,
            Self::Terminal => Section::Terminal,
            Self::Tools => Section::Tools,
            Self::Routes | Self::Version => return None,
        })
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
