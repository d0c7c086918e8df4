//! Which budgets this process has warned of, so that the log has one warning for each and its period.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use jackfield_domain::quota::{BudgetState, BudgetUnit};
use jackfield_domain::time::WallTime;

/// The budgets of which the log has a warning.
#[derive(Debug, Default)]
pub(crate) struct BudgetWarnings(Mutex<HashSet<(Arc<str>, BudgetUnit, WallTime)>>);

impl BudgetWarnings {
    /// Whether this is the first warning of a budget in its period.
    pub(crate) fn is_first(&self, budget: &BudgetState) -> bool {
        let mut warned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.len() >= MOST {
            warned.clear();
        }
        warned.insert((Arc::clone(&budget.meter), budget.unit, budget.ends))
    }
}

/// How many are remembered; then the log may have a warning again.
const MOST: usize = 10_000;
