//! Signals that whoever started the tests does not hear: `nohup`, a shell's background.

use std::sync::Once;

use tokio::signal::unix::{SignalKind, signal};

/// Has the programs that are started from now on hear the signals that this one was started deaf to.
///
/// What is ignored stays ignored over `exec`, and a test of Ctrl-C would be one of patience. What is
/// caught does not; and as it was ignored, nothing is lost by catching it here. Without `/proc` it is
/// left as it is.
pub(super) fn hear() {
    static HEARD: Once = Once::new();
    HEARD.call_once(|| {
        for kind in [SignalKind::hangup(), SignalKind::interrupt()] {
            if is_ignored(kind) {
                let _caught_for_good = signal(kind).expect("a signal can be caught");
            }
        }
    });
}

fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << (kind.as_raw_value() - 1)) != 0)
}
