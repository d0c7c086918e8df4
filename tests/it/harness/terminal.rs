//! The binary at a terminal: what is typed, and what stands on the screen.

use std::num::NonZeroU16;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pty_process::{Command, OwnedWritePty};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Child;
use tokio::sync::watch;
use vt100::Parser;

use super::KEY;

/// Rows and columns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Size(pub(crate) u16, pub(crate) u16);

/// A process at a terminal; it is killed, by its id, if the test loses interest.
pub(crate) struct Terminal {
    child: Child,
    /// Goes away after the process.
    home: TempDir,
    keys: OwnedWritePty,
    screen: Arc<Mutex<Parser<Clipboard>>>,
    seen: watch::Receiver<usize>,
}

impl Terminal {
    pub(super) fn start(command: Command, size: Size, home: TempDir) -> Self {
        let (pty, pts) = pty_process::open().expect("a terminal can be made");
        let Size(rows, columns) = size;
        let empty = Clipboard::default();
        let parser = Parser::new_with_callbacks(some(rows), some(columns), SCROLLBACK, empty);
        let screen = Arc::new(Mutex::new(parser));
        pty.resize(pty_process::Size::new(rows, columns))
            .expect("a terminal has a size");
        let child = command.kill_on_drop(true).spawn(pts);
        let child = child.expect("the binary starts");
        let (mut out, keys) = pty.into_split();
        let (told, seen) = watch::channel(0);
        let drawn = Arc::clone(&screen);
        tokio::spawn(async move {
            let mut piece = [0; 4096];
            // A terminal whose last program has ended gives an error in place of an end.
            while let Ok(length @ 1..) = out.read(&mut piece).await {
                let mut screen = drawn.lock().unwrap_or_else(PoisonError::into_inner);
                screen.process(&piece[..length]);
                drop(screen);
                told.send_modify(|count| *count += 1);
            }
        });
        Self {
            child,
            home,
            keys,
            screen,
            seen,
        }
    }

    /// Types this.
    pub(crate) async fn types(&mut self, keys: &str) {
        let typed = self.keys.write_all(keys.as_bytes()).await;
        typed.expect("the terminal is there");
    }

    /// Types this line.
    pub(crate) async fn line(&mut self, line: &str) {
        self.types(&format!("{line}\r")).await;
    }

    /// Changes its size.
    pub(crate) fn resize(&mut self, size: Size) {
        let Size(rows, columns) = size;
        let mut screen = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
        screen.screen_mut().set_size(some(rows), some(columns));
        drop(screen);
        self.keys
            .resize(pty_process::Size::new(rows, columns))
            .expect("a terminal can be resized");
    }

    /// Waits until the screen is like this.
    #[track_caller]
    pub(crate) fn until(
        &mut self,
        what: &str,
        is: impl Fn(&str) -> bool + Send + Sync,
    ) -> impl Future<Output = ()> {
        let place = std::panic::Location::caller();
        async move {
            let seen = async {
                while !is(&self.screen()) && self.seen.changed().await.is_ok() {}
                is(&self.screen())
            };
            let seen = tokio::time::timeout(TIME_LIMIT, seen).await;
            assert_eq!(seen, Ok(true), "{place}: never {what}:\n{}", self.screen());
        }
    }

    /// Waits until this stands on the screen.
    #[track_caller]
    pub(crate) fn shows(&mut self, text: &str) -> impl Future<Output = ()> {
        self.until(text, move |screen| screen.contains(text))
    }

    /// Waits until nothing stands behind the last prompt.
    #[track_caller]
    pub(crate) fn prompts(&mut self) -> impl Future<Output = ()> {
        self.until("a prompt", |screen| {
            screen
                .trim_end_matches('\n')
                .lines()
                .last()
                .map(str::trim_end)
                == Some(">")
        })
    }

    /// What stands on the screen and what was scrolled away, without the spaces behind.
    pub(crate) fn screen(&self) -> String {
        let mut screen = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
        let screen = screen.screen_mut();
        let (rows, columns) = screen.size();
        let (rows, columns) = (rows.get(), columns.get());
        let mut lines: Vec<String> = Vec::new();
        screen.set_scrollback(usize::MAX);
        let mut above = screen.scrollback();
        while above > 0 {
            screen.set_scrollback(above);
            let visible = screen.rows(0, columns).take(above.min(usize::from(rows)));
            lines.extend(visible);
            above = above.saturating_sub(usize::from(rows));
        }
        screen.set_scrollback(0);
        lines.extend(screen.rows(0, columns));
        let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
        let screen = lines.join("\n").trim_end().to_owned();
        assert!(!screen.contains(KEY), "the screen has the key:\n{screen}");
        screen
    }

    /// What was copied last, as base64.
    pub(crate) fn clipboard(&self) -> String {
        let screen = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
        screen.callbacks().0.clone()
    }

    /// The home of the process.
    pub(crate) fn home(&self) -> &std::path::Path {
        self.home.path()
    }

    /// Ends it without a word, and waits until it is gone.
    pub(crate) async fn kill(&mut self) {
        self.child.kill().await.expect("it has not ended");
    }

    /// Waits for its end; gives the exit code.
    pub(crate) async fn ends(&mut self) -> Option<i32> {
        let ended = tokio::time::timeout(TIME_LIMIT, self.child.wait()).await;
        let Ok(ended) = ended else {
            panic!("it does not end:\n{}", self.screen());
        };
        ended.expect("a child can be waited for").code()
    }
}

/// The clipboard of the terminal, as base64.
#[derive(Default)]
struct Clipboard(String);

impl vt100::Callbacks for Clipboard {
    fn copy_to_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8], data: &[u8]) {
        self.0 = String::from_utf8_lossy(data).into_owned();
    }
}

fn some(length: u16) -> NonZeroU16 {
    NonZeroU16::new(length).expect("a terminal has a size")
}

/// How long anything may take.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// How many lines are kept that were scrolled away.
const SCROLLBACK: usize = 1000;
