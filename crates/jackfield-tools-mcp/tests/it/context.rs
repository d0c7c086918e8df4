//! Resources and prompts, in both eras and over both transports.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::media::{Document, Image, MediaSource};
use jackfield_domain::message::Role;
use jackfield_domain::outcome::OutcomePart;
use jackfield_domain::wait::{ElicitationAnswer, Question};
use jackfield_ports::context_source::{
    Completion, CompletionRequest, CompletionSubject, ContextError, ContextErrorKind,
    ContextSource, PromptArgument, PromptArguments, PromptSpec, ResourceSpec, ResourceTemplate,
};
use jackfield_ports::question_handler::QuestionHandler;
use jackfield_testkit::contract::context_source::ContextSourceHarness;
use serde_json::{Value, json};

use crate::harness::{Scripted, tool};

mod handshake {
    //! A server with a handshake.

    jackfield_testkit::context_source_contract!(super::Of<false, false>);
}

mod stateless {
    //! A server without one.

    jackfield_testkit::context_source_contract!(super::Of<true, false>);
}

mod http_handshake {
    //! A server over HTTP with a handshake.

    jackfield_testkit::context_source_contract!(super::Of<false, true>);
}

mod http_stateless {
    //! A server over HTTP without one.

    jackfield_testkit::context_source_contract!(super::Of<true, true>);
}

/// The source of a server of the newer era, or of the older one, over HTTP or not.
struct Of<const NEW: bool, const HTTP: bool>(Scripted);

#[async_trait]
impl<const NEW: bool, const HTTP: bool> ContextSourceHarness for Of<NEW, HTTP> {
    async fn fresh() -> Self {
        let script = library(if NEW { "modern" } else { "legacy" });
        Self(if HTTP {
            Scripted::over_http(script)
        } else {
            Scripted::new(script)
        })
    }

    fn source(&self) -> Arc<dyn ContextSource> {
        Arc::clone(&self.0.toolbox) as Arc<dyn ContextSource>
    }

    fn prompt(&self) -> (&'static str, PromptArguments) {
        ("greet", [("who".to_owned(), "Ann".to_owned())].into())
    }

    fn completion(&self) -> CompletionRequest {
        CompletionRequest {
            argument: "who".to_owned(),
            known: PromptArguments::new(),
            subject: CompletionSubject::Prompt("greet".to_owned()),
            value: "An".to_owned(),
        }
    }

    async fn change(&self) {
        self.0.result("change", json!({})).await;
    }
}

fn library(era: &str) -> Value {
    json!({
        "era": era,
        "tools": [tool("change")],
        "calls": { "change": [{ "announce": {
            "method": "notifications/resources/updated", "params": { "uri": "note://a" },
        } }] },
        "page": 1,
        "subscribe": true,
        "http": { "listens": true },
        "resources": [
            { "uri": "note://a", "name": "a", "title": "The a", "mimeType": "text/plain", "size": 5 },
            { "uri": "note://a", "name": "again" },
            { "name": "without a URI" },
            { "uri": "note://b", "name": "b", "annotations": { "priority": 1 } },
        ],
        "templates": [{ "uriTemplate": "note://{name}", "name": "note", "description": "Any note." }],
        "contents": {
            "note://a": [{ "uri": "note://a", "mimeType": "text/plain", "text": "words" }],
            "note://b": [{ "uri": "note://b", "mimeType": "image/png", "blob": "iVBORw0KGgo=" }],
            "note://odd": [{ "uri": "note://odd", "blob": "not base64" }],
        },
        "prompts": [{
            "name": "greet",
            "description": "Greets.",
            "arguments": [{ "name": "who", "required": true }, { "name": "how", "description": "In which way." }],
        }],
        "messages": { "greet": [
            { "role": "user", "content": { "type": "text", "text": "Greet {who}." } },
            { "role": "assistant", "content": { "type": "text", "text": "Hello, {who}." } },
        ] },
        "completions": { "who": ["Ann", "Anton", "Ben"] },
    })
}

/// A server over each transport, in each era.
fn servers(script: impl Fn(&str) -> Value) -> Vec<(String, Scripted)> {
    let eras = ["legacy", "modern"].into_iter();
    let both = eras.flat_map(|era| {
        let script = script(era);
        [
            (format!("{era} over pipes"), Scripted::new(script.clone())),
            (format!("{era} over HTTP"), Scripted::over_http(script)),
        ]
    });
    both.collect()
}

