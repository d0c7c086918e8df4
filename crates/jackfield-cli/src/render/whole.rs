//! Renders a turn for programs that only need the result: one JSON document, as docs/cli.md describes.

use std::io::{self, Write};

use jackfield_domain::wait::{Wait, WaitEnd};
use jackfield_engine::{AnswerFit, TurnReport};
use serde_json::{Value, json};

use crate::render::event::RenderEvent;
use crate::render::json::ended;
use crate::render::tools::document;
use crate::render::{PromptPlace, QuestionPrompt, SavedFiles, TurnRenderer};

/// Renders the result for a program, and the turn in progress for a person.
pub(super) struct WholeRenderer<O> {
    files: Option<SavedFiles>,
    out: O,
    progress: Box<dyn TurnRenderer>,
}

impl<O: Write + Send> WholeRenderer<O> {
    /// A renderer that writes to this stream, and shows progress through another one.
    pub(super) fn new(out: O, progress: Box<dyn TurnRenderer>) -> Self {
        Self {
            files: None,
            out,
            progress,
        }
    }

    /// Saves the files of results.
    pub(super) fn saving(self, files: Option<SavedFiles>) -> Self {
        Self { files, ..self }
    }
}

impl<O: Write + Send> TurnRenderer for WholeRenderer<O> {
    fn show(&mut self, event: &RenderEvent) -> io::Result<()> {
        self.progress.show(event)
    }

    fn show_question(&mut self, wait: &Wait, prompt: &QuestionPrompt) -> io::Result<()> {
        self.progress.show_question(wait, prompt)
    }

    fn show_answer(
        &mut self,
        wait: &Wait,
        end: &WaitEnd,
        prompt_place: PromptPlace,
    ) -> io::Result<()> {
        self.progress.show_answer(wait, end, prompt_place)
    }

    fn show_remark(&mut self, remark: &str) -> io::Result<()> {
        self.progress.show_remark(remark)
    }

    fn finish(&mut self, report: &TurnReport, fit: &AnswerFit) -> io::Result<()> {
        self.progress.finish(report, fit)?;
        let mut whole = ended(report, self.files.as_mut())?;
        // Programs rely on the form of `parsed`.
        let (parsed, misfit) = match fit {
            AnswerFit::Fits(value) | AnswerFit::Unchecked { value, .. } => (value.clone(), None),
            AnswerFit::Free => (Value::Null, None),
            AnswerFit::Misfit(what) => (Value::Null, Some(what)),
        };
        if let Value::Object(fields) = &mut whole {
            fields.insert("parsed".to_owned(), parsed);
            fields.insert("misfit".to_owned(), json!(misfit));
        }
        document(&mut self.out, &whole)
    }
}
