//! The spinner, which shows the current activity on a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

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
        bar.set_style(ProgressStyle::default_spinner());
        bar.set_message(words);
        bar.enable_steady_tick(Duration::from_millis(100));
        self.bar = Some(bar);
    }

    /// Removes the spinner.
    pub(crate) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.clear();
    }
}
