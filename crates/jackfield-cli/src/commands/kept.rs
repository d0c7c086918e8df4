//! The journal of a command: opened while the rest is made ready, and closed in order.

use std::time::Duration;

use jackfield_assembly::{Config, JournalError, OpenJournal, Origin};
use tokio::task::JoinHandle;

use crate::exit::Exit;
use crate::fault::Fault;
use crate::render;

/// A journal that is being opened.
pub(crate) struct Opening(JoinHandle<Result<OpenJournal, JournalError>>);

/// Begins to open the journal of this configuration; what else has to be made ready can be made meanwhile.
pub(crate) fn begin(config: &Config) -> Opening {
    let config = config.clone();
    Opening(tokio::task::spawn_blocking(move || config.open_journal()))
}

impl Opening {
    /// The journal. Says so where nothing can be kept.
    ///
    /// # Errors
    ///
    /// A [`Fault`] if a file was named and cannot be opened.
    pub(crate) async fn opened(self) -> Result<OpenJournal, Fault> {
        let opened = self.result().await?;
        if let Some(unkept) = &opened.unkept {
            let causes = unkept.causes.join(": ");
            let help = unkept.help;
            render::remark(&format!(
                "warning: what is said is not kept: {causes}; {help}"
            ));
        }
        Ok(opened)
    }

    async fn result(self) -> Result<OpenJournal, Fault> {
        match self.0.await {
            Ok(opened) => Ok(opened?),
            Err(error) => {
                let message = "the journal cannot be opened";
                Err(Fault::new(Exit::Internal, message).because(&error))
            }
        }
    }
}

/// Closes a journal in order, but holds nobody up for long: what was promised is in the file already.
pub(crate) async fn close(journal: &OpenJournal) {
    let _late = tokio::time::timeout(LONGEST_GOODBYE, journal.close()).await;
}

impl From<JournalError> for Fault {
    fn from(error: JournalError) -> Self {
        let message = error.to_string();
        let named = match error.place.origin {
            Origin::Default => "name another file with `--db FILE` or JACKFIELD_DB".to_owned(),
            Origin::File(_) | Origin::Flag(_) | Origin::Variable(_) | _ => format!(
                "name a file that can be written, or leave {} out",
                error.place.short()
            ),
        };
        let fault = Self::new(Exit::Configuration, message).because(&error.source);
        fault.with_help(named)
    }
}

/// How long the end of a command may wait for its journal.
const LONGEST_GOODBYE: Duration = Duration::from_secs(1);
