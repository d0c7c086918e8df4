//! What is made of the vendor's own forms, to be looked at by a person; see `fixtures/README.md`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use jackfield_dialect_claude::options::Profile;
use jackfield_dialect_claude::request;
use jackfield_dialect_claude::stream::{DecodeError, DecodeReply as _, Decoder};
use jackfield_domain::block::{Block, CachePoint};
use jackfield_domain::delta::Delta;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::note::Note;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::settings::{Effort, ResponseFormat, Settings, ThinkingMode, Verbosity};
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};
use jackfield_domain::tool::ToolChoice;
use serde_json::json;

use crate::arb::owner;
use crate::examples;

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures");
    fs::read_to_string(folder.join(name)).expect("a fixture of this name")
}

/// The events of a stream, as far as this needs it: one line of data each.
fn events(text: &str) -> Vec<(String, String)> {
    let mut events = Vec::new();
    let mut name = String::new();
    for line in text.lines() {
        if let Some(told) = line.strip_prefix("event: ") {
            told.clone_into(&mut name);
        } else if let Some(data) = line.strip_prefix("data: ") {
            events.push((std::mem::take(&mut name), data.to_owned()));
        }
    }
    events
}

fn read(name: &str) -> Result<(Vec<Delta>, ReplyEnd), DecodeError> {
    let mut decoder = Decoder::new(owner());
    let mut deltas = Vec::new();
    for (name, data) in events(&fixture(name)) {
        deltas.extend(decoder.push(Some(&name), &data)?);
    }
    Ok((deltas, decoder.finish()?))
}

/// One line for each piece, then the end; the owner is always the same and left out.
fn lines(told: &(Vec<Delta>, ReplyEnd)) -> String {
    let (deltas, end) = told;
    let mut text = String::new();
    for delta in deltas {
        writeln!(text, "{delta:?}").expect("a string takes everything");
    }
    writeln!(text, "{end:#?}").expect("a string takes everything");
    text.replace(&format!("{:?}", owner()), "OWNER")
        .replace(&indented(&format!("{:#?}", owner())), "OWNER")
}

/// The owner as it stands in a reply's end.
fn indented(text: &str) -> String {
    text.replace('\n', "\n            ")
}

macro_rules! streams {
    ($($name:ident: $file:literal,)*) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(lines(&read($file).expect("a whole reply")));
        }
    )*};
}

streams! {
    a_text: "text.sse",
    a_stop_sequence_and_two_message_deltas: "stop-sequence.sse",
    two_calls_and_cached_input: "tools.sse",
    thinking_shown_and_hidden: "thinking.sse",
    a_search_by_the_provider: "web-search.sse",
    a_refusal_without_words: "refusal.sse",
    a_call_cut_off_by_the_limit: "cut-call.sse",
    a_server_that_only_speaks_like_claude: "llama-cpp.sse",
}

#[test]
fn an_overload_in_the_middle() {
    let broken = read("overloaded.sse").expect_err("no reply");
    insta::assert_snapshot!(format!("{broken}\n{:#?}", broken.failure()));
}

#[test]
fn every_fixture_is_used() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures");
    let here =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/goldens.rs"))
            .expect("this file");
    for entry in fs::read_dir(folder).expect("the folder") {
        let name = entry
            .expect("an entry")
            .file_name()
            .into_string()
            .expect("a name");
        assert!(
            name == "README.md" || here.contains(&format!("\"{name}\"")),
            "{name}"
        );
    }
}

#[test]
fn a_whole_reply_with_a_call() {
    insta::assert_snapshot!(lines(&whole("reply-tools.json")));
}

#[test]
fn a_whole_reply_that_is_paused() {
    insta::assert_snapshot!(lines(&whole("reply-paused.json")));
}

fn whole(name: &str) -> (Vec<Delta>, ReplyEnd) {
    let message = serde_json::from_str(&fixture(name)).expect("a message");
    Decoder::new(owner())
        .decode_message(&message)
        .expect("a whole reply")
}

#[test]
fn a_clients_request() {
    let body = request::parse(fixture("request-full.json").as_bytes()).expect("a body");
    let incoming = request::from_wire(body, &owner()).expect("it can be read");
    let text = format!("{incoming:#?}").replace("\n        ", "\n    ");
    insta::assert_snapshot!(text);
}

/// What a request came to, for one model.
fn body(request: &jackfield_domain::request::ModelRequest, model: &str) -> String {
    let profile = Profile::of(model);
    let (body, notes) =
        request::to_wire(request, &owner(), &profile, true).expect("it can be said");
    // Of the text that is sent: tools are texts in it already.
    let sent = serde_json::to_string(&body).expect("JSON");
    let body: serde_json::Value = serde_json::from_str(&sent).expect("JSON");
    let mut text = serde_json::to_string_pretty(&body).expect("JSON");
    for Note {
        code,
        effect,
        kind,
        path,
    } in &notes
    {
        write!(text, "\n{kind:?} {effect:?} {code} at {path}").expect("a string takes everything");
    }
    text
}

fn full() -> jackfield_domain::request::ModelRequest {
    let mut question = Block::text("What time is it?");
    question.cache = Some(CachePoint {
        seconds: Some(3600),
    });
    let mut request = examples::of(vec![
        Message::new(Role::User, vec![question]),
        Message::new(
            Role::Assistant,
            vec![
                Block::text("One moment."),
                examples::call("call_a", Some("toolu_1"), "{\"tz\": \"UTC\"}"),
            ],
        ),
        Message::new(
            Role::Tool,
            vec![examples::outcome("call_a", ToolResult::text("12:00"))],
        ),
        Message::new(Role::System, vec![Block::text("Be brief.")]),
        Message::user("In words, please."),
    ]);
    request.choice = ToolChoice::Required;
    request.system = SystemPrompt {
        parts: vec![SystemPart {
            origin: PartOrigin::Default,
            text: "You are a careful assistant.".into(),
        }],
    }
    .into();
    request.settings = Settings {
        cache: None,
        cache_ttl: None,
        effort: Some(Effort::Minimal),
        end_user: Some("u_1".into()),
        extensions: Vec::new(),
        frequency_penalty: Some(0.5),
        max_output_tokens: Some(4000),
        parallel_calls: Some(false),
        presence_penalty: None,
        response_format: ResponseFormat::JsonSchema {
            description: Some("The time.".into()),
            name: "time".into(),
            schema: json!({ "type": "object", "properties": { "hour": { "type": "integer", "minimum": 0, "maximum": 23 } }, "required": ["hour"] }).into(),
            strict: Some(true),
        },
        seed: Some(7),
        service_tier: Some("auto".into()),
        stop: vec!["END".into()],
        temperature: Some(0.2),
        thinking: Some(ThinkingMode::Budget(2000)),
        thinking_shown: Some(true),
        top_k: Some(40),
        top_p: None,
        verbosity: Some(Verbosity::Low), headers: Vec::new(),
    }
    .into();
    request
}

#[test]
fn a_full_request_for_the_newest_models() {
    insta::assert_snapshot!(body(&full(), "claude-opus-5-5"));
}

#[test]
fn a_full_request_for_an_old_model() {
    insta::assert_snapshot!(body(&full(), "claude-haiku-4-5"));
}
