//! The few styles in use. The output streams strip them where they are not supported.

use anstyle::{AnsiColor, Style};

/// Errors.
pub const BAD: Style = AnsiColor::Red.on_default().bold();

/// Less important text.
pub const DIM: Style = Style::new().dimmed();

/// Success.
pub const GOOD: Style = AnsiColor::Green.on_default();

/// Names.
pub const NAME: Style = Style::new().bold();

/// Warnings.
pub const WARM: Style = AnsiColor::Yellow.on_default();
