//! Lists of sessions, of due sessions and of waits.

use std::collections::HashMap;
use std::sync::Arc;

use jackfield_domain::ids::SessionId;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::sessions::{
    DueSessions, ListedWait, OpenWaitsMark, SessionQuery, SessionRow, WaitQuery,
};
use jackfield_ports::journal::summary::{OpenTurnSummary, normalize};
use jackfield_record::VOCABULARY;
use rusqlite::types::{Type, Value};
use rusqlite::{Connection, Row, params, params_from_iter};

use crate::chain::{self, ChainEnd};
use crate::error::damaged;
use crate::forms::{LABELS_FORM, TITLES_FORM};
use crate::holds::{HeldSessions, Holds};
use crate::owners::Incarnation;
use crate::parts;
use crate::restored::RestoredMarks;
use crate::rows::wait_row;

/// The labels of sessions that a file has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Labels {
    All,
    /// It has an older form without any.
    None,
    /// It has an older form with titles alone.
    Titles,
}

impl Labels {
    /// Of the labels in the file's form.
    pub(crate) const fn of_form(form: i64) -> Self {
        match form {
            LABELS_FORM.. => Self::All,
            TITLES_FORM.. => Self::Titles,
            _ => Self::None,
        }
    }

    /// The selection of listed sessions, with the title that counts.
    fn listed(self) -> String {
        let title = match self {
            Self::All | Self::Titles => {
                "coalesce((SELECT titles.title FROM titles WHERE titles.session = sessions.number), title)"
            }
            Self::None => "title",
        };
        let (pinned, archived) = (self.column("pinned"), self.column("archived"));
        format!(
            "SELECT id, owner, steps, created, changed, bytes, {title}, turns, open, known, vocabulary, number, \
             principal, last, {pinned}, {archived} FROM sessions"
        )
    }

    const fn column(self, name: &'static str) -> &'static str {
        match self {
            Self::All => name,
            Self::None | Self::Titles => "0",
        }
    }
}

/// The live owners; each owner is tested once.
struct LiveOwners<'a> {
    liveness: HashMap<String, bool>,
    incarnation: &'a Incarnation,
}

impl LiveOwners<'_> {
    fn is_alive(&mut self, owner: Option<String>) -> bool {
        owner.is_some_and(|owner| {
            let incarnation = self.incarnation;
            *self
                .liveness
                .entry(owner)
                .or_insert_with_key(|owner| incarnation.is_alive(owner))
        })
    }
}

/// The sessions that match a query.
pub(crate) fn sessions(
    connection: &Connection,
    query: &SessionQuery,
    incarnation: &Incarnation,
    holds: &Holds,
    marked: &RestoredMarks,
    labels: Labels,
) -> rusqlite::Result<Vec<SessionRow>> {
    let mut select = format!("{} WHERE true", labels.listed());
    let mut values: Vec<Value> = Vec::new();
    if let Some((changed, session)) = &query.before {
        select.push_str(" AND (changed, id) < (?, ?)");
        values.push(changed.as_millis().into());
        values.push(session.as_str().to_owned().into());
    }
    if let Some(session) = &query.session {
        select.push_str(" AND id = ?");
        values.push(session.as_str().to_owned().into());
    }
    if let Some(text) = &query.text {
        let words = normalize(text);
        select.push_str(" AND (number IN (SELECT session FROM texts WHERE instr(text, ?))");
        if labels != Labels::None {
            select.push_str(" OR number IN (SELECT session FROM titles WHERE instr(words, ?))");
            values.push(words.clone().into());
        }
        select.push(')');
        values.push(words.into());
    }
    for (name, wanted) in [("pinned", query.pinned), ("archived", query.archived)] {
        if let Some(wanted) = wanted {
            let not = if wanted { "" } else { "NOT " };
            select.push_str(&format!(" AND {not}{}", labels.column(name)));
        }
    }
    select.push_str(" ORDER BY changed DESC, id DESC LIMIT ?");
    values.push(i64::try_from(query.limit).unwrap_or(i64::MAX).into());
    let mut owners = LiveOwners {
        liveness: HashMap::new(),
        incarnation,
    };
    let held = holds.held_sessions();
    let mut select = connection.prepare_cached(&select)?;
    let mut found = select.query(params_from_iter(values))?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        let mut row = session_row(connection, row, &mut owners, &held)?;
        if let Some(open) = &mut row.open {
            open.parked |= marked.contains(&row.session, row.steps);
        }
        rows.push(row);
    }
    Ok(rows)
}

