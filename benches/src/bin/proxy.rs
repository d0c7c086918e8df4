//! The bare proxy of the gateway's benchmarks: `bench-proxy UPSTREAM`.

use anyhow::Context as _;

fn main() -> anyhow::Result<()> {
    let upstream = std::env::args().nth(1).context("give an upstream")?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(jackfield_benches::gateway::proxy::serve(&upstream))
}
