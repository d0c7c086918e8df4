//! The tools of notes, for one person.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::ToolRun;
use jackfield_domain::time::WallTime;
use jackfield_domain::tool::{InputFormat, Safety, ToolSpec};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::{ToolEnd, ToolError, ToolEvents, Toolbox};
use serde_json::{Map, Value, json};

use crate::notebook::{NewNote, Notebook, NotebookError, Scope, StoredNote};

/// The tools of one person's notes, and of the notes that others have shared with this person.
#[derive(Clone, Debug)]
pub struct Notes {
    id: ToolboxId,
    is_private: bool,
    is_shared: bool,
    notebook: Notebook,
    person: Arc<str>,
}

impl Notes {
    /// All tools, for this person.
    #[must_use]
    pub fn new(notebook: Notebook, person: impl Into<Arc<str>>) -> Self {
        #[expect(
            clippy::expect_used,
            reason = "the name is a constant that follows the rule"
        )]
        let id = ToolboxId::parse(TOOLBOX).expect("a valid name");
        Self {
            id,
            is_private: true,
            is_shared: true,
            notebook,
            person: person.into(),
        }
    }

    /// The tools of the person's own notes alone.
    #[must_use]
    pub fn private_only(mut self) -> Self {
        self.is_shared = false;
        self
    }

    /// The tools of others' notes alone.
    #[must_use]
    pub fn shared_only(mut self) -> Self {
        self.is_private = false;
        self
    }

    const fn offers(&self, tool: &NotesTool) -> bool {
        if tool.is_shared {
            self.is_shared
        } else {
            self.is_private
        }
    }

    fn run(&self, tool: &NotesTool, arguments: &Map<String, Value>) -> ToolResult {
        let answer = match self.answer(tool, arguments) {
            Ok(answer) => answer,
            Err(NotesFault::Notebook(error)) => {
                return ToolResult::error(format!("the notes cannot be read or written: {error}"));
            }
            Err(NotesFault::Wrong(message)) => return ToolResult::error(message),
        };
        let (text, structured) = answer;
        ToolResult {
            structured: Some(Arc::new(structured)),
            ..ToolResult::text(text)
        }
    }

    fn answer(
        &self,
        tool: &NotesTool,
        arguments: &Map<String, Value>,
    ) -> Result<(String, Value), NotesFault> {
        let (notebook, person) = (&self.notebook, &*self.person);
        let scope = if tool.is_shared {
            Scope::Shared
        } else {
            Scope::Own
        };
        match tool.work {
            Work::Add => {
                let note = new_note(arguments)?;
                let added = notebook.add(person, &note, now())?;
                let readers = if added.shared_with.is_empty() {
                    String::new()
                } else {
                    format!(", shared with {}", added.shared_with.join(", "))
                };
                let (id, title) = (added.id, added.title);
                let text = format!("Saved as note {id}{readers}: {title}");
                let structured =
                    json!({ "id": id, "title": title, "shared_with": added.shared_with });
                Ok((text, structured))
            }
            Work::Friend => {
                let friend = text(arguments, "friend", LONGEST_NAME)?;
                let most = limit(arguments)?;
                let notes = notebook.recent(person, &Scope::SharedBy(friend.clone()), most)?;
                Ok(list(
                    &notes,
                    true,
                    &format!("{friend} has shared no notes with you."),
                ))
            }
            Work::Get => {
                let id = arguments.get("id").and_then(Value::as_i64);
                let id = id.ok_or_else(|| wrong("`id` is the number of a note"))?;
                let note = notebook.get(person, &scope, id)?;
                let note = note.ok_or_else(|| {
                    wrong(format!(
                        "there is no note {id} among these; search or list them first"
                    ))
                })?;
                let heading = heading(&note, tool.is_shared);
                let structured = view(&note, tool.is_shared, &note.text, "text");
                Ok((format!("{heading}\n\n{}", note.text), structured))
            }
            Work::List => {
                let notes = notebook.recent(person, &scope, limit(arguments)?)?;
                Ok(list(&notes, tool.is_shared, "There are no notes."))
            }
            Work::Search => {
                let query = text(arguments, "query", LONGEST_QUERY)?;
                let notes = notebook.search(person, &scope, &query, limit(arguments)?)?;
                let none = format!("No note has all words of \"{query}\".");
                Ok(list(&notes, tool.is_shared, &none))
            }
        }
    }
}

#[async_trait]
impl Toolbox for Notes {
    fn id(&self) -> &ToolboxId {
        &self.id
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        let tools = TOOLS.iter().zip(SPECS.iter());
        let offered = tools.filter(|(tool, _)| self.offers(tool));
        Ok(offered.map(|(_, spec)| spec.clone()).collect())
    }

