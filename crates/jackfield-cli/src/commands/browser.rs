//! The person's browser.

#[cfg(feature = "serve")]
pub(super) mod free_port;
#[cfg(feature = "serve")]
pub(super) mod link;

use std::process::{Command, Stdio};

use jackfield_assembly::Environment;

/// Starts a browser with this address, which begins with `http`: the program in `BROWSER`, or that of the system where
/// there is a screen. `false` if none can be started.
pub(super) fn open(url: &str, environment: &Environment) -> bool {
    let set = |name: &str| environment.get(name).and_then(Result::ok);
    let is_set = |name: &str| set(name).is_some_and(|value| !value.is_empty());
    let chosen = set("BROWSER").filter(|program| !program.trim().is_empty());
    let mut command = match &chosen {
        Some(program) => Command::new(program),
        None if NEEDS_SCREEN && !SCREENS.iter().any(|name| is_set(name)) => return false,
        None => {
            let mut command = Command::new(OPENER);
            command.args(OPENER_ARGUMENTS);
            command
        }
    };
    command.arg(url).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        Ok(mut child) => {
            // Its end is taken, so that it leaves no zombie.
            std::thread::spawn(move || child.wait());
            true
        }
        Err(error) => {
            let program = command.get_program().display();
            tracing::debug!(%error, %program, "no browser can be started");
            false
        }
    }
}

/// Whether the opener of the system needs a screen that the environment names.
const NEEDS_SCREEN: bool = cfg!(not(any(windows, target_os = "macos")));

/// The variables that name a screen.
const SCREENS: [&str; 2] = ["DISPLAY", "WAYLAND_DISPLAY"];

/// The program of the system that opens addresses.
const OPENER: &str = if cfg!(windows) {
    "rundll32"
} else if cfg!(target_os = "macos") {
    "open"
} else {
    "xdg-open"
};

/// The arguments of the opener before the address.
const OPENER_ARGUMENTS: &[&str] = if cfg!(windows) {
    &["url.dll,FileProtocolHandler"]
} else {
    &[]
};
