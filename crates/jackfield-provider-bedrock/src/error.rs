//! Bedrock's errors, as failures that the tool loop decides about.

use jackfield_dialect_kit::{error_patterns, failure};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};

use crate::wire::ErrorBody;

/// Classifies the body of an error response; `None` if it is not in Bedrock's form. `kind` is the header with the
/// error's name.
#[must_use]
pub fn classify(status: u16, kind: Option<&str>, body: &[u8]) -> Option<ModelFailure> {
    let body: ErrorBody = serde_json::from_slice(body).ok()?;
    let name = kind
        .or(body.kind.as_deref())
        .map(bare)
        .unwrap_or_default()
        .to_owned();
    // A JSON object alone may be anything's.
    if name.is_empty() && body.message.is_none() {
        return None;
    }
    Some(from_body(
        Some(status),
        &name,
        &body,
        Phase::BeforeFirstDelta,
    ))
}

/// Classifies an exception of this name.
pub(crate) fn from_body(
    status: Option<u16>,
    name: &str,
    body: &ErrorBody,
    phase: Phase,
) -> ModelFailure {
    let words = body.message.as_deref().unwrap_or_default();
    let original = body.original_message.as_deref().unwrap_or_default();
    let all = format!("{words} {original}");
    let meaning = Meaning::of(status, name, &all);
    let code = status.map(|status| status.to_string()).unwrap_or_default();
    let mut message = failure::message(words, &[&code, name]);
    if !original.is_empty() && !words.contains(original) {
        message.push_str(": ");
        message.push_str(&failure::message(original, &[]));
    }
    if let Some(way) = meaning.way.or_else(|| error_patterns::remedy(&all)) {
        message.push_str(if message.ends_with('.') { " " } else { ". " });
        message.push_str(way);
    }
    let mut failure = ModelFailure::new(meaning.kind, phase, message);
    if meaning.is_final {
        failure.advice = RetryAdvice::Never;
    }
    failure
}

/// The meaning of an error.
struct Meaning {
    /// Whether time does not mend it.
    is_final: bool,
    kind: ModelFailureKind,
    way: Option<&'static str>,
}

impl Meaning {
    /// By the error's words, which are more specific than its name, by its name, and then by its status.
    fn of(status: Option<u16>, name: &str, words: &str) -> Self {
        let lower = words.to_ascii_lowercase();
        let row = ROWS.iter().find(|row| {
            let is_name = row.names.is_empty() || row.names.contains(&name);
            is_name && (row.part.is_empty() || lower.contains(row.part))
        });
        let known = row.map_or_else(|| by_status(status), |row| row.kind);
        Self {
            is_final: row.is_some_and(|row| row.is_final),
            kind: error_patterns::kind(known, words),
            way: row.and_then(|row| row.way),
        }
    }
}

fn by_status(status: Option<u16>) -> ModelFailureKind {
    match status {
        Some(424) | None => ModelFailureKind::ServerError,
        Some(503) => ModelFailureKind::Overloaded,
        Some(status) => failure::by_status(status),
    }
}

/// The name of an error without its namespace and its address, as in `ValidationException:http://...`.
fn bare(name: &str) -> &str {
    let name = name.split(':').next().unwrap_or_default();
    name.rsplit('#').next().unwrap_or_default().trim()
}

struct Row {
    is_final: bool,
    kind: ModelFailureKind,
    /// The names of the error; any, if there is none.
    names: &'static [&'static str],
    /// A part of its words in lower case; any, if it is empty.
    part: &'static str,
    way: Option<&'static str>,
}

const fn row(
    names: &'static [&'static str],
    part: &'static str,
    kind: ModelFailureKind,
    way: Option<&'static str>,
) -> Row {
    Row {
        is_final: false,
        kind,
        names,
        part,
        way,
    }
}

const DENIED: &[&str] = &["AccessDeniedException"];
const VALIDATION: &[&str] = &["ValidationException", "validationException"];
const THROTTLING: &[&str] = &["ThrottlingException", "throttlingException"];

