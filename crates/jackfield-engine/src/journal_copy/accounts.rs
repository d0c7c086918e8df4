//! Copies users, teams and keys, the secrets of what users brought, and what their budgets have counted.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use jackfield_domain::directory::{DirectoryChange, EntryKind, EntryName};
use jackfield_domain::quota::{Meter, MeterOperation, MeterOutcome, PeriodTotal};
use jackfield_ports::journal::directory::{ChangeQuery, Changed, Directory};
use jackfield_ports::journal::secrets::{SecretPlace, Secrets};
use jackfield_ports::journal::spending::{SpendingLog, SpendingPage, SpendingQuery};
use jackfield_ports::journal::{Journal, JournalError};

use super::{CopyReport, PAGE};

/// Copies the changes to users, teams and keys in their order, reads them again, and returns the names of the meters of
/// all entries. An entry that the other journal has with other changes stays as it is there.
pub(super) async fn copy_directory(
    from: &dyn Directory,
    to: &dyn Directory,
    secrets: Option<(&dyn Secrets, &dyn Secrets)>,
    report: &mut CopyReport,
) -> Result<BTreeSet<Arc<str>>, JournalError> {
    let changes = changes_of(from).await?;
    let mut differing = HashSet::new();
    let mut names = BTreeSet::new();
    // The newest one comes first.
    for change in changes.iter().rev() {
        let entry = entry_of(change);
        names.insert(format!("{}:{}", entry.0.as_str(), entry.1).into());
        // A later change of it could be the next one there, and would be of something else.
        if differing.contains(&entry) {
            continue;
        }
        let changed = match secrets {
            Some(secrets) => copy_with_secrets(change, secrets, report).await?,
            None => to.change(change).await?,
        };
        if changed == Changed::Conflict {
            let (kind, name) = (entry.0.as_str(), &entry.1);
            report.problems.push(format!(
                "{kind} {name} was there before, with other contents, and was left alone"
            ));
            differing.insert(entry);
        }
    }
    let mut written = HashMap::new();
    for change in changes_of(to).await? {
        written.insert((entry_of(&change), change.revision), change);
    }
    for change in &changes {
        let entry = entry_of(change);
        if differing.contains(&entry) {
            continue;
        }
        let key = (entry, change.revision);
        if written.get(&key) == Some(change) {
            report.directory_changes += 1;
        } else {
            let ((kind, name), revision) = key;
            let problem = format!("revision {revision} of {} {name} differs", kind.as_str());
            report.problems.push(problem);
        }
    }
    // Another entry of that name keeps what it has spent itself.
    let differing = differing.iter();
    for name in differing.map(|(kind, name)| format!("{}:{name}", kind.as_str())) {
        names.remove(&*name);
    }
    Ok(names)
}

/// Copies a change with the secrets of its entry, as they are encrypted: those that there are now belong to its newest
/// change.
async fn copy_with_secrets(
    change: &DirectoryChange,
    (from, to): (&dyn Secrets, &dyn Secrets),
    report: &mut CopyReport,
) -> Result<Changed, JournalError> {
    let (kind, name) = entry_of(change);
    let secrets = from.secrets_of(kind, &name).await?;
    let changed = to.change_with_secrets(change, &secrets).await?;
    if changed == Changed::Conflict || secrets.is_empty() {
        return Ok(changed);
    }
    // It was there before; since then they may have been encrypted anew.
    for seen in to.secrets_of(kind, &name).await? {
        let anew = secrets.iter().find(|secret| secret.name == seen.name);
        if let Some(anew) = anew.filter(|anew| **anew != seen) {
            let place = SecretPlace::new(kind, &name, &seen.name);
            to.reseal(&place, &seen, anew).await?;
        }
    }
    if to.secrets_of(kind, &name).await? != secrets {
        let problem = format!("the secrets of {} {name} differ", kind.as_str());
        report.problems.push(problem);
    }
    Ok(changed)
}

