//! Names of this machine.

/// Whether a host, with or without a port, is a name of this machine.
pub(crate) fn is_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    let name = name.trim_end_matches('.');
    name.eq_ignore_ascii_case("localhost") || name == "127.0.0.1" || name == "[::1]"
}
