//! Copies a whole journal into another one, and looks at what was written.

mod accounts;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use jackfield_domain::ids::SessionId;
use jackfield_ports::journal::admin::JournalAdmin;
use jackfield_ports::journal::copy::{Imported, SessionCopy};
use jackfield_ports::journal::sessions::{LabelChange, SessionQuery, SessionRow};
use jackfield_ports::journal::spending::{SpendingLog, SpendingPage, SpendingQuery};
use jackfield_ports::journal::{Journal, JournalError};

use crate::error::chain;

/// The result of a copy.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct CopyReport {
    /// The number of sessions that were there before, equal.
    pub already_there: u64,
    /// The number of sessions that were written, and read again equal.
    pub copied: u64,
    /// The number of changes to users, teams and keys that are equal in both.
    pub directory_changes: u64,
    /// The number of keys, users and teams whose budgets have counted something, the same in both.
    pub meters: u64,
    /// What was not copied, or is not equal in both, a sentence each.
    pub problems: Vec<String>,
    /// The number of spending records that are equal in both.
    pub spending_records: u64,
    /// The number of steps of the copied sessions.
    pub steps: u64,
}

/// Copies all sessions and spending records, users, teams and keys, and what their budgets have counted, and reads
/// everything again that was written. What is there already stays as it is. No process should use the journal that is
/// copied.
///
/// # Errors
///
/// [`JournalError`] if one of the journals cannot be reached or written. What was copied until then stays, and a
/// repetition goes on from there.
pub async fn copy_journal(
    from: &dyn Journal,
    to: &dyn Journal,
    mut progress: impl FnMut(&CopyReport) + Send,
) -> Result<CopyReport, JournalError> {
    let Some(admin) = to.admin() else {
        return Err(JournalError::Unreachable {
            source: "this journal takes no copies".into(),
        });
    };
    let mut report = CopyReport::default();
    let mut before = None;
    loop {
        let query = SessionQuery {
            before: before.take(),
            limit: PAGE,
            ..SessionQuery::default()
        };
        let rows = from.sessions(&query).await?;
        let Some(last) = rows.last() else {
            break;
        };
        before = Some((last.changed, last.session.clone()));
        for row in rows {
            copy_session(from, to, admin, &row, &mut report).await?;
            progress(&report);
        }
    }
    let mut names = BTreeSet::new();
    let secrets = from.secrets().zip(to.secrets());
    if let (Some(from), Some(to)) = (from.directory(), to.directory()) {
        names = accounts::copy_directory(from, to, secrets, &mut report).await?;
    }
    let totals = accounts::totals(from, &names).await?;
    let (mut records, mut written) = (HashMap::new(), HashMap::new());
    if let (Some(from), Some(to)) = (from.spending(), to.spending()) {
        records = copy_spending(from, to, &mut report).await?;
        written = accounts::records_of_meters(to).await?;
    }
    let is_copy = |name: &Arc<str>| records.get(name) == written.get(name);
    accounts::copy_totals(&totals, is_copy, to, &mut report).await?;
    Ok(report)
}

