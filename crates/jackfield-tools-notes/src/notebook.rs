//! The file of notes.
//!
//! Every entry of the index begins with its reader, so a search reads entries of this reader alone.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jackfield_domain::time::WallTime;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params, params_from_iter};
use thiserror::Error;

use crate::words::{self, Lookup};

/// A file of notes. Clones share it, and so can other processes.
#[derive(Clone, Debug)]
pub struct Notebook(Arc<Mutex<Connection>>);

/// A note that a person adds.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct NewNote {
    /// The people who can read it besides its owner, by name.
    pub shared_with: Vec<String>,
    pub text: String,
    pub title: String,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StoredNote {
    pub id: i64,
    pub owner: String,
    /// The people who can read it besides its owner; empty for a reader who is not the owner.
    pub shared_with: Vec<String>,
    pub text: String,
    pub title: String,
    /// When it was last written.
    pub updated: WallTime,
}

/// Which notes of all that a person can read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Scope {
    Own,
    /// Those that others have shared with the person.
    Shared,
    /// Those that this friend has shared with the person.
    SharedBy(String),
}

/// Why a file of notes cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NotebookError {
    /// The file was written by a newer version.
    #[error("a newer version wrote these notes: update Jackfield")]
    Newer,
    /// It is the file of another program.
    #[error("this is not a file of notes: another program wrote it")]
    NotNotes,
    #[error("the file of notes cannot be used")]
    Sqlite(#[from] rusqlite::Error),
}

impl Notebook {
    /// Opens a file, and makes it if there is none.
    ///
    /// # Errors
    ///
    /// [`NotebookError`]
    pub fn open(path: &Path) -> Result<Self, NotebookError> {
        Self::prepared(Connection::open(path)?)
    }

    /// Notes in memory.
    ///
    /// # Errors
    ///
    /// [`NotebookError`]
    pub fn in_memory() -> Result<Self, NotebookError> {
        Self::prepared(Connection::open_in_memory()?)
    }

    fn prepared(mut connection: Connection) -> Result<Self, NotebookError> {
        connection.busy_timeout(BUSY)?;
        // The file of another program stays as it is, so it is checked before anything is written.
        let check = connection.transaction()?;
        is_new(&check)?;
        drop(check);
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")?;
        let change = connection.transaction_with_behavior(IMMEDIATE)?;
        // Another process may have made it meanwhile.
        if is_new(&change)? {
            change.execute_batch(SCHEMA)?;
            change.pragma_update(None, "application_id", APPLICATION)?;
            change.pragma_update(None, "user_version", VERSION)?;
        }
        change.commit()?;
        Ok(Self(Arc::new(Mutex::new(connection))))
    }

    /// Adds a note of this person; gives it as it is stored. Blocks until it is on disk.
    ///
    /// A friend's name is that of a person, or else that of the one person whose name differs in upper and lower
    /// case (of ASCII) alone, or else that of a new person.
    ///
    /// # Errors
    ///
    /// [`NotebookError::Sqlite`]
    pub fn add(
        &self,
        owner: &str,
        note: &NewNote,
        now: WallTime,
    ) -> Result<StoredNote, NotebookError> {
        let mut connection = self.lock();
        let change = connection.transaction_with_behavior(IMMEDIATE)?;
        let owner_id = person(&change, owner)?;
        let updated = now.as_millis();
        change
            .prepare_cached("INSERT INTO note (owner, title, text, updated) VALUES (?, ?, ?, ?)")?
            .execute(params![owner_id, note.title, note.text, updated])?;
        let id = change.last_insert_rowid();
        let mut friends = BTreeMap::new();
        for name in &note.shared_with {
            let (friend_id, name) = friend(&change, name)?;
            if friend_id != owner_id {
                friends.insert(name, friend_id);
            }
        }
        for friend_id in friends.values() {
            change
                .prepare_cached("INSERT INTO share (reader, updated, note) VALUES (?, ?, ?)")?
                .execute(params![friend_id, updated, id])?;
        }
        let words = words::of_text(&format!("{}\n{}", note.title, note.text));
        let mut index = change.prepare_cached("INSERT INTO word VALUES (?, ?, ?, ?)")?;
        for reader in friends.values().chain([&owner_id]) {
            for word in &words {
                index.execute(params![reader, *reader != owner_id, word, id])?;
            }
        }
        drop(index);
        change.commit()?;
        Ok(StoredNote {
            id,
            owner: owner.to_owned(),
            shared_with: friends.into_keys().collect(),
            text: note.text.clone(),
            title: note.title.clone(),
            updated: now,
        })
    }

