//! `jackfield doctor` for the clients of a gateway.

use async_trait::async_trait;
use jackfield_assembly::{Flags, Registry, Surroundings};
use jackfield_server::{CheckedItem, Doctor};

use crate::commands::doctor;
use crate::doctor_check::{DoctorCheck, TroubleshootingSection};

/// The checks of `jackfield doctor`, without the terminal's.
pub(super) struct GatewayDoctor {
    pub(super) flags: Flags,
    pub(super) registry: Registry,
    pub(super) surroundings: Surroundings,
}

#[async_trait]
impl Doctor for GatewayDoctor {
    async fn check(&self) -> Vec<CheckedItem> {
        let checks = doctor::collect(&self.surroundings, &self.flags, &self.registry).await;
        checks.into_iter().map(CheckedItem::from).collect()
    }
}

impl From<DoctorCheck> for CheckedItem {
    fn from(check: DoctorCheck) -> Self {
        Self {
            area: check.area.as_str().to_owned(),
            finding: check.finding,
            help: check.help.filter(|help| !help.is_empty()),
            page: check
                .page
                .map(TroubleshootingSection::as_str)
                .map(str::to_owned),
            verdict: check.verdict.as_str().to_owned(),
        }
    }
}