async fn copy_session(
    from: &dyn Journal,
    to: &dyn Journal,
    admin: &dyn JournalAdmin,
    row: &SessionRow,
    report: &mut CopyReport,
) -> Result<(), JournalError> {
    let session = &row.session;
    if row.owned {
        let problem = format!("session {session} is in use: end what is at work on it");
        report.problems.push(problem);
        return Ok(());
    }
    let loaded = match from.load(session).await {
        Ok(loaded) => loaded,
        Err(error @ (JournalError::Corrupt { .. } | JournalError::Newer { .. })) => {
            report.problems.push(chain(&error));
            return Ok(());
        }
        // It was deleted meanwhile.
        Err(JournalError::UnknownSession { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut copy = SessionCopy {
        changed: row.changed,
        created: row.created,
        labels: LabelChange {
            archived: Some(row.archived),
            pinned: Some(row.pinned),
            title: None,
        },
        loaded,
        session: session.clone(),
    };
    if copy.summary().title != row.title {
        copy.labels.title = Some(Arc::clone(&row.title));
    }
    let imported = admin.import(&copy).await?;
    if let Some(difference) = difference(to, row, &copy).await? {
        report.problems.push(match imported {
            Imported::AlreadyThere => format!(
                "session {session} was there before, with other contents ({difference}), and was left alone"
            ),
            Imported::Written => format!("session {session} is not the same: {difference}"),
        });
        return Ok(());
    }
    match imported {
        Imported::AlreadyThere => report.already_there += 1,
        Imported::Written => {
            report.copied += 1;
            report.steps += copy.loaded.steps.len() as u64;
        }
    }
    Ok(())
}

/// What is different in the other journal, read anew.
async fn difference(
    to: &dyn Journal,
    row: &SessionRow,
    copy: &SessionCopy,
) -> Result<Option<&'static str>, JournalError> {
    let loaded = to.load(&copy.session).await?;
    if loaded.steps != copy.loaded.steps {
        return Ok(Some("its steps differ"));
    }
    if loaded.deliveries != copy.loaded.deliveries {
        return Ok(Some("its deliveries differ"));
    }
    if loaded.restored != copy.loaded.restored {
        return Ok(Some("one is marked as restored"));
    }
    let Some(written) = row_of(to, &copy.session).await? else {
        return Ok(Some("it is not listed"));
    };
    // How much room it takes, and who uses it, are the journal's own.
    let same = SessionRow {
        bytes: row.bytes,
        held: row.held,
        owned: row.owned,
        ..written
    };
    Ok((same != *row).then_some("it is listed otherwise"))
}

async fn row_of(
    journal: &dyn Journal,
    session: &SessionId,
) -> Result<Option<SessionRow>, JournalError> {
    let query = SessionQuery {
        limit: 1,
        session: Some(session.clone()),
        ..SessionQuery::default()
    };
    Ok(journal.sessions(&query).await?.into_iter().next())
}

/// Copies the spending records, which both journals have in the same order. Returns how many each meter has counted.
async fn copy_spending(
    from: &dyn SpendingLog,
    to: &dyn SpendingLog,
    report: &mut CopyReport,
) -> Result<HashMap<Arc<str>, u64>, JournalError> {
    let (mut after, mut counts) = (None, HashMap::new());
    loop {
        let query = SpendingQuery {
            after: after.clone(),
            limit: PAGE,
            since: None,
        };
        let page = from.records(&query).await?;
        for record in &page.records {
            to.record(record).await?;
        }
        accounts::count(&mut counts, &page);
        for id in &page.unreadable {
            let problem = format!("spending record {id:?} cannot be read, and was not copied");
            report.problems.push(problem);
        }
        check_spending(to, after, &page, report).await?;
        after = page.next;
        if after.is_none() {
            return Ok(counts);
        }
    }
}

/// Reads the records of a page again.
async fn check_spending(
    to: &dyn SpendingLog,
    mut after: Option<(jackfield_domain::time::WallTime, Arc<str>)>,
    page: &SpendingPage,
    report: &mut CopyReport,
) -> Result<(), JournalError> {
    let Some(last) = page.records.last() else {
        return Ok(());
    };
    let mut written = HashMap::new();
    loop {
        let query = SpendingQuery {
            after: after.take(),
            limit: PAGE,
            since: None,
        };
        let found = to.records(&query).await?;
        for record in found.records {
            written.insert(Arc::clone(&record.id), record);
        }
        after = found.next;
        let is_past = |(at, id): &(_, Arc<str>)| (*at, &**id) >= (last.at, &*last.id);
        if after.as_ref().is_none_or(is_past) {
            break;
        }
    }
    for record in &page.records {
        if written.get(&record.id) == Some(record) {
            report.spending_records += 1;
        } else {
            let problem = format!("spending record {:?} differs", record.id);
            report.problems.push(problem);
        }
    }
    Ok(())
}

/// How many sessions or records are listed at once.
const PAGE: usize = 200;
