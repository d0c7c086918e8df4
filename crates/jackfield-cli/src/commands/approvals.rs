//! `jackfield approvals`: lists open questions and answers them outside of the prompt.

use std::sync::Arc;

use jackfield_assembly::Registry;
use jackfield_domain::tool::Safety;
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_domain::wait::{
    Answer, Approval, DeliveryBody, ElicitationAnswer, UnknownAnswer, WaitKind,
};
use jackfield_engine::{DeliveryOutcome, Engine, ListedWait, OpenQuestion, WaitQuery};
use serde_json::{Map, Value};

use crate::approval;
use crate::args::Approvals;
use crate::commands::{ask, printed, session_journal};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::approvals as show;
use crate::render::plain::DIM;

/// Lists, shows or answers approvals.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub async fn run(approvals: Approvals, registry: &Registry) -> Result<Exit, CommandError> {
    let (Approvals::Allow { source, .. }
    | Approvals::Deny { source, .. }
    | Approvals::List { source, .. }
    | Approvals::Show { source, .. }) = &approvals;
    // Invalid arguments are reported before the journal is opened.
    let answer = answer(&approvals)?;
    let access = match &approvals {
        Approvals::Allow { .. } | Approvals::Deny { .. } => session_journal::JournalAccess::Write,
        Approvals::List { .. } | Approvals::Show { .. } => session_journal::JournalAccess::Read,
    };
    let journal =
        session_journal::open(&ask::flags_without_servers(source), access, registry).await?;
    let done = perform(&approvals, answer, &journal.engine).await;
    journal.close().await;
    done
}

async fn perform(
    approvals: &Approvals,
    answer: Option<ApprovalAnswer>,
    engine: &Engine,
) -> Result<Exit, CommandError> {
    let out = &mut anstream::stdout();
    match (approvals, answer) {
        (Approvals::List { json, most, .. }, _) => {
            let now = engine.now();
            let query = WaitQuery {
                limit: usize::try_from(*most).unwrap_or(usize::MAX),
                ..WaitQuery::default()
            };
            // Expired questions cannot be answered; the next driver of the turn closes them.
            let can_be_answered = |listed: &ListedWait| listed.row.wait.deadline >= now;
            let page = engine.open_questions(&query, can_be_answered).await?;
            let mut open = engine.load_questions(&page.waits).await?;
            open.retain(|asked| asked.end.is_none());
            let are_all = page.next.is_none();
            let printed = show::list(out, &open, now, *json);
            let exit = printed::finish(printed, Exit::Answered)?;
            if !are_all {
                let note = format!("more than these {most} wait: `--most` lists more of them");
                anstream::eprintln!("{DIM}{note}{DIM:#}");
            }
            Ok(exit)
        }
        (Approvals::Show { id, json, .. }, _) => {
            let question = find(engine, id).await?;
            printed::finish(
                show::one(out, &question, engine.now(), *json),
                Exit::Answered,
            )
        }
        (Approvals::Allow { id, json, .. } | Approvals::Deny { id, json, .. }, Some(answer)) => {
            let question = find(engine, id).await?;
            let (said, asked) = deliver(engine, question, answer).await?;
            let exit = match said {
                DeliveryOutcome::Accepted | DeliveryOutcome::AlreadyThere => Exit::Answered,
                DeliveryOutcome::Closed { .. } | DeliveryOutcome::NoSuchWait => Exit::TooLate,
            };
            printed::finish(show::outcome(out, &asked, &said, engine.now(), *json), exit)
        }
        (Approvals::Allow { .. } | Approvals::Deny { .. }, None) => Ok(Exit::Internal),
    }
}

enum ApprovalAnswer {
    Allow {
        /// Whether a call that may act a second time runs again.
        again: bool,
        edited: Option<Arc<Map<String, Value>>>,
        for_session: bool,
    },
    Deny(Arc<str>),
}

fn answer(approvals: &Approvals) -> Result<Option<ApprovalAnswer>, CommandError> {
    match approvals {
        Approvals::Allow {
            again,
            edit,
            session,
            ..
        } => Ok(Some(ApprovalAnswer::Allow {
            again: *again,
            edited: edit.as_deref().map(edited).transpose()?,
            for_session: *session,
        })),
        Approvals::Deny { reason, .. } => {
            let reason = reason.as_deref().unwrap_or_default().trim();
            Ok(Some(ApprovalAnswer::Deny(reason.into())))
        }
        Approvals::List { .. } | Approvals::Show { .. } => Ok(None),
    }
}

