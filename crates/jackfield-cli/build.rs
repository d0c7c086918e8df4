//! Has the linker place the functions that every start runs beside each other, in a release build.
//!
//! The system keeps a program's file in memory in pieces of 64 KiB around each page that is touched. A start
//! runs a few thousand functions of far more; wherever the linker finds them, they lie apart, and nearly half
//! of the program is in memory for them. Their names are in `start.order`, which `cargo xtask order` writes.
//!
//! It is an order and nothing else: a name that is not there any more is passed over, and a linker that cannot
//! do it is not asked to.

use std::env;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn main() {
    for file in ["build.rs", ORDER] {
        println!("cargo::rerun-if-changed={file}");
    }
    println!("cargo::rerun-if-env-changed={MAP}");
    let is = |name, value| env::var_os(name).is_some_and(|is| is == value);
    if !is("PROFILE", "release") || !is("CARGO_CFG_TARGET_OS", "linux") {
        return;
    }
    let [Some(here), Some(out)] = ["CARGO_MANIFEST_DIR", "OUT_DIR"].map(env::var_os) else {
        return;
    };
    let order = PathBuf::from(here).join(ORDER);
    let arguments = [
        format!("-Wl,--symbol-ordering-file={}", order.display()),
        "-Wl,--no-warn-symbol-ordering".to_owned(),
    ];
    if links(Path::new(&out), &arguments) {
        for argument in arguments {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
    // Where each function is, for whoever writes the order.
    if let Some(map) = env::var_os(MAP) {
        println!("cargo::rustc-link-arg-bins=-Wl,--no-demangle");
        println!(
            "cargo::rustc-link-arg-bins=-Wl,-Map={}",
            map.to_string_lossy()
        );
    }
}

/// Whether the linker of this build takes these arguments: a program that does nothing is linked with them.
fn links(out: &Path, arguments: &[String]) -> bool {
    let Some(rustc) = env::var_os("RUSTC") else {
        return false;
    };
    let mut command = Command::new(rustc);
    command.args(["--crate-name", "probe", "-"]);
    command.arg("-o").arg(out.join("probe"));
    if let Some(target) = env::var_os("TARGET") {
        command.arg("--target").arg(target);
    }
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut argument = OsString::from("-Clinker=");
        argument.push(linker);
        command.arg(argument);
    }
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    command.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    command.args(arguments.iter().map(|it| format!("-Clink-arg={it}")));
    let started = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut linking) = started else {
        return false;
    };
    let written = linking
        .stdin
        .take()
        .is_some_and(|mut stdin| stdin.write_all(b"fn main() {}\n").is_ok());
    written && linking.wait().is_ok_and(|status| status.success())
}

/// The names of the functions, one a line.
const ORDER: &str = "start.order";
/// The variable that says where a map of the program is to be written.
const MAP: &str = "JACKFIELD_LINK_MAP";
