//! An MCP server with one tool, for the benchmarks.

use std::time::Duration;

use jackfield_benches::echo::{Echo, serve};

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut echo = Echo::default();
    while let Some(argument) = arguments.next() {
        let number = arguments.next().unwrap_or_default().parse::<usize>()?;
        match argument.as_str() {
            "--more-tools" => echo.more_tools = number,
            // A server that takes its time to start.
            "--start-ms" => std::thread::sleep(Duration::from_millis(number as u64)),
            _ => anyhow::bail!("there is no `{argument}`"),
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let served = runtime.block_on(serve(echo));
    // A thread that still reads the input is not waited for.
    runtime.shutdown_background();
    served
}
