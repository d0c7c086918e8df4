//! The bot in front of a platform of lines: `ID AUTHOR TEXT` on standard input, `ID ANSWER` on standard output.

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;

use jackfield_assembly::{Flags, OpenJournal, Registry, Surroundings, load};
use jackfield_chat_bot::{Bot, ChatMessage};
use jackfield_gateway::{Gateway, GatewayConfig};
use tokio::io::{AsyncBufReadExt as _, BufReader, stdin};
use tokio::task::JoinSet;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let here = Surroundings::of_process()?;
    let config = load(&here, &Flags::default())?;
    let registry = Registry::default();
    let journal = registry.open_journal(&config)?;
    let prepared = registry.prepare(&config, &here.environment)?;
    let app = prepared.with_journal(Arc::clone(&journal.journal));
    let memory = OpenJournal::ephemeral().journal;
    let bot = Arc::new(Bot::new(Gateway::new(
        app.engine,
        memory,
        GatewayConfig::new(app.options),
    )));
    let mut answers = JoinSet::new();
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let mut words = line.splitn(3, ' ').map(str::to_owned);
        let (Some(id), Some(author), Some(text)) = (words.next(), words.next(), words.next())
        else {
            print("? expected `ID AUTHOR TEXT`");
            continue;
        };
        let bot = Arc::clone(&bot);
        answers.spawn(async move {
            let message = ChatMessage { id, author, text };
            match bot.answer(&message).await {
                Ok(answer) => print(&format!("{} {answer}", message.id)),
                Err(error) => print(&format!("{} cannot be answered: {error}", message.id)),
            }
        });
    }
    answers.join_all().await;
    journal.close().await;
    Ok(())
}

fn print(line: &str) {
    // A platform that is gone reads nothing.
    let _closed = writeln!(std::io::stdout(), "{line}");
}
