//! Lists of sessions, of due sessions, of waits and of found turns.

use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::marks::{FoundTurn, Mark};
use jackfield_ports::journal::sessions::{
    DueSessions, ListedWait, OpenWaitsMark, SessionQuery, SessionRow, WaitQuery,
};
use jackfield_ports::journal::summary::{OpenTurnSummary, normalize};
use jackfield_record::VOCABULARY;
use tokio_postgres::Row;

use crate::error::Fault;
use crate::pool::{Connection, column, count, values};
use crate::requests::{utf8, without_nul};
use crate::rows::session_id;
use crate::waits;

/// The sessions that match a query. `held` are those that this process holds.
pub(crate) async fn sessions(
    connection: &mut Connection,
    query: &SessionQuery,
    name: &str,
    held: &[String],
) -> Result<Vec<SessionRow>, Fault> {
    let before = query.before.as_ref();
    let (changed, id) = before
        .map(|(changed, id)| (changed.as_millis(), id.as_str()))
        .unzip();
    let session = query.session.as_ref().map(SessionId::as_str);
    let text = query.text.as_deref();
    let text = text.map(|text| without_nul(&normalize(text)));
    let limit = limit(query.limit);
    let values = values![
        name => TEXT, held => TEXT_ARRAY, changed => INT8, id => TEXT, session => TEXT, text => TEXT, limit => INT8,
        query.pinned => BOOL, query.archived => BOOL,
    ];
    let found = connection.query(SESSIONS, values).await?;
    found.iter().map(session_row).collect()
}

fn session_row(row: &Row) -> Result<SessionRow, Fault> {
    let mut unreadable = None;
    if count(row, 10)? > u64::from(VOCABULARY) {
        unreadable = Some("a newer version wrote it: use that one".into());
    }
    let open: Option<&str> = column(row, 8)?;
    let open = open.map(OpenTurnSummary::parse);
    if matches!(open, Some(None)) {
        unreadable.get_or_insert_with(|| "its row is damaged".into());
    }
    let mut open = open.flatten().as_ref().map(OpenTurnSummary::to_row);
    if let Some(open) = &mut open {
        open.parked |= column::<bool>(row, 9)?;
    }
    let (title, given): (&str, Option<&[u8]>) = (column(row, 6)?, column(row, 11)?);
    let principal: Option<&[u8]> = column(row, 12)?;
    Ok(SessionRow {
        archived: column(row, 15)?,
        bytes: count(row, 5)?,
        changed: WallTime::from_millis(column(row, 4)?),
        created: WallTime::from_millis(column(row, 3)?),
        held: column(row, 13)?,
        open,
        owned: column(row, 1)?,
        pinned: column(row, 14)?,
        principal: principal.map(utf8).transpose()?,
        session: session_id(row, 0)?,
        steps: count(row, 2)?,
        title: given.map_or_else(|| Ok(title.into()), utf8)?,
        turns: u32::try_from(count(row, 7)?).unwrap_or(u32::MAX),
        unreadable,
    })
}

pub(crate) async fn due(
    connection: &mut Connection,
    now: WallTime,
    most: usize,
) -> Result<DueSessions, Fault> {
    // One more, to know when to ask again.
    let limit = limit(most.saturating_add(1));
    let values = values![i64::from(VOCABULARY) => INT8, limit => INT8];
    let mut due = DueSessions::default();
    for row in &connection.query(DUE, values).await? {
        let at = WallTime::from_millis(column(row, 1)?);
        if at > now {
            due.next = Some(at);
            break;
        }
        if due.sessions.len() == most {
            due.next = Some(now);
            break;
        }
        due.sessions.push(session_id(row, 0)?);
    }
    Ok(due)
}

/// The waits of a query.
pub(crate) async fn waits(
    connection: &mut Connection,
    query: &WaitQuery,
) -> Result<Vec<ListedWait>, Fault> {
    let session = query.session.as_ref().map(SessionId::as_str);
    let id = query.id.as_deref().map(without_nul);
    let principal = query.principal.as_deref().map(str::as_bytes);
    let after = i64::try_from(query.after).unwrap_or(i64::MAX);
    let limit = limit(query.limit);
    let vocabulary = i64::from(VOCABULARY);
    let found = match &id {
        Some(id) => {
            let values = values![
                vocabulary => INT8, session => TEXT, principal => BYTEA, id => TEXT, limit => INT8,
            ];
            connection.query(WAITS_BY_ID, values).await?
        }
        None => {
            let values = values![
                vocabulary => INT8, session => TEXT, principal => BYTEA, after => INT8, limit => INT8,
            ];
            let statement = match session {
                Some(_) => WAITS_OF_SESSION,
                None => OPEN_WAITS,
            };
            connection.query(statement, values).await?
        }
    };
    let listed = found.iter().map(|row| {
        let principal: Option<&[u8]> = column(row, 9)?;
        Ok(ListedWait {
            number: count(row, 8)?,
            principal: principal.map(utf8).transpose()?,
            row: waits::from_row(row)?,
            session: session_id(row, 7)?,
        })
    });
    listed.collect()
}

