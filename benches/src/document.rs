//! The page that the figures stand on: the block between two marks is theirs.

/// Puts this in the place of what stands between the marks; `None` if the page has no marks.
#[must_use]
pub fn filled(page: &str, block: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!(
        "{before}{BEGIN}\n\n{}\n\n{END}{after}",
        block.trim()
    ))
}

/// What is known of the machine, in a sentence.
#[must_use]
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let load = read("/proc/loadavg");
    let load = load.split_whitespace().next().unwrap_or("unknown");
    let info = read("/proc/cpuinfo");
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("an unknown processor", |(_, model)| model);
    let system = std::env::consts::OS;
    format!("On {cores} cores of {model}, {system}, with a load of {load} before the run.")
}

/// The mark before the block.
pub const BEGIN: &str = "<!-- `cargo xtask bench` writes what stands from here -->";
/// The mark behind it.
pub const END: &str = "<!-- to here -->";
