//! The command line: what there is to say, and no behaviour.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};

use crate::testing::suite::Suite;

/// The automation of this workspace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What can be asked for.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measure Jackfield against floors of its own, and write the figures into docs/benchmarks.md.
    #[command(
        after_help = "What is given behind -- goes to the benchmarks, and then nothing is written.\n\nExamples:\n  cargo xtask bench\n  cargo xtask bench -- --only turn\n  cargo xtask bench -- --quick"
    )]
    Bench(Passed),
    /// Make a site of the documents that can be searched, with references generated from the code, and check its links.
    #[command(
        after_help = "It is in target/book/html. Installs mdbook below target/tools if it is missing.\n\nExample:\n  cargo xtask book"
    )]
    Book,
    /// Check formatting and the house rules, and run clippy and the tests of the crates that changed.
    #[command(
        after_help = "For the inner loop: `ci` is what has to pass in the end.\n\nExamples:\n  cargo xtask check\n  cargo xtask check --since HEAD"
    )]
    Check(Check),
    /// Do what has to pass before a change lands, in order; stop at the first failure.
    #[command(
        after_help = "Needs rustfmt, clippy, git, Node.js 20 with npm, and Python 3.11. Installs what else is missing: Chromium, PostgreSQL, PgBouncer and strace with apt-get, its cargo tools below target/tools.\nA failed test of a slice that counts neither payments nor turns runs once more, alone, and is reported as flaky if it passes; more than two fail the run.\n\nExamples:\n  cargo xtask ci\n  cargo xtask ci format tidy clippy"
    )]
    Ci(Stages),
    /// Let the conformance suite of MCP judge the program as a client; it is among the slices.
    #[command(
        after_help = "Known failures are in tests/conformance/expected-failures.txt, each with its reason.\n\nExample:\n  cargo xtask conformance"
    )]
    Conformance,
    /// List the contracts of the ports with all their clauses, or prove that each clause catches something.
    #[command(
        after_help = "The clauses are in crates/jackfield-testkit/src/contract, the adapters with mistakes in its tests.\n\nExamples:\n  cargo xtask contracts\n  cargo xtask contracts --mutants"
    )]
    Contracts(Contracts),
    /// Build what a release gives people: an archive with the program, completions, manual pages and a list of its parts; its digest, and a script that installs it.
    #[command(
        after_help = "It is in target/archives. Installs cargo-cyclonedx below target/tools if it is missing, and tries the script out.\n\nExamples:\n  cargo xtask dist\n  cargo xtask dist --profile dev\n  cargo xtask dist --no-default-features --features claude"
    )]
    Dist(Dist),
    /// Check the properties of the loop in worlds of new seeds; CI always plays those of one seed.
    #[command(
        after_help = "Prints each seed, and stops at the first that violates a property.\n\nExamples:\n  cargo xtask explore --times 20\n  cargo xtask explore --seed 12345"
    )]
    Explore(Explore),
    /// Check that the public crates name no types of other crates but those that external-types.toml allows.
    #[command(
        after_help = "Installs cargo-check-external-types below target/tools if it is missing.\n\nExample:\n  cargo xtask external-types"
    )]
    ExternalTypes,
    /// Lint the builds that leave features out, and try the program with Claude alone.
    #[command(
        after_help = "The features are those of jackfield-assembly; what is tried is in crates/jackfield-cli/tests/it/left_out.rs.\n\nExample:\n  cargo xtask features"
    )]
    Features,
    /// Make the journals of this version that the tests of every later version read, in tests/fixtures.
    #[command(
        after_help = "For a release, once; one that is there is never rewritten. Sets JACKFIELD_FIXTURE for the tests that make them. With PostgreSQL, which it installs with apt-get if it is missing.\n\nExample:\n  cargo xtask fixture"
    )]
    Fixture,
    /// Compile the public crates with the lowest versions that their manifests admit.
    #[command(
        after_help = "For a release; it compiles everything anew, below target/minimal-versions, and needs the network. Cargo.lock stays as it is.\n\nExample:\n  cargo xtask minimal-versions"
    )]
    MinimalVersions,
    /// Put known mistakes into a copy of the source, one at a time; the named test of each has to fail.
    #[command(
        after_help = "The list is xtask/src/mutants/list.rs.\n\nExamples:\n  cargo xtask mutants\n  cargo xtask mutants --only act-before-commit"
    )]
    Mutants(Mutants),
    /// Write a workspace with a provider of one's own: an adapter, its contract, and a `jackfield` with it.
    #[command(
        after_help = "Its contract lists what is left to do. The template is xtask/templates/provider.\n\nExamples:\n  cargo xtask new-provider brook\n  cargo xtask new-provider brook --path ~/src/brook"
    )]
    NewProvider(NewWorkspace),
    /// Write a workspace with a toolbox of one's own: its tools, its contract, and a `jackfield` with it.
    #[command(
        after_help = "Its contract lists what is left to do. The template is xtask/templates/toolbox.\n\nExamples:\n  cargo xtask new-toolbox brook\n  cargo xtask new-toolbox brook --path ~/src/brook"
    )]
    NewToolbox(NewWorkspace),
    /// Do what `ci` leaves out, as it is rare or long: features one by one, packages, book, templates, lowest versions, mutants, real servers, random kills, a soak and worlds of new seeds.
    #[command(
        after_help = "A change that touches one of them is not done before its stage has passed by hand. Properties play 512 cases.\n\nExamples:\n  cargo xtask nightly\n  cargo xtask nightly book packages"
    )]
    Nightly(Stages),
    /// Pack every public crate as a registry would get it, and check what a registry wants to know.
    #[command(after_help = "Examples:\n  cargo xtask packages\n  cargo xtask packages --alone")]
    Packages(Packages),
    /// Run the journal on a real PostgreSQL server: its contract, and what goes wrong with databases.
    #[command(
        after_help = "Needs PostgreSQL 15 or later and PgBouncer, which it installs with apt-get if they are missing; both are started by the tests, in a folder of their own, as another user than root.\n\nExample:\n  cargo xtask postgres"
    )]
    Postgres,
    /// Make the list prices that come with Jackfield, crates/jackfield-prices/src/catalogue.txt, of files that are given.
    #[command(
        after_help = "Names unknown fields, and the models on which both files differ. What both lack is in crates/jackfield-prices/own.txt, and wins.\nLiteLLM's file is in its wheel, or at the head of its repository; that of genai-prices is prices/new_data/v2/data.json there.\n\nExample:\n  cargo xtask prices --litellm model_prices_and_context_window.json --genai-prices data.json --day 2026-11-16"
    )]
    Prices(Prices),
    /// Compare the public crates with those of an earlier release: what no longer compiles for their users.
    #[command(
        after_help = "For a release. It fails where the version promises that all still compiles. Installs cargo-semver-checks below target/tools if it is missing.\n\nExamples:\n  cargo xtask semver\n  cargo xtask semver --baseline HEAD~30"
    )]
    Semver(Semver),
    /// Run tests again and again beside artificial load, and print the share that failed.
    #[command(
        after_help = "Load is that many busy threads, and a disk that syncs all the time. Seeds go to properties and to the instants of kills; what failed tests said is in target/stress.\n\nExamples:\n  cargo xtask stress approvals::\n  cargo xtask stress --suite page --times 20\n  cargo xtask stress --suite survival --times 1 --load 0 named::"
    )]
    Stress(Stress),
    /// Sign in at a real authorization server in front of an MCP server; it is among the slices.
    #[command(
        after_help = "The servers are in tests/sign-in, and what is done with them in tests/real/sign_in.rs.\n\nExample:\n  cargo xtask sign-in"
    )]
    SignIn,
    /// Count lines and public items by crate, and words of the documents; say what a change has made of them.
    #[command(
        after_help = "Lines are those that are not blank: of `src` with the tests there, and of `tests` beside it; the package `tests` is all tests. Public items are `pub` without a restriction: fn, struct, enum, trait, const, static, type, mod, macro, use (one each) and exported macros, also where their module is private or hidden. With --since, each number is that before, that now, and the difference.\n\nExamples:\n  cargo xtask size\n  cargo xtask size --since main\n  cargo xtask size --json"
    )]
    Size(Size),
    /// Run what needs Python and Node: what we put on the wire, judged by the official SDKs' types, and the slices with real MCP servers.
    #[command(
        after_help = "Installs what it needs below target/slices, with `python3 -m venv` and `npm ci`, once per list of versions.\n\nExample:\n  cargo xtask slices"
    )]
    Slices,
    /// Put mixed traffic on the gateway for a while, with clients that go away, an upstream and tools that fail; afterwards no turn may be open, and memory and descriptors are as before.
    #[command(
        after_help = "A short one is among the tests, and one of five minutes in `nightly`.\n\nExample:\n  cargo xtask soak --minutes 5"
    )]
    Soak(Soak),
    /// Kill the real program wherever it may be, and look at what is left; look at the journal's system calls.
    #[command(
        after_help = "It needs PostgreSQL, and on Linux strace, which it installs with apt-get if they are missing, and mounts small disks in memory: as root, or where a user may have namespaces.\n\nExamples:\n  cargo xtask survival\n  cargo xtask survival --load 10"
    )]
    Survival(Survival),
    /// Write a workspace from each template below the target folder: it has to compile, and its contract to show what is left to do.
    #[command(
        after_help = "What is left to do is listed in xtask/src/templates.rs.\n\nExample:\n  cargo xtask templates"
    )]
    Templates,
    /// Build every test and doctest that needs nothing but Rust, and run them side by side.
    #[command(
        after_help = "What failed stands last, with the command that runs it alone. What is given behind -- goes to `cargo test`, which then runs them.\n\nExamples:\n  cargo xtask test\n  cargo xtask test -- --test it cancel"
    )]
    Test(Passed),
    /// Check the rules of the house that no compiler knows.
    #[command(
        after_help = "Each finding says where it is, which rule it breaks and how to mend it.\n\nExample:\n  cargo xtask tidy"
    )]
    Tidy,
}

