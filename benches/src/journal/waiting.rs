//! What a turn costs while it waits for a person: in the file, and in the memory of the process that began it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use jackfield_domain::message::Message;
use jackfield_domain::setup::Opening;
use jackfield_engine::SendMessage;
use jackfield_ports::journal::Journal as _;
use jackfield_ports::journal::sessions::WaitQuery;
use jackfield_store_sqlite::{Options, SqliteJournal};
use tokio::runtime::Runtime;

use crate::ours::Ours;
use crate::plan::Plan;
use crate::process::{Provider, beside};

/// What each turn costs, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// In the file, its log included.
    pub file: u64,
    /// In memory, where that can be known: what the process grew by after the first hundred.
    pub memory: Option<u64>,
}

/// Has so many turns wait, in a process of its own.
///
/// # Errors
///
/// If anything fails.
pub fn measure(turns: usize) -> anyhow::Result<Waiting> {
    let folder = super::folder()?;
    let file = folder.path().join("journal.db");
    let provider = Provider::start()?;
    let output = Command::new(std::env::current_exe()?)
        .args(["--wait".as_ref(), file.as_os_str()])
        .args([&turns.to_string(), &provider.base_url])
        .stderr(Stdio::inherit())
        .output()?;
    let said = String::from_utf8(output.stdout)?;
    ensure!(output.status.success(), "the turns do not wait: {said}");
    let mut numbers = said.split_whitespace().map(str::parse::<u64>);
    let mut number = || {
        numbers
            .next()
            .context("too few figures")?
            .context("no figure")
    };
    let (before, after, bytes) = (number()?, number()?, number()?);
    let grown = after.saturating_sub(before) * 1024;
    Ok(Waiting {
        file: bytes / u64::try_from(turns + WARM_UP)?,
        memory: (before > 0).then(|| grown / u64::try_from(turns).unwrap_or(u64::MAX).max(1)),
    })
}

/// Begins so many turns, each of which asks for a word, and says what the process had before and has
/// now, in KiB, and the bytes of the file.
///
/// # Errors
///
/// If anything fails.
pub fn wait(
    runtime: &Runtime,
    file: &Path,
    turns: usize,
    base_url: &str,
) -> anyhow::Result<[u64; 3]> {
    let server = [beside("bench-echo")?.display().to_string()];
    runtime.block_on(async {
        let journal = Arc::new(SqliteJournal::open(file, Options::default())?);
        let on = Arc::<SqliteJournal>::clone(&journal);
        let ours = Ours::start_on(on, base_url, &server).await?;
        begin(&ours, &journal, 0, WARM_UP).await?;
        let before = resident();
        begin(&ours, &journal, WARM_UP, turns).await?;
        let after = resident();
        ours.stop().await;
        journal.close().await;
        Ok([before, after, std::fs::metadata(file)?.len()])
    })
}

/// Begins turns and waits until all of them wait.
async fn begin(
    ours: &Ours,
    journal: &SqliteJournal,
    there: usize,
    turns: usize,
) -> anyhow::Result<()> {
    let mut options = ours.options.clone();
    options.policy.can_ask = true;
    for nth in there..there + turns {
        let text = Plan::one_round(1, 0).to_string();
        let begun = ours.engine.begin(SendMessage {
            opening: Opening::UserMessage(Arc::new(Message::user(text))),
            options: options.clone(),
            session: jackfield_domain::ids::SessionId::parse(&format!("waits_{nth}"))?,
        });
        drop(begun.await?);
    }
    let every = WaitQuery {
        limit: usize::MAX,
        ..WaitQuery::default()
    };
    while journal.waits(&every).await?.len() < there + turns {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Who has seen that it waits lets go of it.
    tokio::time::sleep(Duration::from_millis(200)).await;
    Ok(())
}

/// What of this process is in memory and its own, in KiB; 0 where that cannot be known.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// How many turns wait before memory is looked at: pools and caches are full then.
const WARM_UP: usize = 100;
