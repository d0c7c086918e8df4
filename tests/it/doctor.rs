//! The doctor in front of scripted providers and servers: what scenario 2.6 asks for.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use jackfield_testkit::server::{Response, TestServer};
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::openai::ScriptedOpenAi;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{McpServer, jackfield, kept};

#[tokio::test]
async fn s2_06_what_is_wrong_is_told_with_what_to_do_and_where_to_read() {
    let claude = ScriptedClaude::start([]).await;
    let openai = ScriptedOpenAi::start([]).await;
    let works = McpServer::of("look", &json!([]));
    let more = format!(
        "aliases.fast = \"openai/gpt-4.1\"\nproviders.openai.base_url = \"{}\"\n\
         limits.parallel_calls = 1\npolicy.tools.\"works/*\" = \"deny\"\n",
        openai.base_url()
    );
    let doctor = jackfield(["doctor", "--json"])
        .at_with(&claude.base_url(), &more)
        .env("OPENAI_API_KEY", "sk-any")
        .servers([
            ("works", works.entry()),
            ("gone", json!({ "command": "no-such-program-anywhere" })),
            (
                "bare",
                json!({ "command": "x", "args": ["${NOT_SET_ANYWHERE}"] }),
            ),
            ("mute", json!({ "command": "cat", "start_timeout": "1s" })),
        ]);
    let ran = doctor.run().await;
    assert_eq!(ran.code, Some(8), "{}\n{}", ran.out, ran.err);
    let report: Value = serde_json::from_str(&ran.out).expect("one document");
    let checks = report["checks"].as_array().expect("checks");
    let find = |area: &str, verdict: &str, words: &str| {
        let found = checks.iter().find(|check| {
            let says = check["says"].as_str().unwrap_or_default();
            check["area"] == area && check["verdict"] == verdict && says.contains(words)
        });
        assert!(
            found.is_some(),
            "no {area} {verdict} {words:?}: {checks:#?}"
        );
        found.cloned().unwrap_or_default()
    };
    find("keys", "ok", "the key of `claude` is in ANTHROPIC_API_KEY");
    find("providers", "ok", "`openai`");
    find(
        "models",
        "ok",
        "the alias `fast` is `gpt-4.1`, which is there",
    );
    find(
        "models",
        "warning",
        "`claude-opus-5-5`, which the provider does not list",
    );
    find("servers", "ok", "`works` offers 1 tool");
    for words in [
        "`gone`: there is no program",
        "NOT_SET_ANYWHERE is not set",
        "`mute`: ",
    ] {
        let failed = find("servers", "failed", words);
        let help = failed["help"].as_str().unwrap_or_default();
        assert!(!help.is_empty(), "{failed}");
        let page = "docs/troubleshooting.md#a-server-is-not-available";
        assert_eq!(failed["see"], page);
    }
    find("tools", "skipped", "the servers have to work first");
    find("tools", "warning", "calls run one after another");
    works.kept_and_gone().await;
    kept(&claude);
    kept(&openai);
}

/// What the doctor says of the sessions that are kept in this file, as verdict and words, and its exit code.
async fn sessions(file: &Path) -> (Vec<(String, String)>, Option<i32>) {
    let doctor = jackfield(["doctor", "--offline", "--json"]).configured("");
    let ran = doctor.env("JACKFIELD_DB", file).run().await;
    let report: Value = serde_json::from_str(&ran.out).expect("one document");
    let checks = report["checks"].as_array().expect("checks").iter();
    let word = |check: &Value, field: &str| check[field].as_str().unwrap_or_default().to_owned();
    let mut said = Vec::new();
    for check in checks.filter(|check| check["area"] == "sessions") {
        let verdict = word(check, "verdict");
        if verdict == "failed" {
            assert!(!word(check, "help").is_empty(), "{check}");
            assert!(word(check, "see").ends_with("#sessions-are-not-kept-or-do-not-go-on"));
        }
        let page = include_str!("../../docs/troubleshooting.md");
        assert!(page.contains("## Sessions are not kept, or do not go on"));
        said.push((verdict, word(check, "says")));
    }
    (said, ran.code)
}

/// A file with one session, which no process has open.
async fn file_of_one(folder: &Path) -> std::path::PathBuf {
    let file = folder.join("kept.db");
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.")]).await;
    let ask = jackfield(["ask", "--session", "one", "Hi."]).env("JACKFIELD_DB", &file);
    ask.at(&claude.base_url()).run().await.answers("Hello.\n");
    file
}

#[tokio::test]
async fn where_nothing_can_be_kept_nobody_is_promised_that_it_will_be() {
    let doctor = jackfield(["doctor", "--offline"]).configured("");
    let ran = doctor.env("XDG_DATA_HOME", "/proc/nowhere").run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    let said = "! warning: sessions are not kept: /proc/nowhere/jackfield/jackfield.db";
    assert!(ran.out.contains(said), "{}", ran.out);
    assert!(!ran.out.contains("the first will be in"), "{}", ran.out);
}

