//! The same conversations through the gateway: every dialect in front of every other, as events and whole,
//! between servers that stream and that do not.
//!
//! The client is our own adapter of a provider, with tools of its own: what it has in the end is the same
//! whatever was spoken on either side.

use std::sync::Arc;

use async_trait::async_trait;
use jackfield_dialect_claude as claude;
use jackfield_dialect_gemini as gemini;
use jackfield_dialect_kit::decode::DecodeReply as _;
use jackfield_dialect_openai::profile::Profile;
use jackfield_dialect_openai::{chat, responses};
use jackfield_domain::block::{Block, Content};
use jackfield_domain::delta::Delta;
use jackfield_domain::fact::TurnEnd;
use jackfield_domain::media::{Image, MediaSource};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::ModelRequest;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use serde_json::{Value, json};

use crate::harness::{Asking, Gateway, Kept, kept};
use crate::matrix::{Same, lines};
use crate::models::{Chat, Wire};

const DIALECTS: [Wire; 4] = [
    Wire::Claude,
    Wire::Gemini,
    Wire::OpenAiChat,
    Wire::OpenAiResponses,
];

/// Those that providers speak.
const BEHIND: [Wire; 6] = [
    Wire::Bedrock,
    Wire::Claude,
    Wire::Gemini,
    Wire::OllamaNative,
    Wire::OpenAiChat,
    Wire::OpenAiResponses,
];

/// Those that show their reasoning: Chat Completions by `serve.extensions`, in the field of some servers.
const REASONING: [Wire; 4] = [
    Wire::Claude,
    Wire::DeepSeek,
    Wire::Gemini,
    Wire::OpenAiResponses,
];

/// Providers that show their reasoning.
const REASONING_BEHIND: [Wire; 5] = [
    Wire::Claude,
    Wire::DeepSeek,
    Wire::Gemini,
    Wire::OllamaNative,
    Wire::OpenAiResponses,
];

#[tokio::test]
async fn words() {
    let same = check(&[ScriptTurn::text("Hello! 你好")], &["Hello! 你好"]).await;
    assert_eq!(same.end, TurnEnd::Answered(FinishReason::Stop));
}

