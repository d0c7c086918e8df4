//! Encodes and decodes records. Version, depth and kind are checked first, then the form.

use std::collections::BTreeMap;

use jackfield_domain::directory::DirectoryChange;
use jackfield_domain::fact::Envelope;
use jackfield_domain::quota::Meter;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::wait::{Delivery, Wait};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use crate::depth;
use crate::error::{DecodeError, EncodeError};
use crate::v1::fact::KINDS;
use crate::v1::stored::Stored as _;

/// The version of the form that is written.
pub const VERSION: u64 = 1;

/// The vocabulary of this build within the form; incremented by each release that adds a kind of fact, a field
/// or a value. A store keeps it beside its records, so that an older build notices unknown content without
/// reading it.
pub const VOCABULARY: u32 = 5;

/// Encodes a step.
///
/// # Errors
///
/// [`EncodeError`] for a value that JSON cannot represent.
pub fn encode_envelope(envelope: &Envelope) -> Result<Vec<u8>, EncodeError> {
    encode(&StepRecord {
        v: VERSION,
        step: envelope.form(),
    })
}

/// Decodes a step.
///
/// # Errors
///
/// [`DecodeError`], which tells whether a newer build may be able to read it.
pub fn decode_envelope(bytes: &[u8]) -> Result<Envelope, DecodeError> {
    let record: StepRecord<_> = decode(bytes).map_err(|fault| match fault {
        DecodeError::Malformed { .. } => unknown_fact(bytes).unwrap_or(fault),
        DecodeError::Invalid { .. }
        | DecodeError::Newer { .. }
        | DecodeError::PartMissing { .. }
        | DecodeError::TooDeep
        | DecodeError::UnknownFact { .. } => fault,
    })?;
    Ok(Envelope::of(record.step)?)
}

/// Encodes a delivery.
///
/// # Errors
///
/// [`EncodeError`] for a value that JSON cannot represent.
pub fn encode_delivery(delivery: &Delivery) -> Result<Vec<u8>, EncodeError> {
    encode(&DeliveryRecord {
        v: VERSION,
        delivery: delivery.form(),
    })
}

/// Decodes a delivery.
///
/// # Errors
///
/// [`DecodeError`], which tells whether a newer build may be able to read it.
pub fn decode_delivery(bytes: &[u8]) -> Result<Delivery, DecodeError> {
    let record: DeliveryRecord<_> = decode(bytes)?;
    Ok(Delivery::of(record.delivery)?)
}

/// Encodes a wait, for a store's row of it.
///
/// # Errors
///
/// [`EncodeError`] for a value that JSON cannot represent.
pub fn encode_wait(wait: &Wait) -> Result<Vec<u8>, EncodeError> {
    encode(&WaitRecord {
        v: VERSION,
        wait: wait.form(),
    })
}

/// Decodes a wait.
///
/// # Errors
///
/// [`DecodeError`], which tells whether a newer build may be able to read it.
pub fn decode_wait(bytes: &[u8]) -> Result<Wait, DecodeError> {
    let record: WaitRecord<_> = decode(bytes)?;
    Ok(Wait::of(record.wait)?)
}

/// Encodes a spending record.
///
/// # Errors
///
/// [`EncodeError`] for a value that JSON cannot represent.
pub fn encode_spending(spending: &SpendingRecord) -> Result<Vec<u8>, EncodeError> {
    encode(&SpendingRow {
        v: VERSION,
        spending: spending.form(),
    })
}

/// Decodes a spending record.
///
/// # Errors
///
/// [`DecodeError`], which tells whether a newer build may be able to read it.
pub fn decode_spending(bytes: &[u8]) -> Result<SpendingRecord, DecodeError> {
    let record: SpendingRow<_> = decode(bytes)?;
    Ok(SpendingRecord::of(record.spending)?)
}

/// Encodes a change to the directory.
///
/// # Errors
///
/// [`EncodeError`] for a value that JSON cannot represent.
pub fn encode_directory_change(change: &DirectoryChange) -> Result<Vec<u8>, EncodeError> {
    encode(&DirectoryRow {
        v: VERSION,
        change: change.form(),
    })
}

/// Decodes a change to the directory.
///
/// # Errors
///
/// [`DecodeError`], which tells whether a newer build may be able to read it.
pub fn decode_directory_change(bytes: &[u8]) -> Result<DirectoryChange, DecodeError> {
    let record: DirectoryRow<_> = decode(bytes)?;
    Ok(DirectoryChange::of(record.change)?)
}

/// Encodes a meter.
///
/// # Errors
///
/// [`EncodeError`] for a value that JSON cannot represent.
pub fn encode_meter(meter: &Meter) -> Result<Vec<u8>, EncodeError> {
    encode(&MeterRow {
        v: VERSION,
        meter: meter.form(),
    })
}

/// Decodes a meter.
///
/// # Errors
///
/// [`DecodeError`], which tells whether a newer build may be able to read it.
pub fn decode_meter(bytes: &[u8]) -> Result<Meter, DecodeError> {
    let record: MeterRow<_> = decode(bytes)?;
    Ok(Meter::of(record.meter)?)
}

/// A step with its version.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct StepRecord<T> {
    v: u64,
    step: T,
}

/// A delivery with its version.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct DeliveryRecord<T> {
    v: u64,
    delivery: T,
}

/// A wait with its version.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct WaitRecord<T> {
    v: u64,
    wait: T,
}

/// A spending record with its version.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct SpendingRow<T> {
    v: u64,
    spending: T,
}

/// A change to the directory with its version.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct DirectoryRow<T> {
    v: u64,
    change: T,
}

/// A meter with its version.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct MeterRow<T> {
    v: u64,
    meter: T,
}

/// The part that all records of all versions have.
#[derive(Deserialize)]
struct Header {
    v: u64,
}

/// The part of a step that shows the kinds of its facts.
#[derive(Deserialize)]
struct Kinds {
    step: StepKinds,
}

#[derive(Deserialize)]
struct StepKinds {
    facts: Vec<BTreeMap<String, IgnoredAny>>,
}

fn encode(record: &impl Serialize) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = Vec::with_capacity(USUAL);
    serde_json::to_writer(&mut bytes, record).map_err(EncodeError::unwritable)?;
    if depth::is_bounded(&bytes) {
        Ok(bytes)
    } else {
        Err(EncodeError::TooDeep)
    }
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    if !depth::is_bounded(bytes) {
        return Err(DecodeError::TooDeep);
    }
    let header: Header = read(bytes).map_err(DecodeError::malformed)?;
    if header.v > VERSION {
        return Err(DecodeError::Newer { version: header.v });
    }
    if header.v < VERSION {
        return Err(DecodeError::malformed("there is no version 0"));
    }
    read(bytes).map_err(DecodeError::malformed)
}

/// Parses JSON whose depth was checked.
fn read<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    reader.disable_recursion_limit();
    let value = T::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// The first unknown kind of fact in a step.
fn unknown_fact(bytes: &[u8]) -> Option<DecodeError> {
    let kinds: Kinds = read(bytes).ok()?;
    let mut kinds = kinds.step.facts.into_iter().flatten().map(|(kind, _)| kind);
    let kind = kinds.find(|kind| !KINDS.contains(&kind.as_str()))?;
    Some(DecodeError::UnknownFact { kind })
}

/// Initial buffer size in bytes; most records are smaller.
const USUAL: usize = 512;