/// The first row that matches counts. Names are those of the service model of `botocore` 1.44.8 and of the common
/// errors of AWS; words are those of the Bedrock user guide (troubleshooting) and of reports in public issues (2026-11).
const ROWS: &[Row] = &[
    row(
        &[],
        "signature expired",
        ModelFailureKind::Unauthenticated,
        Some("The clock of this machine is wrong: a signature holds for 5 minutes."),
    ),
    row(
        &[],
        "signature we calculated does not match",
        ModelFailureKind::Unauthenticated,
        Some("Check AWS_SECRET_ACCESS_KEY, and that `region` is that of the address."),
    ),
    row(
        &[],
        "credential should be scoped to a valid region",
        ModelFailureKind::Unauthenticated,
        Some("Set `region` to that of the address."),
    ),
    row(
        &["ExpiredToken", "ExpiredTokenException"],
        "",
        ModelFailureKind::Unauthenticated,
        Some("The temporary keys have expired: get new ones, AWS_SESSION_TOKEN among them."),
    ),
    row(
        DENIED,
        "has expired",
        ModelFailureKind::Unauthenticated,
        Some(
            "Get a new key in the console of Bedrock (API keys), and set AWS_BEARER_TOKEN_BEDROCK.",
        ),
    ),
    row(
        DENIED,
        "api key",
        ModelFailureKind::Unauthenticated,
        Some("Set AWS_BEARER_TOKEN_BEDROCK to a key of Bedrock (console, API keys)."),
    ),
    row(
        DENIED,
        "authentication failed",
        ModelFailureKind::Unauthenticated,
        Some("Set AWS_BEARER_TOKEN_BEDROCK to a key of Bedrock (console, API keys)."),
    ),
    row(
        DENIED,
        "not authorized to perform",
        ModelFailureKind::Forbidden,
        Some("Allow bedrock:InvokeModel and bedrock:InvokeModelWithResponseStream for it in IAM."),
    ),
    row(
        DENIED,
        "access to the model",
        ModelFailureKind::Forbidden,
        Some(
            "Ask for access to the model in the console of Bedrock (Model access), in this region.",
        ),
    ),
    row(
        &[
            "IncompleteSignature",
            "IncompleteSignatureException",
            "InvalidClientTokenId",
            "InvalidSignatureException",
            "MissingAuthenticationToken",
            "MissingAuthenticationTokenException",
            "UnrecognizedClientException",
        ],
        "",
        ModelFailureKind::Unauthenticated,
        Some(
            "Check AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.",
        ),
    ),
    row(
        VALIDATION,
        "on-demand throughput",
        ModelFailureKind::ModelNotFound,
        Some(
            "Name an inference profile: the model with a prefix of its geography, such as `us.`, `eu.` or `global.`.",
        ),
    ),
    row(
        VALIDATION,
        "model identifier is invalid",
        ModelFailureKind::ModelNotFound,
        Some(
            "Check the name of the model, and that this region has it; some need a prefix such as `us.` or `eu.`.",
        ),
    ),
    row(
        VALIDATION,
        "doesn't support tool use",
        ModelFailureKind::ToolsUnsupported,
        Some("Choose a model that calls tools, or give its tools as text (`tools = \"text\"`)."),
    ),
    row(VALIDATION, "input is too long", TOO_LONG, None),
    row(VALIDATION, "too many input tokens", TOO_LONG, None),
    row(
        VALIDATION,
        "maximum tokens you requested exceeds",
        ModelFailureKind::InvalidRequest,
        Some("Set `settings.max_output_tokens` to what the model can write."),
    ),
    row(
        &["AccessDeniedException", "ValidationException"],
        "operation not allowed",
        ModelFailureKind::Forbidden,
        Some("The account may not use Bedrock yet: ask AWS Support."),
    ),
    row(
        &["ResourceNotFoundException"],
        "",
        ModelFailureKind::ModelNotFound,
        Some("Check the name of the model, and that this region has it and still offers it."),
    ),
    row(
        &["UnknownOperationException"],
        "",
        ModelFailureKind::InvalidRequest,
        Some("Is base_url right? It is such as `https://bedrock-runtime.us-east-1.amazonaws.com`."),
    ),
    Row {
        is_final: true,
        kind: ModelFailureKind::RateLimited,
        names: THROTTLING,
        part: "per day",
        way: Some(
            "The quota of the day is used up: wait for tomorrow, or raise it in Service Quotas.",
        ),
    },
    row(
        THROTTLING,
        "",
        ModelFailureKind::RateLimited,
        Some(
            "If it goes on, lower `settings.max_output_tokens`, which counts, or raise the quota in Service Quotas.",
        ),
    ),
    row(
        &["ServiceQuotaExceededException"],
        "",
        ModelFailureKind::RateLimited,
        Some("Raise the quota in Service Quotas."),
    ),
    row(
        &["ModelNotReadyException"],
        "",
        ModelFailureKind::Overloaded,
        None,
    ),
    row(
        &["ServiceUnavailableException", "serviceUnavailableException"],
        "",
        ModelFailureKind::Overloaded,
        None,
    ),
    row(
        &["ModelTimeoutException"],
        "",
        ModelFailureKind::Timeout,
        None,
    ),
    row(
        &[
            "InternalServerException",
            "internalServerException",
            "ModelErrorException",
            "ModelStreamErrorException",
            "modelStreamErrorException",
        ],
        "",
        ModelFailureKind::ServerError,
        None,
    ),
    row(VALIDATION, "", ModelFailureKind::InvalidRequest, None),
    row(DENIED, "", ModelFailureKind::Forbidden, None),
];

const TOO_LONG: ModelFailureKind = ModelFailureKind::ContextTooLong {
    limit: None,
    requested: None,
};
