//! The wire format of a completion.
//!
//! Written by hand from the vendor's documents, so that our mappers do not verify themselves.

use jackfield_domain::reply::FinishReason;
use jackfield_domain::usage::Usage;
use jackfield_testkit::server::Response;
use serde_json::{Map, Value, json};

use super::super::{CREATED, VendorQuirks, ids};
use crate::script::{ScriptPart, ScriptReply, cut};
use crate::vendor::Post;

/// The response with a reply: chunks, or one document.
pub(in crate::openai) fn respond(
    asked: &Post<'_>,
    reply: &ScriptReply,
    like: VendorQuirks,
) -> Response {
    let speaker = ChatSpeaker {
        asked,
        finish: finish(&reply.finish(), asked.body, like),
        like,
        reply,
    };
    if asked.is_streamed(reply) {
        Response::event_stream(speaker.chunks())
    } else {
        Response::json(200, speaker.document().to_string())
    }
}

struct ChatSpeaker<'a> {
    asked: &'a Post<'a>,
    finish: String,
    like: VendorQuirks,
    reply: &'a ScriptReply,
}

impl ChatSpeaker<'_> {
    fn document(&self) -> Value {
        let mut message = Map::from_iter([("role".to_owned(), json!("assistant"))]);
        message.insert("content".to_owned(), json!(self.joined(words)));
        if let (Some(field), Some(thought)) = (self.thought_field(), self.thought()) {
            message.insert(field.to_owned(), json!(thought));
        }
        if self.like == VendorQuirks::OpenAi {
            message.insert("refusal".to_owned(), json!(self.joined(refusal)));
            message.insert("annotations".to_owned(), json!([]));
        }
        let calls: Vec<Value> = self
            .calls()
            .map(|(_, id, part)| whole_call(&id, part))
            .collect();
        if !calls.is_empty() {
            message.insert("tool_calls".to_owned(), json!(calls));
        }
        let choice = json!({
            "index": 0,
            "message": message,
            "logprobs": null,
            "finish_reason": self.finish,
        });
        let mut document = self.frame("chat.completion", json!([choice]));
        document["usage"] = usage(&self.reply.usage);
        document
    }

    fn chunks(&self) -> String {
        let opening = if self.joined(words).is_some() {
            json!("")
        } else {
            Value::Null
        };
        let mut first = json!({ "role": "assistant", "content": opening });
        if self.like == VendorQuirks::OpenAi {
            first["refusal"] = Value::Null;
        }
        let mut deltas = vec![first];
        for part in &self.reply.parts {
            let (field, text) = match (part, self.thought_field()) {
                (ScriptPart::Thinking { text, .. }, Some(field)) => (field, text),
                (ScriptPart::Text(text), _) => ("content", text),
                (ScriptPart::Refusal(text), _) => ("refusal", text),
                (
                    ScriptPart::Call { .. }
                    | ScriptPart::TextCall { .. }
                    | ScriptPart::Thinking { .. },
                    _,
                ) => continue,
            };
            deltas.extend(cut(text).map(|piece| Value::from_iter([(field, piece)])));
        }
        for (index, id, part) in self.calls() {
            deltas.extend(
                self.call_deltas(index, &id, part)
                    .into_iter()
                    .map(|delta| json!({ "tool_calls": [delta] })),
            );
        }
        let options = self.asked.body.get("stream_options");
        let wants = |name: &str| options.and_then(|options| options.get(name)?.as_bool());
        // Mistral always sends usage, in the last chunk.
        let tells_usage =
            wants("include_usage") == Some(true) && self.like != VendorQuirks::Mistral;
        let pads = self.like == VendorQuirks::OpenAi && wants("include_obfuscation") != Some(false);
        let mut text = String::new();
        let mut event = 0;
        let mut send = |choices: Value, used: Option<Value>| {
            let mut chunk = self.frame("chat.completion.chunk", choices);
            match used {
                Some(used) => chunk["usage"] = used,
                None if tells_usage => chunk["usage"] = Value::Null,
                None => {}
            }
            if pads {
                chunk["obfuscation"] = json!(ids::obfuscation(self.asked.nth, event));
            }
            event += 1;
            text.push_str(&format!("data: {chunk}\n\n"));
        };
        for delta in deltas {
            send(choice(delta, None), None);
        }
        let used = usage(&self.reply.usage);
        let last = (self.like == VendorQuirks::Mistral).then(|| used.clone());
        send(choice(json!({}), Some(&self.finish)), last);
        if tells_usage {
            send(json!([]), Some(used));
        }
        text.push_str("data: [DONE]\n\n");
        text
    }

    /// The frame of a chunk or document.
    fn frame(&self, object: &str, choices: Value) -> Value {
        let mut frame = json!({
            "id": ids::id("chatcmpl-", self.asked.nth, 0),
            "object": object,
            "created": CREATED,
            "model": self.asked.model(),
        });
        if self.like == VendorQuirks::OpenAi {
            frame["service_tier"] = json!("default");
        }
        if self.like != VendorQuirks::Mistral {
            frame["system_fingerprint"] = Value::Null;
        }
        frame["choices"] = choices;
        frame
    }

    /// The calls, with their index and id.
    fn calls(&self) -> impl Iterator<Item = (usize, String, &ScriptPart)> {
        let calls = self.reply.parts.iter().filter_map(|part| match part {
            ScriptPart::Call { id, .. } | ScriptPart::TextCall { id, .. } => {
                Some((id.as_deref(), part))
            }
            ScriptPart::Refusal(_) | ScriptPart::Text(_) | ScriptPart::Thinking { .. } => None,
        });
        calls.enumerate().map(|(index, (id, part))| {
            let id = ids::call(id, self.like, self.asked.nth, index);
            (index, id, part)
        })
    }

    fn call_deltas(&self, index: usize, id: &str, part: &ScriptPart) -> Vec<Value> {
        let mut whole = whole_call(id, part);
        whole["index"] = json!(index);
        // The others send a call as a whole.
        if matches!(self.like, VendorQuirks::Mistral | VendorQuirks::Ollama) {
            return vec![whole];
        }
        let (kind, said, text) = match part {
            ScriptPart::Call { arguments, .. } => ("function", "arguments", arguments),
            ScriptPart::TextCall { input, .. } => ("custom", "input", input),
            ScriptPart::Refusal(_) | ScriptPart::Text(_) | ScriptPart::Thinking { .. } => {
                return Vec::new();
            }
        };
        whole[kind][said] = json!("");
        let pieces = cut(text).map(|piece| {
            let mut delta = json!({ "index": index });
            delta[kind] = Value::from_iter([(said, piece)]);
            delta
        });
        std::iter::once(whole).chain(pieces).collect()
    }

    /// The field in which such a server sends reasoning, if it does.
    const fn thought_field(&self) -> Option<&'static str> {
        match self.like {
            VendorQuirks::DeepSeek => Some("reasoning_content"),
            VendorQuirks::Ollama => Some("reasoning"),
            VendorQuirks::Mistral | VendorQuirks::OpenAi => None,
        }
    }

    fn thought(&self) -> Option<String> {
        self.joined(|part| match part {
            ScriptPart::Thinking { text, .. } => Some(text),
            ScriptPart::Call { .. }
            | ScriptPart::Refusal(_)
            | ScriptPart::Text(_)
            | ScriptPart::TextCall { .. } => None,
        })
    }

    fn joined(&self, of: fn(&ScriptPart) -> Option<&String>) -> Option<String> {
        let mut texts = self.reply.parts.iter().filter_map(of).peekable();
        texts.peek().is_some().then(|| texts.cloned().collect())
    }
}