/// All changes, the newest one first.
async fn changes_of(directory: &dyn Directory) -> Result<Vec<DirectoryChange>, JournalError> {
    let mut changes = Vec::new();
    let mut query = ChangeQuery {
        limit: PAGE,
        ..ChangeQuery::default()
    };
    loop {
        let page = directory.changes(&query).await?;
        let Some((number, _)) = page.last() else {
            return Ok(changes);
        };
        query.before = Some(*number);
        changes.extend(page.into_iter().map(|(_, change)| change));
    }
}

fn entry_of(change: &DirectoryChange) -> (EntryKind, EntryName) {
    (change.entry.kind(), change.entry.name())
}

/// What meters have counted, by name: the newest day and month.
pub(super) type Totals = HashMap<Arc<str>, [Option<PeriodTotal>; 2]>;

/// What the meters of these names have counted.
pub(super) async fn totals(
    journal: &dyn Journal,
    names: &BTreeSet<Arc<str>>,
) -> Result<Totals, JournalError> {
    let mut totals = Totals::new();
    let Some(meters) = journal.meters() else {
        return Ok(totals);
    };
    let names: Vec<Arc<str>> = names.iter().cloned().collect();
    for names in names.chunks(PAGE) {
        let operation = MeterOperation::Look {
            meters: names.to_vec(),
        };
        if let MeterOutcome::Seen(seen) = meters.perform(&operation).await? {
            let seen = seen.iter().map(|Meter { day, month, .. }| [*day, *month]);
            totals.extend(names.iter().cloned().zip(seen));
        }
    }
    Ok(totals)
}

/// The number of spending records that each meter has counted.
pub(super) async fn records_of_meters(
    log: &dyn SpendingLog,
) -> Result<HashMap<Arc<str>, u64>, JournalError> {
    let mut counts = HashMap::new();
    let mut query = SpendingQuery {
        after: None,
        limit: PAGE,
        since: None,
    };
    loop {
        let page = log.records(&query).await?;
        count(&mut counts, &page);
        query.after = page.next;
        if query.after.is_none() {
            return Ok(counts);
        }
    }
}

/// Counts the records of a page for their meters.
pub(super) fn count(counts: &mut HashMap<Arc<str>, u64>, page: &SpendingPage) {
    for settled in page.records.iter().flat_map(|record| &record.settled) {
        *counts.entry(Arc::clone(&settled.budget)).or_default() += 1;
    }
}

/// Makes what the meters of the other journal have counted equal, after the spending records were copied, which count
/// there, too. A meter that is no copy, because it has counted records of its own, stays as it is. What requests in
/// flight hold is not copied.
pub(super) async fn copy_totals(
    from: &Totals,
    is_copy: impl Fn(&Arc<str>) -> bool,
    to: &dyn Journal,
    report: &mut CopyReport,
) -> Result<(), JournalError> {
    let Some(meters) = to.meters() else {
        return Ok(());
    };
    let names = from.iter().filter(|(_, totals)| **totals != NOTHING);
    let names: BTreeSet<Arc<str>> = names.map(|(name, _)| Arc::clone(name)).collect();
    let written = totals(to, &names).await?;
    for name in &names {
        let (Some(totals), Some(seen)) = (from.get(name), written.get(name)) else {
            continue;
        };
        if totals != seen && is_copy(name) {
            let correction = MeterOperation::Correct {
                meter: Arc::clone(name),
                seen: *seen,
                totals: *totals,
            };
            meters.perform(&correction).await?;
        }
    }
    let written = totals(to, &names).await?;
    for name in names {
        if written.get(&name) == from.get(&name) {
            report.meters += 1;
        } else {
            let problem = format!("the budgets of {name} have counted something else there");
            report.problems.push(problem);
        }
    }
    Ok(())
}

const NOTHING: [Option<PeriodTotal>; 2] = [None, None];
