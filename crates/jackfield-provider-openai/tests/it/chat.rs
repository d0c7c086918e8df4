//! How Chat Completions puts things on the wire, written by hand from the vendor's documentation and the
//! official SDK's types (openai-python 3.54.0); what only other servers do, from what their users report
//! (2026-11).

use bytes::Bytes;
use jackfield_domain::reply::FinishReason;
use jackfield_ports::chat_model::Capabilities;
use jackfield_provider_kit::by_model::ByModel;
use jackfield_provider_openai::client::OpenAi;
use jackfield_provider_openai::config::{Api, Profile};
use jackfield_testkit::contract::chat_model::{
    BlockKind, ChatModelHarness, Echo, EchoedCall, EchoedOutcome, EchoedReasoning, Manner,
    ScriptedBlock, ScriptedFailure, ScriptedReply, WireReply,
};
use jackfield_testkit::server::RecordedRequest;
use serde_json::{Value, json};

use crate::harness::{self, MODEL, connect, data, failed, id, index, set};

const AT_END: (Manner, &str) = (Manner::ArgumentsAtEnd, "no event ends a call");

/// OpenAI's own, and DeepSeek, which shows its reasoning and wants all of it back.
pub(crate) enum ChatHarness {
    DeepSeek,
    OpenAi,
}

impl ChatModelHarness for ChatHarness {
    type Model = OpenAi;

    fn connect(&self, base_url: &str, key: &str) -> OpenAi {
        match self {
            Self::DeepSeek => {
                let mut config = harness::config(base_url, Api::ChatCompletions);
                config.key = Some(jackfield_provider_kit::secret::Secret::new(key));
                config.profile = ByModel::always(Profile::DEEPSEEK);
                config.provider = "deepseek".into();
                connect(config)
            }
            Self::OpenAi => harness::model(base_url, Api::ChatCompletions, key),
        }
    }

    fn capabilities(&self) -> Capabilities {
        let mut can = Capabilities::NONE;
        can.forced_tools = true;
        can.parallel_calls = true;
        can.streaming = true;
        can.tools = true;
        match self {
            Self::DeepSeek => can.reasoning = true,
            Self::OpenAi => {
                can.documents = true;
                can.images = true;
                can.structured_output = true;
            }
        }
        can
    }

    fn model(&self) -> &str {
        match self {
            Self::DeepSeek => "deepseek-v4-pro",
            Self::OpenAi => MODEL,
        }
    }

    fn provider(&self) -> &str {
        match self {
            Self::DeepSeek => "deepseek",
            Self::OpenAi => "openai",
        }
    }

    fn impossible(&self) -> &[(Manner, &str)] {
        match self {
            Self::DeepSeek => &[AT_END],
            Self::OpenAi => &[
                AT_END,
                (Manner::UsageApart, "that is the usual manner here"),
            ],
        }
    }

    fn never_sends(&self) -> &[(BlockKind, &str)] {
        match self {
            Self::DeepSeek => &[(BlockKind::CustomCall, "it does not know free text")],
            Self::OpenAi => &[(
                BlockKind::Reasoning,
                "reasoning is counted here and never shown",
            )],
        }
    }

    fn render(&self, reply: &ScriptedReply) -> Option<WireReply> {
        let impossible = |(manner, _): &(Manner, &str)| *manner == reply.manner;
        if self.impossible().iter().any(impossible) {
            return None;
        }
        let (reasons, customs) = match self {
            Self::DeepSeek => (true, false),
            Self::OpenAi => (false, true),
        };
        for block in &reply.blocks {
            match block {
                ScriptedBlock::CustomCall { .. } if !customs => return None,
                ScriptedBlock::Reasoning { .. } if !reasons => return None,
                ScriptedBlock::CustomCall { .. }
                | ScriptedBlock::Reasoning { .. }
                | ScriptedBlock::Refusal(_)
                | ScriptedBlock::Text(_)
                | ScriptedBlock::ToolCall { .. } => {}
            }
        }
        let finish = match &reply.finish {
            FinishReason::ContentFilter => "content_filter",
            FinishReason::Length => "length",
            FinishReason::Stop => "stop",
            FinishReason::ToolCalls if reply.manner == Manner::FinishSaysStop => "stop",
            FinishReason::ToolCalls => "tool_calls",
            FinishReason::Unrecognized(reason) => reason,
            FinishReason::ContextFull
            | FinishReason::Paused
            | FinishReason::Refused
            | FinishReason::StopSequence(_) => return None,
        };
        let wire = if reply.manner == Manner::NotStreamed {
            WireReply::json(200, whole(reply, finish).to_string())
        } else {
            // DeepSeek tells the usage with the end.
            let apart = match self {
                Self::DeepSeek => reply.manner == Manner::UsageApart,
                Self::OpenAi => true,
            };
            streamed(reply, finish, apart)
        };
        Some(wire.header("x-request-id", "req_1"))
    }

