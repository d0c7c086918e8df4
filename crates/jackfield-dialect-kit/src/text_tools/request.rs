//! A request for a model without tools: the tools are in the system prompt, and calls and results are text.
//!
//! The form is that of Hermes and Qwen, in which most models were trained to call tools (chat template of
//! `Qwen/Qwen2.5-7B-Instruct`, 2026-11); the words are ours. The templates of models without tools know no role for
//! results, so they go to the model as what the user says.

use std::collections::HashMap;
use std::fmt::Arguments;
use std::sync::Arc;

use jackfield_domain::block::{Block, CalledName, Content, RanBy, Text, ToolCall};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::media::MediaSource;
use jackfield_domain::message::{Message, Messages, Role};
use jackfield_domain::note::{Note, NoteEffect};
use jackfield_domain::outcome::{OutcomePart, ToolOutcome};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::{ResponseFormat, Settings};
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};
use jackfield_domain::tool::{InputFormat, ToolChoice, ToolDefinition};
use serde_json::{Value, json};

use crate::notes::Notes;
use crate::outgoing::BlockPath;
use crate::outgoing::results::{self, Medium};
use crate::outgoing::tools::{choice_without_tools, chosen, offered, text_input};

/// The request with its tools as text, and what that changes.
///
/// `holds_schema` says whether the server can be held to a schema: then a call that has to be made is one.
#[must_use]
pub fn rewrite(request: &ModelRequest, holds_schema: bool) -> (ModelRequest, Vec<Note>) {
    let mut notes = Notes::default();
    let mut text = request.clone();
    text.choice = ToolChoice::Auto;
    text.tools = Arc::default();
    let mut settings = Settings::clone(&request.settings);
    settings.parallel_calls = None;
    let tools = if request.choice == ToolChoice::Forbidden {
        Vec::new()
    } else {
        let permitted = chosen(request);
        offered(
            request,
            permitted.as_deref(),
            None,
            &mut notes,
            Described::new,
        )
    };
    if tools.is_empty() {
        if request.choice != ToolChoice::Forbidden {
            choice_without_tools(request, &ToolChoice::Auto, &mut notes);
        }
    } else {
        notes.approximated(NoteEffect::Quality, "tools_as_text", "tools");
        let is_held = holds_schema && must_call(&request.choice);
        settings.response_format = if is_held {
            call_format(&tools)
        } else {
            // Held to the format of an answer, the model could not call anything.
            ResponseFormat::Text
        };
        let mut system = SystemPrompt::clone(&request.system);
        system.parts.push(SystemPart {
            origin: PartOrigin::Default,
            text: prompt(request, &tools, is_held, &mut notes).into(),
        });
        text.system = Arc::new(system);
    }
    if settings != *request.settings {
        text.settings = Arc::new(settings);
    }
    if request
        .messages
        .iter()
        .any(|message| is_about_tools(message))
    {
        text.messages = history(&request.messages, &mut notes);
    }
    (text, notes.into_vec())
}

/// A tool that is offered in the prompt.
struct Described {
    /// The tool as a line of JSON, in the form of OpenAI's API, as the models' templates have it.
    line: String,
    name: String,
    parameters: Value,
}

impl Described {
    fn new(n: usize, tool: &ToolDefinition, notes: &mut Notes) -> Self {
        if tool.strict.is_some() {
            let path = format_args!("tools[{n}].strict");
            notes.dropped(NoteEffect::Quality, "strict_not_sent", path);
        }
        let parameters = match &tool.input {
            InputFormat::Json(schema) => Value::clone(schema),
            InputFormat::Text(grammar) => text_input(grammar.as_ref()),
        };
        let mut function = json!({ "name": tool.name.as_str() });
        if !tool.description.is_empty() {
            function["description"] = json!(*tool.description);
        }
        function["parameters"] = parameters.clone();
        Self {
            line: without_tags(&json!({ "type": "function", "function": function }).to_string()),
            name: tool.name.as_str().to_owned(),
            parameters,
        }
    }
}

/// Whether a call has to be made.
pub(super) const fn must_call(choice: &ToolChoice) -> bool {
    match choice {
        ToolChoice::Auto
        | ToolChoice::Forbidden
        | ToolChoice::Only {
            required: false, ..
        } => false,
        ToolChoice::Named(_) | ToolChoice::Only { required: true, .. } | ToolChoice::Required => {
            true
        }
    }
}

