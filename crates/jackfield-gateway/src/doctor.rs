//! Checks of the installation, for admins.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Mutex;

/// Checks the installation that a gateway runs with: its configuration, providers, servers and journal.
#[async_trait]
pub trait Doctor: Send + Sync {
    /// Runs all checks. May ask providers and start MCP servers, so it may take a minute. Dropping it ends them.
    async fn check(&self) -> Vec<CheckedItem>;
}

/// A check and its result.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CheckedItem {
    /// What it is about, in one word, such as `providers`.
    pub area: String,
    /// What was found, in one sentence.
    pub finding: String,
    /// How to mend it, if there is anything to mend.
    pub help: Option<String>,
    /// The section of the documents about it, as a path from the root of the repository.
    pub page: Option<String>,
    /// `ok`, `warning`, `failed` or `skipped`.
    pub verdict: String,
}

/// The checks of a gateway, which run one at a time.
#[derive(Default)]
pub(crate) struct DoctorSlot {
    doctor: OnceLock<Arc<dyn Doctor>>,
    turn: Mutex<()>,
}

impl DoctorSlot {
    /// Sets the checks, once.
    pub(crate) fn set(&self, doctor: Arc<dyn Doctor>) {
        let _kept = self.doctor.set(doctor);
    }

    /// Runs the checks; `None` if there are none.
    pub(crate) async fn check(&self) -> Option<Vec<CheckedItem>> {
        let doctor = self.doctor.get()?;
        let checks = async {
            let _turn = self.turn.lock().await;
            doctor.check().await
        };
        let checked = tokio::time::timeout(TIME_LIMIT, checks).await;
        Some(checked.unwrap_or_else(|_| {
            let seconds = TIME_LIMIT.as_secs();
            vec![CheckedItem {
                area: "version".to_owned(),
                finding: format!("the checks took longer than {seconds} s, and were ended"),
                help: Some(
                    "run `jackfield doctor` in a terminal, which names what it waits for"
                        .to_owned(),
                ),
                page: None,
                verdict: "failed".to_owned(),
            }]
        }))
    }
}

const TIME_LIMIT: Duration = Duration::from_secs(120);
