//! Coming back to a session: with `chat --session`, and with `sessions resume`.

use jackfield_testkit::server::{Gate, Response, TestServer};
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Jackfield, Ran, Size, Terminal, jackfield, kept};

/// The usual terminal.
const USUAL: Size = Size(60, 80);

/// A folder with the file that several runs share.
struct Shared(TempDir);

impl Shared {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder can be made"))
    }

    fn run(&self, arguments: &[&str]) -> Jackfield {
        let run = jackfield([]).more(arguments);
        run.env("JACKFIELD_DB", self.0.path().join("kept.db"))
    }

    async fn ask(&self, claude: &ScriptedClaude, session: &str, question: &str) -> Ran {
        let ask = self.run(&["ask", "--session", session, question]);
        ask.at(&claude.base_url()).run().await
    }

    fn chat(&self, claude: &ScriptedClaude, session: &str, size: Size) -> Terminal {
        let chat = self.run(&["chat", "--session", session]);
        chat.at_with(&claude.base_url(), ASKING).at_terminal(size)
    }

    /// The states of the sessions, by id.
    async fn states(&self) -> Vec<(String, String)> {
        let list = self.run(&["sessions", "list", "--json"]).run().await;
        let list: Value = serde_json::from_str(&list.out).expect("a list");
        let word = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
        let rows = list.as_array().expect("a list").iter();
        let mut states: Vec<_> = rows
            .map(|row| (word(row, "id"), word(row, "state")))
            .collect();
        states.sort();
        states
    }

    /// Leaves a turn of this session open: its process is killed while the model is waited for.
    async fn leave_open(&self, claude: &ScriptedClaude, session: &str, gate: &Gate) {
        let ask = self.run(&["ask", "--session", session, "--json", "Go."]);
        let mut running = ask.at(&claude.base_url()).start();
        running.out.until("turn_started").await;
        gate.reached().await;
        running.kill();
        running.end().await;
    }
}

fn state(session: &str, state: &str) -> (String, String) {
    (session.to_owned(), state.to_owned())
}

#[tokio::test]
async fn a_question_of_a_dead_process_is_asked_again_and_answered() {
    let shared = Shared::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::text("Hello.").when("Hi."),
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })).when("calculate"),
        ScriptTurn::text("It is 42."),
        ScriptTurn::text("Bye.").when("thanks"),
    ])
    .await;
    shared.ask(&claude, "sums", "Hi.").await.answers("Hello.\n");
    let mut terminal = shared.chat(&claude, "sums", USUAL);
    terminal.prompts().await;
    terminal.line("calculate").await;
    terminal.shows("answer:").await;
    terminal.kill().await;
    assert_eq!(shared.states().await, [state("sums", "waits")]);
    let shown = shared.run(&["sessions", "show", "sums"]).run().await;
    let open = shared.run(&["approvals", "list"]).run().await;
    let id = open.out.split_whitespace().next().expect("a question");
    let asked = format!("may calculator run? `jackfield approvals allow {id}`, or `deny`");
    assert!(shown.out.contains(&asked), "{}", shown.out);
    let mut terminal = shared.chat(&claude, "sums", USUAL);
    terminal.shows("which was left open").await;
    terminal
        .shows("Run 🧮 calculator(expression: \"6*7\")?")
        .await;
    terminal
        .until("asked", |screen| screen.ends_with("answer:"))
        .await;
    terminal.line("y").await;
    terminal.shows("\nIt is 42.\n").await;
    terminal.prompts().await;
    terminal.line("thanks").await;
    terminal.shows("\nBye.\n").await;
    terminal.prompts().await;
    terminal.types("\u{4}").await;
    assert_eq!(terminal.ends().await, Some(0));
    assert_eq!(shared.states().await, [state("sums", "idle")]);
    kept(&claude);
}