/// The arguments in the text, or in the file that it names with `@`.
fn edited(text: &str) -> Result<Arc<Map<String, Value>>, CommandError> {
    let text = match text.strip_prefix('@') {
        Some(path) => {
            let unreadable = |error: &std::io::Error| {
                CommandError::new(Exit::Usage, format!("`{path}` cannot be read")).with_cause(error)
            };
            let length = std::fs::metadata(path)
                .map_err(|error| unreadable(&error))?
                .len();
            if length > MAX_BYTES {
                return Err(CommandError::new(
                    Exit::Usage,
                    format!("`{path}` is larger than 4 MiB"),
                ));
            }
            std::fs::read_to_string(path).map_err(|error| unreadable(&error))?
        }
        None => text.to_owned(),
    };
    // Empty input could be a mistake, so it does not count as empty arguments.
    let input = JsonInput::parse(if text.trim().is_empty() {
        "null"
    } else {
        &text
    });
    let fields = input.object().map(Arc::clone).map_err(|fault| {
        let mut wrong = CommandError::new(Exit::Usage, "the arguments are not a JSON object");
        wrong.causes.push(fault.to_owned());
        wrong.with_help(r#"jackfield approvals allow ID --edit '{"path": "draft.txt"}'"#)
    })?;
    Ok(fields)
}

/// The only question whose id begins with this text.
async fn find(engine: &Engine, id: &str) -> Result<OpenQuestion, CommandError> {
    let id = id.trim();
    let mut found = if id.is_empty() {
        Vec::new()
    } else {
        engine.find_questions(id).await?
    };
    match (found.pop(), found.len()) {
        (Some(asked), 0) => Ok(asked),
        (Some(_), others) => {
            let message = format!("`{id}` is how the ids of {} questions begin", others + 1);
            Err(CommandError::new(Exit::Usage, message).with_help("give more of the id"))
        }
        (None, _) => {
            let message = format!("there is no question `{id}`");
            let help = "`jackfield approvals list` shows those that are open";
            Err(CommandError::new(Exit::Usage, message).with_help(help))
        }
    }
}

/// Puts the answer into the inbox, and returns the question as it is afterwards.
async fn deliver(
    engine: &Engine,
    question: OpenQuestion,
    answering: ApprovalAnswer,
) -> Result<(DeliveryOutcome, OpenQuestion), CommandError> {
    let wait = &question.wait;
    let answer = match (answering, &wait.kind) {
        (
            ApprovalAnswer::Allow {
                edited: Some(_), ..
            },
            WaitKind::UnknownOutcome,
        ) => {
            let message = "its outcome is not known: it can be run again only as it was";
            return Err(CommandError::new(Exit::Usage, message).with_help("leave `--edit` out"));
        }
        (
            ApprovalAnswer::Allow {
                edited: Some(_), ..
            },
            _,
        ) if matches!(question.input, Some(ToolInput::Text(_))) => {
            let message = "this call has no JSON arguments that could be edited";
            return Err(CommandError::new(Exit::Usage, message).with_help("leave `--edit` out"));
        }
        (
            ApprovalAnswer::Allow {
                for_session: true, ..
            },
            WaitKind::UnknownOutcome,
        ) => {
            let message = "its outcome is not known: this call alone can be run again";
            return Err(CommandError::new(Exit::Usage, message).with_help("leave `--session` out"));
        }
        (
            ApprovalAnswer::Allow {
                edited,
                for_session,
                ..
            },
            WaitKind::Budget { .. },
        ) if edited.is_some() || for_session => {
            let message = "a turn that waits for its budget can only be let go on";
            let help = "leave `--edit` and `--session` out";
            return Err(CommandError::new(Exit::Usage, message).with_help(help));
        }
        (ApprovalAnswer::Allow { again: false, .. }, WaitKind::UnknownOutcome)
            if !question
                .tool
                .as_ref()
                .is_some_and(|tool| tool.safety == Safety::ReadOnly) =>
        {
            let name = question.tool.as_ref().map(|tool| &tool.definition.name);
            let name = name.map_or("the call", |name| name.as_str());
            let message = format!("its outcome is not known: `{name}` may act a second time");
            let help = "`--again` runs it again, and `jackfield approvals deny` tells the model";
            return Err(CommandError::new(Exit::Usage, message).with_help(help));
        }
        (ApprovalAnswer::Allow { .. }, WaitKind::UnknownOutcome) => {
            Answer::UnknownOutcome(UnknownAnswer::Retry)
        }
        (ApprovalAnswer::Deny(reason), WaitKind::UnknownOutcome) if !reason.is_empty() => {
            let message = "its outcome is not known: a no has the model told so, and nothing else";
            return Err(CommandError::new(Exit::Usage, message).with_help("leave `--reason` out"));
        }
        (ApprovalAnswer::Deny(_), WaitKind::UnknownOutcome) => {
            Answer::UnknownOutcome(UnknownAnswer::Report)
        }
        (
            ApprovalAnswer::Allow {
                edited: None,
                for_session: false,
                ..
            },
            WaitKind::Elicitation { question, .. },
        ) if question.schema.is_none() => {
            let content = Value::Object(Map::new());
            Answer::Elicitation(ElicitationAnswer::Accepted(Arc::new(content)))
        }
        (ApprovalAnswer::Allow { .. }, WaitKind::Elicitation { .. }) => {
            let message = "the tool asks for more than a yes";
            let help = "answer it on the page of `jackfield serve`, or over its API";
            return Err(CommandError::new(Exit::Usage, message).with_help(help));
        }
        (ApprovalAnswer::Deny(_), WaitKind::Elicitation { .. }) => {
            Answer::Elicitation(ElicitationAnswer::Declined)
        }
        (
            ApprovalAnswer::Allow {
                edited,
                for_session,
                ..
            },
            _,
        ) => Answer::Approval(Approval::Granted {
            edited,
            for_session,
        }),
        (ApprovalAnswer::Deny(reason), _) => Answer::Approval(Approval::Denied { reason }),
    };
    let body = DeliveryBody::Answer {
        answer,
        wait: wait.id.clone(),
    };
    let id = approval::delivery_id(wait.id.as_str());
    let id = id.map_err(|error| CommandError::new(Exit::Internal, error.to_string()))?;
    let by = format!("{}, by `jackfield approvals`", approval::user());
    let outcome = engine.deliver(&question.session, id, by, body).await?;
    let now = engine.find_questions(wait.id.as_str()).await?.pop();
    Ok((outcome, now.unwrap_or(question)))
}

/// The maximum size of arguments, in bytes.
const MAX_BYTES: u64 = 4 << 20;
