//! The cases of the gateway.

use std::time::Duration;

use crate::gateway::subject::Kind;
use crate::gateway::{self, Answers, Streams};
use crate::measure::{Series, ratio};
use crate::report::{Report, compared, shown};
use crate::suite::Amount;

pub(super) fn chat(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let requests = amount.times(4000).max(64);
    let all = gateway::chat(amount.times(7), requests)?;
    let nginx = all.iter().find(|one| one.kind == Kind::Nginx);
    let row = |one: &Answers| {
        let against = nginx.map_or(f64::NAN, |nginx| ratio(one.cpu.p50(), nginx.cpu.p50()));
        let least = nginx.map_or(f64::NAN, |nginx| ratio(one.cpu.least(), nginx.cpu.least()));
        [
            one.kind.to_string(),
            shown_ratio(against),
            shown_ratio(least),
            aim(one.kind, "1.6, at most 2").to_owned(),
            shown(one.cpu.p50()),
            shown(one.wall.p50()),
        ]
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    let about = format!(
        "The gateway: requests of 2 KB with tools, 16 connections, {} not streamed. What each computes for a request, against nginx.{}",
        "Chat Completions on both sides,",
        without(nginx.is_some())
    );
    let columns = [
        "",
        "ratio, p50",
        "the least",
        "aim",
        "CPU of each",
        "p50 of each",
    ];
    report.table(&about, columns, &rows);
    Ok(())
}

pub(super) fn history(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for (messages, requests) in [(100, 1000), (1000, 200)] {
        let all = gateway::history(amount.times(7), amount.times(requests).max(32), messages)?;
        let proxy = all.iter().find(|one| one.kind == Kind::Proxy);
        for one in &all {
            let against = proxy.map_or(f64::NAN, |proxy| ratio(one.cpu.p50(), proxy.cpu.p50()));
            let is_ours = one.kind != Kind::Proxy;
            rows.push([
                format!("{messages} messages, {}", one.kind),
                shown_ratio(against),
                if is_ours { "at most 2.5" } else { "" }.to_owned(),
                shown(one.cpu.p50()),
                shown(one.wall.p50()),
            ]);
        }
    }
    report.table(
        "The gateway: requests with a history that belongs to no session, 16 connections. What each computes for a request, against the bare proxy.",
        ["", "ratio, p50", "aim", "CPU of each", "p50 of each"],
        &rows,
    );
    Ok(())
}

pub(super) fn streams(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let all = gateway::streams(amount.times(6))?;
    let nginx = all.iter().find(|one| one.kind == Kind::Nginx);
    let direct = all.iter().find(|one| one.kind == Kind::Upstream);
    let row = |one: &Streams| {
        let against = nginx.map_or(f64::NAN, |nginx| ratio(one.cpu.p50(), nginx.cpu.p50()));
        let alone = direct.map_or(Duration::ZERO, |direct| direct.among.p50());
        let direct = direct.map_or(Duration::ZERO, |direct| direct.first.p50());
        [
            one.kind.to_string(),
            shown(one.first.p50().saturating_sub(direct)),
            shown(one.among.p50().saturating_sub(alone)),
            aim(one.kind, "at most 0.2 ms").to_owned(),
            shown(one.first.at(99)),
            shown(one.among.at(99)),
            shown_ratio(against),
            aim(one.kind, "at most 1.4").to_owned(),
            shown(one.cpu.p50()),
        ]
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    let about = format!(
        "The gateway: streams of 100 tokens, one each 10 ms, 64 at once.{}",
        without(nginx.is_some())
    );
    let columns = [
        "",
        "added to the first token of all begun in one instant, p50",
        "of one begun each 15.6 ms, p50",
        "aim",
        "first token in one instant, p99",
        "each 15.6 ms, p99",
        "CPU against nginx",
        "aim",
        "CPU of each",
    ];
    report.table(&about, columns, &rows);
    Ok(())
}

pub(super) fn slow(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let at_once = amount.times(1000).max(10);
    let all = gateway::slow(at_once)?;
    let has_nginx = all.iter().any(|(kind, _)| *kind == Kind::Nginx);
    let rows: Vec<_> = all
        .iter()
        .map(|(kind, slow)| {
            [
                kind.to_string(),
                format!("{} of {at_once}", slow.complete),
                format!("{:.1} KiB", slow.each),
                aim(*kind, "at most 37 KiB").to_owned(),
                format!("{:.1} MiB", slow.idle as f64 / 1024.0),
                aim(*kind, "at most 12 MB").to_owned(),
            ]
        })
        .collect();
    let about = format!(
        "The gateway: {at_once} slow streams at once, and what it has in memory without any.{}",
        without(has_nginx)
    );
    let columns = ["", "complete", "memory of each", "aim", "idle", "aim"];
    report.table(&about, columns, &rows);
    Ok(())
}

pub(super) fn turn(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let took = gateway::turns(amount.times(200))?;
    let row =
        |what: &str, series: &Series, aim| compared(what, series.p50(), took.floor.p50(), aim);
    let more = took.in_a_file.p50().saturating_sub(took.in_memory.p50());
    let rows = [
        row(
            "with its journal in memory, p50",
            &took.in_memory,
            "at most 2",
        ),
        row("with its journal in a file, p50", &took.in_a_file, ""),
        [
            "what the file adds".to_owned(),
            String::new(),
            "at most 1 ms".to_owned(),
            shown(more),
            String::new(),
        ],
    ];
    report.table(
        "The turn that everyone can compare, run by the gateway for a client, against the bare loop.",
        ["", "ratio", "aim", "ours", "floor"],
        &rows,
    );
    Ok(())
}

pub(super) fn crowd(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let turns = amount.times(100);
    let took = gateway::crowd(turns, amount.times(5))?;
    let rows = [[
        "all of them, p50".to_owned(),
        "at most 0.28 s".to_owned(),
        shown(took.p50()),
    ]];
    let about = format!(
        "{turns} turns at once that the gateway runs, each with one round of 5 tools of 200 ms."
    );
    report.table(&about, ["", "aim", "time"], &rows);
    Ok(())
}

pub(super) fn replicas(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let took = gateway::replicas(amount.times(7), amount.times(500).max(16))?;
    let Some(took) = took else {
        // PostgreSQL is not installed.
        return Ok(());
    };
    let (one, two) = (took.one.p50(), took.two.p50());
    let rows = [[
        "two gateways, against one".to_owned(),
        format!("{:.2}", 2.0 * ratio(one, two)),
        "1.7".to_owned(),
        shown(two),
        shown(one),
    ]];
    report.table(
        "How many more turns two gateways over one PostgreSQL can answer than one, by what they compute for each; 16 connections, the turn that everyone can compare.",
        ["", "ratio", "aim", "CPU of each, two", "CPU of each, one"],
        &rows,
    );
    Ok(())
}

pub(super) fn answers(amount: Amount, report: &mut Report) -> anyhow::Result<()> {
    let (open, answered) = (amount.times(5_000), amount.times(1_000));
    let took = gateway::answers::measure(open, answered)?;
    let rows: Vec<[String; 4]> = took
        .iter()
        .map(|took| {
            [
                took.kind.to_string(),
                "10 s".to_owned(),
                shown(took.all),
                shown(took.each.p50()),
            ]
        })
        .collect();
    let about = format!(
        "{answered} answers by 16 clients to the oldest of {open} open questions; the turns go on beside."
    );
    report.table(&about, ["", "aim", "all of them", "each, p50"], &rows);
    Ok(())
}

const fn aim(kind: Kind, aim: &'static str) -> &'static str {
    match kind {
        Kind::Passthrough => aim,
        Kind::Gateway
        | Kind::GatewayInAFile
        | Kind::GatewayInPostgres
        | Kind::Nginx
        | Kind::Proxy
        | Kind::Upstream => "",
    }
}

fn shown_ratio(ratio: f64) -> String {
    if ratio.is_nan() {
        String::new()
    } else {
        format!("{ratio:.2}")
    }
}

const fn without(has_nginx: bool) -> &'static str {
    if has_nginx {
        ""
    } else {
        " There was no nginx on this machine, so that the ratios to it are missing."
    }
}