    async fn call(
        &self,
        run: &ToolRun,
        call: &CallContext,
        _events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        let name = &*run.tool.tool;
        let mut offered = TOOLS.iter().filter(|tool| self.offers(tool));
        let Some(tool) = offered.find(|tool| tool.name == name) else {
            return Err(ToolFailure::not_sent(
                ToolFailureKind::UnknownTool,
                format!("there is no tool `{name}` of notes"),
            )
            .into());
        };
        let Some(arguments) = run.arguments().cloned() else {
            return Err(ToolFailure::not_sent(
                ToolFailureKind::InvalidArguments,
                "the tools of notes take a JSON object",
            )
            .into());
        };
        let (notes, call) = (self.clone(), call.clone());
        let run_tool = move || call.begin().map(|()| notes.run(tool, &arguments));
        let result = tokio::task::spawn_blocking(run_tool)
            .await
            .map_err(|error| {
                let failure =
                    ToolFailure::unknown(ToolFailureKind::Unavailable, "the tool broke off");
                ToolError::with_source(failure, error)
            })??;
        let result = result.cut(run.max_bytes).unwrap_or(result);
        Ok(ToolEnd::Finished(result))
    }
}

#[derive(Debug)]
struct NotesTool {
    description: &'static str,
    is_shared: bool,
    name: &'static str,
    title: &'static str,
    work: Work,
}

#[derive(Clone, Copy, Debug)]
enum Work {
    Add,
    Friend,
    Get,
    List,
    Search,
}

impl NotesTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            description: self.description.into(),
            icon: Some(if self.is_shared { "👥" } else { "📝" }.into()),
            input: InputFormat::Json(Arc::new(self.input())),
            name: self.name.into(),
            output: None,
            safety: match self.work {
                Work::Add => Safety::Unknown,
                Work::Friend | Work::Get | Work::List | Work::Search => Safety::ReadOnly,
            },
            time_limit: None,
            title: Some(self.title.into()),
        }
    }

    fn input(&self) -> Value {
        let limit = json!({
            "type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL,
            "description": "The most notes to return.",
        });
        let (properties, required) = match self.work {
            Work::Add => (
                json!({
                    "title": { "type": "string", "description": format!("A short title, of at most {LONGEST_TITLE} characters.") },
                    "text": { "type": "string", "description": format!("The text of the note, of at most {LONGEST_TEXT} characters.") },
                    "shared_with": {
                        "type": "array", "items": { "type": "string" },
                        "description": format!("The names of the friends who may read it, at most {MOST_FRIENDS}; without, it is private."),
                    },
                }),
                json!(["title", "text"]),
            ),
            Work::Friend => (
                json!({
                    "friend": { "type": "string", "description": "The friend's name." },
                    "limit": limit,
                }),
                json!(["friend"]),
            ),
            Work::Get => (
                json!({ "id": { "type": "integer", "description": "The number of the note." } }),
                json!(["id"]),
            ),
            Work::List => (json!({ "limit": limit }), json!([])),
            Work::Search => (
                json!({
                    "query": {
                        "type": "string",
                        "description": "The words that a note has to have, in any language.",
                    },
                    "limit": limit,
                }),
                json!(["query"]),
            ),
        };
        json!({
            "type": "object", "properties": properties, "required": required,
            "additionalProperties": false,
        })
    }
}

/// Why a call has no answer.
enum NotesFault {
    Notebook(NotebookError),
    Wrong(String),
}

impl From<NotebookError> for NotesFault {
    fn from(error: NotebookError) -> Self {
        Self::Notebook(error)
    }
}

fn wrong(message: impl Into<String>) -> NotesFault {
    NotesFault::Wrong(message.into())
}

fn text(arguments: &Map<String, Value>, name: &str, most: usize) -> Result<String, NotesFault> {
    let text = arguments.get(name).and_then(Value::as_str);
    let text = text.map(str::trim).filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| wrong(format!("`{name}` has to be a text")))?;
    if text.chars().count() > most {
        return Err(wrong(format!(
            "`{name}` may have at most {most} characters"
        )));
    }
    Ok(text.to_owned())
}

fn limit(arguments: &Map<String, Value>) -> Result<usize, NotesFault> {
    match arguments.get("limit") {
        None | Some(Value::Null) => Ok(USUAL),
        Some(given) => given
            .as_u64()
            .and_then(|given| usize::try_from(given).ok())
            .filter(|given| (1..=MOST).contains(given))
            .ok_or_else(|| wrong(format!("`limit` is a number from 1 to {MOST}"))),
    }
}

