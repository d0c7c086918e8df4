//! `cargo xtask dist`: what a release gives people, in `target/archives`.
//!
//! One archive for a target: the program, its completions and manual pages, the licences and a list of what is in it
//! (CycloneDX); beside it its SHA-256 digest, and the script that downloads, checks and installs it.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use sha2::{Digest as _, Sha256};

use crate::args::Dist;
use crate::{run, tools, workspace};

/// Builds and packs the program, and installs it once from the archive.
pub(crate) fn run(root: &Path, asked: &Dist) -> anyhow::Result<()> {
    let host = host(root)?;
    let target = asked.target.as_deref().unwrap_or(&host);
    let program = built(root, asked)?;
    let version = version(root)?;
    let out = root.join("target/archives");
    let name = format!("jackfield-{version}-{target}");
    let folder = out.join(&name);
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    copy(&program, &folder.join("jackfield"))?;
    for file in ["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md"] {
        copy(&root.join(file), &folder.join(file))?;
    }
    // Pages and completions come from the program itself; of another machine's, from one for this machine.
    let speaker = if target == host {
        program
    } else {
        built(root, &Dist::of_host())?
    };
    write_pages(root, &speaker, &folder)?;
    let bom = bill_of_materials(root, target, asked)?;
    fs::write(folder.join("jackfield.cdx.json"), &bom)?;
    let archive = format!("{name}.tar.gz");
    let mut tar = run::command("tar", &out, ["--create", "--gzip", "--file", &archive]);
    // Which user built it does not matter.
    tar.args(["--owner=0", "--group=0", "--numeric-owner", &name]);
    run::succeed(&mut tar).context("install GNU tar")?;
    let digest = digest(&out.join(&archive))?;
    fs::write(
        out.join(format!("{archive}.sha256")),
        format!("{digest}  {archive}\n"),
    )?;
    let script = fs::read_to_string(root.join(SCRIPT))?;
    let script = script
        .replace("version=\"\"", &format!("version=\"{version}\""))
        .replace("address=\"\"", &format!("address=\"{}\"", asked.address));
    fs::write(out.join("install.sh"), script)?;
    if target == host {
        try_out(root, &out, &archive)?;
    }
    let size = |file: &Path| fs::metadata(file).map(|data| data.len() as f64 / 1e6);
    println!(
        "dist: target/archives/{archive}: {:.1} MB, the program {:.1} MB",
        size(&out.join(&archive))?,
        size(&folder.join("jackfield"))?
    );
    println!("{digest}");
    Ok(())
}

/// The program for this target and profile.
fn built(root: &Path, asked: &Dist) -> anyhow::Result<PathBuf> {
    let mut build = run::cargo(root, ["build", "--locked", "--package", "jackfield-cli"]);
    build.args(["--bin", "jackfield", "--profile", &asked.profile]);
    build.args(features(asked));
    let mut place = workspace::target(root)?;
    if let Some(target) = &asked.target {
        build.args(["--target", target]);
        place.push(target);
    }
    run::succeed(&mut build)?;
    // The profile of development has a folder of another name.
    place.push(if asked.profile == "dev" {
        "debug"
    } else {
        &asked.profile
    });
    Ok(place.join("jackfield"))
}

fn features(asked: &Dist) -> Vec<&str> {
    let without = asked.no_default_features.then_some("--no-default-features");
    let named = asked.features.as_deref().map(|names| ["--features", names]);
    without
        .into_iter()
        .chain(named.into_iter().flatten())
        .collect()
}

fn write_pages(root: &Path, program: &Path, folder: &Path) -> anyhow::Result<()> {
    let pages = folder.join("man");
    run::succeed(run::command(program, root, ["man", "--out"]).arg(&pages))?;
    let completions = folder.join("completions");
    fs::create_dir_all(&completions)?;
    for (shell, file) in [
        ("bash", "jackfield.bash"),
        ("fish", "jackfield.fish"),
        ("zsh", "_jackfield"),
    ] {
        let script = run::output(&mut run::command(program, root, ["completions", shell]))?;
        fs::write(completions.join(file), script)?;
    }
    Ok(())
}

/// The list of everything that is compiled into the program, in the form of CycloneDX 1.5.
fn bill_of_materials(root: &Path, target: &str, asked: &Dist) -> anyhow::Result<String> {
    let tool = tools::CARGO_CYCLONEDX.program(root)?;
    let mut list = run::command(tool, root, ["cyclonedx", "-qq", "--format", "json"]);
    list.args([
        "--spec-version",
        "1.5",
        "--override-filename",
        BOM,
        "--target",
        target,
    ]);
    list.args(["--manifest-path", "crates/jackfield-cli/Cargo.toml"]);
    list.args(features(asked));
    let listed = run::succeed(&mut list);
    // It writes one into the folder of every package.
    let mut bom = None;
    for package in workspace::packages(root)? {
        let file = root.join(&package.folder).join(format!("{BOM}.json"));
        if package.name == "jackfield-cli" {
            bom = fs::read_to_string(&file).ok();
        }
        if file.exists() {
            fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
        }
    }
    listed?;
    let bom = bom.context("cargo-cyclonedx wrote nothing for jackfield-cli")?;
    // Where it was built is nothing for readers.
    Ok(bom.replace(&*root.to_string_lossy(), ""))
}

/// Installs the archive with the script, runs what was installed, and sees that a changed archive is refused, and that a
/// program that does not start replaces none.
fn try_out(root: &Path, out: &Path, archive: &str) -> anyhow::Result<()> {
    let place = root.join("target/archives-trial");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir_all(place.join("changed"))?;
    let install = |from: &Path| {
        let mut script = run::command("sh", root, [out.join("install.sh")]);
        script.env("JACKFIELD_ADDRESS", format!("file://{}", from.display()));
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

fn version(root: &Path) -> anyhow::Result<String> {
    let text = fs::read_to_string(root.join("Cargo.toml"))?;
    let manifest: toml::Table = text.parse().context("Cargo.toml is no TOML")?;
    let version = manifest
        .get("workspace")
        .and_then(|workspace| workspace.get("package")?.get("version")?.as_str());
    Ok(version.context("the workspace has no version")?.to_owned())
}

/// The target of this machine.
fn host(root: &Path) -> anyhow::Result<String> {
    let said = run::output(&mut run::command("rustc", root, ["-vV"]))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not say its host")?.to_owned())
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}

fn digest(file: &Path) -> anyhow::Result<String> {
    let mut digest = Sha256::new();
    let mut reader = fs::File::open(file)?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => digest.update(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    let bytes = digest.finalize();
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What the list is called while it is made.
const BOM: &str = "jackfield-dist-bom";
const SCRIPT: &str = "install.sh";

#[cfg(test)]
mod tests {
    use std::fs;

    use super::digest;

    #[test]
    fn a_digest_is_that_of_the_whole_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        fs::write(&file, "abc").unwrap();
        // The example of FIPS 180-4.
        assert_eq!(
            digest(&file).unwrap(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
