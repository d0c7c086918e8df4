//! The few styles in use. The output streams strip them where they are not supported.

use anstyle::{AnsiColor, Style};

pub const BAD: Style = AnsiColor::Red.on_default().bold();

pub const DIM: Style = Style::new().dimmed();

pub const GOOD: Style = AnsiColor::Green.on_default();

pub const NAME: Style = Style::new().bold();

pub const WARM: Style = AnsiColor::Yellow.on_default();
