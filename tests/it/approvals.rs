//! Approvals from elsewhere than the prompt, with the real binary.

use std::path::Path;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use serde_json::{Value, json};

use crate::harness::{Jackfield, McpServer, Ran, Size, Terminal, jackfield, kept};

/// A conversation that is kept in a file of its own, at its first question.
async fn asking(
    turns: Vec<ScriptTurn>,
    more: &str,
) -> (Terminal, ScriptedClaude, tempfile::TempDir) {
    let (mut terminal, claude, folder) = begun(turns, more).await;
    terminal.shows("answer:").await;
    (terminal, claude, folder)
}

/// The same, which may have no question yet, or none any more.
async fn begun(
    turns: Vec<ScriptTurn>,
    more: &str,
) -> (Terminal, ScriptedClaude, tempfile::TempDir) {
    let claude = ScriptedClaude::start(turns).await;
    let folder = tempfile::tempdir().expect("a folder can be made");
    let more = format!("[policy.tools]\n\"*\" = \"ask\"\n{more}");
    let chat = jackfield(["chat"]).at_with(&claude.base_url(), &more);
    let chat = chat.env("JACKFIELD_DB", file(folder.path()));
    let mut terminal = chat.at_terminal(Size(60, 120));
    terminal.prompts().await;
    terminal.line("calculate").await;
    (terminal, claude, folder)
}

fn file(folder: &Path) -> std::path::PathBuf {
    folder.join("jackfield.db")
}

async fn approvals<const N: usize>(folder: &Path, arguments: [&str; N]) -> Ran {
    let run = jackfield(["approvals"]).more(&arguments);
    run.env("JACKFIELD_DB", file(folder))
        .env("USER", "мария")
        .run()
        .await
}

async fn audited<const N: usize>(folder: &Path, arguments: [&str; N]) -> Vec<Value> {
    let run = jackfield(["audit", "--json"]).more(&arguments);
    let ran = run.env("JACKFIELD_DB", file(folder)).run().await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.out).expect("a list")
}

/// The only question that was ever asked.
async fn only_question(folder: &Path) -> Value {
    let calls = audited(folder, []).await;
    let questions: Vec<&Value> = calls
        .iter()
        .flat_map(|call| call["questions"].as_array().into_iter().flatten())
        .collect();
    let [question] = questions[..] else {
        panic!("{calls:?}");
    };
    question.clone()
}

async fn open(folder: &Path) -> Vec<Value> {
    let listed = approvals(folder, ["list", "--json"]).await;
    assert_eq!(listed.code, Some(0), "{listed:?}");
    serde_json::from_str(&listed.out).expect("a list")
}

fn id(asked: &Value) -> &str {
    asked["id"].as_str().expect("an id")
}

fn sum(expression: &str) -> ScriptTurn {
    ScriptTurn::call("calculator", &json!({ "expression": expression }))
}

fn part(expression: &str) -> ScriptPart {
    ScriptPart::Call {
        arguments: json!({ "expression": expression }).to_string(),
        id: None,
        name: "calculator".to_owned(),
    }
}

fn outcomes(claude: &ScriptedClaude, nth: usize) -> String {
    let messages = claude.requests()[nth]["messages"].clone();
    let last = messages.as_array().and_then(|all| all.last().cloned());
    last.unwrap_or_default().to_string()
}

