//! What an append changes beside its steps: the summary in the session's row, marks and search texts.

use jackfield_domain::time::WallTime;
use jackfield_ports::journal::Epoch;
use jackfield_ports::journal::marks::{StepMarks, step_marks};
use jackfield_ports::journal::summary::{AT_ONCE, OpenTurnSummary, Summary};
use jackfield_record::VOCABULARY;

use crate::error::Fault;
use crate::pool::{Connection, int, values};
use crate::requests::AppendJob;
use crate::rows::StoredSession;

/// What the owner knows of a session's row. It is not valid once the row has another epoch or number of steps, or a
/// delivery that the owner has to handle; the statement checks that.
#[derive(Clone, Debug)]
pub(crate) struct KnownRow {
    pub(crate) epoch: Epoch,
    pub(crate) number: i64,
    seen: u64,
    steps: u64,
    summary: Summary,
}

impl KnownRow {
    /// The row of a session that was just created.
    pub(crate) fn new(number: i64, epoch: Epoch) -> Self {
        Self {
            epoch,
            number,
            seen: 0,
            steps: 0,
            summary: Summary::default(),
        }
    }

    /// The row as it was read, under this epoch.
    pub(crate) fn from_row(row: &StoredSession, epoch: Epoch) -> Result<Self, Fault> {
        Ok(Self {
            epoch,
            number: row.number,
            seen: row.seen,
            steps: row.steps,
            summary: row.summary()?,
        })
    }

    /// Whether this append directly follows it and touches no wait.
    pub(crate) fn is_followed_by(&self, append: &AppendJob<'_>) -> bool {
        append.epoch == self.epoch
            && append.position == self.steps
            && append.is_numbered
            && append.changes.is_empty()
    }

    /// Writes an append that follows this row, and all that is derived of it, with one statement. `None` if the row is
    /// another one, or the append begins something and the lease of its owner has passed: then nothing was written.
    ///
    /// `loud` is the position after the last delivery that an owner has to handle, if the row is locked; otherwise the
    /// append is written only if it has seen them all.
    pub(crate) async fn append(
        &self,
        connection: &mut Connection,
        append: &AppendJob<'_>,
        loud: Option<u64>,
        now: Option<i64>,
    ) -> Result<Option<Self>, Fault> {
        let (mut summary, mut marked) = (self.summary.clone(), Vec::new());
        for step in append.steps {
            marked.extend(step_marks(&summary, step));
            summary.apply(step);
        }
        let seen = self.seen.max(append.seen);
        let has_unseen = summary.open.is_some() && loud.is_some_and(|loud| seen < loud);
        let due = if has_unseen {
            Some(AT_ONCE)
        } else {
            summary.due()
        };
        let after = Self {
            epoch: self.epoch,
            number: self.number,
            seen,
            steps: append.end(),
            summary,
        };
        let written = after.write(connection, append, &marked, loud, due, now);
        Ok(written.await?.then_some(after))
    }

    async fn write(
        &self,
        connection: &mut Connection,
        append: &AppendJob<'_>,
        marked: &[StepMarks],
        loud: Option<u64>,
        due: Option<WallTime>,
        now: Option<i64>,
    ) -> Result<bool, Fault> {
        let summary = &self.summary;
        let records: Vec<&[u8]> = append.records.iter().map(Vec::as_slice).collect();
        let digests: Vec<&[u8]> = append
            .parts
            .iter()
            .map(|part| &part.digest.as_bytes()[..])
            .collect();
        let parts: Vec<&[u8]> = append
            .parts
            .iter()
            .map(|part| part.bytes.as_slice())
            .collect();
        let places: Vec<&[u8]> = marked
            .iter()
            .map(|mark| &mark.place.as_bytes()[..])
            .collect();
        let turns: Vec<&str> = marked.iter().map(|mark| mark.turn.as_str()).collect();
        let (positions, texts) = &append.texts;
        let values = values![
            self.number => INT8,
            int(self.epoch.0) => INT8,
            int(append.position) => INT8,
            int(self.steps) => INT8,
            int(self.seen) => INT8,
            loud.map_or_else(|| int(self.seen), int) => INT8,
            &*summary.title => TEXT,
            i64::from(summary.turns) => INT8,
            summary.open.as_ref().map(OpenTurnSummary::to_text) => TEXT,
            due.map(WallTime::as_millis) => INT8,
            summary.principal.as_deref().map(str::as_bytes) => BYTEA,
            i64::from(VOCABULARY) => INT8,
            int(append.bytes as u64) => INT8,
            now => INT8,
            records => BYTEA_ARRAY,
            digests => BYTEA_ARRAY,
            parts => BYTEA_ARRAY,
            places => BYTEA_ARRAY,
            turns => TEXT_ARRAY,
            positions => INT8_ARRAY,
            texts => TEXT_ARRAY,
            append.begins => BOOL,
        ];
        // The server plans each statement anew, so one has no part that writes nothing.
        let mut statement = String::from(GUARD);
        for (part, is_empty) in [
            (CUT, append.parts.is_empty()),
            (MARKED, marked.is_empty()),
            (SEARCHED, positions.is_empty()),
        ] {
            if !is_empty {
                statement.push_str(part);
            }
        }
        statement.push_str(END);
        let row = connection.query_row(&statement, values).await?;
        Ok(row.is_some())
    }
}

/// Everything that an append without waits changes, with the parts below. The row is the guard: the rest follows from it.
const GUARD: &str = "WITH guard AS (
         UPDATE jackfield.sessions SET steps = $4, seen = $5, title = $7, turns = $8, open = $9, due = $10,
             principal = $11, vocabulary = greatest(vocabulary, $12), bytes = bytes + $13,
             changed = coalesce($14, (extract(epoch FROM clock_timestamp()) * 1000)::bigint), restored = false
         WHERE number = $1 AND epoch = $2 AND steps = $3 AND owner IS NOT NULL AND loud <= $6
             AND (NOT $22 OR EXISTS (
                 SELECT 1 FROM jackfield.processes p WHERE p.name = owner AND p.alive_until > clock_timestamp()))
         RETURNING number
     ), appended AS (
         INSERT INTO jackfield.steps (session, position, epoch, record)
         SELECT guard.number, $3 + step.nth - 1, $2, step.record
         FROM guard, unnest($15) WITH ORDINALITY AS step (record, nth)
     )";
const CUT: &str = ", cut AS (
         INSERT INTO jackfield.parts (session, digest, text)
         SELECT guard.number, part.digest, part.text FROM guard, unnest($16, $17) AS part (digest, text)
         ON CONFLICT DO NOTHING
     )";
const MARKED: &str = ", marked AS (
         INSERT INTO jackfield.marks (session, place, turn)
         SELECT guard.number, mark.place, mark.turn
         FROM guard, unnest($18, $19) WITH ORDINALITY AS mark (place, turn, nth) ORDER BY mark.nth
     )";
const SEARCHED: &str = ", searched AS (
         INSERT INTO jackfield.texts (session, position, text)
         SELECT guard.number, text.position, text.text FROM guard, unnest($20, $21) AS text (position, text)
     )";
const END: &str = " SELECT number FROM guard";
