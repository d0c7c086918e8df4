//! A journal as text: its sessions, what was said in them, and the kinds of everything in it. It is kept
//! beside a fixture, so that a change that loses something is seen.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use jackfield_domain::block::Content;
use jackfield_domain::fact::Fact;
use jackfield_domain::message::Message;
use jackfield_domain::setup::Opening;
use jackfield_domain::turn_log::SessionLog;
use jackfield_ports::journal::sessions::{SessionQuery, SessionRow};
use jackfield_ports::journal::spending::SpendingQuery;
use jackfield_ports::journal::{Journal as _, Loaded};
use jackfield_store_sqlite::{Options, SqliteJournal};

use super::kinds::Kind as _;
use super::seen::Seen;

/// Reads a whole journal.
pub(crate) async fn read(file: &Path) -> (String, Seen) {
    let journal = SqliteJournal::open(file, Options::default()).expect("the journal opens");
    let all = SessionQuery {
        limit: 1_000,
        ..SessionQuery::default()
    };
    let rows = journal.sessions(&all).await.expect("a list");
    let rows: BTreeMap<_, _> = rows
        .into_iter()
        .map(|row| (row.session.to_string(), row))
        .collect();
    let (mut text, mut seen) = (format!("{} sessions\n", rows.len()), Seen::default());
    for row in rows.values() {
        let loaded = journal.load(&row.session).await;
        let loaded = loaded.unwrap_or_else(|error| panic!("{}: {error}", row.session));
        session(&mut text, row, &loaded);
        let log = SessionLog::from_steps(&loaded.steps, &loaded.deliveries);
        for turn in log.turns {
            let alone = SessionLog::of_turn(&turn.turn, &loaded.steps, &loaded.deliveries);
            assert_eq!(alone, Some(turn), "{}", row.session);
        }
        loaded.steps.iter().for_each(|step| seen.step(step));
        let deliveries = loaded.deliveries.iter();
        deliveries.for_each(|delivery| seen.delivery(delivery));
    }
    let all = SpendingQuery {
        limit: 1_000,
        ..SpendingQuery::default()
    };
    let log = journal.spending().expect("a log");
    let page = log.records(&all).await.expect("a list");
    assert_eq!(page.unreadable, []);
    for record in &page.records {
        seen.spending();
        let (principal, usage) = (short(&record.principal), &record.usage);
        let used = format!("{} in, {} out", usage.input, usage.output);
        line(
            &mut text,
            &format!("spending {}: {principal}, {used}", record.id),
        );
    }
    journal.close().await;
    text.push('\n');
    for kind in &seen.0 {
        line(&mut text, kind);
    }
    (text, seen)
}

fn session(text: &mut String, row: &SessionRow, loaded: &Loaded) {
    let state = row.open.as_ref().map_or_else(
        || "at rest".to_owned(),
        |open| {
            let only = if open.only_waits { ", only waits" } else { "" };
            let parked = if open.parked { ", parked" } else { "" };
            format!("open{only}{parked}, {} questions", open.waits)
        },
    );
    line(text, "");
    line(
        text,
        &format!(
            "{}: {} turns, {} steps, {} deliveries, {state}",
            row.session,
            row.turns,
            row.steps,
            loaded.deliveries.len()
        ),
    );
    assert_eq!(row.unreadable, None, "{}", row.session);
    line(text, &format!("  title {}", short(&row.title)));
    for step in &loaded.steps {
        step.facts.iter().for_each(|told| fact(text, told));
    }
    for delivery in &loaded.deliveries {
        line(
            text,
            &format!("  {} by {}", delivery.body.label(), short(&delivery.by)),
        );
    }
}

fn fact(text: &mut String, fact: &Fact) {
    let more = match fact {
        Fact::CallClosed { end, result, .. } => {
            format!("{} {}", end.label(), short(&result.to_text()))
        }
        Fact::ModelCallEnded { why, partial, .. } => {
            let partial = partial.as_ref().map(|partial| short(&said(partial)));
            format!("{} {}", why.label(), partial.unwrap_or_default())
        }
        Fact::ReplyReceived { reply, .. } => {
            format!(
                "{} {}",
                reply.end.finish.label(),
                short(&said(&reply.message))
            )
        }
        Fact::SessionForked { messages, from, .. } => {
            format!("{} messages of {from}", messages.len())
        }
        Fact::SessionImported {
            messages, source, ..
        } => {
            format!("{} messages of {}", messages.len(), short(source))
        }
        Fact::TurnEnded { end, .. } => end.label().to_owned(),
        Fact::TurnOpened { opening, .. } => match opening {
            Opening::ClientResults(results) => format!("{} results", results.len()),
            Opening::Transcript(transcript) => {
                let messages = transcript.messages().iter();
                let all: Vec<String> = messages.map(|message| said(message)).collect();
                short(&all.join("|"))
            }
            Opening::UserMessage(message) => short(&said(message)),
        },
        Fact::WaitClosed { end, .. } => end.label().to_owned(),
        Fact::WaitOpened { wait } => wait.kind.label().to_owned(),
        Fact::BackendSession { .. }
        | Fact::Compacted(_)
        | Fact::CallAccepted { .. }
        | Fact::CallLost { .. }
        | Fact::CallStarted { .. }
        | Fact::Late(_)
        | Fact::ModelCallStarted { .. }
        | Fact::TurnResumed { .. } => String::new(),
    };
    line(text, format!("  {} {more}", fact.label()).trim_end());
}

/// The kinds of the blocks of a message, and its words.
fn said(message: &Message) -> String {
    let mut said = String::new();
    for block in &message.blocks {
        let kind = block.content.label();
        let kind = kind.rsplit('.').next().unwrap_or(kind);
        let _written = match &block.content {
            Content::Text(text) => write!(said, "[{kind}]{}", text.text),
            Content::Thinking(thinking) => {
                write!(said, "[{kind}]{}", thinking.text)
            }
            Content::ToolCall(call) => {
                write!(said, "[{kind}]{}", call.name.as_str())
            }
            Content::Audio(_)
            | Content::Document(_)
            | Content::Image(_)
            | Content::Opaque(_)
            | Content::Refusal(_)
            | Content::ToolOutcome(_) => write!(said, "[{kind}]"),
        };
    }
    said
}

/// The beginning of a text, in ASCII, and how long it is if that is not all.
fn short(text: &str) -> String {
    match text.char_indices().nth(MAX_LENGTH) {
        Some((end, _)) => format!("{}.. ({} bytes)", text[..end].escape_default(), text.len()),
        None => text.escape_default().to_string(),
    }
}

fn line(text: &mut String, line: &str) {
    text.push_str(line.trim_end());
    text.push('\n');
}

const MAX_LENGTH: usize = 60;