#[tokio::test]
async fn a_call_is_allowed_from_elsewhere_and_the_prompt_goes_away() {
    let turns = vec![sum("1+1"), ScriptTurn::text("two")];
    let (mut terminal, claude, folder) = asking(turns, "").await;
    let asked = open(folder.path()).await;
    let [asked] = &asked[..] else {
        panic!("{asked:?}");
    };
    assert_eq!(asked["name"], "calculator");
    assert_eq!(asked["arguments"], json!({ "expression": "1+1" }));
    assert_eq!(asked["subject"].as_str().map(str::len), Some(64));
    let shown = approvals(folder.path(), ["show", &id(asked)[..10]]).await;
    for said in [
        "calculator(expression: \"1+1\")",
        "may it run?",
        "waits, for 23 hours more",
    ] {
        assert!(shown.out.contains(said), "{said}: {shown:?}");
    }
    // The id as the list shows it, and the arguments as they are to be.
    let short = id(asked).trim_start_matches("wait_");
    let edit = r#"{"expression": "40+2"}"#;
    let allowed = approvals(folder.path(), ["allow", &short[..8], "--edit", edit]).await;
    assert_eq!(allowed.code, Some(0), "{allowed:?}");
    terminal
        .shows("allowed with other arguments by мария, by `jackfield approvals`")
        .await;
    terminal.shows("\ntwo\n").await;
    terminal.prompts().await;
    assert!(
        !terminal.screen().contains("answer:"),
        "{}",
        terminal.screen()
    );
    assert!(
        outcomes(&claude, 1).contains("42"),
        "{}",
        outcomes(&claude, 1)
    );
    assert_eq!(open(folder.path()).await, [Value::Null; 0]);
    // Whoever comes second is told how it was answered, and by whom.
    let late = approvals(folder.path(), ["deny", &short[..8]]).await;
    assert_eq!(late.code, Some(10), "{late:?}");
    assert!(
        late.out
            .contains("too late, allowed with other arguments by мария"),
        "{late:?}"
    );
    kept(&claude);
}

#[tokio::test]
async fn of_two_answers_that_race_the_first_wins_and_the_second_is_told() {
    let turns = vec![sum("1+1"), ScriptTurn::text("so be it")];
    let (mut terminal, claude, folder) = asking(turns, "").await;
    let asked = open(folder.path()).await;
    let wait = id(&asked[0]);
    let (allowed, denied) = tokio::join!(
        approvals(folder.path(), ["allow", wait, "--json"]),
        approvals(
            folder.path(),
            ["deny", wait, "--reason", "no sums", "--json"]
        ),
    );
    let told = |ran: &Ran| -> Value { serde_json::from_str(&ran.out).expect("a document") };
    let winner = match (allowed.code, denied.code) {
        (Some(0), Some(10)) => "allow",
        (Some(10), Some(0)) => "deny",
        _ => panic!("{allowed:?} {denied:?}"),
    };
    for ran in [&allowed, &denied] {
        let told = told(ran);
        assert_eq!(told["accepted"], ran.code == Some(0), "{told}");
        assert_eq!(told["answer"]["decision"], winner, "{told}");
        assert_eq!(told["by"], "мария, by `jackfield approvals`", "{told}");
    }
    terminal.shows("\nso be it\n").await;
    terminal.prompts().await;
    assert_eq!(outcomes(&claude, 1).contains("no sums"), winner == "deny");
    kept(&claude);
}

#[tokio::test]
async fn one_of_two_parallel_calls_is_denied() {
    let turns = vec![
        ScriptTurn::reply([part("1+1"), part("20+3")]),
        ScriptTurn::text("half"),
    ];
    let (mut terminal, claude, folder) = asking(turns, "").await;
    let asked = open(folder.path()).await;
    assert_eq!(asked.len(), 2, "{asked:?}");
    for one in &asked {
        let first = one["arguments"]["expression"] == "1+1";
        let answer = match first {
            true => ["deny", id(one), "--reason=not that one"],
            false => ["allow", id(one), "--json"],
        };
        assert_eq!(approvals(folder.path(), answer).await.code, Some(0));
    }
    terminal.shows("\nhalf\n").await;
    terminal.prompts().await;
    let told = outcomes(&claude, 1);
    assert!(
        told.contains("not that one") && told.contains("23"),
        "{told}"
    );
    kept(&claude);
}

#[tokio::test]
async fn what_was_allowed_for_the_session_runs_where_nobody_can_be_asked() {
    let turns = vec![
        sum("1+1"),
        ScriptTurn::text("two"),
        sum("40+2").when("again"),
        ScriptTurn::text("it ran"),
        sum("50+5").when("a rule"),
        ScriptTurn::text("it did not"),
        sum("60+6").when("a fork"),
        ScriptTurn::text("nor here"),
    ];
    let (mut terminal, claude, folder) = asking(turns, "").await;
    let asked = open(folder.path()).await;
    let allow = ["allow", id(&asked[0]), "--session"];
    assert_eq!(approvals(folder.path(), allow).await.code, Some(0));
    terminal.shows("\ntwo\n").await;
    terminal.prompts().await;
    terminal.kill().await;
    let at = |run: Jackfield| {
        let run = run.at_with(&claude.base_url(), "[policy.tools]\n\"*\" = \"ask\"");
        run.env("JACKFIELD_DB", file(folder.path()))
    };
    let session = asked[0]["session"].as_str().expect("an id");
    let ask = ["ask", "--session", session, "again"];
    at(jackfield(ask)).run().await.answers("it ran\n");
    assert!(
        outcomes(&claude, 3).contains("42"),
        "{}",
        outcomes(&claude, 3)
    );
    let ask = ["ask", "--session", session, "--deny=calculator", "a rule"];
    at(jackfield(ask)).run().await.answers("it did not\n");
    let told = outcomes(&claude, 5);
    assert!(told.contains("denied by the rule"), "{told}");
    // It was given to another conversation.
    let fork = at(jackfield(["sessions", "fork", session])).run().await;
    let ask = ["ask", "--session", fork.out.trim(), "a fork"];
    at(jackfield(ask)).run().await.answers("nor here\n");
    let told = outcomes(&claude, 7);
    assert!(told.contains("nobody is there to ask"), "{told}");
    kept(&claude);
}