#[tokio::test]
async fn one_call() {
    let turns = [
        ScriptTurn::call("add", &json!({ "a": 1, "b": [1, "один"] })),
        ScriptTurn::text("It is 2.").when("2"),
    ];
    let lines = [r#"add {"a":1,"b":[1,"один"]}"#, "= 2", "It is 2."];
    check(&turns, &lines).await;
}

#[tokio::test]
async fn parallel_calls() {
    let turns = [
        ScriptTurn::call("add", &json!({ "a": 1 }))
            .and_call("multiply", &json!({ "a": 2 }))
            .and_call("add", &json!({})),
        ScriptTurn::text("2, 6 and 2."),
    ];
    let lines = [
        r#"add {"a":1}"#,
        r#"multiply {"a":2}"#,
        "add {}",
        "= 2",
        "= 6",
        "= 2",
        "2, 6 and 2.",
    ];
    check(&turns, &lines).await;
}

#[tokio::test]
async fn words_before_a_call_over_several_rounds() {
    let turns = [
        ScriptTurn::text("First I need a sum.").and_call("add", &json!({ "a": 1 })),
        ScriptTurn::text("And now a product.").and_call("multiply", &json!({ "a": 1 })),
        ScriptTurn::text("Here they are."),
    ];
    let lines = [
        "First I need a sum.",
        r#"add {"a":1}"#,
        "= 2",
        "And now a product.",
        r#"multiply {"a":1}"#,
        "= 6",
        "Here they are.",
    ];
    let same = check(&turns, &lines).await;
    assert_eq!(same.usage.total(), 3 * 120);
}

#[tokio::test]
async fn a_tool_that_nobody_has_is_the_gateways_affair() {
    let turns = [
        ScriptTurn::call("divide", &json!({ "a": 1 })),
        ScriptTurn::text("I cannot divide."),
    ];
    let same = check(&turns, &["I cannot divide."]).await;
    assert_eq!(same.usage.total(), 2 * 120);
}

#[tokio::test]
async fn a_refusal() {
    let refusal = ScriptTurn::reply([ScriptPart::Refusal("I cannot help with that.".to_owned())]);
    // For Ollama, a refusal is an answer.
    let to = [
        Wire::Bedrock,
        Wire::Claude,
        Wire::Gemini,
        Wire::OpenAiChat,
        Wire::OpenAiResponses,
    ];
    let begin = Message::user("Begin.");
    let lines = ["I cannot help with that."];
    let same = check_all(&DIALECTS, &to, &begin, &[refusal], &lines, |_| {}).await;
    assert_eq!(same.end, TurnEnd::Answered(FinishReason::Refused));
}

#[tokio::test]
async fn a_reply_that_is_cut_off_by_its_limit() {
    let turn = ScriptTurn::text("It goes on and on and").finish(FinishReason::Length);
    let same = check(&[turn], &["It goes on and on and"]).await;
    assert_eq!(same.end, TurnEnd::Answered(FinishReason::Length));
}

#[tokio::test]
async fn reasoning_with_calls_over_several_rounds() {
    let thought = |text: &str, signature: &str| ScriptPart::Thinking {
        signature: signature.to_owned(),
        text: text.to_owned(),
    };
    let call = |name: &str| ScriptPart::Call {
        arguments: "{}".to_owned(),
        id: None,
        name: name.to_owned(),
    };
    let turns = [
        ScriptTurn::reply([thought("A sum, then.", "b25l"), call("add")]),
        ScriptTurn::reply([
            thought("And a product.", "dHdv"),
            ScriptPart::Text("One moment.".to_owned()),
            call("multiply"),
        ]),
        ScriptTurn::reply([
            thought("So that is it.", "dGhyZWU="),
            ScriptPart::Text("2 and 6.".to_owned()),
        ]),
    ];
    let lines = [
        "(A sum, then.)",
        "add {}",
        "= 2",
        "(And a product.)",
        "One moment.",
        "multiply {}",
        "= 6",
        "(So that is it.)",
        "2 and 6.",
    ];
    let begin = Message::user("Begin.");
    check_all(
        &REASONING,
        &REASONING_BEHIND,
        &begin,
        &turns,
        &lines,
        |_| {},
    )
    .await;
}

#[tokio::test]
async fn images() {
    let picture = |data: &str, media_type: &str| {
        Block::from(Content::Image(Image {
            detail: None,
            source: MediaSource::Base64 {
                data: data.into(),
                media_type: media_type.into(),
            },
        }))
    };
    let blocks = vec![
        Block::text("What is on these?"),
        picture("iVBORw0KGgo=", "image/png"),
        picture("/9j/4AAQSkY=", "image/jpeg"),
    ];
    let begin = Message::new(Role::User, blocks);
    let turns = [
        ScriptTurn::call("add", &json!({})),
        ScriptTurn::text("Two numbers: it is 2."),
    ];
    let lines = ["add {}", "= 2", "Two numbers: it is 2."];
    // Ollama has images before the text, and no types of them; all others are like this.
    // Whatever was spoken, the provider sees both, in their order and behind the question, in each round.
    let seen = |requests: &[Value]| {
        for request in requests {
            let body = request.to_string();
            let place = |text: &str| body.find(text).unwrap_or_else(|| panic!("{text}: {body}"));
            let words = place("What is on these?");
            let (png, jpeg) = (place("iVBORw0KGgo="), place("/9j/4AAQSkY="));
            assert!(words < png && png < jpeg, "{body}");
            assert!(place("image/png") < place("image/jpeg"), "{body}");
        }
        assert_eq!(requests.len(), 3);
    };
    check_all(&DIALECTS, &DIALECTS, &begin, &turns, &lines, seen).await;
}

/// How a client and the gateway speak, and how the gateway and its provider do.
#[derive(Clone, Copy, Debug)]
struct Way {
    from: Wire,
    to: Wire,
    /// Whether the client is answered whole.
    whole: bool,
    /// Whether the provider answers whole.
    whole_behind: bool,
}

/// Has the conversation in all ways, and returns what is the same in all.
async fn check(turns: &[ScriptTurn], expected: &[&str]) -> Same {
    let begin = Message::user("Begin.");
    check_all(&DIALECTS, &BEHIND, &begin, turns, expected, |_| {}).await
}

/// The same with this message, and has what the provider was asked looked at.
async fn check_all(
    from: &[Wire],
    to: &[Wire],
    begin: &Message,
    turns: &[ScriptTurn],
    expected: &[&str],
    asked: impl Fn(&[Value]) + Sync,
) -> Same {
    let mut first: Option<(Way, Same)> = None;
    for from in from.iter().copied() {
        for to in to.iter().copied() {
            for (whole, whole_behind) in [(false, false), (true, true)] {
                let way = Way {
                    from,
                    to,
                    whole,
                    whole_behind,
                };
                let same = converse(way, begin, turns, &asked).await;
                match &first {
                    None => first = Some((way, same)),
                    Some((known, known_same)) => {
                        assert_eq!(&same, known_same, "{way:?} differs from {known:?}");
                    }
                }
            }
        }
    }
    let same = first.expect("there is a way").1;
    assert_eq!(lines(&same), expected);
    same
}

/// Has the conversation, and goes on: so the whole of it goes back, and is judged.
async fn converse(
    way: Way,
    begin: &Message,
    turns: &[ScriptTurn],
    asked: &(impl Fn(&[Value]) + Sync),
) -> Same {
    let polite = ScriptTurn::text("You are welcome.").when("Thank you.");
    let script = turns.iter().cloned().chain([polite]);
    let script: Vec<ScriptTurn> = if way.whole_behind {
        script.map(ScriptTurn::whole).collect()
    } else {
        script.collect()
    };
    let server = way.to.serve(script).await;
    let sessions = Kept::new();
    let provider = provider(way.to);
    let (named, behind) = (way.from.model().model, way.to.model().model);
    let configuration = format!(
        "[serve]\nextensions = true\n[settings]\nthinking_shown = true\n[aliases]\n\"{named}\" = \"behind/{behind}\"\n\
         [providers.behind]\n{provider}\nbase_url = \"{}\"\napi_key_env = \"BEHIND_KEY\"\n",
        server.base_url()
    );
    let serve = sessions.gateway().env("BEHIND_KEY", "sk-any");
    let gateway = Gateway::listening(serve.configured(configuration).start()).await;
    let adapter = way
        .from
        .adapter_at(&format!("http://{}{}", gateway.address(), base(way.from)));
    let model: Arc<dyn ChatModel> = if way.whole {
        let address = gateway.address().to_owned();
        let from = way.from;
        Arc::new(Whole {
            adapter,
            address,
            from,
        })
    } else {
        adapter
    };
    let chat = Chat::of([(way.from, model)]);
    let report = chat.send(way.from, begin.clone()).await;
    assert_eq!(server.violations(), [""; 0], "{way:?}");
    let thanked = chat.say(way.from, "Thank you.").await;
    assert_eq!(server.violations(), [""; 0], "{way:?}");
    assert_eq!(thanked.answer(), "You are welcome.", "{way:?}");
    gateway.end().await;
    kept(&server);
    asked(&server.requests());
    let mut same = Same::of(report);
    if same.end == TurnEnd::Answered(FinishReason::ContentFilter) {
        // Where a refusal came as plain words, OpenAI's languages have no other word for it, and Gemini never has.
        same.end = TurnEnd::Answered(FinishReason::Refused);
    }
    same
}

/// The configuration of a provider that speaks it.
pub(crate) const fn provider(wire: Wire) -> &'static str {
    match wire {
        Wire::Bedrock => "kind = \"bedrock\"",
        Wire::Claude => "kind = \"claude\"",
        Wire::Gemini => "kind = \"gemini\"",
        Wire::OllamaNative => "kind = \"ollama\"",
        Wire::OpenAiResponses => "kind = \"openai\"\napi = \"responses\"",
        Wire::DeepSeek => "kind = \"openai\"\napi = \"chat\"\nprofile = \"deepseek\"",
        Wire::Mistral | Wire::Ollama | Wire::OpenAiChat => "kind = \"openai\"\napi = \"chat\"",
    }
}