    fn echo(&self, request: &RecordedRequest) -> Echo {
        let body = request.json();
        let mut echo = Echo::default();
        for message in body["messages"].as_array().unwrap() {
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                let what = if call["type"] == "custom" {
                    &call["custom"]
                } else {
                    &call["function"]
                };
                let arguments = what.get("arguments").unwrap_or_else(|| &what["input"]);
                echo.calls.push(EchoedCall {
                    arguments: text(arguments),
                    id: text(&call["id"]),
                    name: text(&what["name"]),
                });
            }
            if message["role"] == "tool" {
                echo.outcomes.push(EchoedOutcome {
                    id: text(&message["tool_call_id"]),
                    text: text(&message["content"]),
                });
            }
            if let Some(words) = message["reasoning_content"].as_str() {
                echo.reasoning.push(EchoedReasoning {
                    state: None,
                    text: Some(words.to_owned()),
                });
            }
        }
        echo
    }

    fn render_failure(&self, failure: &ScriptedFailure) -> WireReply {
        failed(failure)
    }

    fn render_failure_event(&self, failure: &ScriptedFailure) -> Option<Bytes> {
        let body = failed(failure).pieces.concat();
        Some(data(&serde_json::from_slice(&body).unwrap()))
    }

    fn unknown_events(&self) -> Vec<Bytes> {
        vec![
            ": OPENROUTER PROCESSING\n\n".into(),
            data(&json!({ "choices": [], "prompt_filter_results": [{ "prompt_index": 0 }] })),
            data(&json!({
                "choices": [{ "index": 0, "delta": { "mood": ["fine"] }, "finish_reason": null }],
                "obfuscation": "Kx9",
            })),
        ]
    }

    fn broken_event(&self) -> Option<Bytes> {
        Some("data: {\"choices\":[{\"ind\n\n".into())
    }
}

/// The text, or the JSON of anything else.
fn text(json: &Value) -> String {
    json.as_str()
        .map_or_else(|| json.to_string(), str::to_owned)
}

fn usage(reply: &ScriptedReply) -> Value {
    let usage = &reply.usage;
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write,
            "audio_tokens": 0,
        },
        "completion_tokens_details": { "reasoning_tokens": usage.reasoning, "audio_tokens": 0 },
    })
}

/// The calls of a reply: whether JSON is wanted, the id, the name, and the pieces of the arguments.
fn calls(reply: &ScriptedReply) -> Vec<(bool, &str, &str, &[String])> {
    let calls = reply.blocks.iter().filter_map(|block| match block {
        ScriptedBlock::CustomCall { id, input, name } => Some((false, &**id, &**name, &**input)),
        ScriptedBlock::ToolCall {
            arguments,
            id,
            name,
        } => Some((true, &**id, &**name, &**arguments)),
        ScriptedBlock::Reasoning { .. } | ScriptedBlock::Refusal(_) | ScriptedBlock::Text(_) => {
            None
        }
    });
    calls.collect()
}

/// A reply in one piece.
fn whole(reply: &ScriptedReply, finish: &str) -> Value {
    let (mut content, mut refusal, mut reasoning) = (None, None, None);
    for block in &reply.blocks {
        let (place, pieces) = match block {
            ScriptedBlock::Reasoning { pieces, .. } => (&mut reasoning, pieces),
            ScriptedBlock::Refusal(pieces) => (&mut refusal, pieces),
            ScriptedBlock::Text(pieces) => (&mut content, pieces),
            ScriptedBlock::CustomCall { .. } | ScriptedBlock::ToolCall { .. } => continue,
        };
        place
            .get_or_insert_with(String::new)
            .push_str(&pieces.concat());
    }
    let calls: Vec<Value> = calls(reply)
        .into_iter()
        .map(|(json, id, name, pieces)| {
            if json {
                let function = json!({ "name": name, "arguments": pieces.concat() });
                json!({ "id": id, "type": "function", "function": function })
            } else {
                let custom = json!({ "name": name, "input": pieces.concat() });
                json!({ "id": id, "type": "custom", "custom": custom })
            }
        })
        .collect();
    let mut message = json!({
        "role": "assistant", "content": content, "refusal": refusal, "annotations": [],
    });
    set(&mut message, "reasoning_content", reasoning);
    set(
        &mut message,
        "tool_calls",
        (!calls.is_empty()).then_some(calls),
    );
    let choice = json!({
        "index": 0, "message": message, "logprobs": null, "finish_reason": finish,
    });
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_795_000_000, "model": MODEL,
        "choices": [choice], "usage": usage(reply), "service_tier": "default",
    })
}