#[tokio::test]
async fn an_answer_after_the_deadline_is_told_that_it_expired() {
    let more = "[limits]\napproval = \"1s\"";
    let turns = vec![sum("1+1"), ScriptTurn::text("nobody was there")];
    // The question may be gone from the screen before it is looked for.
    let (mut terminal, claude, folder) = begun(turns, more).await;
    terminal.shows("\nnobody was there\n").await;
    terminal.prompts().await;
    let told = outcomes(&claude, 1);
    assert!(told.contains("nobody approved it in time"), "{told}");
    let expired = only_question(folder.path()).await;
    let late = approvals(folder.path(), ["allow", id(&expired)]).await;
    assert_eq!(late.code, Some(10), "{late:?}");
    assert!(late.out.contains("no answer came in time"), "{late:?}");
    kept(&claude);
}

#[tokio::test]
async fn what_expires_while_no_process_lives_is_told_as_expired() {
    let more = "[limits]\napproval = \"5s\"";
    let turns = vec![sum("1+1"), ScriptTurn::text("nobody was there")];
    let (mut terminal, claude, folder) = asking(turns, more).await;
    // Before it expires.
    terminal.kill().await;
    let asked = &only_question(folder.path()).await;
    while !open(folder.path()).await.is_empty() {
        tokio::task::yield_now().await;
    }
    // Nobody has closed it yet, and it is too late all the same.
    let late = approvals(folder.path(), ["allow", id(asked), "--json"]).await;
    assert_eq!(late.code, Some(10), "{late:?}");
    let told: Value = serde_json::from_str(&late.out).expect("a document");
    assert_eq!(told["accepted"], false, "{told}");
    assert_eq!(told["how"], "expired", "{told}");
    let more = format!("[policy.tools]\n\"*\" = \"ask\"\n{more}");
    let resumed = jackfield(["sessions", "resume", "last"]).at_with(&claude.base_url(), &more);
    let resumed = resumed.env("JACKFIELD_DB", file(folder.path())).run().await;
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let told = outcomes(&claude, 1);
    assert!(told.contains("nobody approved it in time"), "{told}");
    let late = approvals(folder.path(), ["deny", id(asked)]).await;
    assert_eq!(late.code, Some(10), "{late:?}");
    assert!(late.out.contains("no answer came in time"), "{late:?}");
    let expired = audited(folder.path(), ["--outcome", "expired"]).await;
    let [expired] = &expired[..] else {
        panic!("{expired:?}");
    };
    assert_eq!(expired["outcome"], "denied", "{expired}");
    assert_eq!(expired["questions"][0]["closed"]["how"], "expired");
    kept(&claude);
}

#[tokio::test]
async fn an_answer_that_no_process_has_heard_is_in_the_audit() {
    let (mut terminal, _claude, folder) = asking(vec![sum("1+1")], "").await;
    let asked = open(folder.path()).await;
    terminal.kill().await;
    let edited = [
        "allow",
        id(&asked[0]),
        "--edit",
        r#"{"expression": "40+2"}"#,
    ];
    let allowed = approvals(folder.path(), edited).await;
    assert_eq!(allowed.code, Some(0), "{allowed:?}");
    let told = audited(folder.path(), ["--who", "мария"]).await;
    let [told] = &told[..] else {
        panic!("{told:?}");
    };
    assert_eq!(told["outcome"], "open", "{told}");
    assert_eq!(told["who"], json!(["мария, by `jackfield approvals`"]));
    assert_eq!(told["questions"][0]["closed"]["answer"], "allowed");
    let edited = told["arguments_edited"].as_str();
    assert!(edited.is_some_and(|text| text.contains("40+2")), "{told}");
}

