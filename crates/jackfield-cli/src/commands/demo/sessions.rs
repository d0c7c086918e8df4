//! The sessions that the demo's page begins with: turns of the demo model over its tools.

use jackfield_domain::fact::Fact;
use jackfield_domain::message::Message;
use jackfield_domain::policy::{PolicyRule, RuleVerdict};
use jackfield_domain::session_events::SessionEvent;
use jackfield_domain::setup::Opening;
use jackfield_engine::{Engine, SendMessage, TurnOptions};

use crate::commands::ask;
use crate::fault::CommandError;

/// Plays them: a finished one, one that waits for an approval, and one with a call whose outcome is unknown.
///
/// # Errors
///
/// [`CommandError`]: a turn cannot be driven.
pub(super) async fn play(engine: &Engine, options: &TurnOptions) -> Result<(), CommandError> {
    // Its server breaks off after the first invoice, so only this call of it is not asked about.
    let mut sends = options.clone();
    sends.policy.rules.push(PolicyRule {
        pattern: format!("{INVOICES}/*").into(),
        verdict: RuleVerdict::Allow,
    });
    tokio::try_join!(
        converse(engine, options, FINISHED),
        converse(engine, options, APPROVAL),
        converse(engine, &sends, UNKNOWN),
    )?;
    Ok(())
}

/// A session with these messages, until the last turn has ended or waits.
async fn converse(
    engine: &Engine,
    options: &TurnOptions,
    messages: &[&str],
) -> Result<(), CommandError> {
    let session = ask::new_session()?;
    for message in messages {
        let begun = engine.begin(SendMessage {
            opening: Opening::UserMessage(Message::user(*message).into()),
            options: options.clone(),
            session: session.clone(),
        });
        let mut watcher = begun.await?.watcher;
        loop {
            let (_, event) = watcher.next().await?;
            if let SessionEvent::Fact { fact, .. } = event
                && matches!(*fact, Fact::TurnEnded { .. } | Fact::WaitOpened { .. })
            {
                break;
            }
        }
    }
    Ok(())
}

const APPROVAL: &[&str] = &["Add a note: Tea for Lin. She likes the green one."];
const FINISHED: &[&str] = &[
    "All notes about React, friends' too",
    "As a table: 15% of 2500, 12 * 12, sqrt(2) * 10, and what time is it in Tokyo and Paris?",
];
/// The id of the server of invoices.
pub(super) const INVOICES: &str = "demo-invoices";
const UNKNOWN: &[&str] = &["Send invoice 7."];
