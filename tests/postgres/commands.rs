//! The commands with their sessions in a database.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Jackfield, Ran, jackfield, kept};
use crate::world::Database;

#[tokio::test]
async fn sessions_are_asked_listed_audited_and_looked_over() {
    let database = Database::new("commands");
    Database::sql("GRANT CREATE ON DATABASE commands TO locked");
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text("It is 42."),
        ScriptTurn::text("As I said."),
    ])
    .await;
    // The password is apart from the address.
    let journal = format!(
        "[journal]\nurl = \"{}\"\npassword_env = \"CHATS_PASSWORD\"\n",
        database.url("locked")
    );
    let on = |arguments: &[&str]| -> Jackfield {
        let run = jackfield([]).more(arguments);
        let run = run.at_with(&claude.base_url(), &journal);
        run.env("CHATS_PASSWORD", "secret")
    };
    let ask = async |question: &str| on(&["ask", "--session", "sums", question]).run().await;
    ask("How much is 6*7?").await.answers("It is 42.\n");
    ask("Are you sure?").await.answers("As I said.\n");
    let json = async |arguments: &[&str]| -> Value {
        let ran: Ran = on(arguments).run().await;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        serde_json::from_str(&ran.out).expect("JSON")
    };
    let sessions = json(&["sessions", "list", "--json"]).await;
    assert_eq!(sessions[0]["id"], "sums", "{sessions}");
    assert_eq!(sessions[0]["turns"], 2, "{sessions}");
    let audited = json(&["audit", "--json"]).await;
    assert_eq!(audited[0]["session"], "sums", "{audited}");
    let found = on(&["sessions", "list", "--search", "AS I said"])
        .run()
        .await;
    assert!(found.out.contains("sums"), "{}{}", found.out, found.err);
    let usage = on(&["usage"]).run().await;
    assert_eq!(usage.code, Some(0), "{}", usage.err);
    let doctor = on(&["doctor", "--offline"]).run().await;
    for says in [
        "1 session in postgres://locked@",
        "the database is sound, and everything in it can be read",
    ] {
        assert!(doctor.out.contains(says), "{}{}", doctor.out, doctor.err);
    }
    let deleted = on(&["sessions", "delete", "sums", "--yes"]).run().await;
    assert_eq!(deleted.code, Some(0), "{}", deleted.err);
    let sessions = json(&["sessions", "list", "--json"]).await;
    assert_eq!(sessions, json!([]));
    for ran in [found, usage, doctor] {
        assert!(!ran.err.contains("secret") && !ran.out.contains(":secret"));
    }
    kept(&claude);
}

#[tokio::test]
async fn a_database_that_is_not_there_or_refuses_is_named_with_help() {
    let claude = ScriptedClaude::start(Vec::<ScriptTurn>::new()).await;
    // Nothing listens where a socket was just closed.
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let gone = format!("postgres://me:hush@127.0.0.1:{port}/chats");
    let database = Database::new("refusing");
    let wrong = database.url("locked:hush");
    for (url, cause) in [
        (
            gone,
            "see whether PostgreSQL runs there and accepts connections",
        ),
        (
            wrong,
            "see the user, the password and the database in the address",
        ),
    ] {
        let ask = jackfield(["ask", "Hello?"]).env("JACKFIELD_DB", url);
        let ran = ask.at(&claude.base_url()).run().await;
        assert_eq!(ran.code, Some(3), "{}", ran.err);
        assert!(ran.err.contains(cause), "{}", ran.err);
        assert!(ran.err.contains("JACKFIELD_DB"), "{}", ran.err);
        assert!(!ran.err.contains("hush"), "{}", ran.err);
    }
    kept(&claude);
}
