//! Clauses about what a request says of the conversation and the system prompt.

use std::sync::Arc;

use jackfield_domain::block::{Block, CalledName, Content, RanBy, ToolCall};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};
use jackfield_domain::tool_input::{JsonInput, ToolInput};

use super::super::bench::{Bench, SentRequest, request_with};
use super::super::comparison::{calls, check_order, check_pairs, has_part, outcomes};
use super::super::rounds::outcome;
use super::super::{ChatModelHarness, EchoedPart, RequestPart};

pub(in super::super) async fn conversations_keep_their_order_and_authors<H: ChatModelHarness>(
    harness: &H,
) {
    let bench = Bench::new(harness).await;
    let request = conversation(harness);
    let whole = sent(&bench, &request).await;
    check_order(&request, &whole);
    check_pairs(harness, &request, &whole);

    let rule = "Answer in Norwegian from now on.";
    let messages = [
        Message::user("What is the weather in Oslo?"),
        Message::new(Role::Assistant, vec![Block::text("It snows.")]),
        Message::new(Role::System, vec![Block::text(rule)]),
        Message::user("And in Bergen?"),
    ];
    let request = request_with(harness.model(), &[], messages);
    let ruled = sent(&bench, &request).await;
    if ruled.is_noted("messages[2]") {
        // A vendor without such messages; but their words are sent.
        assert!(ruled.text.contains(rule), "{rule:?} is lost\n{ruled}");
    } else {
        check_order(&request, &ruled);
    }
}

pub(in super::super) async fn outcomes_name_their_tools<H: ChatModelHarness>(harness: &H) {
    if !harness.capabilities().tools {
        return;
    }
    let bench = Bench::new(harness).await;
    let request = conversation(harness);
    let sent = sent(&bench, &request).await;
    check_pairs(harness, &request, &sent);
    for (said, outcome) in sent.echo.outcomes().zip(outcomes(&request)) {
        if has_part(harness, RequestPart::OutcomeTool, said.tool.is_some()) {
            let call = calls(&request).find(|call| call.id == outcome.call);
            let tool = call.map(|call| call.name.as_str());
            assert_eq!(said.tool.as_deref(), tool, "the tool of an outcome\n{sent}");
        }
    }
}

pub(in super::super) async fn failed_outcomes_are_marked_or_noted<H: ChatModelHarness>(
    harness: &H,
) {
    if !harness.capabilities().tools {
        return;
    }
    let bench = Bench::new(harness).await;
    let count = outcomes(&conversation(harness)).count();
    for failed in (0..count).map(Some).chain([None]) {
        let request = with_failure(conversation(harness), failed);
        let sent = sent(&bench, &request).await;
        check_pairs(harness, &request, &sent);
        let paths = outcome_paths(&request);
        for (nth, (said, path)) in sent.echo.outcomes().zip(paths).enumerate() {
            let is_error = failed == Some(nth);
            // A vendor without a mark gets it in words, with a note.
            let noted = is_error && !said.is_error && sent.is_noted(&path);
            assert!(
                said.is_error == is_error || noted,
                "outcome {nth} is{} an error\n{sent}",
                if is_error { "" } else { " not" }
            );
        }
    }
}

pub(in super::super) async fn the_system_prompt_is_sent_as_such<H: ChatModelHarness>(harness: &H) {
    let bench = Bench::new(harness).await;
    let mut request = conversation(harness);
    let without = sent(&bench, &request).await;
    assert_eq!(without.echo.system, "", "nobody set a system prompt");
    let texts = ["Be \"brief\" & kind.", "Never lie.\nNever guess."];
    let parts = texts.map(|text| SystemPart {
        origin: PartOrigin::Default,
        text: text.into(),
    });
    request.system = Arc::new(SystemPrompt {
        parts: parts.to_vec(),
    });
    let sent = sent(&bench, &request).await;
    if sent.is_noted_at("system") {
        return;
    }
    let said = &sent.echo.system;
    let words = |text: &str| text.split_whitespace().collect::<String>();
    assert_eq!(
        words(said),
        words(&texts.concat()),
        "the system prompt\n{sent}"
    );
    for text in texts {
        assert!(said.contains(text), "{text:?} is changed\n{sent}");
        let mut others = sent.echo.parts.iter();
        assert!(
            !others
                .any(|part| matches!(part, EchoedPart::Text(other) if other.text.contains(text))),
            "{text:?} is in the conversation, too\n{sent}"
        );
    }
    check_order(&request, &sent);
}

