//! Conversations at terminals of all kinds, and at none.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;

use crate::harness::{Size, jackfield, kept, shell};

#[tokio::test]
async fn a_terminal_that_gets_narrow_is_filled_as_it_is() {
    let words = "word ".repeat(30);
    let claude = ScriptedClaude::start([ScriptTurn::text(&words), ScriptTurn::text(&words)]).await;
    let mut terminal = jackfield(["chat"])
        .at(&claude.base_url())
        .at_terminal(Size(30, 100));
    terminal.prompts().await;
    let long = "a question that is longer than forty columns";
    terminal.types(long).await;
    terminal.shows(long).await;
    terminal.resize(Size(30, 40));
    terminal
        .until("repainted", |screen| {
            !screen.contains(long) && screen.contains("longer than forty")
        })
        .await;
    terminal.types("\r").await;
    let filled = ["word"; 8].join(" ");
    terminal.shows(&format!("\n{filled}\n")).await;
    terminal.prompts().await;
    let widest = terminal
        .screen()
        .lines()
        .map(|line| line.chars().count())
        .max();
    assert!(widest <= Some(40), "{}", terminal.screen());
}

#[tokio::test]
async fn a_dumb_terminal_gets_plain_lines() {
    let claude =
        ScriptedClaude::start([ScriptTurn::text("**Привет**"), ScriptTurn::text("two")]).await;
    let chat = jackfield(["chat"])
        .at(&claude.base_url())
        .env("TERM", "dumb");
    let mut terminal = chat.at_terminal(Size(30, 80));
    terminal.prompts().await;
    terminal.line("hello \\").await;
    terminal.line("there").await;
    terminal.shows("\n**Привет**\n").await;
    terminal.prompts().await;
    terminal.types("\u{3}").await;
    terminal.shows("Ctrl-C again, or Ctrl-D, leaves").await;
    terminal.line("again").await;
    terminal.shows("\ntwo\n").await;
    terminal.prompts().await;
    terminal.types("\u{4}").await;
    assert_eq!(terminal.ends().await, Some(0));
    let first = claude.requests()[0]["messages"][0].to_string();
    assert!(first.contains("hello \\nthere"), "{first}");
    kept(&claude);
}

#[tokio::test]
async fn nothing_that_a_model_says_commands_the_terminal() {
    // The screen of the test leaves out the signs that stand in the place of control characters.
    let bad = "before\u{1b}[2J\u{1b}]0;owned\u{7} &#27;[8m after\n\n```\n\u{1b}[1;1Hcode\n```\n\n| a\u{1b}[5m |\n|---|\n| &#x9b;7m |\n";
    let claude = ScriptedClaude::start([ScriptTurn::text(bad)]).await;
    let mut terminal = jackfield(["chat"])
        .at(&claude.base_url())
        .at_terminal(Size(30, 80));
    terminal.prompts().await;
    terminal.line("go").await;
    terminal.shows("before[2J]0;owned [8m after").await;
    terminal.shows("[1;1Hcode").await;
    terminal.shows("\n7m\n").await;
    terminal.prompts().await;
    assert!(terminal.screen().contains("> go"), "{}", terminal.screen());
    kept(&claude);
}

#[tokio::test]
async fn russian_and_chinese_are_typed_edited_and_drawn() {
    let claude = ScriptedClaude::start([ScriptTurn::text(
        "# Ответ\n\n| город | 城市 |\n|---|---|\n| Москва | 莫斯科 |\n\n你好，**世界**。",
    )])
    .await;
    let mut terminal = jackfield(["chat"])
        .at(&claude.base_url())
        .at_terminal(Size(30, 60));
    terminal.prompts().await;
    terminal.types("Привет, 世界人").await;
    terminal.shows("> Привет, 世界人").await;
    terminal.types("\u{7f}!\r").await;
    terminal
        .shows("\nОтвет\n\nгород  │ 城市\n───────┼───────\nМосква │ 莫斯科\n\n你好，世界。\n")
        .await;
    terminal.prompts().await;
    let said = claude.requests()[0]["messages"][0].to_string();
    assert!(said.contains("Привет, 世界!"), "{said}");
    kept(&claude);
}