/// The sessions that can be read in a damaged file: from both ends of the table, up to the first unreadable row.
pub(crate) fn readable(
    connection: &Connection,
    most: usize,
    incarnation: &Incarnation,
    holds: &Holds,
    marked: &RestoredMarks,
) -> Vec<SessionRow> {
    let mut owners = LiveOwners {
        liveness: HashMap::new(),
        incarnation,
    };
    let held = holds.held_sessions();
    let mut found: Vec<SessionRow> = Vec::new();
    for order in ["DESC", "ASC"] {
        // Another table may be damaged, too.
        let select = format!("{} ORDER BY number {order}", Labels::None.listed());
        let Ok(mut select) = connection.prepare(&select) else {
            continue;
        };
        let Ok(mut rows) = select.query(()) else {
            continue;
        };
        // The first unreadable row ends the scan.
        while let Ok(Some(row)) = rows.next() {
            if found.len() == most {
                return found;
            }
            let Ok(mut row) = session_row(connection, row, &mut owners, &held) else {
                continue;
            };
            if found.iter().any(|known| known.session == row.session) {
                break;
            }
            if let Some(open) = &mut row.open {
                open.parked |= marked.contains(&row.session, row.steps);
            }
            found.push(row);
        }
    }
    found
}

fn session_row(
    connection: &Connection,
    row: &Row<'_>,
    owners: &mut LiveOwners<'_>,
    held: &HeldSessions,
) -> rusqlite::Result<SessionRow> {
    let open: Option<String> = row.get(8)?;
    let (steps, known): (u64, u64) = (row.get(2)?, row.get(9)?);
    let mut unreadable = None;
    if row.get::<_, u32>(10)? > VOCABULARY {
        unreadable = Some(Arc::from("a newer version wrote it: use that one"));
    } else if known < steps {
        let end = ChainEnd {
            last: row.get(13)?,
            session: row.get(11)?,
            steps,
        };
        unreadable = unread_steps_error(connection, &end, known)?;
    }
    let listed = open.as_deref().map(OpenTurnSummary::parse);
    if matches!(listed, Some(None)) {
        unreadable.get_or_insert_with(|| "its row is damaged".into());
    }
    let session = session_id(row, 0)?;
    Ok(SessionRow {
        archived: row.get(15)?,
        bytes: row.get(5)?,
        changed: WallTime::from_millis(row.get(4)?),
        created: WallTime::from_millis(row.get(3)?),
        held: held.contains(&session),
        open: listed.flatten().as_ref().map(OpenTurnSummary::to_row),
        owned: owners.is_alive(row.get(1)?),
        pinned: row.get(14)?,
        principal: row.get::<_, Option<String>>(12)?.map(Into::into),
        session,
        steps,
        title: row.get::<_, String>(6)?.into(),
        turns: row.get(7)?,
        unreadable,
    })
}

/// The error of the steps that the session's row does not cover, if they cannot be read.
fn unread_steps_error(
    connection: &Connection,
    end: &ChainEnd,
    known: u64,
) -> rusqlite::Result<Option<Arc<str>>> {
    let read = chain::for_each_step(connection, end, known, |_, record| {
        Ok(parts::read_step(connection, end.session, record)?.map(drop))
    });
    match chain::split_gap(read)? {
        Ok(Ok(())) => Ok(None),
        Ok(Err(error)) => Ok(Some(error.to_string().into())),
        Err(missing) => Ok(Some(missing.to_string().into())),
    }
}

