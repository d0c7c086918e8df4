//! `jackfield doctor`: checks the installation, and suggests fixes.

#[cfg(feature = "serve")]
mod gateway;
mod journal;
mod network;
mod pending;
mod places;
mod retiring;
mod routes;
mod secrecy;
mod setup;
mod tools;

pub(crate) use self::network::{advice, chosen};
pub(crate) use self::retiring::said as retiring;
pub use crate::doctor_check::{Area, CheckResult, DoctorCheck, TroubleshootingSection};

use jackfield_assembly::{Assembly, Config, Flags, Registry, Surroundings, load};
use tokio::task::JoinSet;

use self::pending::Pending;
use crate::args;
use crate::commands::{ask, config, printed, servers};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render;
use crate::since;

/// Runs all checks, and prints the results.
///
/// # Errors
///
/// [`CommandError`] if nothing can be checked, or the result cannot be written.
pub async fn run(doctor: args::Doctor, registry: &Registry) -> Result<Exit, CommandError> {
    let surroundings = config::surroundings()?;
    let flags = ask::source_flags(&doctor.source);
    let mut report = Report::new(if doctor.json {
        Shown::AtEnd
    } else {
        Shown::AtOnce
    });
    check_all(&surroundings, &flags, registry, doctor.offline, &mut report).await?;
    report.finish(&mut anstream::stdout())
}

/// Runs all checks but the terminal's, and prints nothing.
#[cfg_attr(
    not(feature = "serve"),
    expect(dead_code, reason = "only a gateway is asked for them")
)]
pub(crate) async fn collect(
    surroundings: &Surroundings,
    flags: &Flags,
    registry: &Registry,
) -> Vec<DoctorCheck> {
    let mut report = Report::new(Shown::Elsewhere);
    let checked = check_all(surroundings, flags, registry, false, &mut report).await;
    if let Err(error) = checked {
        let failed = DoctorCheck::failed(
            Area::Version,
            error.messages.join("; "),
            error.help.join("; "),
        );
        report.checks.push(failed);
    }
    report.checks
}

async fn check_all(
    surroundings: &Surroundings,
    flags: &Flags,
    registry: &Registry,
    offline: bool,
    report: &mut Report,
) -> Result<(), CommandError> {
    report.add(vec![setup::version()])?;
    report.add(places::all(surroundings))?;
    let config = match load(surroundings, flags) {
        Ok(config) => config,
        Err(error) => return report.add(setup::config_failures(error)),
    };
    report.add(setup::files(&config))?;
    report.add(retiring::all(&config, since::now()))?;
    #[cfg(feature = "serve")]
    report.add(gateway::all(&config, &surroundings.environment))?;
    match registry.assemble(&config, &surroundings.environment) {
        Ok(assembled) => examine(offline, surroundings, &config, registry, assembled, report).await,
        Err(error) => report.add(setup::config_failures(error)),
    }
}

/// Runs the checks of everything configured: concurrently, reported in order.
async fn examine(
    offline: bool,
    surroundings: &Surroundings,
    config: &Config,
    registry: &Registry,
    assembled: Assembly,
    report: &mut Report,
) -> Result<(), CommandError> {
    let chosen = chosen(config, &assembled);
    report.add(network::keys(&assembled, &chosen))?;
    let is_gateway = report.shown == Shown::Elsewhere;
    let checks = secrecy::all(config, &assembled, &chosen, surroundings, is_gateway);
    report.add(checks)?;
    let pending = Pending::default();
    let mut checking = JoinSet::new();
    let mut order = 0;
    if !offline {
        for provider in chosen.iter().cloned() {
            let task = network::provider(config, &assembled, provider, &pending);
            checking.spawn(async move { (order, task.await) });
            order += 1;
        }
    }
    for server in assembled.servers.all() {
        let task = tools::server(server, &pending);
        checking.spawn(async move { (order, task.await) });
        order += 1;
    }
    let notice = (report.shown != Shown::Elsewhere).then(|| pending.start_notice());
    let mut done = checking.join_all().await;
    drop(notice);
    done.sort_by_key(|(order, _)| *order);
    let all_servers = assembled.servers.all();
    let mut checks: Vec<DoctorCheck> = done.into_iter().flat_map(|(_, checks)| checks).collect();
    // Grouped by area: each provider has checks of its own and of its models.
    checks.sort_by_key(|check| check.area);
    report.add(checks)?;
    report.add(routes::all(config, &assembled, surroundings, offline).await)?;
    let checks = tools::offered(config, &assembled, report.has_failed(Area::Servers)).await;
    report.add(checks)?;
    report.add(tools::limits(config))?;
    report.add(journal::all(config, registry).await)?;
    if report.shown != Shown::Elsewhere {
        report.add(setup::terminal(surroundings))?;
    }
    servers::stop(all_servers).await;
    Ok(())
}

struct Report {
    area: Option<Area>,
    checks: Vec<DoctorCheck>,
    shown: Shown,
}

/// When and where results are shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Shown {
    /// At the end, as JSON.
    AtEnd,
    /// Each at once, for people.
    AtOnce,
    Elsewhere,
}

impl Report {
    const fn new(shown: Shown) -> Self {
        Self {
            area: None,
            checks: Vec::new(),
            shown,
        }
    }

    fn add(&mut self, checks: Vec<DoctorCheck>) -> Result<(), CommandError> {
        if self.shown == Shown::AtOnce {
            let out = &mut anstream::stdout();
            for check in &checks {
                let is_first = self.area.replace(check.area) != Some(check.area);
                // If the pipe is closed, the exit code still has the result.
                printed::finish(render::checked(out, check, is_first), Exit::Answered)?;
            }
        }
        self.checks.extend(checks);
        Ok(())
    }

    fn has_failed(&self, area: Area) -> bool {
        let mut failed = self.failed();
        failed.any(|check| check.area == area)
    }

    fn failed(&self) -> impl Iterator<Item = &DoctorCheck> {
        let checks = self.checks.iter();
        checks.filter(|check| check.verdict == CheckResult::Failed)
    }

    fn finish(self, out: &mut impl std::io::Write) -> Result<Exit, CommandError> {
        let exit = self
            .failed()
            .next()
            .map_or(Exit::Answered, DoctorCheck::exit);
        printed::finish(
            render::checks(out, &self.checks, self.shown == Shown::AtEnd),
            exit,
        )
    }
}