/// A conversation that began elsewhere: texts, and with tools calls, outcomes and a text after a call.
fn conversation<H: ChatModelHarness>(harness: &H) -> ModelRequest {
    let can = harness.capabilities();
    let question = "What is \"the weather\" in <b>Tromsø</b> & Oslo?\nAnd the time? 🌨";
    let mut looks = vec![Block::text("I shall look.")];
    let mut finds = Vec::new();
    let mut last = vec![Block::text("That may take a while.")];
    let mut found = Vec::new();
    if can.tools {
        let arguments = r#"{"city":"Oslo","station":9007199254740993}"#;
        let weather = call("call_of_weather", "weather", arguments);
        finds.push(outcome(&weather.id, "−3 °C, \"snow\"."));
        looks.push(Content::ToolCall(weather).into());
        let again = call("call_of_more_weather", "weather", r#"{"city":"Bergen"}"#);
        found.push(outcome(
            &again.id,
            format!("Rain{}, as ever.", " and rain".repeat(400)),
        ));
        last.insert(0, Content::ToolCall(again).into());
    }
    if can.parallel_calls {
        let clock = call("call_of_clock", "clock", r#"{"city":"Tromsø"}"#);
        finds.push(outcome(&clock.id, "It is 09:14."));
        looks.push(Content::ToolCall(clock).into());
    }
    let messages = [
        Message::user(question),
        Message::new(Role::Assistant, looks),
        Message::new(Role::Tool, finds),
        Message::new(
            Role::Assistant,
            vec![
                Block::text("It snows, and it is early."),
                Content::Refusal("I will not say more.".into()).into(),
            ],
        ),
        Message::user("And in Bergen?"),
        Message::new(Role::Assistant, last),
        Message::new(Role::Tool, found),
        Message::user("Thank you."),
    ];
    let messages = messages.into_iter().filter(|one| !one.blocks.is_empty());
    let tools = ["weather", "clock"].as_slice();
    request_with(
        harness.model(),
        if can.tools { tools } else { &[] },
        messages,
    )
}

fn call(id: &str, tool: &str, arguments: &str) -> Arc<ToolCall> {
    let Ok(id) = ToolCallId::parse(id) else {
        panic!("`{id}` is no id of a call");
    };
    Arc::new(ToolCall {
        id,
        input: ToolInput::Json(JsonInput::parse(arguments)),
        name: CalledName::new(tool),
        ran_by: RanBy::Engine,
        upstream: None,
    })
}

/// The conversation, in which this outcome is an error.
fn with_failure(mut request: ModelRequest, failed: Option<usize>) -> ModelRequest {
    let mut nth = 0;
    let messages = request.messages.iter().map(|message| {
        let mut message = Message::clone(message);
        for block in &mut message.blocks {
            if let Content::ToolOutcome(outcome) = &mut block.content {
                Arc::make_mut(outcome).result.is_error = failed == Some(nth);
                nth += 1;
            }
        }
        message
    });
    request.messages = messages.collect();
    request
}

/// The paths of the results of all outcomes.
fn outcome_paths(request: &ModelRequest) -> Vec<String> {
    let mut paths = Vec::new();
    for (n, message) in request.messages.iter().enumerate() {
        for (b, block) in message.blocks.iter().enumerate() {
            if matches!(block.content, Content::ToolOutcome(_)) {
                paths.push(format!("messages[{n}].blocks[{b}].result"));
            }
        }
    }
    paths
}

async fn sent<H: ChatModelHarness>(bench: &Bench<'_, H>, request: &ModelRequest) -> SentRequest {
    match bench.sent(request).await {
        Some(sent) => sent,
        None => panic!("a plain conversation is refused"),
    }
}