fn text(text: &str) -> Vec<OutcomePart> {
    vec![OutcomePart::Text(text.into())]
}

#[tokio::test]
async fn resources_and_templates_are_listed_over_all_pages_and_each_once() {
    for (name, server) in servers(library) {
        let listed = server.toolbox.resources().await.unwrap();
        let one = |uri: &str, about: Value| ResourceSpec {
            description: None,
            media_type: about["mimeType"].as_str().map(Into::into),
            name: about["name"].as_str().unwrap().into(),
            size: about["size"].as_u64(),
            title: about["title"].as_str().map(Into::into),
            uri: uri.into(),
            original: about.into(),
        };
        let said = library("both")["resources"].clone();
        let wanted = [
            one("note://a", said[0].clone()),
            one("note://b", said[3].clone()),
        ];
        assert_eq!(listed.resources, wanted, "{name}");
        let template = library("both")["templates"][0].clone();
        let wanted = ResourceTemplate {
            description: Some("Any note.".into()),
            media_type: None,
            name: "note".into(),
            original: template.into(),
            title: None,
            uri_template: "note://{name}".into(),
        };
        assert_eq!(listed.templates, [wanted], "{name}");
        let left_out = "1 of its resources cannot be read, and are left out";
        assert_eq!(listed.problems, [left_out], "{name}");
    }
}

#[tokio::test]
async fn a_resource_is_read_whole_or_not_at_all() {
    for (name, server) in servers(library) {
        let toolbox = &server.toolbox;
        let read = toolbox.read("note://a", 10_000, &mut ()).await.unwrap();
        let words = OutcomePart::Document(Document {
            cite: false,
            context: None,
            source: MediaSource::Text("words".into()),
            title: Some("note://a".into()),
        });
        let original = library("both")["contents"]["note://a"].clone();
        assert_eq!((read.parts, json!(read.original)), (vec![words], original));
        let read = toolbox.read("note://b", 10_000, &mut ()).await.unwrap();
        let image = OutcomePart::Image(Image {
            detail: None,
            source: MediaSource::Base64 {
                data: "iVBORw0KGgo=".into(),
                media_type: "image/png".into(),
            },
        });
        assert_eq!(read.parts, [image], "{name}");
        let kind = |read: Result<_, ContextError>| read.map(drop).unwrap_err().kind;
        let small = kind(toolbox.read("note://a", 20, &mut ()).await);
        assert_eq!(small, ContextErrorKind::TooLarge, "{name}");
        let odd = kind(toolbox.read("note://odd", 10_000, &mut ()).await);
        assert_eq!(odd, ContextErrorKind::ProtocolViolation, "{name}");
        let gone = toolbox
            .read("note://gone", 10_000, &mut ())
            .await
            .unwrap_err();
        assert_eq!(gone.kind, ContextErrorKind::NotFound, "{name}");
        assert!(
            gone.message
                .starts_with("the server `scripted`: it refuses: Resource not found")
        );
    }
}

#[tokio::test]
async fn a_prompt_is_listed_completed_and_made() {
    for (name, server) in servers(library) {
        let toolbox = &server.toolbox;
        let argument = |name: &str, description: Option<&str>, required| PromptArgument {
            description: description.map(Into::into),
            name: name.into(),
            required,
        };
        let wanted = PromptSpec {
            arguments: vec![
                argument("who", None, true),
                argument("how", Some("In which way."), false),
            ],
            description: Some("Greets.".into()),
            name: "greet".into(),
            original: library("both")["prompts"][0].clone().into(),
            title: None,
        };
        assert_eq!(toolbox.prompts().await.unwrap(), [wanted], "{name}");
        let completion = CompletionRequest {
            argument: "who".to_owned(),
            known: BTreeMap::from([("how".to_owned(), "loudly".to_owned())]),
            subject: CompletionSubject::Prompt("greet".to_owned()),
            value: "An".to_owned(),
        };
        let wanted = Completion {
            has_more: false,
            total: Some(2),
            values: vec!["Ann".to_owned(), "Anton".to_owned()],
        };
        assert_eq!(
            toolbox.complete(&completion).await.unwrap(),
            wanted,
            "{name}"
        );
        let who = BTreeMap::from([("who".to_owned(), "Ann".to_owned())]);
        let made = toolbox
            .prompt("greet", &who, 10_000, &mut ())
            .await
            .unwrap();
        let wanted = [
            (Role::User, text("Greet Ann.")),
            (Role::Assistant, text("Hello, Ann.")),
        ];
        assert_eq!(made.messages, wanted, "{name}");
        let refused = toolbox
            .prompt("greet", &BTreeMap::new(), 10_000, &mut ())
            .await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.kind, ContextErrorKind::InvalidArguments, "{name}");
        assert_eq!(
            refused.message,
            "the server `scripted`: it refuses: the argument who is missing (-32602)"
        );
    }
}