    /// The note of this id, if the person can read it in this scope.
    ///
    /// # Errors
    ///
    /// [`NotebookError::Sqlite`]
    pub fn get(
        &self,
        reader: &str,
        scope: &Scope,
        id: i64,
    ) -> Result<Option<StoredNote>, NotebookError> {
        let notes = self.select(reader, scope, " AND note.id = ?", vec![id.into()], 1)?;
        Ok(notes.into_iter().next())
    }

    /// The notes in this scope, newest first.
    ///
    /// # Errors
    ///
    /// [`NotebookError::Sqlite`]
    pub fn recent(
        &self,
        reader: &str,
        scope: &Scope,
        most: usize,
    ) -> Result<Vec<StoredNote>, NotebookError> {
        self.select(reader, scope, "", Vec::new(), most)
    }

    /// The notes in this scope that have all words of a search, newest first; none for a search without a word.
    ///
    /// # Errors
    ///
    /// [`NotebookError::Sqlite`]
    pub fn search(
        &self,
        reader: &str,
        scope: &Scope,
        search: &str,
        most: usize,
    ) -> Result<Vec<StoredNote>, NotebookError> {
        let lookups = words::of_search(search);
        if lookups.is_empty() {
            return Ok(Vec::new());
        }
        let shared = *scope != Scope::Own;
        let (mut condition, mut values) = (String::new(), Vec::new());
        for lookup in lookups {
            condition.push_str(
                " AND note.id IN (SELECT word.note FROM word JOIN person ON person.id = word.reader \
                 WHERE person.name = ? AND word.shared = ? AND ",
            );
            values.extend([Value::from(reader.to_owned()), Value::from(shared)]);
            match lookup {
                Lookup::Beginning(word) => {
                    condition.push_str("word.word >= ? AND word.word < ?)");
                    // No character comes after this one.
                    let end = format!("{word}\u{10ffff}");
                    values.extend([Value::from(word), Value::from(end)]);
                }
                Lookup::Word(word) => {
                    condition.push_str("word.word = ?)");
                    values.push(Value::from(word));
                }
            }
        }
        self.select(reader, scope, &condition, values, most)
    }