#[tokio::test]
async fn keys_that_other_users_or_programs_can_read_are_named() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("key");
    fs::write(&file, "sk-0123456789").expect("a file can be written");
    let doctor = async |mode: u32, more: &str| {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("it is ours");
        let key = format!("[providers.openai]\napi_key_file = {file:?}\n{more}");
        let run = jackfield(["doctor", "--offline"]).configured(key);
        let run = run.servers([("files", json!({ "command": "true" }))]);
        run.env("ANTHROPIC_API_KEY", "sk-ant-0123456789")
            .run()
            .await
            .out
    };
    let tokens = "[serve.tokens.one]\nsha256 = \"0000000000000000000000000000000000000000000000000000000000000000\"\n";
    let said = doctor(0o644, tokens).await;
    let shown = file.display();
    let readable = format!("other users can read {shown}, which has the key of `openai`");
    assert!(said.contains(&readable), "{said}");
    assert!(said.contains(&format!("`chmod 600 {shown}`")), "{said}");
    let in_environment =
        "the key of `claude` is in ANTHROPIC_API_KEY, and the gateway starts MCP servers";
    assert!(said.contains(in_environment), "{said}");
    let said = doctor(0o600, "").await;
    assert!(!said.contains("other users"), "{said}");
    assert!(!said.contains("starts MCP servers"), "{said}");
}

#[tokio::test]
async fn kept_files_that_other_users_can_read_are_named() {
    let home = tempfile::tempdir().expect("a folder can be made");
    let file = home.path().join("jackfield/mcp/weather-0.json");
    fs::create_dir_all(file.parent().expect("a folder")).expect("it can be made");
    fs::write(&file, "{}").expect("a file can be written");
    let readable = format!("other users can read {}, which has", file.display());
    for (variable, mode, is_named) in [
        ("XDG_CACHE_HOME", 0o644, true),
        ("XDG_DATA_HOME", 0o640, true),
        ("XDG_CACHE_HOME", 0o600, false),
    ] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("it is ours");
        let run = jackfield(["doctor", "--offline"]).env(variable, home.path());
        let said = run.run().await.out;
        assert_eq!(said.contains(&readable), is_named, "{variable}: {said}");
    }
}

#[tokio::test]
async fn a_sound_file_is_said_to_be_sound_and_what_is_damaged_is_named() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = file_of_one(folder.path()).await;
    let (said, code) = sessions(&file).await;
    assert_eq!(code, Some(0), "{said:?}");
    let sound = "the file is sound, and everything in it can be read";
    assert!(
        said.contains(&("ok".to_owned(), sound.to_owned())),
        "{said:?}"
    );
    assert!(said.iter().all(|(verdict, _)| verdict == "ok"), "{said:?}");
    // Such as a copy of it has, made by somebody with the usual mask.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("it is ours");
    let (said, code) = sessions(&file).await;
    assert_eq!(code, Some(0), "{said:?}");
    let is_open = |(verdict, says): &&(String, String)| {
        verdict == "warning" && says.ends_with("is not for you alone: its mode is 0644")
    };
    assert_eq!(said.iter().filter(is_open).count(), 1, "{said:?}");
    let mut bytes = fs::read(&file).expect("it is there");
    let record = b"\"turn_opened\"";
    let at = bytes
        .windows(record.len())
        .position(|found| found == record);
    bytes[at.expect("a step is in it")] = b'!';
    fs::write(&file, bytes).expect("it can be written");
    let (said, code) = sessions(&file).await;
    assert_eq!(code, Some(3), "{said:?}");
    let damaged = said.iter().find(|(verdict, _)| verdict == "failed");
    let (_, says) = damaged.expect("damage is found");
    assert!(says.starts_with("session one: "), "{says}");
    assert!(said.iter().all(|(_, says)| says != sound), "{said:?}");
}

#[tokio::test]
async fn files_of_newer_versions_and_of_other_programs_are_named_and_not_touched() {
    for (at, why) in [
        (60, "was made by a newer version"),
        (68, "is a database of another program"),
    ] {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let file = file_of_one(folder.path()).await;
        // On a busy machine, a program may end before its log is in the file; the log would have a header, too.
        for log in ["db-wal", "db-shm"] {
            let _none = fs::remove_file(file.with_extension(log));
        }
        let mut bytes = fs::read(&file).expect("it is there");
        bytes[at..at + 4].copy_from_slice(&99_u32.to_be_bytes());
        fs::write(&file, &bytes).expect("it can be written");
        let (said, code) = sessions(&file).await;
        assert_eq!(code, Some(3), "{said:?}");
        let [(verdict, says)] = &said[..] else {
            panic!("{said:?}");
        };
        assert!(verdict == "failed" && says.contains(why), "{says}");
        let claude = ScriptedClaude::start([]).await;
        let ask = jackfield(["ask", "Hi."]).env("JACKFIELD_DB", &file);
        let ran = ask.at(&claude.base_url()).run().await;
        ran.fails(3, "conversations cannot be kept there", "JACKFIELD_DB");
        assert!(ran.err.contains(why), "{}", ran.err);
        assert_eq!(fs::read(&file).expect("it is there"), bytes, "{why}");
    }
}

