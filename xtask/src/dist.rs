//! `cargo xtask dist`: what a release gives people, in `target/archives`.
//!
//! One archive for a target: the program, its completions and manual pages, the licences and a list of what is in it
//! (CycloneDX); beside it its SHA-256 digest, and the script that downloads, checks and installs it.

pub(crate) mod prices;
mod script;

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};

use crate::args::Dist;
use crate::{run, tools, workspace};

/// Builds and packs the program, and installs it once from the archive.
pub(crate) fn run(root: &Path, asked: &Dist) -> anyhow::Result<()> {
    let host = host(root)?;
    let target = asked.target.as_deref().unwrap_or(&host);
    let program = built(root, asked)?;
    let version = workspace::version(root)?;
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
    let of_prices = root.join("crates/jackfield-prices/LICENSES.txt");
    copy(&of_prices, &folder.join("LICENSES-PRICES.txt"))?;
    // Pages and completions come from the program itself; of another machine's, from one for this machine.
    let speaker = if runs_here(target, &host) {
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
    fs::write(
        out.join(script::NAME),
        script::of_release(root, &version, &asked.address)?,
    )?;
    if runs_here(target, &host) {
        script::try_out(root, &out, &archive, target)?;
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

/// The target of this machine.
fn host(root: &Path) -> anyhow::Result<String> {
    let said = run::output(&mut run::command("rustc", root, ["-vV"]))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not say its host")?.to_owned())
}

/// Whether a program for this target starts here: with musl it brings its C library along.
fn runs_here(target: &str, host: &str) -> bool {
    let with_musl = host.strip_suffix("-gnu").map(|rest| format!("{rest}-musl"));
    target == host || with_musl.is_some_and(|name| target == name)
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{digest, runs_here};

    #[test]
    fn a_program_with_musl_runs_on_the_same_machine() {
        let host = "x86_64-unknown-linux-gnu";
        assert!(runs_here(host, host));
        assert!(runs_here("x86_64-unknown-linux-musl", host));
        assert!(!runs_here("aarch64-unknown-linux-musl", host));
        assert!(!runs_here(host, "x86_64-unknown-linux-musl"));
    }

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