/// A reply in chunks.
fn streamed(reply: &ScriptedReply, finish: &str, usage_apart: bool) -> WireReply {
    let manner = reply.manner;
    let mut deltas = vec![json!({ "content": "", "refusal": null })];
    for block in &reply.blocks {
        let (field, pieces) = match block {
            ScriptedBlock::Reasoning { pieces, .. } => ("reasoning_content", pieces),
            ScriptedBlock::Refusal(pieces) => ("refusal", pieces),
            ScriptedBlock::Text(pieces) => ("content", pieces),
            ScriptedBlock::CustomCall { .. } | ScriptedBlock::ToolCall { .. } => continue,
        };
        deltas.extend(pieces.iter().map(|piece| json!({ field: piece })));
    }
    let calls = calls(reply);
    let first = calls.first().map_or("", |(_, id, ..)| id);
    let mut pieces: Vec<Vec<Value>> = (0..)
        .zip(&calls)
        .map(|(place, call)| fragments(manner, place, first, *call))
        .collect();
    if manner == Manner::CallsInOnePiece && !pieces.is_empty() {
        deltas.push(json!({ "tool_calls": pieces.concat() }));
    } else if manner == Manner::ArgumentsInterleaved {
        while pieces.iter().any(|call| !call.is_empty()) {
            for call in pieces.iter_mut().filter(|call| !call.is_empty()) {
                deltas.push(json!({ "tool_calls": [call.remove(0)] }));
            }
        }
    } else {
        let each = pieces.into_iter().flatten();
        deltas.extend(each.map(|fragment| json!({ "tool_calls": [fragment] })));
    }
    deltas.push(json!({}));
    let last = deltas.len() - 1;
    let mut chunks: Vec<Value> = (0..)
        .zip(deltas)
        .map(|(place, mut delta)| {
            let with_role =
                (place == 0 && manner != Manner::RoleMissing) || manner == Manner::RoleRepeated;
            set(&mut delta, "role", with_role.then_some("assistant"));
            if manner == Manner::NullsForNothing {
                for field in ["content", "refusal", "tool_calls", "function_call"] {
                    if delta.get(field).is_none() {
                        delta[field] = Value::Null;
                    }
                }
            }
            let finish = (place == last).then_some(finish);
            chunk(json!([{
                "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish,
            }]))
        })
        .collect();
    let ending = chunks.len();
    if manner == Manner::UsageInEachPiece {
        for (place, chunk) in (1_u64..).zip(&mut chunks) {
            chunk["usage"] = usage(reply);
            if place < u64::try_from(ending).unwrap() {
                chunk["usage"]["completion_tokens"] = json!(place.min(reply.usage.output));
            }
        }
    } else if manner != Manner::UsageMissing && !usage_apart {
        chunks[last]["usage"] = usage(reply);
    } else if manner != Manner::UsageMissing {
        let mut own = chunk(json!([]));
        own["usage"] = usage(reply);
        chunks.push(own);
    }
    let end = (manner != Manner::EndMarkerMissing).then(|| "data: [DONE]\n\n".into());
    let mut wire = WireReply::events(chunks.iter().map(data).chain(end));
    wire.ending = ending;
    wire
}

fn chunk(choices: Value) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_795_000_000,
        "model": MODEL, "service_tier": "default", "choices": choices, "usage": null,
        "obfuscation": "aZ3",
    })
}

/// The pieces of a call.
fn fragments(
    manner: Manner,
    place: usize,
    first: &str,
    (json, own, name, pieces): (bool, &str, &str, &[String]),
) -> Vec<Value> {
    let (kind, field) = if json {
        ("function", "arguments")
    } else {
        ("custom", "input")
    };
    let all = pieces.concat();
    let at_once = manner == Manner::ArgumentsAtOnce || manner == Manner::CallsInOnePiece;
    let says_nothing =
        all.is_empty() && (manner == Manner::ArgumentsMissing || manner == Manner::ArgumentsNull);
    let mut what = json!({ "name": name, field: "" });
    let mut rest: Vec<Value> = Vec::new();
    if json && manner == Manner::ArgumentsAsObject {
        let object = if all.is_empty() { "{}" } else { &all };
        what[field] = serde_json::from_str(object).unwrap();
    } else if at_once {
        what[field] = json!(all);
    } else if says_nothing {
        what = json!({ "name": name });
        let null = (manner == Manner::ArgumentsNull).then_some(Value::Null);
        set(&mut what, field, null);
    } else {
        let mut told = String::new();
        for piece in pieces {
            told.push_str(piece);
            let said = if manner == Manner::ArgumentsCumulative {
                &told
            } else {
                piece
            };
            rest.push(json!({ field: said }));
        }
    }
    if manner == Manner::NameLate {
        what.as_object_mut().unwrap().remove("name");
        rest.push(json!({ "name": name }));
    }
    if manner == Manner::NameRepeated {
        for piece in &mut rest {
            piece["name"] = json!(name);
        }
    }
    let mut begin = json!({ "type": kind, kind: what });
    set(&mut begin, "id", id(manner, first, own));
    let mut fragments = vec![begin];
    for mut what in rest {
        let mut fragment = json!({});
        if manner == Manner::NullsForNothing {
            fragment = json!({ "id": null, "type": null });
            what["name"] = Value::Null;
        }
        fragment[kind] = what;
        fragments.push(fragment);
    }
    for fragment in &mut fragments {
        set(fragment, "index", index(manner, place));
    }
    fragments
}
