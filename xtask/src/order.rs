//! `cargo xtask order`: which functions a start runs, and a request, so that the linker can place them beside
//! each other.
//!
//! The release program is started, and runs the cases of the benchmarks that start it, under callgrind, which
//! tells the address of each instruction that ran; the linker's map tells the function.

mod map;
mod runs;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, ensure};

use self::map::Functions;
use crate::run;
use crate::workspace;

/// Writes the order of this machine's release program.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let valgrind = run::output(&mut run::command("sh", root, ["-c", "command -v valgrind"]));
    let valgrind =
        valgrind.context("valgrind is missing: install it, as with `apt-get install valgrind`")?;
    let folder = workspace::target(root)?.join("order");
    let (map, runs) = (folder.join("map"), folder.join("runs"));
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&runs)?;
    // By itself, as people build it: which features its dependencies have is in the names of their functions.
    let build = |package| ["build", "--release", "--package", package];
    let mut program = run::cargo(root, build("jackfield-cli"));
    run::succeed(program.env("JACKFIELD_LINK_MAP", &map))?;
    run::succeed(&mut run::cargo(root, build("jackfield-benches")))?;
    let release = workspace::target(root)?.join("release");
    let program = release.join("jackfield");
    let watched = watched(&folder, &program, valgrind.trim(), &runs)?;
    let driver = beside(&watched, &release)?;
    let map = fs::read_to_string(&map)?;
    let functions = Functions::read(&map);
    let mut order = Order::default();
    for journal in ["memory", "sqlite"] {
        idle(&watched, &folder.join(journal), journal)?;
        order.add(&functions, &runs, &program)?;
    }
    for case in CASES {
        run::succeed(&mut run::command(
            &driver,
            root,
            ["--quick", "--only", case],
        ))?;
        order.add(&functions, &runs, &program)?;
    }
    ensure!(
        !order.names.is_empty(),
        "no run told of a function that the map knows"
    );
    fs::write(root.join(ORDER), order.written())?;
    println!("{} functions are in {ORDER}", order.names.len());
    Ok(())
}

/// Functions, those that ran first before the others.
#[derive(Default)]
struct Order<'m> {
    known: BTreeSet<&'m str>,
    names: Vec<&'m str>,
}

impl<'m> Order<'m> {
    /// Adds what these runs ran and no earlier one, and forgets the runs.
    fn add(
        &mut self,
        functions: &Functions<'m>,
        runs: &Path,
        program: &Path,
    ) -> anyhow::Result<()> {
        for run in fs::read_dir(runs)? {
            let run = run?.path();
            let ran = runs::addresses(&fs::read_to_string(&run)?, program);
            self.take(functions.of(&ran));
            fs::remove_file(run)?;
        }
        Ok(())
    }

    fn take(&mut self, ran: Vec<&'m str>) {
        let new = ran.into_iter().filter(|name| self.known.insert(name));
        self.names.extend(new);
    }

    fn written(&self) -> String {
        self.names.iter().map(|name| format!("{name}\n")).collect()
    }
}

/// Starts a gateway, and ends it when it listens.
fn idle(watched: &Path, home: &Path, journal: &str) -> anyhow::Result<()> {
    let settings = home.join(".config/jackfield");
    fs::create_dir_all(&settings)?;
    let journal = format!("[journal]\nkind = \"{journal}\"\n");
    fs::write(settings.join("jackfield.toml"), journal)?;
    let mut serve = run::command(watched, home, ["serve", "--bind", "127.0.0.1:0"]);
    serve.env("HOME", home).env_remove("XDG_CONFIG_HOME");
    let mut serving = serve.stderr(Stdio::piped()).spawn()?;
    let said = serving.stderr.take().context("no output")?;
    let mut lines = BufReader::new(said).lines();
    let listens = lines.any(|line| line.is_ok_and(|line| line.contains("listening on ")));
    let id = serving.id().to_string();
    run::succeed(&mut run::command("kill", home, ["-TERM", &id]))?;
    // What it says at its end has to go somewhere.
    let said: Vec<String> = lines.map_while(Result::ok).collect();
    let ended = serving.wait()?;
    ensure!(listens && ended.success(), "{ended}: {}", said.join("\n"));
    Ok(())
}

/// The program, watched: what it runs is written below `runs`.
fn watched(folder: &Path, program: &Path, valgrind: &str, runs: &Path) -> anyhow::Result<PathBuf> {
    let (source, beside) = (folder.join("beside.c"), folder.join("beside.so"));
    fs::write(&source, BESIDE)?;
    let named = format!("-DPROGRAM=\"{}\"", program.display());
    let compile = ["-shared", "-fPIC", &named, "-o"].map(OsStr::new);
    let compile = compile
        .into_iter()
        .chain([beside.as_os_str(), source.as_os_str()]);
    run::succeed(run::command("cc", folder, compile).arg("-ldl"))?;
    // The benchmarks end what they started by force: what was seen is written every so often.
    let script = format!(
        "#!/bin/sh\nLD_PRELOAD='{}' exec '{valgrind}' --quiet --tool=callgrind --dump-instr=yes --dump-line=no \
         --compress-strings=no --compress-pos=no --combine-dumps=yes --dump-every-bb=500000 \
         --callgrind-out-file='{}/%p' '{}' \"$@\"\n",
        beside.display(),
        runs.display(),
        program.display(),
    );
    let watched = folder.join("jackfield");
    fs::write(&watched, script)?;
    let executable = [OsStr::new("+x"), watched.as_os_str()];
    run::succeed(&mut run::command("chmod", folder, executable))?;
    Ok(watched)
}

/// The benchmarks, beside the program that is watched: they start what is beside them.
fn beside(watched: &Path, release: &Path) -> anyhow::Result<PathBuf> {
    for entry in fs::read_dir(release)? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        let is_bench = name.to_str().is_some_and(|name| name.contains("bench"));
        if is_bench && path.extension().is_none() && path.is_file() {
            fs::copy(&path, watched.with_file_name(name))?;
        }
    }
    Ok(watched.with_file_name("jackfield-bench"))
}

/// What has the program start itself by its own name.
const BESIDE: &str = include_str!("order/beside.c");
/// Where the order is.
const ORDER: &str = "crates/jackfield-cli/start.order";
/// The cases that start the program: a turn at the prompt, and the gateway with its journal in memory and in a
/// file.
const CASES: [&str; 4] = ["cold", "gateway-chat", "gateway-streams", "gateway-turn"];

#[cfg(test)]
mod tests {
    use super::Order;

    #[test]
    fn what_ran_first_comes_first_and_once() {
        let mut order = Order::default();
        order.take(vec!["b", "c"]);
        order.take(vec!["a", "c", "d"]);
        assert_eq!(order.written(), "b\nc\na\nd\n");
    }
}
