//! Approvals: what a person answers, and what comes of it.

use std::fs::File;
use std::io;
use std::io::Write as _;

use jackfield_assembly::{Config, Environment, ProviderConfig, Registry};
use jackfield_cli::approval::{ApprovalChoice, Terminal, parse};
use jackfield_cli::person::Person;
use jackfield_cli::render::answers::too_late;
use jackfield_cli::render::human::{HumanOptions, HumanRenderer};
use jackfield_cli::render::screen::Screen;
use jackfield_cli::turn::{self, AskMode};
use jackfield_domain::ids::SessionId;
use jackfield_domain::message::Message;
use jackfield_domain::policy::{PolicyRule, RuleVerdict};
use jackfield_domain::setup::Opening;
use jackfield_domain::wait::WaitEndKind;
use jackfield_engine::SendMessage;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::json;

#[test]
fn whoever_comes_second_is_told_how_it_was_answered_and_by_whom() {
    let told = too_late(WaitEndKind::Answered, Some("ma\u{200b}ria\nx"));
    assert_eq!(
        told,
        "that comes too late: it was answered by ma<U+200B zero-width space>ria x"
    );
    let told = too_late(WaitEndKind::Expired, None);
    assert_eq!(told, "that comes too late: no answer came in time");
}

#[test]
fn an_answer_is_a_letter_or_a_word_and_a_no_may_have_its_reason() {
    for (line, choice) in [
        ("y\n", Some(ApprovalChoice::Once)),
        (" YES ", Some(ApprovalChoice::Once)),
        ("a", Some(ApprovalChoice::All)),
        ("yes, but not that file", None),
        ("y but not that file", None),
        ("a different file, please", None),
        ("n\n", Some(ApprovalChoice::Deny(String::new()))),
        (
            "no that is too  much \n",
            Some(ApprovalChoice::Deny("that is too  much".to_owned())),
        ),
        ("e", Some(ApprovalChoice::Edit(String::new()))),
        (
            "edit {\"a\": 1}\n",
            Some(ApprovalChoice::Edit("{\"a\": 1}".to_owned())),
        ),
        ("", None),
        ("yn", None),
        ("why?", None),
    ] {
        assert_eq!(parse(line), choice, "{line:?}");
    }
}

/// A turn of three calls by a person who types this; what was written to standard error.
async fn asked(typed: &str) -> (String, ScriptedClaude) {
    let call = |expression: &str| json!({ "expression": expression });
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &call("1+1")).and_call("calculator", &call("2+2")),
        ScriptTurn::call("calculator", &call("3+3")),
        ScriptTurn::text("done"),
    ])
    .await;
    let mut config = Config::default();
    let mut provider = ProviderConfig::default();
    provider.base_url = Some(claude.base_url().into());
    config.providers.insert("claude".into(), provider);
    config.options.policy.can_ask = true;
    config.options.policy.rules.push(PolicyRule {
        pattern: "*".into(),
        verdict: RuleVerdict::Ask,
    });
    let environment: Environment = [("ANTHROPIC_API_KEY", "k")].into_iter().collect();
    let assembled = Registry::default().assemble(&config, &environment).unwrap();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(typed.as_bytes()).unwrap();
    rewind(&mut file).unwrap();
    let message = SendMessage {
        opening: Opening::UserMessage(Message::user("calculate").into()),
        options: assembled.options,
        session: SessionId::parse("s").unwrap(),
    };
    let look = HumanOptions {
        markdown: None,
        spins: false,
        terminal: false,
        together: false,
        verbose: false,
    };
    let mut err = Vec::new();
    let mut view = HumanRenderer::new(
        Screen::new(io::sink(), anstream::StripStream::new(&mut err), false),
        look,
    );
    let mut person = Person::from_terminal(Terminal::from(file));
    let asks = AskMode::Person(&mut person);
    turn::run(&assembled.engine, message, &mut view, asks)
        .await
        .unwrap();
    drop(view);
    (String::from_utf8(err).unwrap(), claude)
}

fn rewind(file: &mut File) -> io::Result<()> {
    io::Seek::rewind(file)
}

#[tokio::test]
async fn a_person_lets_a_call_run_once_and_denies_the_next_with_a_reason() {
    let (err, claude) = asked("what?\ny\nn not that one\ny\n").await;
    assert_eq!(
        err.matches("? Run ⚙ calculator").count() + err.matches("? Run 🧮 calculator").count(),
        4,
        "{err}"
    );
    assert_eq!(err.matches("calculator · done in ").count(), 2, "{err}");
    assert_eq!(err.matches("calculator · denied · ").count(), 1, "{err}");
    assert!(err.contains("not that one"), "{err}");
    let told = claude.requests()[1]["messages"].to_string();
    assert!(told.contains("not that one"), "{told}");
}

#[tokio::test]
async fn all_of_a_tool_is_asked_about_once() {
    let (err, _claude) = asked("a\n").await;
    assert_eq!(err.matches("? Run ").count(), 1, "{err}");
    assert_eq!(err.matches("calculator · done in ").count(), 3, "{err}");
}

#[tokio::test]
async fn a_person_who_is_gone_denies() {
    let (err, _claude) = asked("").await;
    assert_eq!(err.matches("calculator · denied · ").count(), 3, "{err}");
    assert!(err.contains("nobody is there to ask"), "{err}");
}

#[tokio::test]
async fn edited_arguments_are_run_and_told_to_the_model() {
    let typed = "e\n{\"expression\": \"40+2\"}\ne not JSON\ny\ny\n";
    let (err, claude) = asked(typed).await;
    assert!(
        err.contains("calculator runs with edited arguments: expression: \"40+2\""),
        "{err}"
    );
    assert!(err.contains("these are no arguments"), "{err}");
    let messages = &claude.requests()[1]["messages"];
    let told = messages.to_string();
    assert!(
        told.contains("arguments that an approver changed"),
        "{told}"
    );
    // The model's own call stays what it was.
    assert!(messages[1].to_string().contains("1+1"), "{told}");
    assert!(!messages[1].to_string().contains("40+2"), "{told}");
}
