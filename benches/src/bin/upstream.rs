//! The upstream of the gateway's benchmarks.

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(jackfield_benches::gateway::upstream::serve())
}