/// Arguments that are passed on.
#[derive(ClapArgs, Debug)]
pub(crate) struct Passed {
    /// What cargo, or the benchmarks, get in addition.
    #[arg(last = true)]
    pub(crate) args: Vec<String>,
}

/// What has changed.
#[derive(ClapArgs, Debug)]
pub(crate) struct Check {
    /// The revision from which a crate has to differ; what is not committed differs, too.
    #[arg(long, default_value = "main", value_name = "REVISION")]
    pub(crate) since: String,
}

/// What the contracts can be told.
#[derive(ClapArgs, Debug)]
pub(crate) struct Contracts {
    /// Run every clause against an adapter with the mistake that it is there for; fail if one survives.
    #[arg(long)]
    pub(crate) mutants: bool,
}

/// How a release is built.
#[derive(ClapArgs, Debug)]
pub(crate) struct Dist {
    /// Where the archives can be downloaded, for the script.
    #[arg(long, default_value = "", value_name = "URL")]
    pub(crate) address: String,
    /// Features of jackfield-cli, such as claude,serve.
    #[arg(long, value_name = "NAMES")]
    pub(crate) features: Option<String>,
    /// Without any feature but those of --features, which have to name a provider.
    #[arg(long)]
    pub(crate) no_default_features: bool,
    /// The profile that it is built with.
    #[arg(long, default_value = "dist", value_name = "NAME")]
    pub(crate) profile: String,
    /// Another target than that of this machine.
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<String>,
}