pub(crate) async fn open_waits_mark(connection: &mut Connection) -> Result<OpenWaitsMark, Fault> {
    let row = connection.query_row(OPEN_WAITS_MARK, &[]).await?;
    let row = row.ok_or_else(|| Fault::row("a count without a row"))?;
    Ok(OpenWaitsMark {
        count: count(&row, 0)?,
        newest: count(&row, 1)?,
        sum: count(&row, 2)?,
    })
}

/// The turns with these marks; of each mark, the newest first.
pub(crate) async fn find(
    connection: &mut Connection,
    principal: &str,
    marks: &[Mark],
    most: usize,
) -> Result<Vec<FoundTurn>, Fault> {
    let most = limit(most);
    let places: Vec<_> = marks.iter().map(|mark| mark.place(principal)).collect();
    let places: Vec<&[u8]> = places.iter().map(|place| &place.as_bytes()[..]).collect();
    let values = values![places => BYTEA_ARRAY, most => INT8];
    let found = connection.query(FIND, values).await?;
    let mut turns = Vec::new();
    for row in &found {
        let nth: i64 = column(row, 2)?;
        let nth = usize::try_from(nth - 1).map_err(Fault::row)?;
        let mark = marks
            .get(nth)
            .ok_or_else(|| Fault::row("a mark too many"))?;
        turns.push(FoundTurn {
            mark: mark.clone(),
            session: session_id(row, 0)?,
            turn: TurnId::parse(column(row, 1)?).map_err(Fault::row)?,
        });
    }
    Ok(turns)
}

fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

const SESSIONS: &str = "SELECT s.id,
         EXISTS (SELECT 1 FROM jackfield.processes p WHERE p.name = s.owner AND p.alive_until > clock_timestamp()),
         s.steps, s.created, s.changed, s.bytes, s.title, s.turns, s.open, s.restored, s.vocabulary, s.given_title,
         s.principal,
         s.id = ANY($2) OR EXISTS (
             SELECT 1 FROM jackfield.holds h JOIN jackfield.processes p ON p.name = h.process
             WHERE h.session = s.id AND h.process <> $1 AND p.alive_until > clock_timestamp()),
         s.pinned, s.archived
     FROM jackfield.sessions s
     WHERE ($3::bigint IS NULL OR (s.changed, s.id) < ($3, $4))
         AND ($5::text IS NULL OR s.id = $5)
         AND ($6::text IS NULL OR strpos(s.given_words, $6) > 0
             OR EXISTS (SELECT 1 FROM jackfield.texts t WHERE t.session = s.number AND strpos(t.text, $6) > 0))
         AND ($8::boolean IS NULL OR s.pinned = $8) AND ($9::boolean IS NULL OR s.archived = $9)
     ORDER BY s.changed DESC, s.id DESC LIMIT $7";

/// A session that was marked as restored waits for a person; only a new delivery makes it due.
const DUE: &str = "SELECT id, due FROM jackfield.sessions s
     WHERE due IS NOT NULL AND vocabulary <= $1 AND (NOT restored OR loud > seen)
         AND NOT EXISTS (
             SELECT 1 FROM jackfield.processes p WHERE p.name = s.owner AND p.alive_until > clock_timestamp())
     ORDER BY due, number LIMIT $2";

/// The beginning of each statement for waits: of a principal, its end users, or nobody.
macro_rules! waits {
    ($which:literal, $order:literal) => {
        concat!(
            "SELECT w.wait, w.state, w.at, w.by, w.how, w.delivery, w.place, s.id, w.number, s.principal
             FROM jackfield.waits w JOIN jackfield.sessions s ON s.number = w.session
             WHERE s.vocabulary <= $1 AND ($2::text IS NULL OR s.id = $2)
                 AND ($3::bytea IS NULL OR s.principal IS NULL OR s.principal = $3
                      OR (s.principal > $3 || '/'::bytea AND s.principal < $3 || '0'::bytea))
                 AND ",
            $which,
            " ORDER BY ",
            $order,
            " LIMIT $5"
        )
    };
}

const OPEN_WAITS: &str = waits!("w.state = 'open' AND w.number > $4", "w.number");

const WAITS_OF_SESSION: &str = waits!(
    "w.session = (SELECT number FROM jackfield.sessions WHERE id = $2) AND w.state = 'open' AND w.number > $4",
    "w.number"
);

const WAITS_BY_ID: &str = waits!(
    "w.id >= $4 AND w.id < $4 || chr(1114111)",
    "w.state = 'open' DESC, w.number"
);

const OPEN_WAITS_MARK: &str =
    "SELECT count(*), coalesce(max(number), 0), coalesce(sum(number), 0)::bigint
     FROM jackfield.waits WHERE state = 'open'";

const FIND: &str = "SELECT found.id, found.turn, asked.nth
     FROM unnest($1) WITH ORDINALITY AS asked (place, nth),
         LATERAL (
             SELECT s.id, m.turn, m.number FROM jackfield.marks m JOIN jackfield.sessions s ON s.number = m.session
             WHERE m.place = asked.place ORDER BY m.number DESC LIMIT $2
         ) AS found
     ORDER BY asked.nth, found.number DESC";
