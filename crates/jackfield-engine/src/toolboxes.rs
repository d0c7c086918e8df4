//! The toolboxes of a turn, from all sources.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::caller::Caller;
use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::ids::ToolboxId;
use jackfield_ports::toolbox::Toolbox;
use jackfield_ports::toolbox_source::{
    RegisteredToolbox, ToolboxProblem, ToolboxSet, ToolboxSource, WHOLE_SOURCE,
};
use tokio::task::JoinSet;

/// Asks all sources for the toolboxes of a client's principal. Of two toolboxes with one id, the first one is used: a
/// later source cannot replace the toolbox of an earlier one.
pub(crate) async fn of_client(
    sources: &[Arc<dyn ToolboxSource>],
    client: Option<&Caller>,
) -> ToolboxSet {
    let principal = client.map(|client| &*client.principal);
    let mut all = ToolboxSet::default();
    for source in sources {
        extend(&mut all, source.toolboxes(principal)).await;
    }
    all
}

/// Adds the toolboxes that come from elsewhere, within the time of a source.
pub(crate) async fn extend(all: &mut ToolboxSet, more: impl Future<Output = ToolboxSet>) {
    match tokio::time::timeout(SOURCE_LIMIT, more).await {
        Ok(set) => add(all, set),
        Err(_) => all.problems.extend(timeout_problem()),
    }
}

fn add(all: &mut ToolboxSet, set: ToolboxSet) {
    all.problems.extend(set.problems);
    for registered in set.toolboxes {
        let id = registered.toolbox.id();
        if find(&all.toolboxes, id).is_some() {
            let message = format!("skipped: there is another toolbox of the id `{id}`");
            let toolbox = id.clone();
            all.problems.push(ToolboxProblem { message, toolbox });
        } else {
            all.toolboxes.push(registered);
        }
    }
}

/// Waits until one of the sources has other toolboxes.
pub(crate) async fn changed(sources: &[Arc<dyn ToolboxSource>]) {
    let mut waits = JoinSet::new();
    for source in sources {
        let source = Arc::clone(source);
        waits.spawn(async move { source.changed().await });
    }
    // Without a source, nothing changes. A source that panics is not one that has changed.
    while let Some(waited) = waits.join_next().await {
        if waited.is_ok() {
            return;
        }
    }
    std::future::pending::<()>().await;
}

/// The problem of a source that does not answer.
fn timeout_problem() -> Option<ToolboxProblem> {
    Some(ToolboxProblem {
        message: format!("no list of toolboxes within {} s", SOURCE_LIMIT.as_secs()),
        toolbox: ToolboxId::parse(WHOLE_SOURCE).ok()?,
    })
}

/// The toolbox with this id.
pub(crate) fn find<'a>(
    toolboxes: &'a [RegisteredToolbox],
    id: &ToolboxId,
) -> Option<&'a Arc<dyn Toolbox>> {
    let mut all = toolboxes.iter().map(|registered| &registered.toolbox);
    all.find(|toolbox| toolbox.id() == id)
}

/// The toolbox with this id, or the failure of a call that needs it.
pub(crate) fn find_or_fail<'a>(
    toolboxes: &'a ToolboxSet,
    id: &ToolboxId,
) -> Result<&'a Arc<dyn Toolbox>, ToolFailure> {
    find(&toolboxes.toolboxes, id).ok_or_else(|| {
        let message = format!("there is no toolbox `{id}`");
        ToolFailure::not_sent(ToolFailureKind::UnknownTool, message)
    })
}

/// The time limit for one source.
const SOURCE_LIMIT: Duration = Duration::from_secs(30);
