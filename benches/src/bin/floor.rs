//! One cold turn by the bare loop: `bench-floor BASE_URL SERVER PLAN`.

use std::io::Write as _;

use anyhow::Context as _;
use jackfield_benches::floor::{Asker, Bare};
use jackfield_benches::plan::Plan;
use tokio::process::Command;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [base_url, server, plan] = &arguments[..] else {
        anyhow::bail!("give a base URL, a server and a plan");
    };
    let plan = Plan::parse(plan).context("that is no plan")?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let (bare, asker) =
            tokio::join!(Bare::start(Command::new(server)), Asker::connect(base_url));
        let (bare, mut asker) = (bare?, asker?);
        let (answer, _) = asker.turn(&bare, plan).await?;
        let mut out = std::io::stdout();
        writeln!(out, "{answer}")?;
        out.flush()?;
        bare.stop().await
    })
}
