//! The cases of MCP: the endpoint of the gateway, servers at an address, and the notes.

use crate::mcp;
use crate::remote;
use crate::report::{Report, compared, shown};

use super::{Amount, ours};

pub(super) fn list(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let took = mcp::lists(&ours()?, crate::catalog::TOOLS, amount.times(50))?;
    let (endpoint, bare) = (took.endpoint.p50(), took.bare.p50());
    let first = [
        "the first, the server's list included".to_owned(),
        String::new(),
        String::new(),
        shown(took.first),
        String::new(),
    ];
    let rows = [
        compared("each later one, p50", endpoint, bare, ""),
        [
            "the same, against the aim".to_owned(),
            String::new(),
            "at most 50 ms".to_owned(),
            shown(endpoint),
            String::new(),
        ],
        first,
    ];
    let about = format!(
        "A list of {} tools through `/mcp` of the gateway, against the same server by bare `rmcp`.",
        crate::catalog::TOOLS
    );
    report.table(&about, COLUMNS, &rows);
    Ok(())
}

pub(super) fn call(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let took = mcp::calls(&ours()?, amount.times(2000))?;
    let (endpoint, bare) = (took.endpoint.p50(), took.bare.p50());
    let rows = [
        compared("p50", endpoint, bare, ""),
        [
            "what the gateway adds".to_owned(),
            String::new(),
            "at most 0.3 ms".to_owned(),
            shown(endpoint.saturating_sub(bare)),
            String::new(),
        ],
    ];
    let about = "A call through `/mcp` of the gateway to a server over standard input and output, \
                 against the same call by bare `rmcp`.";
    report.table(about, COLUMNS, &rows);
    Ok(())
}

pub(super) fn http(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let took = remote::calls(&ours()?, amount.times(2000))?;
    let (toolbox, bare) = (took.toolbox.p50(), took.bare.p50());
    let rows = [
        compared("p50", toolbox, bare, "1.10, or 80 µs"),
        [
            "what our client adds".to_owned(),
            String::new(),
            String::new(),
            shown(toolbox.saturating_sub(bare)),
            String::new(),
        ],
    ];
    let about = "A call over HTTP through the toolbox, against the same request by bare hyper.";
    report.table(about, ["", "ratio", "aim", "ours", "bare hyper"], &rows);
    Ok(())
}

pub(super) fn idle(_: Amount, report: &mut Report) -> anyhow::Result<()> {
    if !cfg!(target_os = "linux") {
        return Ok(());
    }
    let held = remote::idle(&ours()?, remote::CONNECTIONS)?;
    let row = |what: &str, kib: u64| [what.to_owned(), format!("{kib} KiB")];
    let rows = [
        row("over standard input and output", held.stdio),
        row("over HTTP", held.http),
    ];
    let about = format!(
        "The memory of an idle connection to a server, on the average of {}, without the server's own process.",
        remote::CONNECTIONS
    );
    report.table(&about, ["", "memory"], &rows);
    Ok(())
}

pub(super) fn notes(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let notes = amount.times(mcp::NOTES / 1000) * 1000;
    let took = mcp::searches(&ours()?, notes, amount.times(100))?;
    let rows: Vec<_> = took
        .iter()
        .map(|(what, series)| {
            let aim = "milliseconds".to_owned();
            [
                (*what).to_owned(),
                aim,
                shown(series.p50()),
                shown(series.at(99)),
            ]
        })
        .collect();
    let about = format!("A search of {notes} notes, by a client of `jackfield notes-server`.");
    report.table(&about, ["", "aim", "p50", "p99"], &rows);
    Ok(())
}

const COLUMNS: [&str; 5] = ["", "ratio", "aim", "ours", "the server itself"];
