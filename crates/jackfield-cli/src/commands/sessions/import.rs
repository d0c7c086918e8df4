//! `jackfield sessions import`: conversations of ChatGPT and Open WebUI as sessions.

mod archive;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write};
use std::path::Path;

use jackfield_assembly::read_at_most;
use jackfield_domain::directory::{EntryName, user_principal};
use jackfield_domain::ids::SessionId;
use jackfield_domain::time::WallTime;
use jackfield_engine::{Engine, EngineError, ImportedConversation};
use jackfield_import::conversations::{Conversation, Export, LeftOut, decode};
use serde_json::{Value, json};

use crate::args::sessions::Import;
use crate::commands::printed;
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::{self, words};

pub(super) async fn run(engine: &Engine, asked: &Import) -> Result<Exit, CommandError> {
    let principal = match &asked.user {
        Some(name) => {
            let user = EntryName::parse(name)?;
            if let Some(directory) = engine.directory() {
                directory.user(&user).await?;
            }
            user_principal(&user)
        }
        None => LOCAL.into(),
    };
    let mut report = Report {
        as_json: asked.json,
        conversations: Vec::new(),
        counts: BTreeMap::new(),
        dry_run: asked.dry_run,
        is_broken: false,
        left_out: BTreeMap::new(),
    };
    let mut printed = Ok(());
    for path in &asked.files {
        let mut source = Source::open(path).map_err(|error| unreadable(path, &error))?;
        while let Some(text) = source.next().map_err(|error| unreadable(path, &error))? {
            let text = decode(&text);
            let export = Export::split(&text).map_err(|error| unreadable(path, &error))?;
            // The oldest comes first, so that the newest is the one that changed last.
            let mut read: Vec<_> = export.iter().collect();
            read.sort_by_key(|one| one.as_ref().ok().and_then(|one| one.created));
            for one in read {
                let line = match one {
                    Ok(conversation) => {
                        import(engine, &principal, &conversation, &mut report).await?
                    }
                    Err(unread) => {
                        let title = unread.title.clone();
                        report.add("failed", None, title.as_deref(), Some(&unread.to_string()))
                    }
                };
                if printed.is_ok() && !asked.json {
                    printed = writeln!(anstream::stdout(), "{line}");
                }
            }
            if let Some(why) = export.broken() {
                report.is_broken = true;
                let path = path.display();
                render::remark(&format!("`{path}` was not read to its end: {why}"));
            }
        }
    }
    let printed = printed.and_then(|()| report.finish(&mut anstream::stdout()));
    printed::finish(printed, report.exit())
}

async fn import(
    engine: &Engine,
    principal: &str,
    conversation: &Conversation,
    report: &mut Report,
) -> Result<String, CommandError> {
    let source = conversation.source.as_str();
    let session = SessionId::imported(principal, source, &conversation.id);
    let imported = if report.dry_run {
        let row = engine.session(&session).await?;
        row.map_or(Ok(()), |_| {
            Err(EngineError::Exists {
                session: session.clone(),
            })
        })
    } else {
        let conversation = ImportedConversation {
            created: conversation.created.map(WallTime::from_millis),
            messages: conversation.to_messages(),
            source: source.into(),
            title: conversation.title.clone(),
        };
        engine.import(&session, conversation).await
    };
    let title = conversation.title.as_deref();
    let status = match imported {
        Ok(()) => "imported",
        Err(EngineError::Exists { .. }) => "exists",
        Err(error @ EngineError::InvalidConversation(_)) => {
            let why = jackfield_engine::chain(&error);
            return Ok(report.add("failed", None, title, Some(&why)));
        }
        Err(error) => return Err(error.into()),
    };
    let mut line = report.add(status, Some(&session), title, None);
    if status == "imported" {
        for (what, count) in &conversation.left_out {
            *report.left_out.entry(*what).or_default() += count;
        }
        let left_out = without(&conversation.left_out);
        if !left_out.is_empty() {
            line.push_str(&format!("  (without {left_out})"));
        }
        if let Some(last) = report.conversations.last_mut() {
            let left_out = conversation.left_out.iter();
            let left_out: serde_json::Map<_, _> = left_out
                .map(|(what, count)| (what.as_str().to_owned(), Value::from(*count)))
                .collect();
            last["left_out"] = Value::Object(left_out);
        }
    }
    Ok(line)
}

/// What was left out, for people.
fn without(left_out: &BTreeMap<LeftOut, usize>) -> String {
    let parts = left_out.iter().map(|(what, count)| what.counted(*count));
    parts.collect::<Vec<_>>().join(", ")
}