/// What the vendors' base URLs end with.
const fn base(wire: Wire) -> &'static str {
    match wire {
        Wire::Bedrock | Wire::Claude | Wire::Gemini | Wire::OllamaNative => "",
        Wire::DeepSeek
        | Wire::Mistral
        | Wire::Ollama
        | Wire::OpenAiChat
        | Wire::OpenAiResponses => "/v1",
    }
}

/// A client that wants its replies whole; our adapters always stream.
struct Whole {
    adapter: Arc<dyn ChatModel>,
    address: String,
    from: Wire,
}

impl Whole {
    /// The path, the body, and what reads the reply.
    fn ask(&self, request: &ModelRequest) -> (String, Vec<u8>) {
        let owner = self.adapter.state_owner(&request.model.model);
        let model = &*request.model.model;
        match self.from {
            Wire::Claude => {
                let profile = claude::options::Profile::of(model);
                let mapped = claude::request::to_wire(request, &owner, &profile, false);
                let body = serde_json::to_vec(&mapped.expect("it can be said").0);
                ("/v1/messages".to_owned(), body.expect("JSON"))
            }
            Wire::Gemini => {
                let profile = gemini::options::Profile::of(model);
                let mapped = gemini::request::to_wire(request, &owner, &profile);
                let body = serde_json::to_vec(&mapped.expect("it can be said").0);
                let path = format!("/v1beta/models/{model}:generateContent");
                (path, body.expect("JSON"))
            }
            Wire::Bedrock | Wire::OllamaNative => unreachable!("no client speaks it"),
            Wire::OpenAiResponses => {
                let profile = Profile::openai(model);
                let mapped = responses::request::to_wire(request, &owner, &profile, false);
                let body = serde_json::to_vec(&mapped.expect("it can be said").0);
                ("/v1/responses".to_owned(), body.expect("JSON"))
            }
            Wire::DeepSeek | Wire::Mistral | Wire::Ollama | Wire::OpenAiChat => {
                let profile = if self.from == Wire::DeepSeek {
                    Profile::DEEPSEEK
                } else {
                    Profile::openai(model)
                };
                let mapped = chat::request::to_wire(request, &owner, &profile, false);
                let body = serde_json::to_vec(&mapped.expect("it can be said").0);
                ("/v1/chat/completions".to_owned(), body.expect("JSON"))
            }
        }
    }

