//! Checks the user's directories: whether they exist and are writable.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind::NotADirectory, ErrorKind::NotFound, Write as _};
use std::path::Path;

use jackfield_assembly::Surroundings;

use crate::doctor_check::{Area, DoctorCheck};

pub(super) fn all(surroundings: &Surroundings) -> Vec<DoctorCheck> {
    let mut checks = vec![home(surroundings)];
    if let Some(folder) = &surroundings.cache_directory {
        let help = "give yourself the right to write there, or set XDG_CACHE_HOME to another folder; \
                    without, servers are asked anew each time what they offer";
        checks.push(check_writable(&folder.join("jackfield"), help));
    }
    if let Some(folder) = &surroundings.config_directory {
        checks.push(config(&folder.join("jackfield")));
    }
    if let Some(folder) = &surroundings.data_directory {
        let help = "give yourself the right to write there, or set XDG_DATA_HOME to another folder; \
                    without, nothing that is said is kept, and what servers say of their tools is pinned until \
                    the process ends";
        checks.push(check_writable(&folder.join("jackfield"), help));
    }
    checks
}

fn home(surroundings: &Surroundings) -> DoctorCheck {
    let failing = |finding: String| {
        let help = "set HOME to a folder of yours; without, there is no configuration of your own, \
                    and nothing is remembered";
        DoctorCheck::warning(Area::Folders, finding, help)
    };
    match &surroundings.home {
        None => failing("there is no home folder".to_owned()),
        Some(home) if !home.is_dir() => {
            failing(format!("the home folder {} is not there", home.display()))
        }
        Some(home) => DoctorCheck::passed(Area::Folders, format!("home is {}", home.display())),
    }
}

/// Creates the folder, and checks that files can be created in it.
pub(super) fn usable(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    can_be_written(folder)
}

/// Checks a folder for data. Jackfield creates it when it is needed.
fn check_writable(folder: &Path, help: &str) -> DoctorCheck {
    let shown = folder.display();
    match usable(folder) {
        Ok(()) => DoctorCheck::passed(Area::Folders, format!("{shown} can be written")),
        Err(error) => DoctorCheck::warning(
            Area::Folders,
            format!("{shown} cannot be written: {error}"),
            help,
        ),
    }
}

/// Checks the configuration folder, which is only read and need not be writable.
fn config(folder: &Path) -> DoctorCheck {
    let shown = folder.display();
    match fs::read_dir(folder) {
        Ok(_) => DoctorCheck::passed(Area::Folders, format!("{shown} can be read")),
        Err(error) if [NotADirectory, NotFound].contains(&error.kind()) => {
            let says = format!("{shown} is not there: there is no configuration of your own");
            DoctorCheck::passed(Area::Folders, says)
        }
        Err(error) => DoctorCheck::failed(
            Area::Folders,
            format!("{shown} cannot be read: {error}"),
            "give yourself the right to read it, or set XDG_CONFIG_HOME to another folder",
        ),
    }
}

/// Checks that this many bytes can be written and synced there, and removes them again.
pub(super) fn has_room(folder: &Path, bytes: u64) -> io::Result<()> {
    let path = folder.join(format!(".doctor-room-{}", std::process::id()));
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)?;
    // Some file systems store zeros as a hole, or compress them away.
    let noise = (0..bytes).map(|nth| (nth.wrapping_mul(2_654_435_761) >> 13) as u8);
    let written = file
        .write_all(&noise.collect::<Vec<u8>>())
        .and_then(|()| file.sync_all());
    drop(file);
    let removed = fs::remove_file(path);
    written.and(removed)
}

/// Checks that a file can be created there, which permissions alone do not show.
fn can_be_written(folder: &Path) -> io::Result<()> {
    let file = folder.join(format!(".doctor-{}", std::process::id()));
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&file)?;
    fs::remove_file(file)
}
