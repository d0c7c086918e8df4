//! A person who is asked, on a thread of their own: nothing else can wait for a line.

use std::collections::BTreeSet;
use std::fmt;

use jackfield_domain::digest::Digest;
use tokio::sync::mpsc;

use crate::approval::Terminal;
use crate::editor::LineEditor;
use crate::render::Manner;

/// What is asked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Question {
    /// An answer to something else.
    Answer {
        /// What stands there to be edited.
        initial: String,
        /// What stands before the line.
        prompt: &'static str,
    },
    /// The next message.
    Message,
}

/// What a person says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Said {
    /// Nothing: the person is gone.
    Gone,
    /// Nothing: Ctrl-C was pressed where there was nothing to clear.
    Interrupted,
    /// This.
    Line(String),
}

/// A person, and what they have said for good.
pub struct Person {
    /// The tools that need not be asked about any more, as they were defined then.
    pub(crate) all: BTreeSet<(String, Digest)>,
    asked: bool,
    manner: Manner,
    said: mpsc::UnboundedReceiver<Said>,
    wanted: std::sync::mpsc::Sender<Question>,
}

impl fmt::Debug for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Person")
            .field("all", &self.all)
            .field("manner", &self.manner)
            .finish_non_exhaustive()
    }
}

impl Person {
    /// A person who answers behind the question, as the terminal lets them.
    #[must_use]
    pub fn at(mut terminal: Terminal) -> Self {
        Self::by(Manner::Inline, move |_| match terminal.line() {
            Some(line) => Said::Line(line),
            None => Said::Gone,
        })
    }

    /// A person who has a line to edit.
    pub(crate) fn editing(mut editor: LineEditor) -> Self {
        Self::by(Manner::Below, move |question| editor.ask(question))
    }

    /// Nobody who could be asked anything: messages come from elsewhere.
    pub(crate) fn piped(mut next: impl FnMut() -> Option<String> + Send + 'static) -> Self {
        Self::by(Manner::Inline, move |_| {
            next().map_or(Said::Gone, Said::Line)
        })
    }

    fn by(manner: Manner, mut ask: impl FnMut(Question) -> Said + Send + 'static) -> Self {
        let (wanted, wants) = std::sync::mpsc::channel();
        let (answers, said) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            while let Ok(question) = wants.recv() {
                if answers.send(ask(question)).is_err() {
                    break;
                }
            }
        });
        Self {
            all: BTreeSet::new(),
            asked: false,
            manner,
            said,
            wanted,
        }
    }

    pub(crate) const fn manner(&self) -> Manner {
        self.manner
    }

    /// Asks; whoever is being asked already answers this in place of that.
    pub(crate) fn ask(&mut self, question: Question) {
        if !std::mem::replace(&mut self.asked, true) {
            // A thread that is gone has said so.
            let _asked = self.wanted.send(question);
        }
    }

    /// What is said. Can be dropped at any time without losing it.
    pub(crate) async fn said(&mut self) -> Said {
        let said = self.said.recv().await.unwrap_or(Said::Gone);
        self.asked = false;
        said
    }
}
