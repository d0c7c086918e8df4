//! The clause that every change to a request shows on the wire or in a note.
//!
//! So no part of a request is silently dropped, in any dialect.

use std::sync::Arc;

use jackfield_domain::block::{Block, CachePoint, Content, ToolCall};
use jackfield_domain::media::{Image, MediaSource};
use jackfield_domain::message::Message;
use jackfield_domain::opaque::Extension;
use jackfield_domain::outcome::{OutcomePart, ToolOutcome, ToolResult};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::{Effort, ResponseFormat, Settings, ThinkingMode, Verbosity};
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};
use jackfield_domain::tool::{InputFormat, ToolChoice, ToolDefinition};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use serde_json::json;

use super::super::bench::{Bench, tool};
use super::super::rounds::Talk;
use super::super::{ChatModelHarness, ScriptedBlock, VendorReply};

pub(in super::super) async fn every_change_of_a_request_is_sent_or_noted<H: ChatModelHarness>(
    harness: &H,
) {
    let bench = Bench::new(harness).await;
    let asked = conversation(&bench).await;
    let Some(before) = bench.sent(&asked).await else {
        panic!("a plain conversation is refused");
    };
    assert!(
        bench.sent(&asked).await.as_ref() == Some(&before),
        "the same request is not the same bytes, which no provider finds in its cache"
    );
    for (what, change) in changes(harness.capabilities().tools) {
        let mut changed = asked.clone();
        change(&mut changed);
        assert!(changed != asked, "{what}: nothing is changed");
        // A refusal reports the change as well.
        if let Some(after) = bench.sent(&changed).await {
            // A setting that is never sent may be noted whether it is set or not.
            assert!(
                after != before || after.is_noted_at(what),
                "{what}: it is changed, and neither the wire nor a note tells of it: {}",
                after.text
            );
        }
    }
}

