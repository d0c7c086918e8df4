//! Journals of gateways with users: what a release leaves of them, as text, and what a gateway of today does with it.
//! It is the same for a file and for a PostgreSQL database.

mod maker;
mod people;
mod told;
mod turns;
mod world;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use jackfield_ports::journal::Journal;

use crate::harness::{Jackfield, jackfield};

pub(crate) use self::people::people_are_who_they_were;
pub(crate) use self::turns::turns_go_on;

/// A journal, as the program and as a library finds it.
pub(crate) struct AccountsJournal {
    /// Opens it as a library.
    pub(crate) open: fn(&OsString) -> Box<dyn Journal>,
    /// Its file or address.
    pub(crate) place: OsString,
}

/// The secrets of keys and the cookies of logins, by their names in the tests.
pub(crate) type AccountsSecrets = BTreeMap<String, String>;

impl AccountsJournal {
    /// The binary with these arguments, on this journal.
    pub(crate) fn run(&self, arguments: &[&str]) -> Jackfield {
        let run = jackfield([]).more(arguments);
        run.env("JACKFIELD_DB", &self.place)
    }

    /// The journal itself.
    async fn opened(&self) -> Box<dyn Journal> {
        let (open, place) = (self.open, self.place.clone());
        let opening = tokio::task::spawn_blocking(move || open(&place));
        opening.await.expect("the journal opens")
    }

    /// Fills it by the program, and says what is in it.
    pub(crate) async fn made(&self) -> String {
        let mut secrets = maker::make(self).await;
        let journal = self.opened().await;
        maker::add_lasting_logins(&*journal, &mut secrets).await;
        journal.close().await;
        let text = self.text(&secrets).await;
        let missing: Vec<_> = KINDS.iter().filter(|kind| !text.contains(**kind)).collect();
        assert_eq!(missing, [&""; 0], "{text}");
        text
    }

    /// What is in it, as text, with these secrets.
    pub(crate) async fn text(&self, secrets: &AccountsSecrets) -> String {
        let mut text = "secrets of keys, and cookies of logins: for tests alone\n".to_owned();
        for (name, secret) in secrets {
            let _written = writeln!(text, "{SECRET}{name} {secret}");
        }
        text.push_str(&told::usage(self).await);
        let journal = self.opened().await;
        text.push_str(&told::journal(&*journal, secrets).await);
        journal.close().await;
        text
    }
}

/// The secrets that a text begins with.
pub(crate) fn secrets(text: &str) -> AccountsSecrets {
    let lines = text.lines().filter_map(|line| line.strip_prefix(SECRET));
    let words = lines.map(|line| line.split_once(' ').expect("a name and a secret"));
    words
        .map(|(name, secret)| (name.to_owned(), secret.to_owned()))
        .collect()
}

/// Compares what is read with what was written, line by line.
#[track_caller]
pub(crate) fn is_as_written(read: &str, fixture: &Path) {
    let written = text_beside(fixture);
    for (nth, (read, written)) in (1..).zip(read.lines().zip(written.lines())) {
        assert_eq!(read, written, "{}, line {nth}", fixture.display());
    }
    assert_eq!(read.lines().count(), written.lines().count());
}

/// What is in a fixture, as its release wrote it.
pub(crate) fn text_beside(fixture: &Path) -> String {
    std::fs::read_to_string(fixture.with_extension("txt")).expect("a text")
}

/// The fixtures of all releases whose names end like this.
pub(crate) fn fixtures(end: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let files = std::fs::read_dir(&folder).expect("the fixtures are there");
    let paths = files.map(|file| file.expect("a file").path());
    let mut paths: Vec<_> = paths
        .filter(|path| path.to_string_lossy().ends_with(end))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "0.2.0 left one");
    paths
}

/// Leaves a fixture in the folder that `JACKFIELD_FIXTURE` names, if it names one.
pub(crate) fn leave(end: &str, bytes: &[u8], text: &str) {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(bytes).expect("packed");
    let packed = packer.finish().expect("packed");
    assert!(packed.len() < LARGEST, "it has {} bytes", packed.len());
    let Some(folder) = std::env::var_os("JACKFIELD_FIXTURE") else {
        return;
    };
    let name = format!("accounts-{}{end}", env!("CARGO_PKG_VERSION"));
    let path = Path::new(&folder).join(name);
    assert!(
        !path.exists(),
        "{} is there: it is never rewritten",
        path.display()
    );
    std::fs::write(&path, packed).expect("the folder can be written");
    std::fs::write(path.with_extension("txt"), text).expect("the folder can be written");
}

/// What a fixture is without its compression.
pub(crate) fn unpacked(fixture: &Path) -> Vec<u8> {
    let packed = std::fs::read(fixture).expect("a file");
    let mut bytes = Vec::new();
    let unpacking = GzDecoder::new(&*packed).read_to_end(&mut bytes);
    unpacking.expect("it is whole");
    bytes
}

/// How the line of a secret begins.
const SECRET: &str = "  secret ";

/// No fixture is larger than this, packed.
const LARGEST: usize = 300_000;

/// What is in every journal that is made, as its text has it.
const KINDS: &[&str] = &[
    "created key ",
    "created provider-key ",
    "created server ",
    "created sign-in ",
    "created team ",
    "created user ",
    "changed user ",
    "disabled server ",
    "disabled user ",
    "removed provider-key ",
    "revoked key ",
    "rotated key ",
    "waits for an approval",
    "waits for a budget",
    "waits for its client",
    "at work",
    "reserved by 1 call",
];
