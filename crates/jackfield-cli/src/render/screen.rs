//! Where text and chrome meet: two streams, which may be one terminal or one file.

use std::io::{self, Write};

use crate::render::{self, wrap::wrapped};

/// Standard output for the answer, standard error for everything else.
///
/// A standard error that cannot be written stops nothing: the answer is what was asked for.
#[derive(Debug)]
pub struct Screen<O, E> {
    err: E,
    last: LastPrinted,
    out: O,
    /// Where the answer's stream is, by itself.
    text: AnswerText,
    together: bool,
    wraps: bool,
}

/// What was printed last, on either stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum LastPrinted {
    Chrome,
    Nothing,
    /// Chrome, in the middle of a line.
    Part,
    Text,
}

/// Where the answer's stream is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum AnswerText {
    AtLineStart,
    InLine,
    Nothing,
}

impl<O: Write, E: Write> Screen<O, E> {
    /// A screen; `together` says that both streams are one terminal, or one file.
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

    /// The same screen; `wraps` says that chrome goes to a terminal, whose lines are broken between words.
    #[must_use]
    pub const fn wrapping(mut self, wraps: bool) -> Self {
        self.wraps = wraps;
        self
    }

    /// Begins a block of text: an empty line parts it from what was before.
    pub fn begin(&mut self) -> io::Result<()> {
        self.end_part();
        let parted = match (self.together, self.last) {
            (true, LastPrinted::Nothing) => 0,
            (true, LastPrinted::Chrome | LastPrinted::Part) => 1,
            (true, LastPrinted::Text) | (false, _) => self.lines_to_empty(),
        };
        self.feed(parted)
    }

    /// More of the answer.
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

    /// A line of chrome.
    pub fn line(&mut self, line: impl std::fmt::Display) -> io::Result<()> {
        self.leave()?;
        if self.wraps {
            let line = wrapped(&line.to_string(), render::columns_of(&io::stderr()));
            self.tell(format_args!("{line}\n"));
        } else {
            self.tell(format_args!("{line}\n"));
        }
        Ok(())
    }

    /// A piece of chrome that goes on with the next one.
    pub fn part(&mut self, part: impl std::fmt::Display) -> io::Result<()> {
        if self.last != LastPrinted::Part {
            self.leave()?;
        }
        self.tell(format_args!("{part}"));
        self.last = LastPrinted::Part;
        Ok(())
    }

    /// A question, whose answer ends the line.
    pub fn question(&mut self, question: impl std::fmt::Display) -> io::Result<()> {
        self.leave()?;
        self.tell(format_args!("{question}"));
        Ok(())
    }

    /// Ends the answer with the end of a line.
    pub fn end(&mut self) -> io::Result<()> {
        self.feed(usize::from(self.text == AnswerText::InLine))
    }

    /// Goes to the start of a line, to print what is no answer; where both streams are one, an empty
    /// line parts that from the text before it.
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
            self.tell(format_args!("\n"));
            self.last = LastPrinted::Chrome;
        }
    }

    fn tell(&mut self, chrome: std::fmt::Arguments<'_>) {
        // Nobody is there to be told that nobody is there.
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