#[tokio::test]
async fn without_colours_the_marks_stay() {
    let claude = ScriptedClaude::start([ScriptTurn::text("## Two\n\nuse `ls` *now*")]).await;
    let chat = jackfield(["chat"])
        .at(&claude.base_url())
        .env("NO_COLOR", "1");
    let mut terminal = chat.at_terminal(Size(30, 60));
    terminal.prompts().await;
    terminal.line("go").await;
    terminal.shows("\n## Two\n\nuse `ls` now\n").await;
    terminal.prompts().await;
    kept(&claude);
}

#[tokio::test]
async fn a_home_that_cannot_be_written_and_none_at_all_stop_nothing() {
    for home in ["/dev/null", "/proc/nobody"] {
        let claude = ScriptedClaude::start([ScriptTurn::text("one")]).await;
        let chat = jackfield(["chat", "--verbose"])
            .at(&claude.base_url())
            .env("HOME", home);
        let mut terminal = chat.at_terminal(Size(30, 80));
        terminal.prompts().await;
        terminal.shows("what is typed is not kept in").await;
        terminal.line("go").await;
        terminal.shows("\none\n").await;
        terminal.prompts().await;
        terminal.types("\u{1b}[A").await;
        terminal
            .until("recalled", |screen| screen.ends_with("> go"))
            .await;
        kept(&claude);
    }
}

#[tokio::test]
async fn a_history_that_is_none_is_left_alone() {
    let claude = ScriptedClaude::start([ScriptTurn::text("one")]).await;
    let chat = jackfield(["chat", "-v"]).at(&claude.base_url());
    let folder = chat.home().join(".local/state/jackfield");
    fs::create_dir_all(&folder).expect("the home can be written");
    let file = folder.join("history");
    fs::write(&file, b"#V2\n\xff\xfe\n").expect("the home can be written");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("it is ours");
    let mut terminal = chat.at_terminal(Size(30, 80));
    terminal.prompts().await;
    terminal.shows("what is typed is not kept in").await;
    terminal.line("go").await;
    terminal.shows("\none\n").await;
    terminal.prompts().await;
    assert_eq!(fs::read(&file).expect("it is there"), b"#V2\n\xff\xfe\n");
}

#[tokio::test]
async fn a_link_in_place_of_the_history_is_not_followed() {
    let claude = ScriptedClaude::start([ScriptTurn::text("one")]).await;
    let chat = jackfield(["chat", "-v"]).at(&claude.base_url());
    let folder = chat.home().join(".local/state/jackfield");
    fs::create_dir_all(&folder).expect("the home can be written");
    let victim = chat.home().join("victim");
    fs::write(&victim, "").expect("the home can be written");
    std::os::unix::fs::symlink(&victim, folder.join("history")).expect("it can be linked");
    let mut terminal = chat.at_terminal(Size(30, 80));
    terminal.prompts().await;
    terminal.shows("what is typed is not kept in").await;
    terminal.line("go").await;
    terminal.shows("\none\n").await;
    terminal.prompts().await;
    assert_eq!(fs::read(&victim).expect("it is there"), b"");
}

#[tokio::test]
async fn a_pipe_is_read_by_line() {
    let claude = ScriptedClaude::start([
        ScriptTurn::text("**one**"),
        ScriptTurn::text("two").when("b\nc"),
    ])
    .await;
    let chat = jackfield(["chat"])
        .at(&claude.base_url())
        .stdin("a\n\n/usage\nb\\\nc");
    let ran = chat.run().await;
    ran.answers("**one**\ntwo\n");
    ran.says("all  100 tokens in, 20 out · 1 turn");
    assert_eq!(
        claude.requests()[1]["messages"].as_array().map(Vec::len),
        Some(3)
    );
    kept(&claude);
}

#[tokio::test]
async fn a_pipe_ends_with_the_code_of_what_went_wrong_first() {
    let claude = ScriptedClaude::start([ScriptTurn::text("one")]).await;
    let chat = jackfield(["chat"])
        .at(&claude.base_url())
        .stdin("/nope\na\n");
    let ran = chat.run().await;
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(2), "one\n"),
        "{}",
        ran.err
    );
    let ran = jackfield(["chat"])
        .at(&claude.base_url())
        .stdin(b"\xff\n".to_vec())
        .run()
        .await;
    ran.fails(2, "standard input is not UTF-8", "iconv");
    kept(&claude);
}

#[tokio::test]
async fn a_chat_without_a_key_does_not_begin() {
    let ran = jackfield(["chat"]).stdin("hello\n").run().await;
    ran.fails(
        3,
        "there is no key for `claude`",
        "export ANTHROPIC_API_KEY",
    );
}

