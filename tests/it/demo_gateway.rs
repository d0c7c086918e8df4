//! `jackfield demo --web` and `jackfield demo serve`: page and gateway without a key.
#![cfg(target_os = "linux")]

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Asking, MAX_SHUTDOWN_TIME, Running, is_alive, jackfield};

/// A demo that runs, with a folder that holds a home and its temporary files.
struct Demo {
    address: String,
    folder: TempDir,
    running: Running,
}

impl Demo {
    /// Waits until it has printed everything. The home has a configuration that cannot be read.
    async fn start(arguments: &[&str], last_line: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let [home, temporary] = ["home", "temporary"].map(|name| folder.path().join(name));
        for folder in [home.join(".config/jackfield"), temporary.clone()] {
            fs::create_dir_all(folder).expect("a folder can be made");
        }
        fs::write(home.join(CONFIG), "this is = = no TOML").expect("a file can be written");
        let demo = jackfield(["demo"]).more(arguments).env("HOME", &home);
        let demo = demo.env("XDG_CONFIG_HOME", home.join(".config"));
        let mut running = demo.env("TMPDIR", &temporary).start();
        running.out.until(last_line).await;
        let said = running.out.so_far();
        let (_, behind) = said.split_once("http://").expect("an address");
        let (address, _) = behind.split_once('/').expect("an address");
        Self {
            address: address.to_owned(),
            folder,
            running,
        }
    }

    fn asking(&self, method: &str, path: &str) -> Asking {
        Asking::at(&self.address, method, path)
    }

    async fn get(&self, path: &str) -> Value {
        self.asking("GET", path).answered().await.is(200)
    }

    async fn post(&self, path: &str, body: &Value) -> Value {
        let asking = self.asking("POST", path).body(body.to_string());
        asking.answered().await.is(200)
    }

    /// What has become of a message in a new session.
    async fn ask(&self, message: &str) -> Value {
        let made = self.asking("POST", "/api/v1/sessions").answered().await;
        let session = made.is(201)["id"].as_str().expect("an id").to_owned();
        let turns = format!("/api/v1/sessions/{session}/turns");
        self.post(&turns, &json!({ "message": message })).await
    }

    /// The turns of each session, by its first message.
    async fn turns_of(&self, message: &str) -> Vec<Value> {
        let sessions = self.get("/api/v1/sessions").await;
        let mut sessions = sessions["sessions"].as_array().expect("a list").iter();
        let session = sessions.find(|session| session["title"] == message);
        let id = &session.expect("a session of this title")["id"];
        let path = format!("/api/v1/sessions/{}/turns", id.as_str().expect("an id"));
        let turns = self.get(&path).await;
        turns["turns"].as_array().expect("a list").clone()
    }

    /// Answers the question of this kind, and waits for what the turn of its session ends with.
    async fn settle(&self, kind: &str, session: &str, (how, body): (&str, Value)) -> String {
        let questions = self.get("/api/v1/approvals").await;
        let mut questions = questions["approvals"].as_array().expect("a list").iter();
        let question = questions.find(|question| question["kind"] == kind);
        let id = question.expect("a question")["id"].as_str().expect("an id");
        self.post(&format!("/api/v1/approvals/{id}/{how}"), &body)
            .await;
        let ended = async {
            loop {
                let [turn] = &self.turns_of(session).await[..] else {
                    panic!("one turn")
                };
                if turn["status"] == "ended" {
                    return turn["answer"].as_str().expect("an answer").to_owned();
                }
                tokio::task::yield_now().await;
            }
        };
        let ended = tokio::time::timeout(MAX_SHUTDOWN_TIME, ended).await;
        ended.expect("the turn ends")
    }

    /// Presses Ctrl-C, after which nothing is left.
    async fn ends_without_a_trace(self) {
        let children = children_of(self.running.id());
        assert!(!children.is_empty(), "its tools are processes");
        assert_eq!(files_in(&self.folder.path().join("temporary")).len(), 1);
        self.running.interrupt();
        let ran = self.running.end().await;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let left = files_in(&self.folder.path().join("temporary"));
        assert!(left.is_empty(), "{left:?}");
        let config = self.folder.path().join("home").join(CONFIG);
        assert_eq!(
            files_in(&self.folder.path().join("home/.config/jackfield")),
            [config]
        );
        assert_eq!(files_in(&self.folder.path().join("home")).len(), 1);
        are_gone(&children).await;
    }
}