    /// Selects notes. Every query goes through here, and begins with its reader.
    fn select(
        &self,
        reader: &str,
        scope: &Scope,
        condition: &str,
        values: Vec<Value>,
        most: usize,
    ) -> Result<Vec<StoredNote>, NotebookError> {
        let mut all = vec![Value::from(reader.to_owned())];
        if let Scope::SharedBy(friend) = scope {
            all.push(friend.clone().into());
        }
        all.extend(values);
        all.push(i64::try_from(most).unwrap_or(i64::MAX).into());
        let query = query(scope, condition);
        let connection = self.lock();
        let mut statement = connection.prepare_cached(&query)?;
        let notes = statement.query_map(params_from_iter(all), read)?;
        let mut notes = notes.collect::<Result<Vec<_>, _>>()?;
        if *scope == Scope::Own {
            for note in &mut notes {
                let mut readers = connection.prepare_cached(READERS)?;
                let names = readers.query_map([note.id], |row| row.get(0))?;
                note.shared_with = names.collect::<Result<_, _>>()?;
            }
        }
        Ok(notes)
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The query of a scope. Its order is that of an index, so that SQLite does not sort.
#[must_use]
pub fn query(scope: &Scope, condition: &str) -> String {
    let (from, order) = match scope {
        Scope::Own => (OWN.to_owned(), "note.updated DESC, note.id DESC"),
        Scope::Shared => (SHARED.to_owned(), SHARED_ORDER),
        Scope::SharedBy(_) => (
            format!("{SHARED} AND owner.name = ? COLLATE NOCASE"),
            SHARED_ORDER,
        ),
    };
    format!("{from}{condition} ORDER BY {order} LIMIT ?")
}

/// Whether the file is empty; an error if it is neither empty nor a file of notes of this version.
fn is_new(transaction: &Transaction<'_>) -> Result<bool, NotebookError> {
    let number = |name| transaction.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, version) = (number("application_id")?, number("user_version")?);
    let is_empty = transaction.query_row(
        "SELECT NOT EXISTS (SELECT * FROM sqlite_schema)",
        [],
        |row| row.get(0),
    )?;
    match (application, version) {
        (0, 0) if is_empty => Ok(true),
        (APPLICATION, VERSION) => Ok(false),
        (APPLICATION, version) if version > VERSION => Err(NotebookError::Newer),
        _ => Err(NotebookError::NotNotes),
    }
}

/// The row of a person, which is made if there is none.
fn person(change: &Transaction<'_>, name: &str) -> rusqlite::Result<i64> {
    let found = change
        .prepare_cached("SELECT id FROM person WHERE name = ?")?
        .query_row([name], |row| row.get(0))
        .optional()?;
    if let Some(id) = found {
        return Ok(id);
    }
    change
        .prepare_cached("INSERT INTO person (name) VALUES (?)")?
        .execute([name])?;
    Ok(change.last_insert_rowid())
}

/// The row and the name of a friend, by the exact name or else by the only one that differs in case alone; a person
/// who is made if there is none.
fn friend(change: &Transaction<'_>, name: &str) -> rusqlite::Result<(i64, String)> {
    let mut alike = change.prepare_cached(ALIKE)?;
    let alike = alike.query_map([name], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let alike = alike.collect::<Result<Vec<(i64, String)>, _>>()?;
    match &*alike {
        [(id, found), ..] if found == name => Ok((*id, found.clone())),
        [(id, found)] => Ok((*id, found.clone())),
        _ => Ok((person(change, name)?, name.to_owned())),
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<StoredNote> {
    Ok(StoredNote {
        id: row.get(0)?,
        owner: row.get(1)?,
        shared_with: Vec::new(),
        text: row.get(3)?,
        title: row.get(2)?,
        updated: WallTime::from_millis(row.get(4)?),
    })
}

/// The people of a name in any case: the exact one first, and no more than show whether there are several.
const ALIKE: &str = "SELECT id, name FROM person WHERE name = ?1 COLLATE NOCASE \
    ORDER BY name = ?1 DESC LIMIT 2";
/// SQLite's application id, which marks files of notes: "JKFN".
const APPLICATION: i64 = 0x4a4b_464e;
/// How long another process may hold the file.
const BUSY: Duration = Duration::from_secs(5);
const IMMEDIATE: rusqlite::TransactionBehavior = rusqlite::TransactionBehavior::Immediate;
const OWN: &str = "SELECT note.id, owner.name, note.title, note.text, note.updated \
    FROM person AS owner JOIN note ON note.owner = owner.id WHERE owner.name = ?";
const READERS: &str = "SELECT person.name FROM share JOIN person ON person.id = share.reader \
    WHERE share.note = ? ORDER BY person.name";
const SCHEMA: &str = "
CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE INDEX person_alike ON person (name COLLATE NOCASE);
CREATE TABLE note (
    id INTEGER PRIMARY KEY,
    owner INTEGER NOT NULL REFERENCES person (id),
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    updated INTEGER NOT NULL
) STRICT;
CREATE INDEX note_recent ON note (owner, updated, id);
CREATE TABLE share (
    reader INTEGER NOT NULL REFERENCES person (id),
    updated INTEGER NOT NULL,
    note INTEGER NOT NULL REFERENCES note (id),
    PRIMARY KEY (reader, updated, note)
) STRICT, WITHOUT ROWID;
CREATE INDEX share_note ON share (note, reader);
CREATE TABLE word (
    reader INTEGER NOT NULL,
    shared INTEGER NOT NULL,
    word TEXT NOT NULL,
    note INTEGER NOT NULL,
    PRIMARY KEY (reader, shared, word, note)
) STRICT, WITHOUT ROWID;
";
const SHARED: &str = "SELECT note.id, owner.name, note.title, note.text, note.updated \
    FROM person AS reader JOIN share ON share.reader = reader.id JOIN note ON note.id = share.note \
    JOIN person AS owner ON owner.id = note.owner WHERE reader.name = ?";
const SHARED_ORDER: &str = "share.updated DESC, share.note DESC";
/// The version of the file.
const VERSION: i64 = 1;