#[tokio::test]
async fn tools_that_do_not_reach_the_model_are_named() {
    let claude = ScriptedClaude::start([]).await;
    let works = McpServer::of("look", &json!([]));
    let more = "policy.tools.\"works/*\" = \"deny\"\n";
    let doctor = jackfield(["doctor"]).at_with(&claude.base_url(), more);
    let ran = doctor.servers([("works", works.entry())]).run().await;
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    for line in [
        "  ✓ the model is offered 3 tools",
        "  ! warning: denied by the policy: works__look",
        "    see docs/troubleshooting.md#tools-do-not-reach-the-model",
    ] {
        assert!(
            ran.out.lines().any(|told| told == line),
            "{line}\n{}",
            ran.out
        );
    }
    works.kept_and_gone().await;
    kept(&claude);
}

#[tokio::test]
async fn a_token_of_the_gateway_that_cannot_be_had_fails() {
    let claude = ScriptedClaude::start([]).await;
    let more = "[serve.tokens.web]\nenv = \"WEB_TOKEN\"\n";
    let doctor = || jackfield(["doctor", "--json", "--offline"]).at_with(&claude.base_url(), more);
    let ran = doctor().run().await;
    assert_eq!(ran.code, Some(3), "{}\n{}", ran.out, ran.err);
    let report: Value = serde_json::from_str(&ran.out).expect("one document");
    let checks = report["checks"].as_array().expect("checks");
    let failed = checks.iter().find(|check| check["verdict"] == "failed");
    let failed = failed.expect("something failed");
    let says = failed["says"].as_str().unwrap_or_default();
    assert!(
        says.contains("serve.tokens.web") && says.contains("WEB_TOKEN is not set"),
        "{says}"
    );
    let help = failed["help"].as_str().unwrap_or_default();
    assert!(help.starts_with("set WEB_TOKEN"), "{help}");
    assert_eq!(
        failed["see"],
        "docs/troubleshooting.md#the-gateway-does-not-answer"
    );
    let ran = doctor()
        .env("WEB_TOKEN", "web-token-0123456789")
        .run()
        .await;
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
}

#[tokio::test]
async fn one_token_under_two_names_is_refused_by_the_doctor_and_by_the_gateway() {
    let claude = ScriptedClaude::start([]).await;
    let more =
        "[serve.tokens.ops]\nenv = \"OPS\"\nadmin = true\n[serve.tokens.web]\nenv = \"WEB\"\n";
    for arguments in [
        &["doctor", "--offline"][..],
        &["serve", "--bind", "127.0.0.1:0"],
    ] {
        let run = jackfield([])
            .more(arguments)
            .at_with(&claude.base_url(), more);
        let run = run.env("OPS", "the-same-0123456789");
        let ran = run.env("WEB", " the-same-0123456789\n").run().await;
        assert_eq!(ran.code, Some(3), "{}\n{}", ran.out, ran.err);
        let said = ran.out + &ran.err;
        assert!(
            said.contains("serve.tokens.web") && said.contains("that of `ops`, too"),
            "{said}"
        );
        assert!(!said.contains("the-same"), "{said}");
    }
}

#[tokio::test]
async fn all_tokens_that_are_missing_are_named_at_once() {
    let tokens = "[serve.tokens.ops]\nenv = \"OPS\"\n[serve.tokens.web]\nenv = \"WEB\"\n";
    let serve = jackfield(["serve", "--bind", "127.0.0.1:0"]);
    let ran = serve.at_with("http://127.0.0.1:9", tokens).run().await;
    ran.fails(3, "OPS is not set", "set OPS where `jackfield serve`");
    ran.fails(3, "WEB is not set", "set WEB where `jackfield serve`");
}

#[tokio::test]
async fn patterns_that_fit_no_tool_and_an_address_without_a_list_are_named() {
    let api = TestServer::start().await;
    api.answer(Response::json(
        404,
        r#"{"error":{"type":"not_found_error","message":"no"}}"#,
    ));
    let works = McpServer::of("look", &json!([]));
    let more = "[policy.tools]\n\"works/*\" = \"allow\"\n\"nots/*\" = \"allow\"\n\"own-*/*\" = \"allow\"\n\
                \"gone/*\" = \"allow\"\n[assistants.brief]\ntools = [\"works/look\", \"builtin/calculater\"]\n";
    let off = json!({ "command": "true", "enabled": false });
    let doctor = jackfield(["doctor"]).at_with(&api.base_url(), more);
    let doctor = doctor.servers([("works", works.entry()), ("gone", off)]);
    let said = doctor.run().await.out;
    for expected in [
        "! warning: [policy.tools]: no tool fits `nots/*`",
        "! warning: the assistant `brief`: no tool fits `builtin/calculater`",
        "help: look at `base_url` under [providers.claude]",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert_eq!(said.matches("no tool fits").count(), 2, "{said}");
    works.kept_and_gone().await;
}

#[tokio::test]
async fn models_without_a_key_exit_as_a_question_does() {
    for arguments in [&["models"][..], &["ask", "Hi."]] {
        let ran = jackfield([]).more(arguments).run().await;
        assert_eq!(ran.code, Some(3), "{}{}", ran.out, ran.err);
    }
}
