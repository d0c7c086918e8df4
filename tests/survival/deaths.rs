//! One life of the program, and its death.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;
use tokio::time::{Instant, sleep_until, timeout};

use crate::started::Started;

/// When the program is killed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum When {
    /// So long after it has told that the turn is accepted.
    AfterAcceptance(Duration),
    /// So long after it was started.
    AfterStart(Duration),
    /// At a named place, for the nth time.
    At(&'static str, u64),
    Never,
}

impl When {
    /// What the program is told about it.
    pub(crate) fn crash(self) -> Option<String> {
        match self {
            Self::At(place, nth) => Some(format!("{place}:{nth}")),
            Self::AfterAcceptance(_) | Self::AfterStart(_) | Self::Never => None,
        }
    }
}

/// A life that is over.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) code: Option<i32>,
    pub(crate) told: Vec<Value>,
    pub(crate) was_killed: bool,
    pub(crate) wrong: String,
}

impl Life {
    /// The same, killed by us or not.
    pub(crate) fn killed(self, was_killed: bool) -> Self {
        Self { was_killed, ..self }
    }
}

/// A life that ended so.
pub(crate) fn over(status: ExitStatus, told: Vec<Value>, wrong: String) -> Life {
    Life {
        code: status.code(),
        told,
        was_killed: status.signal() == Some(KILL),
        wrong,
    }
}

/// Lives until it ends by itself or is killed.
pub(crate) async fn live(program: Command, when: When) -> Life {
    let mut started = Started::new(program);
    let mut hour = match when {
        When::AfterStart(time) => Some(Instant::now() + time),
        When::AfterAcceptance(_) | When::At(..) | When::Never => None,
    };
    let living = async {
        loop {
            let end = async {
                match hour {
                    Some(hour) => sleep_until(hour).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = end => return started.kill(),
                told = started.next() => {
                    let Some(told) = told else { return };
                    if let When::AfterAcceptance(time) = when
                        && told["event"] == "turn_started"
                    {
                        hour = Some(Instant::now() + time);
                    }
                }
            }
        }
    };
    let lived = timeout(TIME_LIMIT, living).await;
    assert!(lived.is_ok(), "it does not end: {when:?}");
    started.end().await
}

const KILL: i32 = 9;
/// How long anything may take.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(60);