/// The reasoning that such a server sends with a reply, and the ids of its calls.
pub(in crate::openai) fn shown(
    asked: &Post<'_>,
    reply: &ScriptReply,
    like: VendorQuirks,
) -> (Vec<String>, Option<String>) {
    let speaker = ChatSpeaker {
        asked,
        finish: String::new(),
        like,
        reply,
    };
    let ids = speaker.calls().map(|(_, id, _)| id).collect();
    (ids, speaker.thought())
}

fn words(part: &ScriptPart) -> Option<&String> {
    match part {
        ScriptPart::Text(text) => Some(text),
        ScriptPart::Call { .. }
        | ScriptPart::Refusal(_)
        | ScriptPart::TextCall { .. }
        | ScriptPart::Thinking { .. } => None,
    }
}

fn refusal(part: &ScriptPart) -> Option<&String> {
    match part {
        ScriptPart::Refusal(text) => Some(text),
        ScriptPart::Call { .. }
        | ScriptPart::Text(_)
        | ScriptPart::TextCall { .. }
        | ScriptPart::Thinking { .. } => None,
    }
}

fn whole_call(id: &str, part: &ScriptPart) -> Value {
    match part {
        ScriptPart::Call {
            arguments, name, ..
        } => json!({
            "id": id,
            "type": "function",
            "function": { "name": name, "arguments": arguments },
        }),
        ScriptPart::TextCall { input, name, .. } => json!({
            "id": id,
            "type": "custom",
            "custom": { "name": name, "input": input },
        }),
        ScriptPart::Refusal(_) | ScriptPart::Text(_) | ScriptPart::Thinking { .. } => Value::Null,
    }
}

fn choice(delta: Value, finish: Option<&str>) -> Value {
    json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }])
}

fn usage(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total(),
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    })
}

fn finish(finish: &FinishReason, body: &Value, like: VendorQuirks) -> String {
    let word = match finish {
        FinishReason::ContentFilter => "content_filter",
        FinishReason::ContextFull if like == VendorQuirks::Mistral => "model_length",
        FinishReason::ContextFull | FinishReason::Length => "length",
        FinishReason::Paused
        | FinishReason::Refused
        | FinishReason::Stop
        | FinishReason::StopSequence(_) => "stop",
        // If one tool is forced, the vendor's own server does not report `tool_calls`.
        FinishReason::ToolCalls
            if like == VendorQuirks::OpenAi && body["tool_choice"].is_object() =>
        {
            "stop"
        }
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::Unrecognized(word) => word,
    };
    word.to_owned()
}
