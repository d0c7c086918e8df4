//! Tools of Claude Code itself, behind the gateway: each question whether one may be used is an approval.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::claude_code::{MODEL, Program};
use crate::harness::{Answer, Gateway, Kept, kept};

const WAIT: &str = "[serve]\napprovals = \"wait\"\n";
const OWN: &str = "builtin_tools = [\"Bash\"]\n";

fn bash(command: &str) -> ScriptTurn {
    ScriptTurn::call("Bash", &json!({ "command": command }))
}

/// A gateway whose Claude Code asks, and a session there.
struct Asking {
    claude: ScriptedClaude,
    gateway: Gateway,
    program: Program,
    session: String,
    sessions: Kept,
}

impl Asking {
    async fn new(turns: Vec<ScriptTurn>, more: &str) -> Self {
        let claude = ScriptedClaude::start(turns).await;
        let (sessions, program) = (Kept::new(), Program::in_mode("asks-permission"));
        let gateway = program.gateway_with(&claude, &sessions, more, OWN).await;
        let made = gateway.raw("POST", "/api/v1/sessions").answered().await;
        let session = made.header("location").to_owned();
        Self {
            claude,
            gateway,
            program,
            session,
            sessions,
        }
    }

    /// Begins a turn in the background.
    async fn begin(&self) {
        let body = json!({ "message": "Do it.", "mode": "background", "model": MODEL });
        let path = format!("{}/turns", self.session);
        self.gateway.post(&path, &body).answered().await.is(202);
    }

    /// Waits until exactly one question is open, and returns it.
    async fn question(&self) -> Value {
        loop {
            let listed = self.gateway.get("/api/v1/approvals").answered().await;
            let listed = listed.is(200);
            if let Some([question]) = listed["approvals"].as_array().map(Vec::as_slice) {
                return question.clone();
            }
            tokio::task::yield_now().await;
        }
    }

    async fn answer(&self, question: &Value, verb: &str, body: Value) -> Answer {
        let id = question["id"].as_str().expect("an id");
        let path = format!("/api/v1/approvals/{id}/{verb}");
        self.gateway.post(&path, &body).answered().await
    }

    /// Waits until the turn is over, and returns it.
    async fn over(&self) -> Value {
        let rest = self
            .gateway
            .get(&format!("{}/events?until=rest", self.session));
        rest.answered().await;
        let session = self.gateway.get(&self.session).answered().await.is(200);
        session["turns"]
            .as_array()
            .and_then(|turns| turns.last().cloned())
            .unwrap_or(session)
    }

    async fn end(self) {
        self.gateway.end().await;
        self.program.all_ended().await;
        kept(&self.claude);
    }
}

/// The result of the tool, as the model got it last.
fn last_result(claude: &ScriptedClaude) -> Value {
    let requests = claude.requests();
    let messages = requests.last().expect("a request")["messages"].clone();
    let last = messages.as_array().and_then(|all| all.last().cloned());
    last.unwrap_or_default()["content"][0].clone()
}

#[tokio::test]
async fn a_question_of_claude_code_is_an_approval_of_ours() {
    let denial =
        "`Bash` is denied: The call was not run: it was denied. The reason given: not on Fridays";
    for (verb, body, runs, told) in [
        (
            "allow",
            json!({}),
            vec!["Bash {\"command\":\"ls\"}"],
            "Bash ran with {\"command\":\"ls\"}",
        ),
        (
            "allow",
            json!({ "arguments": { "command": "ls -l" } }),
            vec!["Bash {\"command\":\"ls -l\"}"],
            "Bash ran with {\"command\":\"ls -l\"}",
        ),
        (
            "deny",
            json!({ "reason": "not on Fridays" }),
            vec![],
            denial,
        ),
    ] {
        let asking = Asking::new(vec![bash("ls"), ScriptTurn::text("Done.")], WAIT).await;
        asking.begin().await;
        let question = asking.question().await;
        assert_eq!(question["server"], "claude-code", "{question}");
        assert_eq!(question["tool"], "claude-code__Bash", "{question}");
        assert_eq!(question["arguments"], json!({ "command": "ls" }));
        assert_eq!(asking.program.runs(), [""; 0]);
        asking.answer(&question, verb, body).await.is(200);
        asking.over().await;
        assert_eq!(asking.program.runs(), runs);
        let result = last_result(&asking.claude);
        let words = result["content"].as_str().expect("a text");
        assert!(words.starts_with(told), "{words}");
        // The process waited for the answer.
        assert_eq!(asking.program.starts().len(), 1);
        let audit = asking.sessions.run(&["audit", "--json"]).run().await;
        let audit: Vec<Value> = serde_json::from_str(&audit.out).expect("a list");
        let all = Value::from(audit).to_string();
        assert!(all.contains("claude-code") && all.contains("Bash"), "{all}");
        asking.end().await;
    }
}

