//! The files of a zip archive, as far as exports need it: stored or deflated, without encryption.

use std::io::{self, Read, Seek, SeekFrom};

use flate2::read::DeflateDecoder;

/// A file of an archive.
pub(super) struct Entry {
    header: u64,
    method: u64,
    pub(super) name: String,
    packed: u64,
}

/// Whether a file that begins with these bytes is an archive.
pub(super) fn is_archive(beginning: &[u8]) -> bool {
    beginning.starts_with(b"PK\x03\x04") || beginning.starts_with(b"PK\x05\x06")
}

/// The files of an archive, as its directory has them.
///
/// # Errors
///
/// The archive cannot be read, or is not one.
pub(super) fn entries(file: &mut (impl Read + Seek)) -> io::Result<Vec<Entry>> {
    let length = file.seek(SeekFrom::End(0))?;
    let tail_at = length.saturating_sub(MAX_END);
    let tail = read_at(file, tail_at, MAX_END)?;
    let end = tail
        .windows(4)
        .rposition(|four| four == b"PK\x05\x06")
        .and_then(|at| tail.split_at_checked(at))
        .ok_or_else(damaged)?;
    let (before, end) = end;
    let mut size = number(end, 12, 4)?;
    let mut at = number(end, 16, 4)?;
    // The directory of a large archive is found by another record before this one.
    let locator = before.len().checked_sub(20).and_then(|at| before.get(at..));
    if let Some(locator) = locator.filter(|locator| locator.starts_with(b"PK\x06\x07")) {
        let large = read_at(file, number(locator, 8, 8)?, 56)?;
        (size, at) = (number(&large, 40, 8)?, number(&large, 48, 8)?);
    }
    if size > MAX_DIRECTORY {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "it has too many files",
        ));
    }
    let directory = read_at(file, at, size)?;
    let mut rest = &*directory;
    let mut entries = Vec::new();
    while rest.starts_with(b"PK\x01\x02") {
        let name_length = length_at(rest, 28)?;
        let extra_length = length_at(rest, 30)?;
        let comment_length = length_at(rest, 32)?;
        let (_, variable) = rest.split_at_checked(46).ok_or_else(damaged)?;
        let (name, after) = variable.split_at_checked(name_length).ok_or_else(damaged)?;
        let (extra, after) = after.split_at_checked(extra_length).ok_or_else(damaged)?;
        let mut numbers = [
            number(rest, 24, 4)?,
            number(rest, 20, 4)?,
            number(rest, 42, 4)?,
        ];
        widen(&mut numbers, extra)?;
        let [_, packed, header] = numbers;
        entries.push(Entry {
            header,
            method: number(rest, 10, 2)?,
            name: String::from_utf8_lossy(name).into_owned(),
            packed,
        });
        (_, rest) = after.split_at_checked(comment_length).ok_or_else(damaged)?;
    }
    Ok(entries)
}

/// The content of a file of an archive, of at most this many bytes.
///
/// # Errors
///
/// The archive cannot be read, the file is packed in another way, or has more bytes.
pub(super) fn unpack(
    file: &mut (impl Read + Seek),
    entry: &Entry,
    most: u64,
) -> io::Result<Vec<u8>> {
    let header = read_at(file, entry.header, 30)?;
    let skipped = number(&header, 26, 2)? + number(&header, 28, 2)?;
    let begin = entry.header.checked_add(30 + skipped).ok_or_else(damaged)?;
    file.seek(SeekFrom::Start(begin))?;
    let packed = file.take(entry.packed);
    let mut content = Vec::new();
    let bound = most.saturating_add(1);
    match entry.method {
        STORED => packed.take(bound).read_to_end(&mut content)?,
        DEFLATED => DeflateDecoder::new(packed)
            .take(bound)
            .read_to_end(&mut content)?,
        _ => return Err(damaged()),
    };
    if content.len() as u64 > most {
        let message = format!("it is larger than {most} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(content)
}

/// Replaces the numbers that do not fit into four bytes by those of the extra field.
fn widen(numbers: &mut [u64; 3], extra: &[u8]) -> io::Result<()> {
    let mut rest = extra;
    while let Some((head, after)) = rest.split_at_checked(4) {
        let length = length_at(head, 2)?;
        let (field, after) = after.split_at_checked(length).ok_or_else(damaged)?;
        if number(head, 0, 2)? == 1 {
            let wide = numbers.iter_mut().filter(|number| **number == 0xffff_ffff);
            for (nth, narrow) in wide.enumerate() {
                *narrow = number(field, nth * 8, 8)?;
            }
        }
        rest = after;
    }
    Ok(())
}

fn read_at(file: &mut (impl Read + Seek), at: u64, most: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The number at a place, lowest byte first.
fn number(bytes: &[u8], at: usize, length: usize) -> io::Result<u64> {
    let bytes = bytes.get(at..).and_then(|bytes| bytes.get(..length));
    let bytes = bytes.ok_or_else(damaged)?.iter().rev();
    Ok(bytes.fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn length_at(bytes: &[u8], at: usize) -> io::Result<usize> {
    let length = number(bytes, at, 2)?;
    usize::try_from(length).map_err(|_| damaged())
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is a damaged archive")
}

const STORED: u64 = 0;
const DEFLATED: u64 = 8;
/// The last record and the longest comment behind it, with the record before.
const MAX_END: u64 = 22 + 65_535 + 20;
/// The largest directory that is read: about a million files.
const MAX_DIRECTORY: u64 = 64 << 20;
