//! `cargo xtask`: the automation of this workspace.

use std::process::Command;

use anyhow::{Context as _, bail};

fn main() -> anyhow::Result<()> {
    let verb = std::env::args().nth(1).unwrap_or_default();
    match verb.as_str() {
        "test" => cargo(&["test", "--workspace"]),
        "ci" => {
            cargo(&["fmt", "--all", "--check"])?;
            cargo(&["test", "--workspace"])
        }
        other => bail!("unknown verb `{other}`; try `cargo xtask test`"),
    }
}

/// Runs cargo with these arguments; fails if it does.
fn cargo(args: &[&str]) -> anyhow::Result<()> {
    let status = Command::new(env!("CARGO"))
        .args(args)
        .status()
        .context("cannot start cargo")?;
    if !status.success() {
        bail!("`cargo {}` failed", args.join(" "));
    }
    Ok(())
}