#[tokio::test]
async fn whether_a_call_of_unknown_outcome_is_made_again_is_said_from_elsewhere() {
    let server = McpServer::new(json!({
        "tools": [{ "name": "pay", "description": "Pays.", "inputSchema": { "type": "object" } }],
        "calls": { "pay": [{ "die": 3 }] },
    }));
    let turns = [
        ScriptTurn::call("bank__pay", &json!({ "sum": 7 })),
        ScriptTurn::text("who knows"),
    ];
    let claude = ScriptedClaude::start(turns).await;
    let folder = tempfile::tempdir().expect("a folder can be made");
    let more = "[policy]\nunknown = \"ask\"\n[policy.tools]\n\"*\" = \"allow\"";
    let chat = jackfield(["chat"]).servers([("bank", server.entry())]);
    let chat = chat.at_with(&claude.base_url(), more);
    let chat = chat.env("JACKFIELD_DB", file(folder.path()));
    let mut terminal = chat.at_terminal(Size(60, 120));
    terminal.prompts().await;
    terminal.line("pay").await;
    let mut open_one = async || loop {
        if let [asked] = &open(folder.path()).await[..] {
            break asked.clone();
        }
        terminal.shows("answer:").await;
    };
    let asked = open_one().await;
    assert_eq!(asked["kind"], "unknown_outcome", "{asked}");
    // What would not be done is not taken.
    for (more, option) in [
        (["allow", "--edit={}"], "leave `--edit` out"),
        (["allow", "--session"], "leave `--session` out"),
        (["deny", "--reason=never"], "leave `--reason` out"),
    ] {
        let refused = approvals(folder.path(), [more[0], id(&asked), more[1]]).await;
        refused.fails(2, "its outcome is not known", option);
    }
    // A tool that may act runs a second time only if that is said.
    let unsaid = approvals(folder.path(), ["allow", id(&asked)]).await;
    unsaid.fails(2, "`bank__pay` may act a second time", "`--again`");
    assert_eq!(server.count("call pay"), 1);
    let again = approvals(folder.path(), ["allow", id(&asked), "--again"]).await;
    assert_eq!(again.code, Some(0), "{again:?}");
    // It came to nothing again, and is asked about again.
    let again = loop {
        let again = open_one().await;
        if id(&again) != id(&asked) {
            break again;
        }
    };
    assert_eq!(server.count("call pay"), 2);
    let reported = approvals(folder.path(), ["deny", id(&again)]).await;
    assert_eq!(reported.code, Some(0), "{reported:?}");
    terminal.shows("\nwho knows\n").await;
    terminal.prompts().await;
    let told = outcomes(&claude, 1);
    assert!(told.contains("Outcome unknown"), "{told}");
    assert_eq!(
        audited(folder.path(), ["--outcome", "unknown"]).await.len(),
        1
    );
    kept(&claude);
}

#[tokio::test]
async fn events_say_what_an_approval_is_bound_to_and_who_gave_it() {
    let claude = ScriptedClaude::start([sum("1+1"), ScriptTurn::text("two")]).await;
    let folder = tempfile::tempdir().expect("a folder can be made");
    let more = "[policy.tools]\n\"*\" = \"ask\"\n[approvals]\ncommand = [\"echo\", '{\"decision\": \"allow\"}']";
    let ask = jackfield(["ask", "--json", "calculate"]).at_with(&claude.base_url(), more);
    let ran = ask.env("JACKFIELD_DB", file(folder.path())).run().await;
    let events = ran.events();
    let event = |name: &str| {
        let found = events.iter().find(|event| event["event"] == name);
        found.cloned().unwrap_or_else(|| panic!("{name}: {ran:?}"))
    };
    let (wait, ended) = (event("wait"), event("wait_ended"));
    assert_eq!(wait["subject"].as_str().map(str::len), Some(64), "{wait}");
    assert_eq!(ended["how"], "answered", "{ended}");
    assert_eq!(ended["by"], "the approver `echo`", "{ended}");
    kept(&claude);
}
