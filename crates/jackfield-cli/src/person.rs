//! A person who is asked, on a thread of their own: nothing else can wait for a line.

use std::fmt;
use std::io;
use std::time::Duration;

use tokio::sync::mpsc;

use crate::approval::Terminal;
use crate::editor::{ExternalPrinter, LineEditor};
use crate::render::PromptPlace;
use crate::withdrawal::{ReadQuestion as Open, Withdrawal};

/// What is asked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PersonQuestion {
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
pub enum PersonAnswer {
    /// Nothing: the person is gone.
    Gone,
    /// Nothing: Ctrl-C was pressed where there was nothing to clear.
    Interrupted,
    /// This.
    Line(String),
}

/// A person.
pub struct Person {
    /// Prints above the line that they edit, if they do.
    above: Option<ExternalPrinter>,
    /// The question that they are at.
    asked: Option<u64>,
    manner: PromptPlace,
    said: mpsc::UnboundedReceiver<(u64, PersonAnswer)>,
    wanted: std::sync::mpsc::Sender<(Open, PersonQuestion)>,
    withdrawal: Withdrawal,
}

impl fmt::Debug for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Person")
            .field("manner", &self.manner)
            .finish_non_exhaustive()
    }
}

impl Person {
    /// A person who answers behind the question, as the terminal lets them.
    #[must_use]
    pub fn at(mut terminal: Terminal) -> Self {
        Self::by(PromptPlace::Inline, move |_, open| {
            match terminal.line(open) {
                Some(line) => PersonAnswer::Line(line),
                None => PersonAnswer::Gone,
            }
        })
    }

    /// A person who has a line to edit.
    pub(crate) fn editing(mut editor: LineEditor) -> Self {
        let above = editor.above();
        let person = Self::by(PromptPlace::Below, move |question, open| {
            editor.ask(question, open)
        });
        Self { above, ..person }
    }

    /// Nobody who could be asked anything: messages come from elsewhere.
    pub(crate) fn piped(mut next: impl FnMut() -> Option<String> + Send + 'static) -> Self {
        Self::by(PromptPlace::Inline, move |_, _| {
            next().map_or(PersonAnswer::Gone, PersonAnswer::Line)
        })
    }

    fn by(
        manner: PromptPlace,
        mut ask: impl FnMut(PersonQuestion, &Open) -> PersonAnswer + Send + 'static,
    ) -> Self {
        let (wanted, wants) = std::sync::mpsc::channel::<(Open, PersonQuestion)>();
        let (answers, said) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            while let Ok((open, question)) = wants.recv() {
                let number = open.number();
                if answers.send((number, ask(question, &open))).is_err() {
                    break;
                }
            }
        });
        Self {
            above: None,
            asked: None,
            manner,
            said,
            wanted,
            withdrawal: Withdrawal::default(),
        }
    }

    pub(crate) const fn manner(&self) -> PromptPlace {
        self.manner
    }

    /// Shows this, above the line that they are editing, if they are.
    ///
    /// # Errors
    ///
    /// Nothing can be shown now.
    pub(crate) fn show(&self, text: String) -> io::Result<()> {
        match &self.above {
            Some(above) => above(text),
            None => io::Write::write_all(&mut io::stderr(), text.as_bytes()),
        }
    }

    /// Whether they can be shown something while they are being asked.
    pub(crate) const fn can_be_shown(&self) -> bool {
        self.above.is_some()
    }

    /// Asks; whoever is being asked already answers this in place of that.
    pub(crate) fn ask(&mut self, question: PersonQuestion) {
        if self.asked.is_none() {
            let open = self.withdrawal.open();
            self.asked = Some(open.number());
            // A thread that is gone has said so.
            let _asked = self.wanted.send((open, question));
        }
    }

    /// What is said. Can be dropped at any time without losing it.
    pub(crate) async fn said(&mut self) -> PersonAnswer {
        loop {
            match self.said.recv().await {
                // What is typed at a question that was taken back answers no other one.
                Some((number, _)) if self.asked != Some(number) => {}
                Some((_, said)) => {
                    self.asked = None;
                    return said;
                }
                None => return PersonAnswer::Gone,
            }
        }
    }

    /// Takes the question back that they are at. Whoever types already finishes their line, which is
    /// thrown away.
    pub(crate) async fn withdraw(&mut self) {
        let Some(asked) = self.asked.take() else {
            return;
        };
        self.withdrawal.withdraw();
        // The line is cleared before anything else is printed.
        let gone = async {
            while let Some((number, _)) = self.said.recv().await {
                if number == asked {
                    break;
                }
            }
        };
        let _typing = tokio::time::timeout(CLEARING, gone).await;
    }
}

/// How long it takes at most to clear a line at which nobody types.
const CLEARING: Duration = Duration::from_millis(200);