#[tokio::test]
async fn a_call_that_a_kill_cut_is_of_unknown_outcome_and_neither_runs_nor_took_a_time() {
    let shared = Shared::new();
    let gate = Gate::new();
    let api = TestServer::start().await;
    api.answer(Response::json(200, "").pause(&gate).send("{}"));
    let claude = ScriptedClaude::start([
        ScriptTurn::call("web__pay", &json!({})),
        ScriptTurn::text("Who knows."),
    ])
    .await;
    let more = format!(
        "[policy]\nunknown = \"ask\"\n[policy.tools]\n\"*\" = \"allow\"\n\
         [network]\nallow_private = [\"127.0.0.1\"]\n\
         [web.tools.pay]\ndescription = \"Pays\"\nurl = \"{}/pay\"",
        api.base_url()
    );
    let chat = |arguments: &[&str]| {
        let chat = shared.run(arguments);
        chat.at_with(&claude.base_url(), &more).at_terminal(USUAL)
    };
    let mut terminal = chat(&["chat"]);
    terminal.prompts().await;
    terminal.line("pay").await;
    gate.reached().await;
    terminal.shows("running web__pay").await;
    terminal.kill().await;
    let mut terminal = chat(&["chat", "-c"]);
    terminal.shows("It is not known whether").await;
    terminal
        .until("asked", |screen| screen.ends_with("answer:"))
        .await;
    let asked = terminal.screen();
    assert!(!asked.contains("running web__pay"), "{asked}");
    terminal.line("t").await;
    terminal.shows("\nWho knows.\n").await;
    terminal.prompts().await;
    let told = terminal.screen();
    assert!(!told.contains("running web__pay"), "{told}");
    let told: Vec<&str> = told
        .lines()
        .filter(|line| line.contains("outcome unknown"))
        .collect();
    let [told] = told[..] else {
        panic!("{told:?}");
    };
    assert!(told.contains("web__pay · outcome unknown ·"), "{told}");
    kept(&claude);
}

#[tokio::test]
async fn a_fork_shows_the_last_messages_that_it_begins_with() {
    let shared = Shared::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::text("I say one."),
        ScriptTurn::text("I say two."),
        ScriptTurn::text("I say three."),
        ScriptTurn::text("I say four."),
    ])
    .await;
    for question in ["First?", "Second?", "Third?", "Fourth?"] {
        shared.ask(&claude, "talk", question).await;
    }
    let forked = shared.run(&["sessions", "fork", "talk"]).run().await;
    let mut terminal = shared.chat(&claude, forked.out.trim(), USUAL);
    terminal.prompts().await;
    let screen = terminal.screen();
    for shown in [
        "forked from talk at 4; it began with\n… 2 messages before\n> Second?\nI say two.\n",
        "> Fourth?\nI say four.\n",
    ] {
        assert!(screen.contains(shown), "{shown}\n{screen}");
    }
    assert!(!screen.contains("First?"), "{screen}");
    kept(&claude);
}

#[tokio::test]
async fn what_was_said_fits_into_forty_columns() {
    let shared = Shared::new();
    let long = "The answer is rather long, and no line of it may be cut at the edge.";
    let claude = ScriptedClaude::start([ScriptTurn::text(long)]).await;
    shared
        .ask(
            &claude,
            "narrow",
            "Is there an end to the questions that are asked?",
        )
        .await;
    let mut terminal = shared.chat(&claude, "narrow", Size(40, 40));
    terminal.prompts().await;
    let screen = terminal.screen();
    for line in [
        "claude/claude-opus-5-5 · /help says what\n  can be typed, Ctrl-D leaves\n",
        "\n── turn 1 · claude/claude-opus-5-5 ·\n  2",
        "\n> Is there an end to the questions that\n  are asked?\n",
        "\nThe answer is rather long, and no line\n  of it may be cut at the edge.\n",
    ] {
        assert!(screen.contains(line), "{line}\n{screen}");
    }
    kept(&claude);
}

