//! Reads one TOML file: its sections, with the line of each value.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::form::{Form, ValueForm};
use crate::place::{ConfigProblem, Origin, ValueSource};
use crate::values::{any, with_article};
use jackfield_engine::near::did_you_mean;

/// Reads one file, and collects all problems in it.
pub(crate) struct DocumentReader<'a> {
    asked: RefCell<Vec<AskedKey>>,
    file: Arc<Path>,
    lines: LineEnds,
    problems: RefCell<Vec<ConfigProblem>>,
    said: RefCell<Vec<(Value, ValueSource)>>,
    text: &'a str,
}

/// The result of reading a file.
#[derive(Debug, Default)]
pub(crate) struct ParsedFile {
    /// Every key that the readers know.
    pub(crate) asked: Vec<AskedKey>,
    /// The problems.
    pub(crate) problems: Vec<ConfigProblem>,
    /// Every valid value as written, with its place.
    pub(crate) said: Vec<(Value, ValueSource)>,
}

/// A key that a reader knows.
#[derive(Debug)]
pub(crate) struct AskedKey {
    /// Its description, in one line.
    pub(crate) about: &'static str,
    /// The form of its value; `None` for what is not in the schema, and for tables.
    pub(crate) form: Option<ValueForm>,
    /// The key with dots.
    pub(crate) key: String,
}

impl<'a> DocumentReader<'a> {
    /// A reader for a file with this display name.
    pub(crate) fn new(file: &Path, text: &'a str) -> Self {
        Self {
            asked: RefCell::default(),
            file: file.into(),
            lines: LineEnds::of(text.as_bytes()),
            problems: RefCell::default(),
            said: RefCell::default(),
            text,
        }
    }

    /// Parses the file, and passes its root table to `all`.
    pub(crate) fn read(self, all: impl FnOnce(Section<'_>)) -> ParsedFile {
        let (table, errors) = DeTable::parse_recoverable(self.text);
        if errors.is_empty() {
            all(Section {
                asked: Vec::new(),
                path: String::new(),
                reader: &self,
                table: Some(table.get_ref()),
            });
        }
        for error in errors {
            let message = error.message().trim().replace('\n', "; ");
            let at = error.span().map_or(self.text.len(), |span| span.start);
            let place = self.place(at, None);
            let help = format!(
                "mend line {} of {}; `docs/configuration.md` has an example",
                self.lines.at(at),
                self.file.display()
            );
            let problem = ConfigProblem::new(place, format!("this is not TOML: {message}"));
            self.problem(problem.with_help(help));
        }
        ParsedFile {
            asked: self.asked.into_inner(),
            problems: self.problems.into_inner(),
            said: self.said.into_inner(),
        }
    }

    fn place(&self, at: usize, key: Option<String>) -> ValueSource {
        ValueSource {
            key,
            line: Some(self.lines.at(at)),
            origin: Origin::File(Arc::clone(&self.file)),
        }
    }

    fn know(&self, key: String, form: Option<ValueForm>, about: &'static str) {
        let key = AskedKey { about, form, key };
        self.asked.borrow_mut().push(key);
    }

    fn problem(&self, problem: ConfigProblem) {
        self.problems.borrow_mut().push(problem);
    }
}

/// The line ends of a text. Every key looks up its line, so they are found once.
pub(crate) struct LineEnds(Vec<usize>);

impl LineEnds {
    pub(crate) fn of(text: &[u8]) -> Self {
        let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        Self(ends.map(|(end, _)| end).collect())
    }

    /// The line of this byte, from 1.
    pub(crate) fn at(&self, byte: usize) -> usize {
        1 + self.0.partition_point(|end| *end < byte)
    }
}

/// A table of the file, which may be absent.
#[must_use = "call `finish`, which finds the unknown keys"]
pub(crate) struct Section<'a> {
    asked: Vec<&'static str>,
    path: String,
    reader: &'a DocumentReader<'a>,
    table: Option<&'a DeTable<'a>>,
}