pub(crate) fn due(
    connection: &Connection,
    now: WallTime,
    most: usize,
    incarnation: &Incarnation,
    marked: &RestoredMarks,
) -> rusqlite::Result<DueSessions> {
    let mut owners = LiveOwners {
        liveness: HashMap::new(),
        incarnation,
    };
    let mut select = connection.prepare_cached(
        "SELECT id, owner, due, steps, loud > seen FROM sessions
         WHERE due IS NOT NULL AND vocabulary <= ?1 AND known = steps ORDER BY due, number",
    )?;
    let mut found = select.query([VOCABULARY])?;
    let mut due = DueSessions::default();
    while let Some(row) = found.next()? {
        if owners.is_alive(row.get(1)?) {
            continue;
        }
        let at = WallTime::from_millis(row.get(2)?);
        if at > now {
            due.next = Some(at);
            break;
        }
        if due.sessions.len() == most {
            due.next = Some(now);
            break;
        }
        let session = session_id(row, 0)?;
        // A session that was marked as restored waits for a person; only a new delivery makes it due.
        if row.get(4)? || !marked.contains(&session, row.get(3)?) {
            due.sessions.push(session);
        }
    }
    Ok(due)
}

/// The waits of a query.
pub(crate) fn waits(
    connection: &Connection,
    query: &WaitQuery,
) -> rusqlite::Result<Vec<ListedWait>> {
    // Each form of the query has an index of its own. Files of older forms have no column `number`, but its values.
    let (which, order) = match (&query.id, &query.session) {
        (Some(_), _) => (
            "waits.id >= ?5 AND waits.id < ?5 || char(1114111)",
            "waits.state = 'open' DESC, waits.rowid",
        ),
        (None, Some(_)) => ("+waits.state = 'open' AND +waits.rowid > ?4", "waits.rowid"),
        (None, None) => ("waits.state = 'open' AND waits.rowid > ?4", "waits.rowid"),
    };
    let which = match &query.session {
        Some(_) => format!("{which} AND sessions.id = ?2"),
        None => which.to_owned(),
    };
    let mut select = connection.prepare_cached(&format!(
        "SELECT wait, state, at, by, how, delivery, place, sessions.id, waits.rowid, sessions.principal
         FROM waits JOIN sessions ON sessions.number = waits.session
         WHERE {which} AND sessions.vocabulary <= ?1
             AND (?3 IS NULL OR sessions.principal IS NULL OR sessions.principal = ?3
                  OR (sessions.principal > ?3 || '/' AND sessions.principal < ?3 || '0'))
         ORDER BY {order} LIMIT ?6",
    ))?;
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let after = i64::try_from(query.after).unwrap_or(i64::MAX);
    let session = query.session.as_ref().map(SessionId::as_str);
    let (principal, id) = (query.principal.as_deref(), query.id.as_deref());
    let values = params![VOCABULARY, session, principal, after, id, limit];
    let found = select.query_map(values, |row| {
        Ok(ListedWait {
            number: row.get(8)?,
            principal: row.get::<_, Option<String>>(9)?.map(Into::into),
            row: wait_row(row)?,
            session: session_id(row, 7)?,
        })
    })?;
    found.collect()
}

pub(crate) fn open_waits_mark(connection: &Connection) -> rusqlite::Result<OpenWaitsMark> {
    let mut select = connection.prepare_cached(
        "SELECT count(*), coalesce(max(rowid), 0), coalesce(sum(rowid), 0) FROM waits WHERE state = 'open'",
    )?;
    select.query_row([], |row| {
        Ok(OpenWaitsMark {
            count: row.get(0)?,
            newest: row.get(1)?,
            sum: row.get(2)?,
        })
    })
}

fn session_id(row: &Row<'_>, column: usize) -> rusqlite::Result<SessionId> {
    SessionId::parse(row.get_ref(column)?.as_str()?)
        .map_err(|error| damaged(column, Type::Text, error))
}
