//! `jackfield notes-server`: an MCP server of one person's notes.

use std::sync::Arc;

use jackfield_domain::policy::{PolicyRule, RuleVerdict};
use jackfield_domain::request::ModelRef;
use jackfield_domain::time::WallTime;
use jackfield_engine::{Engine, ToolboxStatus, TurnOptions};
use jackfield_mcp_server::{ServerSettings, ToolServer};
use jackfield_store_memory::MemoryJournal;
use jackfield_tools_notes::{NewNote, Notebook, NotebookError, Notes};

use crate::args::{NotesKind, NotesServer};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::signals::Interrupts;

/// Serves one client on standard input and output, until its input ends or a signal arrives.
///
/// # Errors
///
/// [`CommandError`] if the file cannot be used.
pub(super) async fn run(arguments: NotesServer) -> Result<Exit, CommandError> {
    let mut interrupts = Interrupts::watch();
    let notes = notes(&arguments).map_err(|error| {
        CommandError::new(Exit::Configuration, "the notes cannot be opened").with_cause(&error)
    })?;
    let notes = match arguments.only {
        None => notes,
        Some(NotesKind::Private) => notes.private_only(),
        Some(NotesKind::Shared) => notes.shared_only(),
    };
    let trusted = ToolboxStatus {
        prefix: Some("".into()),
        server: None,
        trusted: true,
    };
    // The calls of this server belong to no session.
    let journal = Arc::new(MemoryJournal::default());
    let engine = Engine::builder(journal).toolbox_as(Arc::new(notes), trusted);
    let mut options = TurnOptions::new(ModelRef {
        model: "".into(),
        provider: "".into(),
    });
    // Whether a note is written is for the client to ask.
    options.policy.rules.push(PolicyRule {
        pattern: "*".into(),
        verdict: RuleVerdict::Allow,
    });
    let server = ToolServer::new(engine.build(), options).with(ServerSettings {
        name: "jackfield-notes".to_owned(),
        ..ServerSettings::default()
    });
    let asked = async {
        interrupts.recv().await;
    };
    server
        .serve(tokio::io::stdin(), tokio::io::stdout(), asked)
        .await;
    Ok(Exit::Answered)
}

fn notes(arguments: &NotesServer) -> Result<Notes, NotebookError> {
    match (&arguments.file, &arguments.person) {
        (Some(file), Some(person)) => Ok(Notes::new(Notebook::open(file)?, person.as_str())),
        // Without a file, the samples are asked for.
        (Some(_) | None, _) => samples(),
    }
}

/// Notes to try it with: those of a person, and of two friends.
fn samples() -> Result<Notes, NotebookError> {
    let notebook = Notebook::in_memory()?;
    for (nth, (owner, title, text, is_shared)) in SAMPLES.iter().enumerate() {
        let note = NewNote {
            shared_with: if *is_shared {
                vec![PERSON.to_owned()]
            } else {
                Vec::new()
            },
            text: (*text).to_owned(),
            title: (*title).to_owned(),
        };
        let days = i64::try_from(nth).unwrap_or(0);
        let written = WallTime::from_millis(FIRST_DAY + days * DAY);
        notebook.add(owner, &note, written)?;
    }
    Ok(Notes::new(notebook, PERSON))
}

/// A day in milliseconds.
const DAY: i64 = 86_400_000;
/// 2026-11-01T09:00:00Z, in milliseconds.
const FIRST_DAY: i64 = 1_793_523_600_000;
/// Whose notes the samples are.
const PERSON: &str = "me";
/// The owner, the title and the text of each sample, and whether it is shared.
const SAMPLES: &[(&str, &str, &str, bool)] = &[
    (
        "me",
        "React hooks",
        "Hooks run in the same order in each render. Never call one in a condition.",
        false,
    ),
    (
        "Lin",
        "React 性能",
        "用 memo 之前先测量。React 的重渲染通常很便宜。",
        true,
    ),
    (
        "me",
        "机器学习课程",
        "第一周：我在学习机器学习的基础，线性回归和梯度下降。",
        false,
    ),
    (
        "Olga",
        "Заметки о React",
        "Состояние держим как можно ближе к тому, кто его показывает.",
        true,
    ),
    ("Lin", "日记", "React badly to rain.", false),
    (
        "me",
        "Покупки",
        "Чай, хлеб, новая тетрадь для заметок.",
        false,
    ),
    (
        "me",
        "读书笔记",
        "《设计数据密集型应用》第三章：存储与检索。",
        false,
    ),
];
