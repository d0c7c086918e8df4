//! One JSON object of a file of servers: its fields, and their problems.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::place::{ConfigProblem, Origin, ValueSource};
use crate::servers::lines::KeyLines;
use crate::values::length_of_time;
use jackfield_engine::near::did_you_mean;

/// A file and its problems.
pub(crate) struct FileProblems {
    read_fields: RefCell<Vec<String>>,
    file: Arc<Path>,
    lines: KeyLines,
    problems: RefCell<Vec<ConfigProblem>>,
    remarks: RefCell<Vec<ConfigProblem>>,
    unknown: RefCell<Vec<String>>,
}

impl FileProblems {
    pub(crate) fn new(file: &Path) -> Self {
        Self {
            read_fields: RefCell::default(),
            file: file.into(),
            lines: KeyLines::default(),
            problems: RefCell::default(),
            remarks: RefCell::default(),
            unknown: RefCell::default(),
        }
    }

    /// Indexes the lines of all values, and reports duplicate keys: the parser would silently use the last one.
    pub(crate) fn index(&mut self, text: &str) {
        self.lines = KeyLines::of(text);
        for (key, first, line) in &self.lines.twice {
            let message = format!("this is here twice: the first one stands in line {first}");
            let place = self.place(Some(key.clone()), Some(*line));
            self.problem(ConfigProblem::new(place, message).with_help("remove one of them"));
        }
    }

    /// The place of a value; an unknown line is looked up.
    pub(crate) fn place(&self, key: Option<String>, line: Option<usize>) -> ValueSource {
        let found = key.as_ref().and_then(|key| self.lines.line(key));
        ValueSource {
            line: line.or(found),
            key,
            origin: Origin::File(Arc::clone(&self.file)),
        }
    }

    pub(crate) fn problem(&self, problem: ConfigProblem) {
        self.problems.borrow_mut().push(problem);
    }

    /// Every field that was read so far.
    pub(crate) fn read_fields(&self) -> Vec<String> {
        self.read_fields.borrow().clone()
    }

    /// Records that something is left out.
    pub(crate) fn remark(&self, remark: ConfigProblem) {
        self.remarks.borrow_mut().push(remark);
    }

    /// The problems of the file, and the remarks about what is left out; unknown fields share one line.
    pub(crate) fn into_problems(self) -> (Vec<ConfigProblem>, Vec<ConfigProblem>) {
        let mut remarks = self.remarks.take();
        let mut unknown = self.unknown.take();
        // Fields of servers first: other programs keep much else beside them.
        unknown.sort_by_key(|key| !key.contains('.'));
        if !unknown.is_empty() {
            let shown = |key: &String| {
                let shown = key.chars().filter(|c| !c.is_control());
                format!("`{}`", shown.take(MAX_KEY).collect::<String>())
            };
            let named: Vec<String> = unknown.iter().take(MAX_NAMED).map(shown).collect();
            let more = match unknown.len() - named.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let message = format!(
                "left out, as they are not known: {}{more}",
                named.join(", ")
            );
            remarks.push(ConfigProblem::new(self.place(None, None), message));
        }
        (self.problems.into_inner(), remarks)
    }
}

/// The fields of one object.
pub(crate) struct ServerFields<'a> {
    read_fields: Vec<&'static str>,
    object: &'a Map<String, Value>,
    file_problems: &'a FileProblems,
    path: String,
}

impl<'a> ServerFields<'a> {
    /// The object of this value; a problem if it is none.
    pub(crate) fn of(pages: &'a FileProblems, value: &'a Value, path: String) -> Option<Self> {
        let Some(object) = value.as_object() else {
            let message = format!("an object was expected, not {}", kind(value));
            pages.problem(ConfigProblem::new(pages.place(Some(path), None), message));
            return None;
        };
        Some(Self {
            read_fields: Vec::new(),
            object,
            file_problems: pages,
            path,
        })
    }