/// The format of a reply that is a call of one of these tools: `{"tool_call": {"name": ..., "arguments": ...}}`, as it is
/// read where it is the whole reply. An object stands around it because some servers take no alternatives at the root.
fn call_format(tools: &[Described]) -> ResponseFormat {
    let call = |tool: &Described| {
        json!({
            "type": "object",
            "properties": { "name": { "const": tool.name }, "arguments": tool.parameters },
            "required": ["name", "arguments"],
            "additionalProperties": false,
        })
    };
    let mut calls: Vec<Value> = tools.iter().map(call).collect();
    let call = match calls.pop() {
        Some(only) if calls.is_empty() => only,
        last => json!({ "anyOf": calls.into_iter().chain(last).collect::<Vec<Value>>() }),
    };
    ResponseFormat::JsonSchema {
        description: None,
        name: "tool_call".into(),
        schema: Arc::new(json!({
            "type": "object",
            "properties": { "tool_call": call },
            "required": ["tool_call"],
            "additionalProperties": false,
        })),
        strict: None,
    }
}

/// The part of the system prompt that describes the tools. `is_held` says whether its reply can be nothing but a call.
fn prompt(request: &ModelRequest, tools: &[Described], is_held: bool, notes: &mut Notes) -> String {
    let lines: Vec<&str> = tools.iter().map(|tool| &*tool.line).collect();
    let mut prompt = format!(
        "# Tools\n\n\
         You may call functions to do what the user asks.\n\n\
         The functions are listed within <tools></tools> XML tags, each with a JSON schema of its arguments:\n\
         <tools>\n{}\n</tools>\n\n\
         For each function call, write a JSON object with the function's name and arguments within \
         <tool_call></tool_call> XML tags:\n\
         <tool_call>\n{{\"name\": <function-name>, \"arguments\": <args-json-object>}}\n</tool_call>",
        lines.join("\n")
    );
    if let Some(is_parallel) = request.settings.parallel_calls {
        let effect = if is_parallel {
            NoteEffect::Cosmetic
        } else {
            prompt.push_str("\nCall at most one function at a time.");
            NoteEffect::Quality
        };
        notes.approximated(effect, "parallel_calls_in_words", "settings.parallel_calls");
    }
    if !must_call(&request.choice) {
        if let Some(format) = format_in_words(&request.settings.response_format) {
            prompt.push_str(&format!(
                "\n\nWhen you answer without a function call, write {format}, and nothing else."
            ));
            let path = "settings.response_format";
            notes.approximated(NoteEffect::Meaning, "format_in_words", path);
        }
        return prompt;
    }
    match &request.choice {
        ToolChoice::Named(name) => {
            prompt.push_str(&format!("\nNow you must call the function {name}."));
        }
        ToolChoice::Auto
        | ToolChoice::Forbidden
        | ToolChoice::Only { .. }
        | ToolChoice::Required => prompt.push_str("\nNow you must call a function."),
    }
    if is_held {
        prompt.push_str(
            " Write it without tags, as {\"tool_call\": {\"name\": <function-name>, \"arguments\": <args-json-object>}}.",
        );
        notes.approximated(NoteEffect::Quality, "choice_as_schema", "choice");
    } else {
        notes.approximated(NoteEffect::Meaning, "choice_in_words", "choice");
    }
    prompt
}

/// The format of an answer for the prompt; `None` for text.
fn format_in_words(format: &ResponseFormat) -> Option<String> {
    match format {
        ResponseFormat::JsonObject => Some("a JSON object".to_owned()),
        ResponseFormat::JsonSchema {
            description,
            schema,
            ..
        } => {
            let description = description.as_deref().map(|text| format!(" ({text})"));
            let description = description.unwrap_or_default();
            let schema = without_tags(&schema.to_string());
            Some(format!(
                "JSON{description} that matches this JSON schema: {schema}"
            ))
        }
        ResponseFormat::Text => None,
    }
}

/// Whether a message has calls that the model has to see as text, or results.
fn is_about_tools(message: &Message) -> bool {
    message.role == Role::Tool || message.calls().any(|call| call.ran_by != RanBy::Provider)
}

/// The conversation with calls and results as text.
fn history(messages: &Messages, notes: &mut Notes) -> Messages {
    let mut names = HashMap::new();
    let rewritten = messages.iter().enumerate().map(|(n, message)| {
        names.extend(message.calls().map(|call| (&call.id, &call.name)));
        if !is_about_tools(message) {
            return Arc::clone(message);
        }
        notes.withheld(format_args!("messages[{n}]"), &message.opaque, &[]);
        Arc::new(if message.role == Role::Tool {
            results_as_text(n, message, &names, notes)
        } else {
            calls_as_text(n, message, notes)
        })
    });
    Messages::with_history(Arc::new(rewritten.collect()))
}