impl Dist {
    /// A build for this machine that only has to speak.
    pub(crate) fn of_host() -> Self {
        Self {
            address: String::new(),
            features: None,
            no_default_features: false,
            profile: "dev".to_owned(),
            target: None,
        }
    }
}

/// How packages are checked.
#[derive(ClapArgs, Debug)]
pub(crate) struct Packages {
    /// Also compile every crate by itself, with the features alone that it names. That takes minutes, and is for a release.
    #[arg(long)]
    pub(crate) alone: bool,
}

/// Which worlds are explored.
#[derive(ClapArgs, Debug)]
pub(crate) struct Explore {
    /// Play the worlds of this seed alone.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// How many new seeds are drawn.
    #[arg(long, default_value_t = 10, value_name = "NUMBER")]
    pub(crate) times: u32,
}

/// What the mutants can be told.
#[derive(ClapArgs, Debug)]
pub(crate) struct Mutants {
    /// Try this one alone.
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Option<String>,
}

/// A new workspace.
#[derive(ClapArgs, Debug)]
pub(crate) struct NewWorkspace {
    /// Its name: lower-case letters, digits and hyphens.
    pub(crate) name: String,
    /// Its folder, which must not exist; by default the name, beside this repository.
    #[arg(long, value_name = "DIR")]
    pub(crate) path: Option<PathBuf>,
}

