//! Reading the records of a session.

use std::sync::Arc;

use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::setup::Setup;
use jackfield_domain::wait::Delivery;
use jackfield_record::DecodeError;
use rusqlite::{Connection, params};

use crate::chain;
use crate::parts;
use crate::rows::StoredSession;

/// The steps of a session from this number on.
pub(crate) fn steps(
    connection: &Connection,
    row: &StoredSession,
    from: u64,
) -> rusqlite::Result<Result<Vec<Envelope>, DecodeError>> {
    let mut steps = Vec::new();
    let mut sharing = SetupSharing::default();
    let read = chain::for_each_step(connection, &row.end(), from, |_, record| {
        let step = parts::read_step(connection, row.number, record)?;
        Ok(step.map(|mut step| {
            sharing.share(&mut step);
            steps.push(step);
        }))
    })?;
    Ok(read.map(|()| steps))
}

/// Shares the equal parts of the setups of consecutive turns, mostly the whole catalog: it is the largest part of a
/// session whose turns only talk.
#[derive(Default)]
pub(crate) struct SetupSharing(Option<Arc<Setup>>);

impl SetupSharing {
    /// Starts with the last setup in these steps.
    pub(crate) fn from_steps(steps: &[Envelope]) -> Self {
        let facts = steps.iter().rev().flat_map(|step| step.facts.iter().rev());
        let mut setups = facts.filter_map(|fact| {
            if let Fact::TurnOpened { setup, .. } = fact {
                Some(Arc::clone(setup))
            } else {
                None
            }
        });
        Self(setups.next())
    }

    pub(crate) fn share(&mut self, step: &mut Envelope) {
        for fact in &mut step.facts {
            if let Fact::TurnOpened { setup, .. } = fact {
                if let (Some(before), Some(setup)) = (&self.0, Arc::get_mut(setup)) {
                    setup.share(before);
                }
                self.0 = Some(Arc::clone(setup));
            }
        }
    }
}

/// The deliveries of a session from this number on.
pub(crate) fn deliveries(
    connection: &Connection,
    row: &StoredSession,
    from: u64,
) -> rusqlite::Result<Result<Vec<Delivery>, DecodeError>> {
    if row.deliveries <= from {
        return Ok(Ok(Vec::new()));
    }
    // No inbox reaches this length.
    let from = i64::try_from(from).unwrap_or(i64::MAX);
    records(
        connection,
        "SELECT record FROM deliveries WHERE session = ?1 AND place >= ?2 ORDER BY place",
        row.number,
        from,
        |record| Ok(jackfield_record::decode_delivery(record)),
    )
}

/// The records of a session that a query returns.
fn records<T>(
    connection: &Connection,
    query: &str,
    session: i64,
    from: i64,
    decode: impl Fn(&[u8]) -> rusqlite::Result<Result<T, DecodeError>>,
) -> rusqlite::Result<Result<Vec<T>, DecodeError>> {
    let mut query = connection.prepare_cached(query)?;
    let mut found = query.query(params![session, from])?;
    let mut records = Vec::new();
    while let Some(row) = found.next()? {
        match decode(row.get_ref(0)?.as_blob()?)? {
            Ok(record) => records.push(record),
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(records))
}