/// An entry of a table with free names.
pub(crate) struct TableEntry<'a> {
    pub(crate) name: Arc<str>,
    pub(crate) place: ValueSource,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Section<'a> {
    /// Stores the value of a key in its slot, if present.
    pub(crate) fn set<T, S: From<T>>(
        &mut self,
        name: &'static str,
        form: Form<impl FnOnce(&DeValue<'_>) -> Result<T, String>>,
        about: &'static str,
        slot: &mut S,
    ) {
        if let Some((value, _)) = self.take(name, form, about) {
            *slot = value.into();
        }
    }

    /// The value of a key with its place, if present and valid.
    pub(crate) fn take<T>(
        &mut self,
        name: &'static str,
        form: Form<impl FnOnce(&DeValue<'_>) -> Result<T, String>>,
        about: &'static str,
    ) -> Option<(T, ValueSource)> {
        self.know(name, Some(form.schema), about);
        let (place, value) = self.find(name)?;
        self.parsed(place, value, form.parse)
    }

    /// The place of a key whose value is not recorded, and which is not in the schema.
    pub(crate) fn place_of(&mut self, name: &'static str) -> Option<ValueSource> {
        self.know(name, None, "");
        Some(self.find(name)?.0)
    }

    /// The subtable of this name.
    pub(crate) fn section(&mut self, name: &'static str) -> Self {
        self.subtable(name, None, "")
    }

    /// The subtable of this name, of tables with free names and keys.
    pub(crate) fn free(&mut self, name: &'static str, about: &'static str) -> Self {
        self.subtable(name, Some(ValueForm::Free), about)
    }

    fn subtable(
        &mut self,
        name: &'static str,
        form: Option<ValueForm>,
        about: &'static str,
    ) -> Self {
        self.know(name, form, about);
        let table = self
            .find(name)
            .and_then(|(place, value)| self.table_of(place, value));
        Self {
            asked: Vec::new(),
            path: self.key(name),
            reader: self.reader,
            table,
        }
    }

    /// All entries, in file order, of a table with free names.
    pub(crate) fn entries(self) -> Vec<TableEntry<'a>> {
        let mut entries: Vec<_> = self.table.iter().flat_map(|table| table.iter()).collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        let entries = entries.into_iter().map(|(name, value)| TableEntry {
            name: name.get_ref().as_ref().into(),
            place: self
                .reader
                .place(name.span().start, Some(self.key(name.get_ref()))),
            value,
        });
        entries.collect()
    }

    /// The table in this entry.
    pub(crate) fn of(reader: &Self, entry: &TableEntry<'a>) -> Self {
        let table = reader.table_of(entry.place.clone(), entry.value);
        let path = entry.place.key.clone().unwrap_or_default();
        Self {
            asked: Vec::new(),
            path,
            reader: reader.reader,
            table,
        }
    }

    /// The value of an entry, if valid.
    pub(crate) fn value<T>(
        &self,
        entry: &TableEntry<'_>,
        form: Form<impl FnOnce(&DeValue<'_>) -> Result<T, String>>,
        about: &'static str,
    ) -> Option<T> {
        let key = entry.place.key.clone().unwrap_or_default();
        self.reader.know(key, Some(form.schema), about);
        let parsed = self.parsed(entry.place.clone(), entry.value, form.parse);
        parsed.map(|(value, _)| value)
    }

    /// The keys that were not read, without validation.
    pub(crate) fn rest(self) -> Vec<TableEntry<'a>> {
        let asked = self.asked.clone();
        let mut entries = self.entries();
        entries.retain(|entry| !asked.contains(&&*entry.name));
        entries
    }

    /// Ends the reading of this table: keys that were not read are unknown.
    pub(crate) fn finish(self) {
        self.finish_with(|_| None);
    }

    /// The same, with help for some of the unknown tables, by their names.
    pub(crate) fn finish_with(self, help: impl Fn(&str) -> Option<&'static str>) {
        let (asked, reader) = (self.asked.clone(), self.reader);
        for entry in self.rest() {
            let is_table = entry.value.get_ref().as_table().is_some();
            let problem = match help(&entry.name).filter(|_| is_table) {
                Some(help) => ConfigProblem::new(entry.place, "unknown").with_help(help),
                None => {
                    let hint = did_you_mean(&entry.name, &asked);
                    ConfigProblem::new(entry.place, format!("unknown{hint}"))
                }
            };
            reader.problem(problem);
        }
    }

    /// Records a problem.
    pub(crate) fn problem(&self, problem: ConfigProblem) {
        self.reader.problem(problem);
    }

    /// The place where this table begins, if present.
    pub(crate) fn first_place(&self) -> Option<ValueSource> {
        let first = self.table?.keys().map(|name| name.span().start).min()?;
        Some(self.reader.place(first, Some(self.path.clone())))
    }

    /// A copy of this section with no keys read, to read it in another way.
    pub(crate) fn again(&self) -> Self {
        Self {
            asked: Vec::new(),
            path: self.path.clone(),
            reader: self.reader,
            table: self.table,
        }
    }

    fn know(&mut self, name: &'static str, form: Option<ValueForm>, about: &'static str) {
        self.asked.push(name);
        self.reader.know(self.key(name), form, about);
    }

    fn find(&self, name: &str) -> Option<(ValueSource, &'a Spanned<DeValue<'a>>)> {
        let (key, value) = self.table?.iter().find(|(key, _)| key.get_ref() == name)?;
        Some((
            self.reader.place(key.span().start, Some(self.key(name))),
            value,
        ))
    }

    fn parsed<T>(
        &self,
        place: ValueSource,
        value: &Spanned<DeValue<'_>>,
        parse: impl FnOnce(&DeValue<'_>) -> Result<T, String>,
    ) -> Option<(T, ValueSource)> {
        match parse(value.get_ref()) {
            Ok(parsed) => {
                let said = any(value.get_ref()).ok();
                let said = said.map(|said| (said, place.clone()));
                self.reader.said.borrow_mut().extend(said);
                Some((parsed, place))
            }
            Err(message) => {
                self.problem(ConfigProblem::new(place, message));
                None
            }
        }
    }

    fn table_of(
        &self,
        place: ValueSource,
        value: &'a Spanned<DeValue<'a>>,
    ) -> Option<&'a DeTable<'a>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            let kind = value.get_ref().type_str();
            self.problem(ConfigProblem::new(
                place,
                format!("a table was expected, not {}", with_article(kind)),
            ));
        }
        table
    }

    fn key(&self, name: &str) -> String {
        let dot = if self.path.is_empty() { "" } else { "." };
        format!("{}{dot}{}", self.path, quoted(name))
    }
}

/// A part of a key in TOML syntax.
pub(crate) fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let quote = if name.chars().all(plain) && !name.is_empty() {
        ""
    } else {
        "\""
    };
    format!("{quote}{name}{quote}")
}