/// What a release is compared with.
#[derive(ClapArgs, Debug)]
pub(crate) struct Semver {
    /// The revision of the earlier release; by default that of the last tag `v*`.
    #[arg(long, value_name = "REVISION")]
    pub(crate) baseline: Option<String>,
}

/// What prices are made of.
#[derive(ClapArgs, Debug)]
pub(crate) struct Prices {
    /// LiteLLM's model_prices_and_context_window.json.
    #[arg(long, value_name = "FILE")]
    pub(crate) litellm: PathBuf,
    /// The data.json of genai-prices.
    #[arg(long, value_name = "FILE")]
    pub(crate) genai_prices: PathBuf,
    /// Where the prices are written.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "crates/jackfield-prices/src/catalogue.txt"
    )]
    pub(crate) out: PathBuf,
    /// The day of the files.
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub(crate) day: String,
}

/// How sizes are printed.
#[derive(ClapArgs, Debug)]
pub(crate) struct Size {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Compare with this revision.
    #[arg(long, value_name = "REVISION")]
    pub(crate) since: Option<String>,
}

/// The options of the survival suite.
#[derive(ClapArgs, Debug)]
pub(crate) struct Survival {
    /// Only let conversations run at two gateways that are killed, for so many minutes.
    #[arg(long, value_name = "MINUTES")]
    pub(crate) load: Option<u64>,
}

/// Which stages are run.
#[derive(ClapArgs, Debug)]
pub(crate) struct Stages {
    /// These alone.
    #[arg(value_name = "STAGE")]
    pub(crate) stages: Vec<String>,
}

/// What is repeated, and beside what.
#[derive(ClapArgs, Debug)]
pub(crate) struct Stress {
    /// Part of the names of the tests; all of the suite without it.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The suite that they are of.
    #[arg(long, default_value = "it")]
    pub(crate) suite: Suite,
    /// How often they run.
    #[arg(long, default_value_t = 5, value_name = "NUMBER")]
    pub(crate) times: u32,
    /// How many threads are busy beside them.
    #[arg(long, default_value_t = 4, value_name = "NUMBER")]
    pub(crate) load: u32,
    /// The seed of every run, such as that of a failed one; otherwise each run has a new one.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
}

impl Stress {
    /// The filters for a test binary.
    pub(crate) fn filters(&self) -> impl Iterator<Item = &str> {
        self.name.as_deref().into_iter()
    }
}

/// The options of a soak.
#[derive(ClapArgs, Debug)]
pub(crate) struct Soak {
    /// How long the traffic lasts.
    #[arg(long, default_value_t = 5, value_name = "NUMBER")]
    pub(crate) minutes: u64,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::Args;

    #[test]
    fn the_command_line_is_sound() {
        Args::command().debug_assert();
    }
}