/// The conversation that is changed: text and, with tools, two calls with their outcomes.
async fn conversation<H: ChatModelHarness>(bench: &Bench<'_, H>) -> ModelRequest {
    let can = bench.harness.capabilities();
    let mut blocks = vec![ScriptedBlock::text(&["I shall look."])];
    let call = |id| ScriptedBlock::call(id, "weather", &[r#"{"city":"Oslo"}"#]);
    if can.tools {
        blocks.push(call("call_1"));
    }
    if can.parallel_calls {
        blocks.push(call("call_2"));
    }
    let mut talk = Talk::new(bench);
    talk.round(&bench.render(&VendorReply::from_blocks(blocks)))
        .await;
    let mut request = talk.request();
    request.system = system(&["Be brief.", "Be kind."]);
    if can.tools {
        Arc::make_mut(&mut request.tools).push(tool(LONG_NAME));
    }
    request
}

type RequestChange = (&'static str, Box<dyn Fn(&mut ModelRequest) + Send + Sync>);

/// The changes, one at a time.
fn changes(tools: bool) -> Vec<RequestChange> {
    let mut changes: Vec<RequestChange> = vec![
        change("the model", |request| {
            request.model.model = "another-model".into();
        }),
        change("the first part of the system prompt", |request| {
            request.system = system(&["Be long.", "Be kind."]);
        }),
        change("the last part of the system prompt", |request| {
            request.system = system(&["Be brief.", "Be blunt."]);
        }),
        change("what the user says", |request| {
            messages(request, |messages| {
                messages[0] = Message::user("What is the weather in Rome?");
            });
        }),
        change("a cache point", |request| {
            messages(request, |messages| {
                messages[0].blocks[0].cache = Some(CachePoint { seconds: None });
            });
        }),
        change("what the user says besides", |request| {
            messages(request, |messages| {
                messages[0].blocks.push(Block::text("And be quick."));
            });
        }),
        change("what the model said", |request| {
            content(request, 1, |content| {
                if let Content::Text(text) = content {
                    text.text = "I shall see.".into();
                }
            });
        }),
    ];
    changes.extend(of_settings());
    if tools {
        changes.extend(of_tools());
        changes.extend(of_outcomes());
    }
    changes
}

fn of_settings() -> Vec<RequestChange> {
    let set = |what, set: fn(&mut Settings)| {
        change(what, move |request| {
            set(Arc::make_mut(&mut request.settings));
        })
    };
    vec![
        set("settings.effort", |settings| {
            settings.effort = Some(Effort::Low);
        }),
        set("settings.end_user", |settings| {
            settings.end_user = Some("user-1".into());
        }),
        set("settings.extensions", |settings| {
            settings.extensions = vec![Extension {
                dialect: "elsewhere".into(),
                path: "/mood".to_owned(),
                json: json!("fine"),
            }];
        }),
        set("settings.frequency_penalty", |settings| {
            settings.frequency_penalty = Some(0.5);
        }),
        set("settings.max_output_tokens", |settings| {
            settings.max_output_tokens = Some(4_321);
        }),
        set("settings.presence_penalty", |settings| {
            settings.presence_penalty = Some(0.5);
        }),
        set("settings.response_format", |settings| {
            settings.response_format = ResponseFormat::JsonObject;
        }),
        set("settings.seed", |settings| settings.seed = Some(7)),
        set("settings.service_tier", |settings| {
            settings.service_tier = Some("flex".into());
        }),
        set("settings.stop", |settings| {
            settings.stop = vec!["END".into()];
        }),
        set("settings.temperature", |settings| {
            settings.temperature = Some(0.5);
        }),
        set("settings.thinking", |settings| {
            settings.thinking = Some(ThinkingMode::Budget(2_048));
        }),
        set("settings.top_k", |settings| settings.top_k = Some(40)),
        set("settings.top_p", |settings| settings.top_p = Some(0.5)),
        set("settings.verbosity", |settings| {
            settings.verbosity = Some(Verbosity::Low);
        }),
    ]
}

fn of_tools() -> Vec<RequestChange> {
    let defined = |what, set: fn(&mut ToolDefinition)| {
        change(what, move |request| {
            let tools = Arc::make_mut(&mut request.tools);
            set(Arc::make_mut(&mut tools[0]));
        })
    };
    let choose =
        |what, choice: fn() -> ToolChoice| change(what, move |request| request.choice = choice());
    vec![
        choose("the choice: none", || ToolChoice::Forbidden),
        choose("the choice: any", || ToolChoice::Required),
        choose("the choice: this one", || {
            ToolChoice::Named(tool("clock").name.clone())
        }),
        choose("the choice: one of these", || ToolChoice::Only {
            required: false,
            tools: vec![tool("clock").name.clone()],
        }),
        change("settings.parallel_calls", |request| {
            Arc::make_mut(&mut request.settings).parallel_calls = Some(false);
        }),
        change("the end of a long name of a tool", |request| {
            let tools = Arc::make_mut(&mut request.tools);
            let renamed = LONG_NAME.replace("_one", "_two");
            if let Some(last) = tools.last_mut() {
                *last = tool(&renamed);
            }
        }),
        defined("the description of a tool", |tool| {
            tool.description = "Tells nothing.".into();
        }),
        defined("the schema of a tool", |tool| {
            tool.input = InputFormat::Json(Arc::new(json!({
                "type": "object",
                "properties": { "place": { "type": "string" } },
            })));
        }),
        defined("that the schema of a tool is enforced", |tool| {
            tool.strict = Some(true);
        }),
        defined("the schema of what a tool returns", |tool| {
            tool.output = Some(Arc::new(json!({ "type": "object" })));
        }),
    ]
}

fn of_outcomes() -> Vec<RequestChange> {
    let result = |what, set: fn(&mut ToolResult)| {
        change(what, move |request| {
            content(request, 2, |content| {
                if let Content::ToolOutcome(outcome) = content {
                    let outcome: &mut ToolOutcome = Arc::make_mut(outcome);
                    set(&mut outcome.result);
                }
            });
        })
    };
    vec![
        change("the arguments of a call", |request| {
            content(request, 1, |content| {
                if let Content::ToolCall(call) = content {
                    let call: &mut ToolCall = Arc::make_mut(call);
                    call.input = ToolInput::Json(JsonInput::parse(r#"{"city":"Rome"}"#));
                }
            });
        }),
        change("arguments that were never JSON", |request| {
            content(request, 1, |content| {
                if let Content::ToolCall(call) = content {
                    let call: &mut ToolCall = Arc::make_mut(call);
                    call.input = ToolInput::Json(JsonInput::parse(r#"{"city":"Ro"#));
                }
            });
        }),
        result("what a tool says", |result| {
            *result = ToolResult::text("something else");
        }),
        result("what a tool says besides", |result| {
            let more = OutcomePart::Text("and more".into());
            result.content.push(more);
        }),
        result("that a tool failed", |result| result.is_error = true),
        result("what a tool returns as JSON", |result| {
            result.structured = Some(Arc::new(json!({ "celsius": -3 })));
        }),
        result("what a tool shows", |result| {
            result.content.push(OutcomePart::Image(Image {
                detail: None,
                source: MediaSource::Base64 {
                    data: "iVBORw0KGgo=".into(),
                    media_type: "image/png".into(),
                },
            }));
        }),
    ]
}

fn change(
    what: &'static str,
    change: impl Fn(&mut ModelRequest) + Send + Sync + 'static,
) -> RequestChange {
    (what, Box::new(change))
}

fn system(parts: &[&str]) -> Arc<SystemPrompt> {
    let parts = parts.iter().map(|&text| SystemPart {
        origin: PartOrigin::Default,
        text: text.into(),
    });
    Arc::new(SystemPrompt {
        parts: parts.collect(),
    })
}

fn messages(request: &mut ModelRequest, change: impl FnOnce(&mut Vec<Message>)) {
    let messages = request.messages.iter();
    let mut messages: Vec<Message> = messages.map(|one| Message::clone(one)).collect();
    change(&mut messages);
    request.messages = messages.into_iter().collect();
}

/// Changes every content of the nth message.
fn content(request: &mut ModelRequest, nth: usize, change: impl Fn(&mut Content)) {
    messages(request, |messages| {
        for block in &mut messages[nth].blocks {
            change(&mut block.content);
        }
    });
}

/// The maximum length of a name; truncation would cut its end.
const LONG_NAME: &str = "a_tool_with_a_name_that_is_as_long_as_any_name_of_a_tool_can_one";
