//! A gateway's matcher and locator in front of an engine, with turns of one client.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::caller::{Caller, Display};
use jackfield_domain::digest::Digest;
use jackfield_domain::fact::{Fact, TurnEnd};
use jackfield_domain::ids::{SessionId, ToolName};
use jackfield_domain::locate;
use jackfield_domain::message::Message;
use jackfield_domain::policy::{Policy, PolicyRule, RuleVerdict};
use jackfield_domain::request::ModelRef;
use jackfield_domain::session_events::SessionEvent;
use jackfield_domain::setup::{Opening, Transcript};
use jackfield_domain::tool::{InputFormat, ToolDefinition};
use jackfield_engine::{
    Disconnect, Durability, Engine, SendMessage, StartedTurn, TurnOptions, Watcher,
};
use jackfield_gateway::{RequestIdentity, RequestMatch, RequestMatcher, SessionLocator};
use jackfield_ports::journal::Journal;
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{ScriptedModel, ScriptedReply};
use serde_json::json;

pub(crate) struct Scene {
    pub(crate) engine: Engine,
    pub(crate) journal: Arc<MemoryJournal>,
    pub(crate) matcher: RequestMatcher,
    pub(crate) model: ScriptedModel,
}

pub(crate) fn scene(replies: impl IntoIterator<Item = ScriptedReply>) -> Scene {
    let model = ScriptedModel::new();
    for reply in replies {
        model.push_reply(reply);
    }
    let journal = Arc::new(MemoryJournal::default());
    let engine = engine_on(&journal, &model);
    Scene {
        matcher: RequestMatcher::new(engine.clone()),
        engine,
        journal,
        model,
    }
}

pub(crate) fn engine_on(journal: &Arc<MemoryJournal>, model: &ScriptedModel) -> Engine {
    Engine::builder(Arc::clone(journal) as Arc<dyn Journal>)
        .model("provider", model.port())
        .build()
}

pub(crate) fn named(name: &str) -> SessionId {
    SessionId::parse(name).expect("a valid id")
}

pub(crate) fn hi() -> Vec<Message> {
    vec![Message::user("hi")]
}

pub(crate) fn caller(
    principal: &str,
    body: &str,
    key: Option<&str>,
    history: &[Message],
) -> Caller {
    Caller {
        body: Some(Digest::of(body.as_bytes())),
        dialect: "claude".into(),
        display: Display::default(),
        echo: None,
        key: key.map(Into::into),
        model: "model".into(),
        principal: principal.into(),
        view: locate::chain(history).last().copied(),
    }
}

pub(crate) fn message(session: &str, caller: Caller, history: &[Message]) -> SendMessage {
    let options = TurnOptions {
        caller: Some(Arc::new(caller)),
        client_tools: vec![client_tool("lookup")],
        ..options()
    };
    let transcript = Transcript::parse(history.to_vec()).expect("it keeps the rules");
    SendMessage {
        opening: Opening::Transcript(transcript),
        options,
        session: named(session),
    }
}

pub(crate) fn request(
    principal: &str,
    body: &str,
    key: Option<&str>,
    is_repeat: bool,
) -> RequestIdentity {
    RequestIdentity {
        body: Digest::of(body.as_bytes()),
        durability: Some(Durability::Durable),
        disconnect: Disconnect::Finish,
        is_repeat,
        key: key.map(Into::into),
        principal: principal.into(),
        session: None,
    }
}

impl Scene {
    pub(crate) fn locator(&self) -> SessionLocator<'_> {
        SessionLocator::new(&self.engine)
    }

    pub(crate) async fn begin(
        &self,
        session: &str,
        principal: &str,
        key: Option<&str>,
    ) -> StartedTurn {
        let message = message(session, caller(principal, "hi", key, &hi()), &hi());
        self.engine.begin(message).await.expect("begun")
    }

    /// What such a request collects: the turn's session, if anything is owed to it.
    pub(crate) async fn owed(&self, request: &RequestIdentity) -> Option<String> {
        match self.matcher.find(request).await.expect("readable") {
            RequestMatch::New { .. } => None,
            RequestMatch::Existing(begun) => Some(begun.session.to_string()),
        }
    }

    /// Waits until what is recorded in the background is in the journal.
    pub(crate) async fn recorded(&self, session: &str, deliveries: usize) {
        for _ in 0..1_000 {
            let loaded = self.journal.load(&named(session)).await;
            if loaded.expect("a session").deliveries.len() >= deliveries {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("nothing came");
    }
}

pub(crate) fn answers(number: usize) -> Vec<ScriptedReply> {
    (0..number)
        .map(|n| ScriptedReply::text(&n.to_string()))
        .collect()
}

/// The facts of a turn until its end, and the end.
pub(crate) async fn to_the_end(watcher: &mut Watcher) -> (Vec<Fact>, TurnEnd) {
    let mut facts = Vec::new();
    loop {
        let next = tokio::time::timeout(Duration::from_secs(3600), watcher.next()).await;
        let (_, event) = next.expect("in time").expect("an event");
        let SessionEvent::Fact { fact, .. } = event else {
            continue;
        };
        facts.push(Fact::clone(&fact));
        if let Fact::TurnEnded { end, .. } = *fact {
            return (facts, end);
        }
    }
}

fn client_tool(name: &str) -> Arc<ToolDefinition> {
    Arc::new(ToolDefinition {
        description: "looks it up".into(),
        extensions: Vec::new(),
        input: InputFormat::Json(Arc::new(json!({"type": "object"}))),
        name: ToolName::parse(name).expect("a valid name"),
        output: None,
        strict: None,
    })
}

/// Options under which every tool may run.
fn options() -> TurnOptions {
    let rule = PolicyRule {
        pattern: "*".into(),
        verdict: RuleVerdict::Allow,
    };
    TurnOptions {
        policy: Policy {
            can_ask: false,
            rules: vec![rule],
        },
        ..TurnOptions::new(ModelRef {
            model: "model".into(),
            provider: "provider".into(),
        })
    }
}
