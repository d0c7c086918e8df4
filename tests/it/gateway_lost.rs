//! A gateway that is killed while a response is streamed, and a client that comes back to it.

use jackfield_testkit::server::Gate;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Gateway, Kept, kept};

/// What the provider said before the gateway was killed, and what it says when it is asked again.
const LOST: &str = "The first try says that the river is long, and goes on about its banks, its bridges, the \
                    towns on either side of it, and the boats that come down from the hills in spring, and \
                    never comes to the sea that all of this was to lead to.";
const NEW: &str = "Another reply, in other words, which is told to its end.";

async fn gateway(claude: &ScriptedClaude, sessions: &Kept) -> Gateway {
    let serve = sessions.gateway().at(&claude.base_url());
    Gateway::listening(serve.start()).await
}

/// The events of a text that are whole.
fn events(text: &str) -> Vec<Value> {
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter_map(|data| serde_json::from_str(data).ok())
        .collect()
}

fn number(event: &Value) -> u64 {
    event["sequence_number"].as_u64().expect("a number")
}

fn words(events: &[Value]) -> String {
    let deltas = events.iter().filter_map(|event| event["delta"].as_str());
    deltas.collect()
}

#[tokio::test]
async fn a_stream_that_was_killed_is_never_put_together_of_two_replies() {
    let goes_on = Gate::new();
    let claude = ScriptedClaude::start([
        ScriptTurn::text(LOST).stall_after(2_000),
        ScriptTurn::text(NEW).recut(7).pause_after(1_000, &goes_on),
    ])
    .await;
    let sessions = Kept::new();
    let first = gateway(&claude, &sessions).await;
    let asked = json!({
        "model": "claude-sonnet-5", "input": "hi", "background": true, "stream": true,
    });
    let mut sent = first.post("/v1/responses", &asked).sent().await;
    sent.until("river").await;
    let seen = events(&sent.so_far());
    let id = seen[0]["response"]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    first.running.kill();
    first.running.end().await;
    let lost = words(&seen);
    assert!(LOST.starts_with(&lost) && lost.contains("says"), "{lost}");

    let second = gateway(&claude, &sessions).await;
    let path = format!("/v1/responses/{id}?stream=true");
    // While the new reply is under way, too.
    let last = seen.last().map(number).expect("events");
    let rest = second.get(&format!("{path}&starting_after={last}"));
    let rest = rest.answered().await.json_events();
    assert_eq!(words(&rest), "");
    assert_eq!(rest[0]["type"], "response.failed");
    goes_on.open();
    // Whoever looks anew sees the new reply alone.
    let whole = second.get(&path).answered().await.json_events();
    assert_eq!(words(&whole), NEW);
    let last = whole.last().expect("an end");
    assert_eq!(last["type"], "response.completed");
    let numbers: Vec<u64> = whole.iter().map(number).collect();
    assert_eq!(numbers[..2], [0, 1]);
    assert!(numbers.windows(2).all(|two| two[0] < two[1]), "{numbers:?}");
    let body = second.get(&format!("/v1/responses/{id}")).answered().await;
    let body = body.is(200);
    assert_eq!(body, last["response"]);
    assert_eq!(body["output"][0]["content"][0]["text"], NEW);
    // Whoever has events of the lost reply is told that it failed, and nothing of the new one.
    for known in seen.iter().map(number) {
        let path = format!("{path}&starting_after={known}");
        let rest = second.get(&path).answered().await.json_events();
        if known < 2 {
            assert_eq!(rest, whole[usize::try_from(known).expect("small") + 1..]);
            continue;
        }
        let [end] = &*rest else {
            panic!("after {known}: {rest:?}");
        };
        assert_eq!(
            (number(end), &end["type"]),
            (known + 1, &json!("response.failed"))
        );
        assert_eq!(end["response"]["status"], "failed");
        assert_eq!(end["response"]["output"], json!([]));
        let error = &end["response"]["error"];
        assert_eq!(error["code"], "server_error", "{error}");
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains("asked for again"), "{message}");
    }
    // Whoever has some of the new one gets its rest.
    for (place, known) in numbers.iter().enumerate() {
        let path = format!("{path}&starting_after={known}");
        let rest = second.get(&path).answered().await.json_events();
        assert_eq!(rest, whole[place + 1..], "after {known}");
    }
    second.end().await;
    kept(&claude);
}