#[tokio::test]
async fn a_permission_for_the_session_is_asked_once() {
    let turns = vec![
        bash("ls"),
        bash("pwd"),
        ScriptTurn::text("Done."),
        bash("id"),
        ScriptTurn::text("Done."),
    ];
    let asking = Asking::new(turns, WAIT).await;
    asking.begin().await;
    let question = asking.question().await;
    let body = json!({ "for_session": true });
    asking.answer(&question, "allow", body).await.is(200);
    asking.over().await;
    asking.begin().await;
    asking.over().await;
    let commands = ["ls", "pwd", "id"].map(|command| format!("Bash {{\"command\":\"{command}\"}}"));
    assert_eq!(asking.program.runs(), commands);
    asking.end().await;
}

#[tokio::test]
async fn the_policy_decides_about_tools_of_claude_code_without_a_question() {
    let rules = "[policy.tools]\n\"claude-code/Bash\" = ";
    for (policy, runs, told) in [
        (
            format!("{rules}\"allow\"\n"),
            vec!["Bash {\"command\":\"ls\"}"],
            "Bash ran",
        ),
        (
            format!("{rules}\"deny\"\n{WAIT}"),
            vec![],
            "`Bash` is denied",
        ),
    ] {
        let asking = Asking::new(vec![bash("ls"), ScriptTurn::text("Done.")], &policy).await;
        asking.begin().await;
        asking.over().await;
        assert_eq!(asking.program.runs(), runs, "{policy}");
        let result = last_result(&asking.claude);
        let words = result["content"].as_str().expect("a text");
        assert!(words.starts_with(told), "{policy}: {words}");
        asking.end().await;
    }
}

#[tokio::test]
async fn where_no_person_is_asked_the_question_is_denied() {
    // That is the default for clients of the vendors' languages.
    let asking = Asking::new(vec![bash("ls"), ScriptTurn::text("Done.")], "").await;
    let body = json!({ "model": MODEL, "messages": [{ "role": "user", "content": "Do it." }] });
    let said = asking.gateway.post("/v1/chat/completions", &body);
    let said = said.answered().await.is(200);
    let words = said["choices"][0]["message"]["content"].as_str();
    assert!(
        words.is_some_and(|words| words.ends_with("Done.")),
        "{said}"
    );
    let result = last_result(&asking.claude);
    let words = result["content"].as_str().expect("a text");
    assert!(words.starts_with("`Bash` is denied"), "{words}");
    assert!(!words.contains("[policy.tools]"), "{words}");
    assert_eq!(asking.program.runs(), [""; 0]);
    asking.end().await;
}

#[tokio::test]
async fn a_question_outlives_both_processes_and_nothing_runs_without_its_answer() {
    let turns = vec![bash("pay"), bash("pay"), ScriptTurn::text("Paid.")];
    let mut asking = Asking::new(turns, WAIT).await;
    asking.begin().await;
    let asked = asking.question().await;
    asking.gateway.running.kill();
    let Asking {
        claude,
        gateway,
        program,
        session,
        sessions,
    } = asking;
    drop(gateway.running.end().await);
    program.all_ended().await;
    let gateway = program.gateway_with(&claude, &sessions, WAIT, OWN).await;
    asking = Asking {
        claude,
        gateway,
        program,
        session,
        sessions,
    };
    let again = asking.question().await;
    assert_eq!(again["id"], asked["id"]);
    // From the command line this time.
    let id = asked["id"].as_str().expect("an id");
    let allowed = asking.sessions.run(&["approvals", "allow", id]).run().await;
    assert_eq!(allowed.code, Some(0), "{allowed:?}");
    // The process that asked is gone. The model calls the tool again, and that is another question.
    let second = loop {
        let question = asking.question().await;
        if question["id"] != asked["id"] {
            break question;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(asking.program.runs(), [""; 0]);
    asking.answer(&second, "allow", json!({})).await.is(200);
    asking.over().await;
    assert_eq!(asking.program.runs(), ["Bash {\"command\":\"pay\"}"]);
    assert_eq!(asking.program.starts().len(), 2);
    asking.end().await;
}
