//! How long turns wait for servers. No time passes: the clock stands still, and goes on when all wait.
#![cfg(unix)]

use std::sync::Arc;
use std::time::Duration;

use jackfield_assembly::{Assembly, Environment, Registry, ServerStatus};
use jackfield_engine::{ServerTools, ToolOffer};
use tokio::time::Instant;

use crate::world::World;

/// A server that reads and never answers, configured like this besides.
fn hanging(more: &str, settings: &str) -> Assembly {
    let server = format!(r#"{{"command": "sh", "args": ["-c", "cat > /dev/null"]{more}}}"#);
    let world = World::new()
        .with(
            ".config/jackfield/mcp-servers.json",
            format!(r#"{{"mcpServers": {{"box": {server}}}}}"#),
        )
        .with_user(settings);
    let environment: Environment = [("PATH", "/usr/bin:/bin")].into_iter().collect();
    Registry::default()
        .assemble(&world.load().unwrap(), &environment)
        .unwrap()
}

/// What is offered, and how long that was waited for.
async fn offered(assembled: &Assembly) -> (ToolOffer, Duration) {
    let since = Instant::now();
    let offered = assembled.engine.tools(&assembled.options).await;
    assert!(offered.catalog.tool("calculator").is_some());
    (offered, since.elapsed())
}

/// About so long: the clock goes by milliseconds.
#[track_caller]
fn about(waited: Duration, expected: Duration) {
    let least = expected.saturating_sub(Duration::from_millis(5));
    let most = expected + Duration::from_millis(50);
    assert!(waited >= least && waited <= most, "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_is_waited_for_once_and_its_failure_is_told_from_then_on() {
    for (settings, wait) in [("", 5), ("mcp.start_wait = '2s'", 2)] {
        let assembled = hanging("", settings);
        let server = assembled.servers.all()[0].clone();
        let begun = Instant::now();
        let (first, waited) = offered(&assembled).await;
        about(waited, Duration::from_secs(wait));
        assert_eq!(first.problems.len(), 1);
        assert_eq!(
            first.problems[0].message,
            format!(
                "the server `box` has not listed its tools within {wait} s, and goes on in the background; \
                 raise `start_wait` under [mcp] to wait longer"
            )
        );
        assert_eq!(server.state(), ServerStatus::Starting);
        let (second, waited) = offered(&assembled).await;
        about(waited, Duration::ZERO);
        assert_eq!(second.problems, first.problems);
        server.wait_for_listing().await;
        assert!(begun.elapsed() >= Duration::from_secs(60));
        assert!(matches!(server.state(), ServerStatus::Failed { .. }));
        // It starts again, and no turn waits for that.
        for _ in 0..3 {
            let (later, waited) = offered(&assembled).await;
            about(waited, Duration::ZERO);
            let message = &later.problems[0].message;
            assert!(
                message.contains("it did not answer within 60 s")
                    && message.ends_with("; it is tried again in the background"),
                "{message}"
            );
            assert_eq!(server.state(), ServerStatus::Starting);
        }
        server.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn many_who_come_at_once_wait_as_long_as_one() {
    let assembled = Arc::new(hanging("", ""));
    let begun = Instant::now();
    let all = (0..20).map(|_| {
        let assembled = Arc::clone(&assembled);
        tokio::spawn(async move { offered(&assembled).await })
    });
    let all: Vec<_> = all.collect();
    for one in all {
        assert_eq!(one.await.unwrap().0.problems.len(), 1);
    }
    about(begun.elapsed(), Duration::from_secs(5));
    assembled.servers.all()[0].stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_whose_tools_are_not_asked_for_is_not_started() {
    let mut assembled = hanging("", "");
    for patterns in [&["builtin/*"][..], &["builtin/calculator", "other/*"]] {
        let patterns = patterns.iter().map(|pattern| (*pattern).into());
        assembled.options.server_tools = ServerTools::Only(patterns.collect());
        let (offered, waited) = offered(&assembled).await;
        assert_eq!((offered.problems.len(), waited), (0, Duration::ZERO));
        assert_eq!(assembled.servers.all()[0].state(), ServerStatus::Stopped);
    }
    let assembled = hanging(r#", "tools": {"deny": ["*"]}"#, "");
    let (offered, waited) = offered(&assembled).await;
    assert_eq!((offered.problems.len(), waited), (0, Duration::ZERO));
    assert_eq!(assembled.servers.all()[0].state(), ServerStatus::Stopped);
}

#[tokio::test(start_paused = true)]
async fn a_look_at_a_server_is_as_long_as_a_turn_waits() {
    let assembled = hanging("", "");
    let server = &assembled.servers.all()[0];
    let since = Instant::now();
    let looked = server.test_briefly().await;
    about(since.elapsed(), Duration::from_secs(5));
    assert_eq!(looked.state, ServerStatus::Starting);
    assert!(!looked.usable && looked.problems[0].contains("jackfield mcp test box"));
    server.stop().await;
}