fn new_note(arguments: &Map<String, Value>) -> Result<NewNote, NotesFault> {
    let friends = match arguments.get("shared_with") {
        None | Some(Value::Null) => &[][..],
        Some(given) => given
            .as_array()
            .ok_or_else(|| wrong("`shared_with` is a list of names"))?,
    };
    if friends.len() > MOST_FRIENDS {
        return Err(wrong(format!(
            "a note can be shared with at most {MOST_FRIENDS} friends"
        )));
    }
    let friends = friends.iter().map(|friend| {
        let name = friend
            .as_str()
            .map(str::trim)
            .filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| wrong("`shared_with` is a list of names"))?;
        if name.chars().count() > LONGEST_NAME {
            return Err(wrong(format!(
                "a name may have at most {LONGEST_NAME} characters"
            )));
        }
        Ok(name.to_owned())
    });
    Ok(NewNote {
        shared_with: friends.collect::<Result<_, _>>()?,
        text: text(arguments, "text", LONGEST_TEXT)?,
        title: text(arguments, "title", LONGEST_TITLE)?,
    })
}

/// The text and the structured form of a list.
fn list(notes: &[StoredNote], is_shared: bool, none: &str) -> (String, Value) {
    let mut lines = String::new();
    let mut views = Vec::new();
    for note in notes {
        let excerpt: String = note.text.chars().take(EXCERPT).collect();
        let excerpt = excerpt.split_whitespace().collect::<Vec<_>>().join(" ");
        // Writing to a text cannot fail.
        let _written = writeln!(lines, "{}: {excerpt}", heading(note, is_shared));
        views.push(view(note, is_shared, &excerpt, "excerpt"));
    }
    let text = if lines.is_empty() {
        none.to_owned()
    } else {
        lines.trim_end().to_owned()
    };
    (text, json!({ "notes": views }))
}

/// One line on a note; a shared one names its owner.
fn heading(note: &StoredNote, is_shared: bool) -> String {
    let updated = note.updated.to_rfc3339();
    let day = updated.get(..10).unwrap_or(&updated);
    let StoredNote {
        id, owner, title, ..
    } = note;
    if is_shared {
        format!("Note {id}, \"{title}\", shared by {owner}, {day}")
    } else {
        format!("Note {id}, \"{title}\", {day}")
    }
}

fn view(note: &StoredNote, is_shared: bool, text: &str, field: &str) -> Value {
    let mut view = json!({
        "id": note.id,
        "title": note.title,
        "owner": note.owner,
        "updated": note.updated.to_rfc3339(),
    });
    view[field] = text.into();
    if !is_shared {
        view["shared_with"] = json!(note.shared_with);
    }
    view
}

fn now() -> WallTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = since.map_or(0, |since| since.as_millis());
    WallTime::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}

/// The length of an excerpt, in characters.
const EXCERPT: usize = 200;
const LONGEST_NAME: usize = 200;
const LONGEST_QUERY: usize = 500;
/// With [`MOST_FRIENDS`], it bounds how long one call holds the file: each reader has an entry for each word.
const LONGEST_TEXT: usize = 20_000;
const LONGEST_TITLE: usize = 200;
/// The most notes of a list.
const MOST: usize = 50;
/// The most friends of a note.
const MOST_FRIENDS: usize = 20;
/// Of [`TOOLS`], made once, because unchanged tools are recognised by their shared schemas.
static SPECS: LazyLock<Vec<ToolSpec>> =
    LazyLock::new(|| TOOLS.iter().map(NotesTool::spec).collect());
const TOOLBOX: &str = "notes";
const TOOLS: &[NotesTool] = &[
    NotesTool {
        description: "Searches your own notes. Returns their numbers, titles and beginnings, newest first.",
        is_shared: false,
        name: "search_notes",
        title: "Search notes",
        work: Work::Search,
    },
    NotesTool {
        description: "Reads one of your own notes in full, by its number.",
        is_shared: false,
        name: "get_note",
        title: "Read a note",
        work: Work::Get,
    },
    NotesTool {
        description: "Lists your own notes, newest first.",
        is_shared: false,
        name: "list_recent_notes",
        title: "Recent notes",
        work: Work::List,
    },
    NotesTool {
        description: "Adds a note of yours: private, or shared with friends by name. Says who can read it.",
        is_shared: false,
        name: "add_note",
        title: "Add a note",
        work: Work::Add,
    },
    NotesTool {
        description: "Searches the notes that friends have shared with you. Each result names the friend: say \
                      whose note it is when you use it.",
        is_shared: true,
        name: "search_shared_notes",
        title: "Search shared notes",
        work: Work::Search,
    },
    NotesTool {
        description: "Reads a note in full that a friend has shared with you, by its number.",
        is_shared: true,
        name: "get_shared_note",
        title: "Read a shared note",
        work: Work::Get,
    },
    NotesTool {
        description: "Lists the notes that friends have shared with you, newest first.",
        is_shared: true,
        name: "list_shared_notes",
        title: "Shared notes",
        work: Work::List,
    },
    NotesTool {
        description: "Lists the notes that one friend has shared with you, newest first.",
        is_shared: true,
        name: "list_by_friend",
        title: "A friend's notes",
        work: Work::Friend,
    },
];
/// The usual number of notes of a list.
const USUAL: usize = 10;