/// The ids of the processes that this one started.
fn children_of(process: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    let children = tasks.flatten().map(|task| {
        let children = fs::read_to_string(task.path().join("children"));
        children.unwrap_or_default()
    });
    let children: String = children.collect();
    children.split_whitespace().map(str::to_owned).collect()
}

async fn are_gone(processes: &[String]) {
    let gone = tokio::time::timeout(MAX_SHUTDOWN_TIME, async {
        while processes.iter().any(|process| is_alive(process)) {
            tokio::task::yield_now().await;
        }
    });
    assert!(gone.await.is_ok(), "a process of the demo stays");
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("it can be read").flatten();
    entries.map(|entry| entry.path()).collect()
}

#[tokio::test]
async fn the_page_of_a_demo_has_sessions_to_settle_and_leaves_nothing() {
    let again = ("allow", json!({ "again": true }));
    for (settled, sent) in [
        (again, "Sent invoice 7. It was sent 2 times."),
        (("deny", json!({})), "The send_invoice said: "),
    ] {
        let demo = Demo::start(&["--web", "--bind", "127.0.0.1:0"], "\n").await;
        let link = demo.running.out.so_far();
        let (_, token) = link.trim().split_once("/#token=").expect("a link");
        let signed_in = demo.asking("POST", "/api/v1/login");
        let signed_in = signed_in.header("authorization", &format!("Bearer {token}"));
        signed_in.answered().await.is(200);
        let page = demo.asking("GET", "/").answered().await;
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");

        let finished = demo.turns_of("All notes about React, friends' too").await;
        let calls = |turn: &Value| turn["calls"].as_array().map_or(0, Vec::len);
        assert_eq!(finished.iter().map(calls).collect::<Vec<_>>(), [2, 5]);
        let table = finished[1]["answer"].as_str().expect("an answer");
        assert!(table.contains("\n| 15% of 2500 | 375 |\n"), "{table}");
        assert_eq!(demo.ask(SENT).await["answer"], "Invoice 7 was sent.");
        let answer = demo.settle("unknown_outcome", "Send invoice 7.", settled);
        let answer = answer.await;
        assert!(answer.starts_with(sent), "{answer}");
        let note = "Add a note: Tea for Lin. She likes the green one.";
        let answer = demo.settle("approval", note, ("allow", json!({}))).await;
        assert_eq!(answer, "Saved as note 8: Tea for Lin");
        let answer = &demo.ask("What is 15% of 2500?").await["answer"];
        assert_eq!(answer, "15% of 2500 = 375");
        demo.ends_without_a_trace().await;
    }
}

#[tokio::test]
async fn a_demo_for_sdks_answers_them_without_a_key() {
    let demo = Demo::start(&["serve", "--bind", "127.0.0.1:0"], "/v1/messages").await;
    let messages = json!([{ "role": "user", "content": "What is 15% of 2500?" }]);
    let body = json!({ "model": "jackfield-demo-rules", "max_tokens": 500, "messages": messages });
    let answer = demo.post("/v1/chat/completions", &body).await;
    let said = answer["choices"][0]["message"]["content"].to_string();
    assert!(said.contains("15% of 2500 = 375"), "{answer}");
    let answer = demo.post("/v1/messages", &body).await;
    let last = answer["content"]
        .as_array()
        .and_then(|blocks| blocks.last());
    assert_eq!(last.expect("a block")["text"], "15% of 2500 = 375");
    demo.ends_without_a_trace().await;
}

#[tokio::test]
async fn a_demo_listens_where_it_is_told_to_or_not_at_all() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = taken.local_addr().expect("an address").to_string();
    let ran = jackfield(["demo", "--web", "--bind", &address]).run().await;
    let cause = format!("the gateway cannot listen on {address}");
    ran.fails(3, &cause, "name another address with `--bind`");
    let ran = jackfield(["demo", "serve", "--bind", "0.0.0.0:0"]);
    let cause = "it listens to programs on this machine alone";
    ran.run().await.fails(2, cause, "such as 127.0.0.1:9000");
}

#[tokio::test]
async fn a_demo_that_is_killed_leaves_no_process() {
    let demo = Demo::start(&["--web", "--bind", "127.0.0.1:0"], "\n").await;
    let children = children_of(demo.running.id());
    demo.running.kill();
    demo.running.end().await;
    are_gone(&children).await;
}

const CONFIG: &str = ".config/jackfield/jackfield.toml";
const SENT: &str = "Which invoices were sent?";
