//! The few styles that there are; whatever prints them strips them where they do not belong.

use anstyle::{AnsiColor, Style};

/// What went wrong.
pub const BAD: Style = AnsiColor::Red.on_default().bold();

/// What is less important.
pub const DIM: Style = Style::new().dimmed();

/// What went well.
pub const GOOD: Style = AnsiColor::Green.on_default();

/// A name.
pub const NAME: Style = Style::new().bold();

/// What wants attention.
pub const WARM: Style = AnsiColor::Yellow.on_default();
