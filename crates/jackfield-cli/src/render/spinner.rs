//! The spinner, which shows the current activity on a terminal.

use std::fmt::Write;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// Shows the current activity until something is printed.
#[derive(Debug, Default)]
pub(crate) struct Spinner {
    bar: Option<ProgressBar>,
    spins: bool,
}

impl Spinner {
    /// A spinner; disabled without a terminal.
    pub(crate) const fn new(spins: bool) -> Self {
        Self { bar: None, spins }
    }

    /// Shows the spinner with this text.
    pub(crate) fn set_text(&mut self, words: String) {
        if !self.spins {
            return;
        }
        if let Some(bar) = &self.bar {
            bar.set_message(words);
            return;
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.set_style(style());
        bar.set_message(words);
        bar.enable_steady_tick(Duration::from_millis(100));
        self.bar = Some(bar);
    }

    pub(crate) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// The spinner, its text, and how long it has been there.
fn style() -> ProgressStyle {
    let style = ProgressStyle::with_template("{spinner} {msg}{since}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
    style.with_key("since", |state: &ProgressState, out: &mut dyn Write| {
        let seconds = state.elapsed().as_secs();
        if seconds > 0 {
            // The terminal shows the rest without it.
            let _written = write!(out, " · {seconds} s");
        }
    })
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.clear();
    }
}