    fn read(&self, request: &ModelRequest, body: &[u8]) -> (Vec<Delta>, ReplyEnd) {
        let owner = self.adapter.state_owner(&request.model.model);
        let read = match self.from {
            Wire::Claude => {
                let profile = claude::options::Profile::of(&request.model.model);
                let mapped = claude::request::to_wire(request, &owner, &profile, false);
                let asked = mapped.expect("it can be said").0;
                claude::stream::Decoder::for_request(owner, request, &asked).read_whole(body)
            }
            Wire::Gemini => gemini::stream::Decoder::for_request(owner, request).read_whole(body),
            Wire::Bedrock | Wire::OllamaNative => unreachable!("no client speaks it"),
            Wire::OpenAiResponses => {
                responses::stream::Decoder::for_request(owner, request).read_whole(body)
            }
            Wire::DeepSeek | Wire::Mistral | Wire::Ollama | Wire::OpenAiChat => {
                chat::stream::Decoder::for_request(owner, request).read_whole(body)
            }
        };
        read.expect("a whole reply")
    }
}

#[async_trait]
impl ChatModel for Whole {
    fn capabilities(&self) -> Capabilities {
        self.adapter.capabilities()
    }

    fn state_owner(&self, model: &str) -> StateOwner {
        self.adapter.state_owner(model)
    }

    async fn reply(
        &self,
        request: &ModelRequest,
        _: &CallContext,
        sink: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelError> {
        let (path, body) = self.ask(request);
        let answer = Asking::at(&self.address, "POST", &path).body(body);
        let answer = answer.answered().await;
        answer.is(200);
        let (deltas, end) = self.read(request, answer.body.as_bytes());
        for delta in deltas {
            sink.push(delta).await;
        }
        Ok(end)
    }
}