#[tokio::test]
async fn all_turns_that_were_left_go_on_and_one_that_waits_is_left() {
    let shared = Shared::new();
    let (one, two) = (Gate::new(), Gate::new());
    let claude = ScriptedClaude::start([
        ScriptTurn::text("One.").pause_after(1, &one),
        ScriptTurn::text("Two.").pause_after(1, &two),
        ScriptTurn::call("calculator", &json!({ "expression": "1+1" })).when("calculate"),
        ScriptTurn::text("One again."),
        ScriptTurn::text("Two again."),
    ])
    .await;
    shared.leave_open(&claude, "a", &one).await;
    shared.leave_open(&claude, "b", &two).await;
    one.open();
    two.open();
    let chat = shared.run(&["chat"]).at_with(&claude.base_url(), ASKING);
    let mut terminal = chat.at_terminal(USUAL);
    terminal.prompts().await;
    terminal.line("calculate").await;
    terminal.shows("answer:").await;
    terminal.kill().await;
    let resume = shared.run(&["sessions", "resume", "--all"]);
    let resumed = resume.at(&claude.base_url()).run().await;
    assert_eq!(resumed.code, Some(0), "{}", resumed.err);
    assert_eq!(resumed.out, "One again.\nTwo again.\n", "{}", resumed.err);
    resumed.says("session a\n");
    resumed.says("session b\n");
    resumed.says("waits for 1 answer; ");
    let states: Vec<String> = shared
        .states()
        .await
        .into_iter()
        .map(|(_, it)| it)
        .collect();
    assert_eq!(states.iter().filter(|it| *it == "idle").count(), 2);
    assert_eq!(states.iter().filter(|it| *it == "waits").count(), 1);
    kept(&claude);
}

/// Wherever in the first writes of a turn it comes.
#[tokio::test]
async fn ctrl_c_while_a_turn_is_first_written_leaves_no_open_turn() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.").again().stall_after(1)]).await;
    let shared = Shared::new();
    // Makes the file, which grows by what the turn writes from here on.
    shared
        .run(&["sessions", "list"])
        .run()
        .await
        .answers("there are no sessions yet\n");
    let log = shared.0.path().join("kept.db-wal");
    let written = || std::fs::metadata(&log).map_or(0, |log| log.len());
    for pages in [1, 4, 8, 9, 10, 11, 12, 14, 16] {
        let session = format!("after-{pages}");
        let ask = shared.run(&["ask", "--session", &session, "Hi."]);
        let asked = claude.requests().len();
        let running = ask.at(&claude.base_url()).start();
        while written() < pages * 4096 && claude.requests().len() == asked {
            tokio::task::yield_now().await;
        }
        running.interrupt();
        let ran = running.end().await;
        assert!(matches!(ran.code, Some(130) | None), "{}", ran.err);
    }
    for (session, state) in shared.states().await {
        assert_eq!(state, "idle", "{session}");
    }
}

#[tokio::test]
async fn nothing_to_resume_is_no_error_and_no_answer_is_printed_again() {
    let shared = Shared::new();
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.")]).await;
    shared.ask(&claude, "done", "Hi.").await.answers("Hello.\n");
    for more in [&[][..], &["--json"]] {
        let resume = shared.run(&["sessions", "resume", "done"]).more(more);
        let resumed = resume.at(&claude.base_url()).run().await;
        assert_eq!(
            (resumed.code, &*resumed.out),
            (Some(0), ""),
            "{}",
            resumed.err
        );
        resumed.says("session done has no open turn: there is nothing to resume");
    }
    kept(&claude);
}

#[tokio::test]
async fn of_two_conversations_on_one_session_the_second_is_told_and_goes_on_later() {
    let shared = Shared::new();
    let gate = Gate::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::text("Hello.").when("Hi."),
        ScriptTurn::text("Slowly.")
            .when("slow")
            .pause_after(1, &gate),
        ScriptTurn::text("Now.").when("again"),
    ])
    .await;
    shared.ask(&claude, "both", "Hi.").await.answers("Hello.\n");
    let mut first = shared.chat(&claude, "both", USUAL);
    let mut second = shared.chat(&claude, "both", USUAL);
    first.prompts().await;
    second.prompts().await;
    first.line("slow").await;
    gate.reached().await;
    second.line("me").await;
    second.shows("is at work on turn").await;
    second.shows("jackfield sessions watch both").await;
    second.prompts().await;
    gate.open();
    first.shows("\nSlowly.\n").await;
    first.prompts().await;
    second.line("again").await;
    second.shows("\nNow.\n").await;
    second.prompts().await;
    let sent = claude.requests()[2]["messages"].to_string();
    assert!(
        sent.contains("Slowly.") && !sent.contains("\"me\""),
        "{sent}"
    );
    kept(&claude);
}

/// Every call needs a word.
const ASKING: &str = "[policy.tools]\n\"*\" = \"ask\"";
