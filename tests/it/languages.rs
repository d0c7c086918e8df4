//! The demo model in front of the real tools, in three languages.

use std::time::{SystemTime, UNIX_EPOCH};

use jackfield_demo::server::{DemoServer, ReplyPace};
use serde_json::Value;

use crate::harness::{Ran, jackfield};

#[tokio::test]
async fn s1_11_english_15_percent_of_2500_and_the_time_in_tokyo() {
    check_demo(
        "What is 15% of 2500, and what time is it in Tokyo?",
        "Tokyo",
    )
    .await;
}

#[tokio::test]
async fn s1_11_russian_15_percent_of_2500_and_the_time_in_tokyo() {
    check_demo("Сколько будет 15% от 2500, и который час в Токио?", "Токио").await;
}

#[tokio::test]
async fn s1_11_chinese_15_percent_of_2500_and_the_time_in_tokyo() {
    check_demo("2500的15%是多少？东京现在几点？", "东京").await;
}

#[tokio::test]
async fn s1_11_the_demo_needs_no_question_no_key_and_no_configuration() {
    let ran = jackfield(["demo"]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.out.contains("375") && ran.out.contains("Tokyo"),
        "{}",
        ran.out
    );
    ran.says("> What is 15% of 2500, and what time is it in Tokyo?\n");
}

#[tokio::test]
async fn s1_11_break_a_tool_and_the_answer_changes_in_every_language() {
    for (question, town) in [
        (
            "What is 15% of 2500, and what time is it in Tokyo?",
            "Tokyo",
        ),
        ("Сколько будет 15% от 2500, и который час в Токио?", "Токио"),
        ("2500的15%是多少？东京现在几点？", "东京"),
    ] {
        let whole = ask_demo(["ask", "--json", question]).await;
        check(&whole, town);
        let broken = ask_demo(["ask", "--json", "--deny", "calculator", question]).await;
        assert_eq!(broken.code, Some(0), "{}", broken.err);
        let last = broken.last_event();
        assert_eq!(status_of(&last, "calculator"), "denied");
        assert_eq!(status_of(&last, "current_datetime"), "done");
        let answer = last["answer"].as_str().unwrap_or_default();
        assert!(!answer.contains("375"), "{answer}");
        assert!(answer.contains(town), "{answer}");
        let clockless = ask_demo(["ask", "--json", "--deny", "current_datetime", question]).await;
        let last = clockless.last_event();
        assert_eq!(status_of(&last, "current_datetime"), "denied");
        let answer = last["answer"].as_str().unwrap_or_default();
        assert!(answer.contains("375"), "{answer}");
        assert!(
            !answer.contains("JST") && !answer.contains("+09:00"),
            "{answer}"
        );
    }
}

async fn check_demo(question: &str, town: &str) {
    check(&jackfield(["demo", "--json", question]).run().await, town);
}

/// The answer is 375 and the time that it is, and both are what the tools said.
#[track_caller]
fn check(ran: &Ran, town: &str) {
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let last = ran.last_event();
    let answer = last["answer"].as_str().unwrap_or_default();
    assert!(answer.contains("= 375"), "{answer}");
    assert!(answer.contains(town), "{answer}");
    assert_eq!(call_of(&last, "calculator")["result"], "375");
    let told = call_of(&last, "current_datetime");
    assert_eq!(told["arguments"]["timezone"], "Asia/Tokyo");
    let seconds = told["structured"]["unix"].as_u64().unwrap_or_default();
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    assert!(now.as_secs().abs_diff(seconds) < 60, "{told}");
    // Tokyo is nine hours ahead all the year.
    let minutes = seconds / 60 + 9 * 60;
    let time = format!("{:02}:{:02}", minutes / 60 % 24, minutes % 60);
    assert!(answer.contains(&time), "{time} is not in {answer}");
}

/// Asks the demo model as any other model is asked.
async fn ask_demo<const N: usize>(arguments: [&str; N]) -> Ran {
    let server = DemoServer::start(ReplyPace::UNPACED)
        .await
        .expect("a port is free");
    let more = "model = \"claude/jackfield-demo-rules\"";
    let ask = jackfield(arguments).at_with(&server.base_url(), more);
    ask.run().await
}

fn status_of(last: &Value, tool: &str) -> Value {
    call_of(last, tool)["status"].clone()
}

fn call_of(last: &Value, tool: &str) -> Value {
    let calls = last["calls"].as_array().cloned().unwrap_or_default();
    let call = calls.into_iter().find(|call| call["name"] == tool);
    call.unwrap_or_default()
}
