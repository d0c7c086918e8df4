//! What it costs that everything is in a file and synced before it is done or told.

pub mod appends;
pub mod counting;
pub mod long;
pub mod postgres;
pub mod recovery;
pub mod turns;
pub mod waiting;

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::Instant;

use crate::measure::Series;

/// What the disk itself takes: a page is written and synced, in a file that is long enough already, as a
/// log is.
///
/// # Errors
///
/// If the folder cannot be written.
pub fn syncs(folder: &Path, times: usize) -> anyhow::Result<Series> {
    let mut file = File::create(folder.join("syncs"))?;
    file.write_all(&[1; PAGE * 64])?;
    file.sync_all()?;
    let mut took = Series::default();
    for nth in 0..times {
        let started = Instant::now();
        let place = u64::try_from(nth % 64 * PAGE)?;
        file.seek(SeekFrom::Start(place))?;
        file.write_all(&[2; PAGE])?;
        file.sync_data()?;
        took.push(started.elapsed());
    }
    Ok(took)
}

/// Where files are made: on the disk that the build is on, as temporary folders may be no disk at all.
///
/// # Errors
///
/// If no folder can be made there.
pub fn folder() -> anyhow::Result<tempfile::TempDir> {
    let program = std::env::current_exe()?;
    let beside = program.parent().unwrap_or_else(|| Path::new("."));
    Ok(tempfile::tempdir_in(beside)?)
}

const PAGE: usize = 4096;
