//! A person at the terminal. A thread of its own waits for their input, since a blocking read would stop
//! everything else.

use std::fmt;
use std::io::{self, IsTerminal as _};
use std::time::Duration;

use tokio::sync::mpsc;

use crate::approval::Terminal;
use crate::editor::{ExternalPrinter, LineEditor};
pub use crate::prompt::{PersonAnswer, PersonQuestion};
use crate::render::PromptPlace;
use crate::standing_rules::StandingRules;
use crate::withdrawal::{ReadQuestion as Open, Withdrawal};

/// A person at the terminal, or piped input.
pub struct Person {
    /// Prints above the edited line, if there is one.
    print_above: Option<ExternalPrinter>,
    /// The number of the open question.
    open_question: Option<u64>,
    prompt_place: PromptPlace,
    rules: StandingRules,
    answers: mpsc::UnboundedReceiver<(u64, PersonAnswer)>,
    questions: std::sync::mpsc::Sender<(Open, PersonQuestion)>,
    withdrawal: Withdrawal,
}

impl fmt::Debug for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Person")
            .field("manner", &self.prompt_place)
            .finish_non_exhaustive()
    }
}

impl Person {
    /// The person at the terminal of this process, unless the output is for a program.
    pub(crate) fn at_terminal(for_program: bool) -> Option<Self> {
        if for_program || !io::stderr().is_terminal() {
            return None;
        }
        Terminal::open().ok().map(Self::from_terminal)
    }

    /// A person who answers after the question, without line editing.
    #[must_use]
    pub fn from_terminal(mut terminal: Terminal) -> Self {
        Self::spawn_reader(PromptPlace::Inline, move |_, open| {
            match terminal.line(open) {
                Some(line) => PersonAnswer::Line(line),
                None => PersonAnswer::Gone,
            }
        })
    }

    /// A person with a line editor.
    pub(crate) fn with_editor(mut editor: LineEditor) -> Self {
        let above = editor.external_printer();
        let person = Self::spawn_reader(PromptPlace::Below, move |question, open| {
            editor.ask(question, open)
        });
        Self {
            print_above: above,
            ..person
        }
    }

    /// Piped messages; questions cannot be answered.
    pub(crate) fn piped(mut next: impl FnMut() -> Option<String> + Send + 'static) -> Self {
        Self::spawn_reader(PromptPlace::Inline, move |_, _| {
            next().map_or(PersonAnswer::Gone, PersonAnswer::Line)
        })
    }

    fn spawn_reader(
        prompt_place: PromptPlace,
        mut ask: impl FnMut(PersonQuestion, &Open) -> PersonAnswer + Send + 'static,
    ) -> Self {
        let (questions, question_receiver) = std::sync::mpsc::channel::<(Open, PersonQuestion)>();
        let (answers, answer_receiver) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            while let Ok((open, question)) = question_receiver.recv() {
                let number = open.number();
                if answers.send((number, ask(question, &open))).is_err() {
                    break;
                }
            }
        });
        Self {
            print_above: None,
            open_question: None,
            prompt_place,
            rules: StandingRules::default(),
            answers: answer_receiver,
            questions,
            withdrawal: Withdrawal::default(),
        }
    }

    /// A person who can add these rules.
    #[must_use]
    pub fn with_rules(self, rules: StandingRules) -> Self {
        Self { rules, ..self }
    }

    /// What the person has allowed beyond one call.
    pub(crate) const fn rules(&self) -> &StandingRules {
        &self.rules
    }

    /// The same, to add to it.
    pub(crate) const fn rules_mut(&mut self) -> &mut StandingRules {
        &mut self.rules
    }

    pub(crate) const fn prompt_place(&self) -> PromptPlace {
        self.prompt_place
    }

    /// Shows a text, above the edited line if there is one.
    ///
    /// # Errors
    ///
    /// Nothing can be shown now.
    pub(crate) fn show(&self, text: String) -> io::Result<()> {
        match &self.print_above {
            Some(above) => above(text),
            None => io::Write::write_all(&mut io::stderr(), text.as_bytes()),
        }
    }

    /// Whether text can be shown while a question is open.
    pub(crate) const fn can_show(&self) -> bool {
        self.print_above.is_some()
    }

    /// Asks a question. If one is open already, its answer counts for this one.
    pub(crate) fn ask(&mut self, question: PersonQuestion) {
        if self.open_question.is_none() {
            let open = self.withdrawal.open();
            self.open_question = Some(open.number());
            // A stopped thread has already reported the end of input.
            let _asked = self.questions.send((open, question));
        }
    }

    /// The next input. Cancel-safe: dropping the future loses nothing.
    pub(crate) async fn next_answer(&mut self) -> PersonAnswer {
        loop {
            match self.answers.recv().await {
                // Input for a withdrawn question answers no other one.
                Some((number, _)) if self.open_question != Some(number) => {}
                Some((_, said)) => {
                    self.open_question = None;
                    return said;
                }
                None => return PersonAnswer::Gone,
            }
        }
    }

    /// Withdraws the open question. A line that is being typed is finished and discarded.
    pub(crate) async fn withdraw(&mut self) {
        let Some(open_number) = self.open_question.take() else {
            return;
        };
        self.withdrawal.withdraw();
        // The line is cleared before anything else is printed.
        let drained = async {
            while let Some((number, _)) = self.answers.recv().await {
                if number == open_number {
                    break;
                }
            }
        };
        let _typing = tokio::time::timeout(CLEARING, drained).await;
    }
}

/// The longest time to clear an idle line.
const CLEARING: Duration = Duration::from_millis(200);
