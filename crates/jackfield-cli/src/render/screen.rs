//! Coordinates the answer and the chrome on two streams, which may be one terminal or one file.

use std::io::{self, Write};

use crate::render::{self, wrap::wrapped};

/// Standard output for the answer, standard error for everything else (chrome).
///
/// A write error on standard error is ignored: the answer matters more.
#[derive(Debug)]
pub struct Screen<O, E> {
    err: E,
    last: LastPrinted,
    out: O,
    /// The position in the answer's stream alone.
    text: AnswerText,
    together: bool,
    wraps: bool,
}

/// The last output on either stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum LastPrinted {
    Chrome,
    Nothing,
    /// Chrome in the middle of a line.
    Part,
    Text,
}

/// The position in the answer's stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum AnswerText {
    AtLineStart,
    InLine,
    Nothing,
}

impl<O: Write, E: Write> Screen<O, E> {
    /// A screen; `together` says that both streams are the same terminal or file.
    pub const fn new(out: O, err: E, together: bool) -> Self {
        Self {
            err,
            last: LastPrinted::Nothing,
            out,
            text: AnswerText::Nothing,
            together,
            wraps: false,
        }
    }

    /// Sets whether chrome goes to a terminal, where its lines are wrapped between words.
    #[must_use]
    pub const fn wrapping(mut self, wraps: bool) -> Self {
        self.wraps = wraps;
        self
    }

    /// Begins a block of text after an empty line.
    pub fn begin(&mut self) -> io::Result<()> {
        self.end_part();
        let parted = match (self.together, self.last) {
            (true, LastPrinted::Nothing) => 0,
            (true, LastPrinted::Chrome | LastPrinted::Part) => 1,
            (true, LastPrinted::Text) | (false, _) => self.lines_to_empty(),
        };
        self.feed(parted)
    }

    /// Prints more of the answer.
    pub fn text(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.out.write_all(text.as_bytes())?;
        self.out.flush()?;
        self.text = if text.ends_with('\n') {
            AnswerText::AtLineStart
        } else {
            AnswerText::InLine
        };
        self.last = LastPrinted::Text;
        Ok(())
    }

    /// Prints a line of chrome.
    pub fn line(&mut self, line: impl std::fmt::Display) -> io::Result<()> {
        self.leave()?;
        if self.wraps {
            let line = wrapped(&line.to_string(), render::columns_of(&io::stderr()));
            self.write_chrome(format_args!("{line}\n"));
        } else {
            self.write_chrome(format_args!("{line}\n"));
        }
        Ok(())
    }

    /// Prints a piece of chrome, which the next piece continues.
    pub fn part(&mut self, part: impl std::fmt::Display) -> io::Result<()> {
        if self.last != LastPrinted::Part {
            self.leave()?;
        }
        self.write_chrome(format_args!("{part}"));
        self.last = LastPrinted::Part;
        Ok(())
    }

    /// Prints a question, whose answer ends the line.
    pub fn question(&mut self, question: impl std::fmt::Display) -> io::Result<()> {
        self.leave()?;
        self.write_chrome(format_args!("{question}"));
        Ok(())
    }

    /// Ends the answer with a line end.
    pub fn end(&mut self) -> io::Result<()> {
        self.feed(usize::from(self.text == AnswerText::InLine))
    }

    /// Moves to the start of a line, to print chrome. If both streams are one, an empty line separates it from
    /// the text before.
    pub fn leave(&mut self) -> io::Result<()> {
        self.end_part();
        if self.together && self.last == LastPrinted::Text {
            self.feed(self.lines_to_empty())?;
        }
        self.last = LastPrinted::Chrome;
        Ok(())
    }

    fn end_part(&mut self) {
        if self.last == LastPrinted::Part {
            self.write_chrome(format_args!("\n"));
            self.last = LastPrinted::Chrome;
        }
    }

    fn write_chrome(&mut self, chrome: std::fmt::Arguments<'_>) {
        // A closed standard error leaves no place to report that.
        let _told = self.err.write_fmt(chrome).and_then(|()| self.err.flush());
    }

    const fn lines_to_empty(&self) -> usize {
        match self.text {
            AnswerText::AtLineStart => 1,
            AnswerText::InLine => 2,
            AnswerText::Nothing => 0,
        }
    }

    fn feed(&mut self, lines: usize) -> io::Result<()> {
        if lines > 0 {
            self.out.write_all(&b"\n\n"[..lines])?;
            self.out.flush()?;
            self.text = AnswerText::AtLineStart;
        }
        Ok(())
    }
}
