//! Budgets, and what is used of them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use jackfield_domain::directory::EntryKind;
use jackfield_domain::price::Money;
use jackfield_domain::quota::{BudgetState, BudgetUnit, Quota};
use jackfield_domain::spending::BUDGET_CURRENCY;
use jackfield_gateway::Gateway;
use serde::Serialize;
use utoipa::ToSchema;

use super::extract::Requester;
use super::problem::{ProblemDetails, Problems};

/// Budgets.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BudgetList)]
pub(crate) struct BudgetList {
    /// The budgets: of keys, then of teams, then of users.
    budgets: Vec<BudgetView>,
    /// Whether there are more budgets than these; a thousand quotas are listed at most.
    more: bool,
}

/// A budget, and what is used of it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Budget)]
pub(crate) struct BudgetView {
    /// What it belongs to: `key`, `team` or `user`.
    of: String,
    /// The name, or the id of the key.
    name: String,
    /// `minute`, or `day` or `month` in UTC.
    period: String,
    /// When the period ends; of a minute that is used up, when it has room again.
    ends: String,
    /// `USD` or `tokens`.
    unit: String,
    /// How much may be used in the period, as a decimal number.
    limit: String,
    /// What was spent in the period.
    spent: String,
    /// What calls in flight have reserved.
    reserved: String,
    /// The share that is spent, in percent; more than 100 if the last calls used more than was left.
    percent: u32,
}

/// Lists budgets and what is used of them: all of them for an admin, else those of the key, its user and its team.
#[utoipa::path(
    get, path = "/budgets", tag = "usage", operation_id = "list_budgets",
    responses((status = 200, description = "The budgets.", body = BudgetList), Problems)
)]
pub(crate) async fn budgets(
    Requester(client): Requester,
    State(gateway): State<Gateway>,
) -> Result<Json<BudgetList>, ProblemDetails> {
    let mut quotas = if client.admin {
        all_quotas(&gateway).await?
    } else {
        client.budget_quotas()
    };
    let more = quotas.len() > MOST;
    quotas.truncate(MOST);
    let states = gateway.engine().budget_states(&quotas).await?;
    Ok(Json(BudgetList {
        budgets: states.iter().map(BudgetView::from).collect(),
        more,
    }))
}

/// The quotas with budgets, with the names of their meters: all, or more than [`MOST`].
async fn all_quotas(gateway: &Gateway) -> Result<Vec<(Arc<str>, Quota)>, ProblemDetails> {
    let Some(directory) = gateway.engine().directory() else {
        return Ok(Vec::new());
    };
    let mut quotas = Vec::new();
    for kind in [EntryKind::Key, EntryKind::Team, EntryKind::User] {
        let mut after = None;
        loop {
            let entries = directory.entries(kind, after, PAGE).await?;
            for entry in &entries {
                if let Some(quota) = entry.quota().filter(Quota::has_budget) {
                    let meter = format!("{}:{}", kind.as_str(), entry.name());
                    quotas.push((meter.into(), quota));
                }
            }
            after = entries.last().map(|last| last.name().clone());
            if entries.len() < PAGE || quotas.len() > MOST {
                break;
            }
        }
    }
    Ok(quotas)
}

impl From<&BudgetState> for BudgetView {
    fn from(state: &BudgetState) -> Self {
        let (of, name) = state.meter.split_once(':').unwrap_or(("", &state.meter));
        let amount = |amount: u64| match state.unit {
            BudgetUnit::Cost => Money::from_picos(amount).to_string(),
            BudgetUnit::Tokens => amount.to_string(),
        };
        Self {
            of: of.to_owned(),
            name: name.to_owned(),
            period: state.period.as_str().to_owned(),
            ends: state.ends.to_rfc3339(),
            unit: match state.unit {
                BudgetUnit::Cost => BUDGET_CURRENCY,
                BudgetUnit::Tokens => "tokens",
            }
            .to_owned(),
            limit: amount(state.limit),
            spent: amount(state.spent),
            reserved: amount(state.reserved),
            percent: state.percent(),
        }
    }
}

/// The most quotas whose budgets are listed.
const MOST: usize = 1_000;
/// The entries that are read at once.
const PAGE: usize = 200;
