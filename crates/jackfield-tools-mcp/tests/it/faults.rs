//! Servers that do what servers must not.

use std::time::{Duration, Instant};

use jackfield_domain::failure::{Disposition, ToolFailureKind};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::Toolbox as _;
use jackfield_tools_mcp::ServerState;
use serde_json::{Value, json};
use tracing::Level;

use crate::harness::{Scripted, is_alive, run, script, settings, soon, through_shell, tool};
use crate::logged;

#[track_caller]
fn fault(state: ServerState) -> (String, String) {
    match state {
        ServerState::Failed { fault, .. } => (fault.reason, fault.advice),
        other @ (ServerState::Ready { .. } | ServerState::Starting | ServerState::Stopped) => {
            panic!("{other:?}")
        }
    }
}

#[tokio::test]
async fn a_server_that_ends_at_once_is_reported_with_its_code_and_its_last_words() {
    let server = Scripted::with(json!({}), |config, _| {
        through_shell(config, "echo GITHUB_TOKEN is missing >&2; exit 7");
    });
    let error = soon(server.toolbox.list()).await.unwrap_err();
    assert_eq!(error.failure.disposition, Disposition::NotSent);
    assert_eq!(error.failure.kind, ToolFailureKind::Unavailable);
    let (reason, advice) = fault(server.toolbox.state());
    assert!(reason.contains("code 7"), "{reason}");
    assert!(reason.contains("GITHUB_TOKEN is missing"), "{reason}");
    assert!(!advice.is_empty());
    // It is not started once more: it did not end of anything that it was told.
    let once = if cfg!(target_os = "linux") { 1 } else { 2 };
    assert_eq!(server.toolbox.log(), vec!["GITHUB_TOKEN is missing"; once]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_server_that_cannot_start_is_started_once_for_each_try() {
    for guarded in [true, false] {
        let cannot = |begin: &str| {
            let begin = begin.to_owned();
            Scripted::with(json!({}), move |config, settings| {
                through_shell(config, &format!("echo start >&2; {begin}"));
                if !guarded {
                    settings.guard = None;
                }
            })
        };
        for (begin, starts) in [
            ("exit 0", 1),
            ("exec /no/such/program", 1),
            ("exec <&-; sleep 0.1; exit 1", 1),
            ("kill -9 $$", 1),
            // These have read the probe, and may have ended of it.
            ("read -r line; exit 1", 2),
            ("head -c 10; exit 1", 2),
        ] {
            let server = cannot(begin);
            soon(server.toolbox.start()).await.unwrap_err();
            let log = server.toolbox.log();
            let started = log.iter().filter(|line| *line == "start").count();
            assert_eq!(started, starts, "{begin}, guarded: {guarded}: {log:?}");
        }
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named_before_anything_is_started() {
    let nowhere = std::path::PathBuf::from("/nowhere/at/all");
    for (command, folder, named) in [
        ("no-such-program-anywhere", None, "PATH"),
        ("/nowhere/at/all", None, "/nowhere/at/all"),
        ("/dev/null", None, "/dev/null"),
        ("", None, "no command"),
        ("sh", Some(nowhere), "its folder /nowhere/at/all"),
    ] {
        let server = Scripted::with(json!({}), |config, _| {
            config.command = command.to_owned();
            config.folder = folder;
        });
        let fault = soon(server.toolbox.start()).await.unwrap_err();
        assert!(fault.reason.contains(named), "{fault}");
        assert!(!fault.advice.is_empty());
    }
}

#[tokio::test]
async fn noise_on_standard_output_is_skipped_and_kept_in_the_log() {
    let mut noisy = script(
        "greet",
        &json!([
            { "raw": "Listening…" },
            { "raw": "{\"not\": \"the protocol\"}" },
            { "raw": "[1, 2" },
            { "raw": "null" },
            { "raw": "" },
            { "raw": "{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{}}" },
            { "raw": "{\"jsonrpc\":\"2.0\",\"id\":777,\"result\":{}}" },
            { "raw": "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":[]}" },
            { "text": "hello" },
        ]),
    );
    noisy["garbage"] = json!(["Welcome to the server!", "\u{1b}[31mred", "\u{0}\u{0}"]);
    let server = Scripted::new(noisy);
    assert_eq!(server.result("greet", json!({})).await.to_text(), "hello");
    let log = server.toolbox.log();
    for noise in ["Welcome to the server!", "Listening…", "[1, 2"] {
        assert!(
            log.iter().any(|line| line.ends_with(noise)),
            "{noise}: {log:?}"
        );
    }
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up_and_ended() {
    let server = Scripted::with(json!({ "hang": true }), |_, settings| {
        settings.start_limit = Duration::from_millis(800);
    });
    let fault = soon(server.toolbox.start()).await.unwrap_err();
    assert!(fault.reason.contains("0.8 s"), "{fault}");
    soon(async {
        while server.processes().iter().any(|pid| is_alive(pid)) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_list_that_never_comes_is_not_waited_for() {
    let server = Scripted::with(json!({}), |config, settings| {
        settings.list_limit = Duration::from_millis(300);
        // Everything is answered but the list.
        through_shell(config, "grep --line-buffered -v tools/list | \"$0\" \"$1\"");
    });
    let error = soon(server.toolbox.list()).await.unwrap_err();
    assert!(error.failure.message.contains("0.3 s"), "{error}");
    assert!(matches!(server.toolbox.state(), ServerState::Ready { .. }));
}

#[tokio::test]
async fn a_flood_on_standard_error_is_read_and_bounded() {
    let mut flood = script("greet", &json!([{ "text": "hello" }]));
    flood["flood"] = json!(200_000);
    let server = Scripted::new(flood);
    assert_eq!(server.result("greet", json!({})).await.to_text(), "hello");
    soon(server.toolbox.stop()).await;
    let log = server.toolbox.log();
    let limits = settings();
    assert_eq!(log.len(), limits.log_lines);
    let bytes: usize = log.iter().map(String::len).sum();
    assert!(bytes <= limits.log_bytes, "{bytes}");
}

#[tokio::test]
async fn lines_without_end_on_standard_error_are_bounded() {
    let server = Scripted::with(script("greet", &json!([])), |config, _| {
        through_shell(
            config,
            "head -c 3000000 /dev/zero | tr '\\0' x >&2; exec \"$0\" \"$1\"",
        );
    });
    server.result("greet", json!({})).await;
    soon(server.toolbox.stop()).await;
    let log = server.toolbox.log();
    let lengths: Vec<_> = log.iter().map(String::len).collect();
    assert_eq!(lengths, [8 << 10]);
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_leaves_it_unknown_and_comes_back() {
    let dying = json!({
        "tools": [tool("die"), tool("greet")],
        "calls": { "die": [{ "die": 9 }], "greet": [{ "text": "hello" }] },
    });
    let server = Scripted::new(dying);
    let failure = server.failure("die").await;
    assert_eq!(failure.disposition, Disposition::Unknown);
    assert_eq!(failure.kind, ToolFailureKind::Crashed);
    assert!(failure.message.contains("code 9"), "{failure:?}");
    assert_eq!(server.result("greet", json!({})).await.to_text(), "hello");
    assert_eq!(server.count("start"), 2);
}

#[tokio::test]
async fn a_server_that_always_ends_is_started_after_longer_and_longer_pauses() {
    let server = Scripted::with(script("greet", &json!([])), |config, settings| {
        settings.backoff = Duration::from_millis(200);
        // It answers the first question, and ends.
        through_shell(config, "head -n 1 | \"$0\" \"$1\"");
    });
    let begun = Instant::now();
    server.toolbox.start().await.unwrap();
    server.until("start", 4).await;
    // 200 + 400 + 800 ms; in a tight loop it would be hundreds.
    assert!(
        begun.elapsed() > Duration::from_millis(1300),
        "{:?}",
        begun.elapsed()
    );
    assert!(server.count("start") <= 5);
}

#[tokio::test]
async fn a_server_that_cannot_start_is_not_tried_by_itself() {
    let server = Scripted::with(json!({ "exit": 1 }), |_, settings| {
        settings.backoff = Duration::from_secs(3600);
        settings.longest_backoff = Duration::from_secs(3600);
    });
    soon(server.toolbox.start()).await.unwrap_err();
    let tries = server.count("start");
    for _ in 0..20 {
        // The reason is said at once, and nothing is started for it.
        soon(server.toolbox.start()).await.unwrap_err();
    }
    assert_eq!(server.count("start"), tries);
}

#[tokio::test]
async fn why_a_server_is_down_is_logged_once_until_that_changes() {
    let folder = tempfile::tempdir().unwrap();
    let code = folder.path().join("code");
    std::fs::write(&code, "3").unwrap();
    let server = Scripted::with(script("die", &json!([{ "die": 9 }])), |config, settings| {
        settings.backoff = Duration::ZERO;
        let code = code.display();
        let begin = format!("[ -s {code} ] && exit $(cat {code}); exec \"$0\" \"$1\"");
        through_shell(config, &begin);
    });
    let (logged, _guard) = logged::record();
    for _ in 0..3 {
        soon(server.toolbox.start()).await.unwrap_err();
    }
    assert_eq!(logged.levels(), [Level::WARN]);
    std::fs::write(&code, "4").unwrap();
    for _ in 0..3 {
        soon(server.toolbox.start()).await.unwrap_err();
    }
    assert_eq!(logged.levels(), [Level::WARN; 2]);
    std::fs::write(&code, "").unwrap();
    soon(server.toolbox.start()).await.unwrap();
    assert_eq!(logged.levels(), [Level::WARN, Level::WARN, Level::INFO]);
    // What runs and ends is down anew.
    let before = logged.levels().len();
    let _failed = server.failure("die").await;
    while logged.levels().len() == before {
        tokio::task::yield_now().await;
    }
    assert_eq!(logged.levels()[before], Level::WARN);
}

#[tokio::test]
async fn a_server_that_fails_does_not_stop_another() {
    let broken = Scripted::new(json!({ "exit": 1 }));
    let sound = Scripted::new(script("greet", &json!([{ "text": "hello" }])));
    let (broken, sound) = tokio::join!(broken.toolbox.list(), sound.toolbox.list());
    assert!(broken.is_err());
    assert_eq!(sound.unwrap().len(), 1);
}

#[tokio::test]
async fn answers_out_of_order_reach_their_own_calls() {
    let server = Scripted::new(script("hold", &json!([{ "hold": 64 }])));
    server.list().await;
    let mut calls = tokio::task::JoinSet::new();
    for nth in 0..64 {
        let toolbox = std::sync::Arc::clone(&server.toolbox);
        calls.spawn(async move {
            let run = run("hold", json!({ "nth": nth }));
            (
                nth,
                format!(
                    "{:?}",
                    toolbox.call(&run, &CallContext::default(), &mut ()).await
                ),
            )
        });
    }
    while let Some(called) = soon(calls.join_next()).await {
        let (nth, said) = called.unwrap();
        assert!(said.contains(&format!("Text(\"{nth}\")")), "{nth}: {said}");
    }
    server.kept();
}

#[tokio::test]
async fn an_answer_that_comes_twice_is_taken_once() {
    let server = Scripted::new(json!({
        "tools": [tool("greet"), tool("twice")],
        "calls": { "greet": [{ "text": "hello" }], "twice": [{ "twice": "double" }] },
    }));
    assert_eq!(server.result("twice", json!({})).await.to_text(), "double");
    assert_eq!(server.result("greet", json!({})).await.to_text(), "hello");
}

#[tokio::test]
async fn a_tool_that_went_away_between_list_and_call_is_not_called() {
    let server = Scripted::new(json!({
        "list_changed": true,
        "era": "legacy",
        "tools": [tool("change"), tool("gone")],
        "calls": { "change": [{ "tools": [tool("new")] }, { "text": "ok" }] },
    }));
    assert_eq!(server.names().await, ["change", "gone"]);
    server.result("change", json!({})).await;
    let failure = server.failure("gone").await;
    assert_eq!(failure.kind, ToolFailureKind::UnknownTool);
    assert_eq!(failure.disposition, Disposition::NotSent);
    assert_eq!(server.count("call gone"), 0);
}

#[tokio::test]
async fn a_server_that_is_down_keeps_its_tools_and_it_is_said() {
    let server = Scripted::with(script("die", &json!([{ "die": 1 }])), |_, settings| {
        settings.backoff = Duration::from_secs(3600);
        settings.longest_backoff = Duration::from_secs(3600);
    });
    let before = server.list().await;
    server.failure("die").await;
    assert_eq!(server.list().await, before);
    let problems = server.problems();
    assert!(problems[0].contains("is not available"), "{problems:?}");
    // A call is told at once, and was not sent.
    let failure = server.failure("die").await;
    assert_eq!(failure.disposition, Disposition::NotSent);
    assert_eq!(server.count("call die"), 1);
}

#[tokio::test]
async fn a_server_that_asks_us_for_something_is_told_that_it_cannot_be_had() {
    let asks = |id: &str, method: &str, params: Value| {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        json!({ "raw": request.to_string() })
    };
    let message = json!({ "role": "user", "content": { "type": "text", "text": "Hi" } });
    let mut asking = script(
        "greet",
        &json!([
            asks("x1", "ping", json!({})),
            asks("x2", "roots/list", json!({})),
            asks("x4", "elicitation/create", json!({ "mode": "url", "elicitationId": "e", "message": "Go", "url": "https://x.example/" })),
            asks("x5", "sampling/createMessage", json!({ "messages": [message], "maxTokens": 1 })),
            asks("x6", "unknown/method", json!({})),
            asks("x7", "elicitation/create", json!("nonsense")),
            { "text": "hello" },
        ]),
    );
    asking["era"] = json!("legacy");
    let server = Scripted::with(asking, |_, settings| {
        settings.asks = false;
        settings.samples = false;
    });
    assert_eq!(server.result("greet", json!({})).await.to_text(), "hello");
    let said = |log: &[String], begin: &str| {
        let found = log.iter().find(|line| line.starts_with(begin));
        found.cloned().unwrap_or_default()
    };
    soon(async {
        while server.count("replied") + server.count("refused") < 6 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    let log = server.log();
    // Nothing was promised, and so nothing is given: but every question has an answer.
    assert_eq!(said(&log, "capable of"), "capable of {}");
    assert_eq!(said(&log, "replied \"x1\""), "replied \"x1\" {}");
    for id in ["x2", "x4", "x5", "x6", "x7"] {
        let refused = said(&log, &format!("refused \"{id}\""));
        let replied = said(&log, &format!("replied \"{id}\""));
        let declines =
            replied.contains("\"action\":\"decline\"") || replied.contains("\"roots\":[]");
        assert!(
            refused.contains("\"code\":-32") || declines,
            "{id}: {refused}{replied}"
        );
    }
    server.kept();
}

#[tokio::test]
async fn a_server_that_asks_before_it_answers_does_not_wait_for_ever() {
    // It goes on when it has an answer.
    let line = r#"read -r probe; echo '{"jsonrpc":"2.0","id":"r","method":"roots/list"}'
        read -r answer; echo "$answer" >&2; exec "$0" "$1""#;
    let server = Scripted::with(
        script("greet", &json!([{ "text": "hello" }])),
        |config, settings| {
            settings.probe = Duration::from_secs(1);
            through_shell(config, line);
        },
    );
    assert_eq!(server.result("greet", json!({})).await.to_text(), "hello");
    let log = server.toolbox.log();
    assert!(log.iter().any(|line| line.contains("-32601")), "{log:?}");
}

/// What it does not read waits here, and must not fill the memory.
#[tokio::test]
async fn a_server_that_asks_and_asks_gets_no_more_answers_than_may_wait() {
    let line =
        r#"yes '{"jsonrpc":"2.0","id":"p","method":"ping"}' | head -n 40000; exec "$0" "$1""#;
    let server = Scripted::with(
        script("greet", &json!([{ "text": "hello" }])),
        |config, _| through_shell(config, line),
    );
    assert_eq!(server.result("greet", json!({})).await.to_text(), "hello");
    // As many as wait, and what fits into a pipe.
    let answered = server.count("replied");
    assert!((1..10_000).contains(&answered), "{answered}");
}

#[tokio::test]
async fn why_a_server_is_down_can_be_left_to_the_log() {
    for (tells_why, expected) in [
        (
            true,
            "the server `scripted` is not available: /srv/inner/server is not a program that can be run; \
             correct its `command`",
        ),
        (
            false,
            "the server `scripted` is not available, and the log says why",
        ),
    ] {
        let server = Scripted::with(json!({}), |config, settings| {
            "/srv/inner/server".clone_into(&mut config.command);
            settings.expose_faults = tells_why;
        });
        let listed = soon(server.toolbox.list()).await.unwrap_err().failure;
        let called = server.failure("any").await;
        for told in [listed, called] {
            assert_eq!(told.message, expected);
        }
    }
}
