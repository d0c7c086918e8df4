//! The doctor in front of scripted providers and servers: what scenario 2.6 asks for.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::openai::ScriptedOpenAi;
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