#[tokio::test]
async fn a_server_without_them_has_empty_lists_and_is_not_asked() {
    for (name, server) in servers(|era| json!({ "era": era, "tools": [] })) {
        let toolbox = &server.toolbox;
        assert_eq!(toolbox.resources().await, Ok(Default::default()), "{name}");
        assert_eq!(toolbox.prompts().await, Ok(Vec::new()), "{name}");
        let read = toolbox.read("note://a", 100, &mut ()).await.unwrap_err();
        assert_eq!(read.kind, ContextErrorKind::Unsupported, "{name}");
        let asked = ["said resources", "said prompts"].map(|begin| server.count(begin));
        assert_eq!(asked, [0, 0], "{name}");
    }
}

#[tokio::test]
async fn a_list_without_an_end_ends() {
    let mut script = library("both");
    script["loop_cursor"] = json!(true);
    let server = Scripted::new(script);
    let listed = server.toolbox.resources().await.unwrap();
    assert_eq!(listed.resources.len(), 1);
    assert!(server.count("said resources/list") < 5);
}

/// Answers each question with this, and keeps the questions.
struct Answering(ElicitationAnswer, Vec<Question>);

#[async_trait]
impl QuestionHandler for Answering {
    async fn answer(&mut self, question: &Question) -> ElicitationAnswer {
        self.1.push(question.clone());
        self.0.clone()
    }
}

fn asking(requests: Value) -> [Scripted; 2] {
    let mut script = library("modern");
    script["asks_first"] = requests;
    [Scripted::new(script.clone()), Scripted::over_http(script)]
}

fn form() -> Value {
    let params = json!({
        "message": "Who reads?",
        "requestedSchema": { "type": "object", "properties": { "name": { "type": "string" } } },
    });
    json!({ "who": { "method": "elicitation/create", "params": params } })
}

#[tokio::test]
async fn what_a_server_asks_before_a_read_is_answered() {
    for server in asking(form()) {
        let yes = ElicitationAnswer::Accepted(Arc::new(json!({ "name": "Ann" })));
        let mut person = Answering(yes, Vec::new());
        let read = server.toolbox.read("note://a", 10_000, &mut person).await;
        assert_eq!(read.unwrap().parts.len(), 1);
        let who = BTreeMap::from([("who".to_owned(), "Bob".to_owned())]);
        let made = server.toolbox.prompt("greet", &who, 10_000, &mut person);
        assert!(!made.await.unwrap().messages.is_empty());
        let asked: Vec<&str> = person.1.iter().map(|question| &*question.message).collect();
        assert_eq!(asked, ["Who reads?", "Who reads?"]);
        let answer = r#"answered "state-1" {"who":{"action":"accept","content":{"name":"Ann"}}}"#;
        assert_eq!(server.count(answer), 2);
        server.kept();
    }
}

#[tokio::test]
async fn a_read_without_the_answers_that_its_server_wants_says_so() {
    for server in asking(form()) {
        let failed = server.toolbox.read("note://a", 10_000, &mut ()).await;
        let message = failed.unwrap_err().message;
        assert!(message.contains("nobody said who"), "{message}");
        assert!(
            message.contains("it asked, and got no answer: Who reads?"),
            "{message}"
        );
        server.kept();
    }
    let params = json!({ "messages": [], "maxTokens": 10 });
    let sampling = json!({ "who": { "method": "sampling/createMessage", "params": params } });
    for server in asking(sampling) {
        let failed = server
            .toolbox
            .read("note://a", 10_000, &mut ())
            .await
            .unwrap_err();
        assert_eq!(failed.kind, ContextErrorKind::Unsupported);
        assert!(failed.message.contains("a message of a model"), "{failed}");
        server.kept();
    }
}
