//! The script that installs an archive.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};

use super::{copy, digest};
use crate::run::{self, write_script};

/// The script of this version, whose archives are at this address.
pub(super) fn of_release(root: &Path, version: &str, address: &str) -> anyhow::Result<String> {
    let script = fs::read_to_string(root.join(NAME))?;
    Ok(script
        .replace("version=\"\"", &format!("version=\"{version}\""))
        .replace("address=\"\"", &format!("address=\"{address}\"")))
}

/// Installs the archive with the script, runs what was installed, and sees that a changed archive is refused, and that a
/// program that does not start replaces none.
pub(super) fn try_out(root: &Path, out: &Path, archive: &str, target: &str) -> anyhow::Result<()> {
    let place = root.join("target/archives-trial");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir_all(place.join("changed"))?;
    let mut path = std::env::var("PATH").unwrap_or_default();
    // As on a system where the script chooses this target, whatever this one is.
    let getconf = match target.ends_with("-musl") {
        true => "exit 1",
        false => "echo glibc 2.35",
    };
    write_script(&place.join("stand-ins/getconf"), getconf)?;
    write_script(&place.join("stand-ins/curl"), COPY)?;
    path.insert_str(0, &format!("{}:", place.join("stand-ins").display()));
    let install = |from: &Path| {
        let mut script = run::command("sh", root, [out.join(NAME)]);
        script.env("PATH", &path);
        script.env("JACKFIELD_ADDRESS", "https://archives.example");
        script.env("ARCHIVES", from);
        script.env("JACKFIELD_BIN", place.join("bin"));
        run::output(&mut script)
    };
    install(out).context("the script does not install its own archive")?;
    let program = place.join("bin/jackfield");
    let said = run::output(&mut run::command(&program, root, ["--version"]))?;
    if !said.starts_with("jackfield ") {
        bail!("what was installed says: {said}");
    }
    fs::remove_file(&program)?;
    let mut bytes = fs::read(out.join(archive))?;
    if let Some(last) = bytes.last_mut() {
        *last ^= 1;
    }
    fs::write(place.join("changed").join(archive), bytes)?;
    let digest = format!("{archive}.sha256");
    copy(&out.join(&digest), &place.join("changed").join(&digest))?;
    if install(&place.join("changed")).is_ok() || program.exists() {
        bail!("the script installs an archive whose digest is wrong");
    }
    let broken = place.join("broken");
    write_broken(root, &broken, archive)?;
    fs::write(&program, "the older program")?;
    if install(&broken).is_ok() || fs::read(&program)? != b"the older program" {
        bail!("the script replaces a program by one that does not start");
    }
    Ok(())
}

/// Writes an archive whose program does not start, and its digest.
fn write_broken(root: &Path, out: &Path, archive: &str) -> anyhow::Result<()> {
    let name = archive.trim_end_matches(".tar.gz");
    fs::create_dir_all(out.join(name))?;
    fs::write(out.join(name).join("jackfield"), "#!/bin/sh\nexit 127\n")?;
    let mut pack = run::command("tar", root, ["-czf"]);
    pack.arg(out.join(archive)).arg("-C").arg(out).arg(name);
    run::succeed(&mut pack)?;
    let line = format!("{}  {archive}\n", digest(&out.join(archive))?);
    fs::write(out.join(format!("{archive}.sha256")), line)?;
    Ok(())
}

/// A `curl` that takes what it is asked for from a folder, so that a trial needs no server.
const COPY: &str = r#"while [ $# -gt 1 ]; do [ "$1" = --output ] && to="$2"; shift; done; cp "$ARCHIVES/${1##*/}" "$to""#;

/// Its file.
pub(super) const NAME: &str = "install.sh";

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Stdio;

    use super::{NAME, of_release};
    use crate::run::{self, write_script};

    /// Checks which archive the script asks for on a machine where `uname -s`, `uname -m` and `getconf` say so; it
    /// ends when that cannot be downloaded.
    fn check(system: &str, machine: &str, getconf: &str, expected: Option<&str>) {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let script = of_release(root, "1.2.3", "https://archives.example").unwrap();
        fs::write(here.join(NAME), script).unwrap();
        let asked = here.join("asked");
        let line = format!("[ \"$1\" = -s ] && echo {system} || echo {machine}");
        write_script(&here.join("bin/uname"), &line).unwrap();
        write_script(&here.join("bin/getconf"), getconf).unwrap();
        let line = format!(
            "for last; do :; done; echo \"$last\" > {}; exit 22",
            asked.display()
        );
        write_script(&here.join("bin/curl"), &line).unwrap();
        let mut install = run::command("sh", here, [NAME]);
        let path = std::env::var("PATH").unwrap();
        install.env("PATH", format!("{}:{path}", here.join("bin").display()));
        install.env("JACKFIELD_BIN", here.join("installed"));
        for name in ["JACKFIELD_ADDRESS", "JACKFIELD_TARGET"] {
            install.env_remove(name);
        }
        let status = install.stderr(Stdio::null()).status().unwrap();
        assert!(!status.success());
        let said = fs::read_to_string(&asked).ok();
        let expected = expected
            .map(|target| format!("https://archives.example/jackfield-1.2.3-{target}.tar.gz"));
        let said = said.as_deref().map(str::trim);
        assert_eq!(said, expected.as_deref(), "{system} {machine} {getconf}");
    }

    #[test]
    fn the_script_chooses_the_archive_that_runs() {
        let gnu = Some("x86_64-unknown-linux-gnu");
        let musl = Some("x86_64-unknown-linux-musl");
        check("Linux", "x86_64", "echo glibc 2.35", gnu);
        check("Linux", "x86_64", "echo glibc 2.41.9000", gnu);
        check("Linux", "x86_64", "echo glibc 2.34", musl);
        check("Linux", "x86_64", "echo glibc 2.4", musl);
        // Alpine has no such variable, and other systems no such program.
        check("Linux", "x86_64", "echo unknown variable >&2; exit 1", musl);
        check("Linux", "x86_64", "echo undefined", musl);
        check("Linux", "x86_64", "exit 127", musl);
        let arm = Some("aarch64-unknown-linux-gnu");
        check("Linux", "aarch64", "echo glibc 2.36", arm);
        check(
            "Linux",
            "arm64",
            "exit 1",
            Some("aarch64-unknown-linux-musl"),
        );
        check("Darwin", "arm64", "exit 1", Some("aarch64-apple-darwin"));
        check("Darwin", "x86_64", "exit 1", Some("x86_64-apple-darwin"));
        check("Linux", "riscv64", "echo glibc 2.41", None);
    }
}
