//! The terminal between two lines that are edited: what is typed then is kept, and not shown.
//!
//! While an answer is written, an echo would stand in the middle of it. What was typed waits in the
//! terminal until the next line is read. Ctrl-C works all the time.

/// Keeps the terminal quiet until it is dropped, or the process leaves.
#[derive(Debug)]
pub(crate) struct EchoGuard(());

impl EchoGuard {
    /// Makes the terminal of standard input quiet; nothing comes of what is none.
    pub(crate) fn begin() -> Self {
        unix::begin();
        Self(())
    }
}

impl Drop for EchoGuard {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back as it was.
pub(crate) fn restore() {
    unix::restore();
}

/// Says again what the line editor takes back at the end of each line: that what is pasted is marked.
pub(crate) fn mark_pastes() {
    unix::mark_pastes();
}

/// Takes what was typed and not read, as text.
pub(crate) fn typed_ahead() -> String {
    let bytes = unix::typed_ahead();
    text_of(&String::from_utf8_lossy(&bytes))
}

/// What was typed, without the keys that are no text.
fn text_of(typed: &str) -> String {
    let mut text = String::new();
    let mut signs = typed.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '\u{1b}' => {
                if signs.next_if(|next| matches!(next, '[' | 'O')).is_some() {
                    while signs
                        .next()
                        .is_some_and(|sign| !('@'..='~').contains(&sign))
                    {}
                } else {
                    signs.next();
                }
            }
            '\r' => text.push('\n'),
            '\u{7f}' | '\u{8}' => {
                text.pop();
            }
            '\n' | '\t' => text.push(sign),
            sign if sign.is_control() => {}
            sign => text.push(sign),
        }
    }
    text
}

#[cfg(unix)]
mod unix {
    use std::io::{self, IsTerminal as _, Write as _};
    use std::sync::OnceLock;

    use rustix::termios::{
        InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
    };

    static BEFORE: OnceLock<Termios> = OnceLock::new();

    pub(super) fn begin() {
        let Ok(before) = tcgetattr(io::stdin()) else {
            return;
        };
        let mut quiet = before.clone();
        quiet.local_modes &= !(LocalModes::ECHO | LocalModes::ICANON);
        quiet.input_modes &= !InputModes::ICRNL;
        // Reading what was typed ahead does not wait for more.
        quiet.special_codes[SpecialCodeIndex::VMIN] = 0;
        quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
        let _before = BEFORE.set(before);
        let _quiet = tcsetattr(io::stdin(), OptionalActions::Drain, &quiet);
        mark_pastes();
    }

    pub(super) fn restore() {
        if let Some(before) = BEFORE.get() {
            let _restored = tcsetattr(io::stdin(), OptionalActions::Drain, before);
            tell("\u{1b}[?2004l");
        }
    }

    pub(super) fn mark_pastes() {
        if BEFORE.get().is_some() {
            tell("\u{1b}[?2004h");
        }
    }

    pub(super) fn typed_ahead() -> Vec<u8> {
        let mut typed = Vec::new();
        let mut piece = [0; 1024];
        while typed.len() < MOST && BEFORE.get().is_some() {
            match rustix::io::read(io::stdin(), &mut piece) {
                Ok(length @ 1..) => {
                    typed.extend_from_slice(piece.get(..length).unwrap_or_default());
                }
                Ok(0) | Err(_) => break,
            }
        }
        typed
    }

    fn tell(sequence: &str) {
        let mut out = io::stdout();
        if !out.is_terminal() {
            return;
        }
        // A terminal that is gone needs to be told nothing.
        let _told = out
            .write_all(sequence.as_bytes())
            .and_then(|()| out.flush());
    }

    /// No person types more in advance.
    const MOST: usize = 1 << 20;
}

#[cfg(not(unix))]
mod unix {
    pub(super) fn begin() {}

    pub(super) fn restore() {}

    pub(super) fn mark_pastes() {}

    pub(super) fn typed_ahead() -> Vec<u8> {
        Vec::new()
    }
}