/// A reply with its calls as the text that the model would have written.
fn calls_as_text(n: usize, message: &Message, notes: &mut Notes) -> Message {
    let mut blocks: Vec<Block> = Vec::with_capacity(message.blocks.len());
    for (at, block) in BlockPath::of(message, n) {
        let written = match &block.content {
            Content::ToolCall(call) if call.ran_by != RanBy::Provider => {
                notes.withheld(at, &block.opaque, &[]);
                Some(call_text(at, call, notes))
            }
            Content::Text(text) if text.annotations.is_empty() && block.opaque.is_empty() => {
                Some((*text.text).to_owned())
            }
            Content::Audio(_)
            | Content::Document(_)
            | Content::Image(_)
            | Content::Opaque(_)
            | Content::Refusal(_)
            | Content::Text(_)
            | Content::Thinking(_)
            | Content::ToolCall(_)
            | Content::ToolOutcome(_) => None,
        };
        let Some(written) = written else {
            blocks.push(block.clone());
            continue;
        };
        // The model wrote one text.
        match blocks.last_mut() {
            Some(Block {
                cache,
                content: Content::Text(Text { text, .. }),
                opaque,
            }) if opaque.is_empty() => {
                *text = format!("{text}\n{written}").into();
                *cache = block.cache.or(*cache);
            }
            Some(_) | None => blocks.push(Block {
                cache: block.cache,
                ..Block::text(written)
            }),
        }
    }
    Message::new(message.role, blocks)
}

/// A call as the model would have written it.
fn call_text(at: BlockPath, call: &ToolCall, notes: &mut Notes) -> String {
    let arguments = match notes.object_input(at, &call.input) {
        Ok(input) if input.raw.trim().is_empty() => "{}".to_owned(),
        Ok(input) => input.raw.trim().to_owned(),
        Err(object) => Value::Object(object).to_string(),
    };
    let name = json!(call.name.as_str());
    let object = format!("{{\"name\": {name}, \"arguments\": {arguments}}}");
    format!("<tool_call>\n{}\n</tool_call>", without_tags(&object))
}

/// The results of one reply as a message of the user, with their media.
fn results_as_text(
    n: usize,
    message: &Message,
    names: &HashMap<&ToolCallId, &CalledName>,
    notes: &mut Notes,
) -> Message {
    let (mut texts, mut media, mut cache) = (Vec::new(), Vec::new(), None);
    for (at, block) in BlockPath::of(message, n) {
        let Content::ToolOutcome(outcome) = &block.content else {
            media.push(block.clone());
            continue;
        };
        notes.withheld(at, &block.opaque, &[]);
        let path = format_args!("{at}.outcome");
        notes.withheld(path, &outcome.opaque, &[]);
        cache = block.cache.or(cache);
        let name = names.get(&outcome.call).map(|name| name.as_str());
        texts.push(result_text(at, name, outcome, &mut media, notes));
    }
    let mut blocks = vec![Block::text(texts.join("\n"))];
    blocks.extend(media);
    if let Some(last) = blocks.last_mut() {
        last.cache = cache;
    }
    Message::new(Role::User, blocks)
}

fn result_text(
    at: BlockPath,
    name: Option<&str>,
    outcome: &ToolOutcome,
    media: &mut Vec<Block>,
    notes: &mut Notes,
) -> String {
    let result = &outcome.result;
    let medium = |notes: &mut Notes, path: Arguments<'_>, part: &OutcomePart| {
        let content = match part {
            OutcomePart::Audio(audio) => Content::Audio(audio.clone()),
            OutcomePart::Document(document) => {
                if let MediaSource::Text(text) = &document.source {
                    notes.approximated(NoteEffect::Cosmetic, "document_as_text", path);
                    return Medium::Text((**text).to_owned());
                }
                Content::Document(document.clone())
            }
            OutcomePart::Image(image) => Content::Image(image.clone()),
            OutcomePart::Text(_) => return Medium::Unsupported,
        };
        media.push(content.into());
        Medium::Shown
    };
    let texts = results::parts(notes, at, result, |text| text, medium);
    if texts.len() > 1 {
        let path = format_args!("{at}.result.content");
        notes.approximated(NoteEffect::Cosmetic, "texts_joined", path);
    }
    let mut text = texts.join("\n");
    if result.is_error {
        let path = format_args!("{at}.result");
        notes.approximated(NoteEffect::Cosmetic, "error_put_into_words", path);
    }
    if result.is_error && !text.trim_start().to_ascii_lowercase().starts_with("error") {
        text.insert_str(0, "Error: ");
    }
    let name = json!(name);
    let object = format!("{{\"name\": {name}, \"content\": {}}}", json!(text));
    format!(
        "<tool_response>\n{}\n</tool_response>",
        without_tags(&object)
    )
}

/// JSON without closing tags, so that a text in it does not look like the end of its block. JSON has `/` with and
/// without a backslash.
fn without_tags(json: &str) -> String {
    json.replace("</", "<\\/")
}
