//! A turn for programs that want no more than its end: one JSON document, as docs/cli.md describes it.

use std::io::{self, Write};

use jackfield_domain::wait::Wait;
use jackfield_engine::TurnReport;
use serde_json::Value;

use crate::render::event::Event;
use crate::render::json::ended;
use crate::render::tools::document;
use crate::render::{Manner, View};

/// Shows a turn to a program when it has ended, and to a person meanwhile.
pub(super) struct Whole<O> {
    is_json: bool,
    out: O,
    told: Box<dyn View>,
}

impl<O: Write + Send> Whole<O> {
    /// A view that writes to this stream, and has a person told on the way.
    pub(super) fn new(out: O, told: Box<dyn View>, is_json: bool) -> Self {
        Self { is_json, out, told }
    }
}

impl<O: Write + Send> View for Whole<O> {
    fn show(&mut self, event: &Event) -> io::Result<()> {
        self.told.show(event)
    }

    fn ask(&mut self, wait: &Wait, manner: Manner) -> io::Result<()> {
        self.told.ask(wait, manner)
    }

    fn say(&mut self, remark: &str) -> io::Result<()> {
        self.told.say(remark)
    }

    fn finish(&mut self, report: &TurnReport) -> io::Result<()> {
        self.told.finish(report)?;
        let mut whole = ended(report);
        // An answer that was asked for as JSON need not be any, as when it was cut off.
        let parsed = serde_json::from_str(&report.answer()).ok();
        let parsed: Value = parsed.filter(|_| self.is_json).unwrap_or_default();
        if let Value::Object(fields) = &mut whole {
            fields.insert("parsed".to_owned(), parsed);
        }
        document(&mut self.out, &whole)
    }
}