    /// The field of this name, unless it is absent or null.
    pub(crate) fn find(&mut self, name: &'static str) -> Option<&'a Value> {
        self.read_fields.push(name);
        self.file_problems
            .read_fields
            .borrow_mut()
            .push(self.key(name));
        self.object.get(name).filter(|value| !value.is_null())
    }

    /// The same for a field that only other programs use; no message suggests it.
    pub(crate) fn find_foreign(&mut self, name: &'static str) -> Option<&'a Value> {
        self.read_fields.push(name);
        self.object.get(name).filter(|value| !value.is_null())
    }

    /// The field of this name, if valid.
    pub(crate) fn take<T>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&Value) -> Result<T, String>,
    ) -> Option<T> {
        match parse(self.find(name)?) {
            Ok(parsed) => Some(parsed),
            Err(message) => {
                self.problem(name, message);
                None
            }
        }
    }

    /// Records a problem of a field.
    pub(crate) fn problem(&self, name: &str, message: impl Into<String>) {
        let place = self.place_of(name);
        self.file_problems
            .problem(ConfigProblem::new(place, message));
    }

    /// Records that this object, or a field of it, is left out.
    pub(crate) fn remark(&self, name: Option<&str>, message: impl Into<String>) {
        let place = match name {
            Some(name) => self.place_of(name),
            None => self.place(),
        };
        self.file_problems
            .remark(ConfigProblem::new(place, message));
    }

    /// The place of this object.
    pub(crate) fn place(&self) -> ValueSource {
        self.file_problems.place(Some(self.path.clone()), None)
    }

    /// The place of a field.
    pub(crate) fn place_of(&self, name: &str) -> ValueSource {
        self.file_problems.place(Some(self.key(name)), None)
    }

    pub(crate) fn key(&self, name: &str) -> String {
        let dot = if self.path.is_empty() { "" } else { "." };
        format!("{}{dot}{name}", self.path)
    }

    /// All fields, for an object with free names.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
        self.object.iter()
    }

    /// Ends the reading of this object: fields that were not read are unknown.
    pub(crate) fn finish(self) {
        for name in self.unknown() {
            self.report_unknown(name);
        }
    }

    /// Ends the reading of an object that other programs write, too. Unknown fields are left out, unless they are
    /// one letter away from a known one.
    pub(crate) fn finish_shared(self) {
        let is_slip = |name: &str| {
            let mut read_fields = self.read_fields.iter();
            read_fields.any(|asked| strsim::osa_distance(asked, name) == 1)
        };
        for name in self.unknown() {
            if is_slip(name) {
                self.report_unknown(name);
            } else {
                self.file_problems.unknown.borrow_mut().push(self.key(name));
            }
        }
    }

    fn unknown(&self) -> impl Iterator<Item = &'a String> {
        let names = self.object.keys();
        names.filter(|name| !self.read_fields.contains(&name.as_str()))
    }

    fn report_unknown(&self, name: &str) {
        let hint = did_you_mean(name, &self.read_fields);
        self.problem(name, format!("unknown{hint}"));
    }
}

/// Parses a string that is not blank.
pub(crate) fn filled(value: &Value) -> Result<Arc<str>, String> {
    let text = text(value)?;
    if text.trim().is_empty() {
        return Err("this must not be empty".to_owned());
    }
    Ok(text)
}

/// Parses a string.
pub(crate) fn text(value: &Value) -> Result<Arc<str>, String> {
    value
        .as_str()
        .map(Into::into)
        .ok_or_else(|| format!("a text in quotes was expected, not {}", kind(value)))
}

/// Parses several strings.
pub(crate) fn texts(value: &Value) -> Result<Vec<Arc<str>>, String> {
    let items = value
        .as_array()
        .ok_or_else(|| format!("a list of texts was expected, not {}", kind(value)))?;
    items.iter().map(text).collect()
}

/// Parses `true` or `false`.
pub(crate) fn flag(value: &Value) -> Result<bool, String> {
    value
        .as_bool()
        .ok_or_else(|| format!("true or false was expected, not {}", kind(value)))
}

/// Parses a duration such as "30s".
pub(crate) fn duration(value: &Value) -> Result<Duration, String> {
    let text = value.as_str().ok_or_else(|| {
        let kind = kind(value);
        format!("a length of time such as \"30s\" was expected, not {kind}")
    })?;
    length_of_time(text)
}

const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "a list",
        Value::Bool(_) => "a boolean",
        Value::Null => "null",
        Value::Number(_) => "a number",
        Value::Object(_) => "an object",
        Value::String(_) => "a text",
    }
}

/// How much of a key is shown, in characters.
const MAX_KEY: usize = 80;
/// How many unknown fields are named.
const MAX_NAMED: usize = 8;
