//! Checks of the installation, for admins.

use axum::Json;
use axum::extract::State;
use jackfield_gateway::{CheckedItem, Gateway};
use serde::Serialize;
use utoipa::ToSchema;

use super::extract::Requester;
use super::problem::{ProblemDetails, ProblemKind, Problems};

/// What `jackfield doctor` says.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DoctorReport)]
pub(crate) struct DoctorReport {
    /// The checks, in the order of the command.
    checks: Vec<DoctorCheckView>,
}

/// A check and its result.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DoctorCheck)]
pub(crate) struct DoctorCheckView {
    /// What it is about, such as `providers`.
    area: String,
    /// `ok`, `warning`, `failed` or `skipped`.
    verdict: String,
    /// What was found.
    says: String,
    /// How to mend it.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    /// The section of the documents about it, from the root of the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    see: Option<String>,
}

/// Checks what `jackfield doctor` checks: the configuration as its files are now, keys, providers, models, routes, MCP
/// servers and the journal. For admins. It asks the providers and starts the MCP servers beside those that run, so it
/// may take a minute; one check runs at a time.
#[utoipa::path(
    post, path = "/doctor", tag = "health", operation_id = "run_doctor",
    responses((status = 200, description = "The results.", body = DoctorReport), Problems)
)]
pub(crate) async fn doctor(
    Requester(client): Requester,
    State(gateway): State<Gateway>,
) -> Result<Json<DoctorReport>, ProblemDetails> {
    if !client.admin {
        let detail = "the checks of the installation are for admins";
        return Err(ProblemDetails::new(ProblemKind::Forbidden, detail));
    }
    let checks = gateway.check_installation().await.ok_or_else(|| {
        let detail = "this gateway cannot check itself; `jackfield doctor` can";
        ProblemDetails::new(ProblemKind::NotFound, detail)
    })?;
    let checks = checks.into_iter().map(DoctorCheckView::from).collect();
    Ok(Json(DoctorReport { checks }))
}

impl From<CheckedItem> for DoctorCheckView {
    fn from(check: CheckedItem) -> Self {
        Self {
            area: check.area,
            verdict: check.verdict,
            says: check.finding,
            help: check.help,
            see: check.page,
        }
    }
}