struct Report {
    as_json: bool,
    conversations: Vec<Value>,
    counts: BTreeMap<&'static str, u64>,
    dry_run: bool,
    /// Whether a file was not read to its end.
    is_broken: bool,
    left_out: BTreeMap<LeftOut, usize>,
}

impl Report {
    /// Adds a conversation, and returns its line.
    fn add(
        &mut self,
        status: &'static str,
        session: Option<&SessionId>,
        title: Option<&str>,
        why: Option<&str>,
    ) -> String {
        *self.counts.entry(status).or_default() += 1;
        let id = session.map(SessionId::as_str);
        let shown = match (status, self.dry_run) {
            ("imported", true) => "new",
            (status, _) => status,
        };
        if self.as_json {
            self.conversations
                .push(json!({ "status": shown, "id": id, "title": title, "why": why }));
        }
        let title = words::one_line(title.unwrap_or("(no title)"));
        let id = id.unwrap_or("-");
        let why = why.map(|why| format!(": {}", words::one_line(why)));
        format!("{shown:<8}  {id}  {title}{}", why.unwrap_or_default())
    }

    fn count(&self, status: &str) -> u64 {
        self.counts.get(status).copied().unwrap_or_default()
    }

    /// A file that has an end missing, or nothing that could be read, is a wrong one.
    fn exit(&self) -> Exit {
        let read = self.count("imported") + self.count("exists");
        if self.is_broken || (read == 0 && self.count("failed") > 0) {
            Exit::Usage
        } else {
            Exit::Answered
        }
    }

    fn finish(&self, out: &mut impl Write) -> io::Result<()> {
        let count = |status| self.count(status);
        if self.as_json {
            let document = json!({
                "conversations": self.conversations,
                "imported": count("imported"),
                "exist": count("exists"),
                "failed": count("failed"),
                "broken": self.is_broken,
                "dry_run": self.dry_run,
            });
            return render::sessions::text_or_json(out, "", &document, true);
        }
        let done = if self.dry_run {
            "to import"
        } else {
            "imported"
        };
        writeln!(
            out,
            "{}: {} {done}, {} there already, {} not read",
            words::counted(self.counts.values().sum(), "conversation"),
            count("imported"),
            count("exists"),
            count("failed"),
        )?;
        if !self.left_out.is_empty() {
            writeln!(out, "left out: {}", without(&self.left_out))?;
        }
        out.flush()
    }
}

/// The JSON files of an export, one after the other.
enum Source {
    Archive(File, Vec<archive::Entry>),
    Json(Option<Vec<u8>>),
}

impl Source {
    fn open(path: &Path) -> io::Result<Self> {
        let mut beginning = Vec::new();
        if path.is_file() {
            let mut file = File::open(path)?;
            (&mut file).take(4).read_to_end(&mut beginning)?;
            if archive::is_archive(&beginning) {
                file.rewind()?;
                let mut entries = archive::entries(&mut file)?;
                entries.retain(|entry| is_list(&entry.name));
                if entries.is_empty() {
                    let message = "the archive has no conversations.json";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, message));
                }
                // The last one is taken first. It has the oldest conversations.
                entries.sort_by(|one, other| one.name.cmp(&other.name));
                return Ok(Self::Archive(file, entries));
            }
        }
        read_at_most(path, MAX_JSON).map(|text| Self::Json(Some(text)))
    }

    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        match self {
            Self::Archive(file, entries) => match entries.pop() {
                Some(entry) => archive::unpack(file, &entry, MAX_JSON).map(Some),
                None => Ok(None),
            },
            Self::Json(text) => Ok(text.take()),
        }
    }
}

/// Whether a file of an archive has conversations, as `conversations.json` and `conversations-000.json`.
fn is_list(name: &str) -> bool {
    let name = name.rsplit_once('/').map_or(name, |(_, name)| name);
    let number = name
        .strip_prefix("conversations")
        .and_then(|rest| rest.strip_suffix(".json"));
    number.is_some_and(|number| {
        let mut letters = number.chars();
        number.len() <= 8 && letters.all(|letter| letter == '-' || letter.is_ascii_digit())
    })
}

fn unreadable(path: &Path, error: &(dyn std::error::Error + 'static)) -> CommandError {
    let message = format!("`{}` cannot be imported", path.display());
    let fault = CommandError::new(Exit::Usage, message).with_cause(error);
    fault.with_help(
        "name the zip of ChatGPT's export, its conversations.json, or the JSON of Open WebUI's *Export chats*",
    )
}

/// The principal of what is used here, and of a gateway without users and keys.
const LOCAL: &str = "local";
/// The largest JSON file that is read.
const MAX_JSON: u64 = 2 << 30;