#[tokio::test]
async fn the_terminal_is_given_back_however_it_ends() {
    let long: String = (0..100).map(|n| format!("line {n}\n")).collect();
    for leave in ["\u{4}", "\u{3}", "go\r"] {
        let claude =
            ScriptedClaude::start([ScriptTurn::text(&long).stall_after(4_000).again()]).await;
        let line = "trap : INT; \"$jackfield\" chat; \
                    stty -a | grep -ow -e -echo -e -icanon -e icrnl; echo so";
        let mut terminal = shell(line).at(&claude.base_url()).at_terminal(Size(60, 80));
        terminal.prompts().await;
        terminal.types(leave).await;
        match leave {
            "\u{3}" => {
                terminal.shows("Ctrl-C again, or Ctrl-D, leaves").await;
                terminal.prompts().await;
                terminal.types("\u{3}").await;
            }
            "go\r" => {
                terminal.shows("line 1\n").await;
                terminal.types("\u{3}").await;
                terminal.shows("! cancelled").await;
                terminal.prompts().await;
                terminal.types("\u{4}").await;
            }
            _ => {}
        }
        terminal.shows("\nso").await;
        let screen = terminal.screen();
        assert!(screen.contains("icrnl\nso"), "{leave:?}: {screen}");
        assert!(
            !screen.contains("-echo\n") && !screen.contains("-icanon\n"),
            "{leave:?}: {screen}"
        );
    }
}

#[tokio::test]
async fn answers_go_where_they_are_sent_and_the_line_stays() {
    let claude = ScriptedClaude::start([ScriptTurn::text("**one**")]).await;
    let line = "\"$jackfield\" chat > answers; cat -v answers; echo so";
    let mut terminal = shell(line).at(&claude.base_url()).at_terminal(Size(30, 80));
    terminal.prompts().await;
    terminal.line("go").await;
    terminal.shows("1 round").await;
    terminal.prompts().await;
    terminal.types("\u{4}").await;
    terminal.shows("\n**one**\nso").await;
    kept(&claude);
}

/// Lists and errors in a window of 60 columns.
#[tokio::test]
async fn lists_fit_the_window_and_no_word_is_broken() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let question = "What is the length of a question that is longer than a narrow window?";
    let claude = ScriptedClaude::start([ScriptTurn::text("Long.")]).await;
    let run = |arguments: &[&str]| {
        let run = jackfield([]).more(arguments).at(&claude.base_url());
        run.env("JACKFIELD_DB", folder.path().join("kept.db"))
    };
    let asked = run(&["ask", "--session", "one", question]).run().await;
    asked.answers("Long.\n");
    for (list, heading) in [
        (&["tools", "list"][..], None),
        (&["usage", "--by", "session"], Some("session")),
        (&["sessions", "list"], Some("session  changed  turns")),
    ] {
        let whole = run(list).run().await.out;
        let mut terminal = run(list).at_terminal(Size(40, 60));
        let rows = whole.lines().count() + usize::from(list[0] == "sessions");
        terminal
            .until("one row each", |screen| screen.lines().count() == rows)
            .await;
        let screen = terminal.screen();
        assert!(screen.contains('…'), "{screen}");
        assert!(!whole.contains('…') || list[0] != "tools", "{whole}");
        if let Some(heading) = heading {
            assert!(screen.starts_with(heading), "{screen}");
        }
    }
    let wrong = run(&["tools", "show", "no-such-tool-anywhere"]);
    let told = wrong.run().await.err;
    let wrong = run(&["tools", "show", "no-such-tool-anywhere"]);
    let mut terminal = wrong.at_terminal(Size(40, 40));
    assert_eq!(terminal.ends().await, Some(2));
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let told = words(&told);
    terminal
        .until("all words", |screen| words(screen) == told)
        .await;
    let mut terminal = run(&["chat"]).at_terminal(Size(80, 40));
    terminal.prompts().await;
    terminal.line("/help").await;
    terminal.shows("slash.").await;
    terminal.prompts().await;
    let screen = terminal.screen();
    for word in ["continue", "conversation", "clipboard", "completes"] {
        assert!(!broken(&screen, word), "{word}: {screen}");
    }
    kept(&claude);
}

/// Whether a line end breaks this word.
fn broken(screen: &str, word: &str) -> bool {
    (1..word.len()).any(|place| screen.contains(&format!("{}\n{}", &word[..place], &word[place..])))
}
