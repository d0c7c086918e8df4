//! Each request of a session begins like the one before it, whatever its turns go through.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jackfield_dialect_claude as claude;
use jackfield_dialect_gemini as gemini;
use jackfield_dialect_openai as openai;
use jackfield_domain::block::RanBy;
use jackfield_domain::compaction::CompactionPolicy;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::digest::Digest;
use jackfield_domain::fact::{Envelope, Fact, InputKind};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::find_tools;
use jackfield_domain::ids::{ModelAttempt, SessionId, ToolAttempt, ToolName, ToolboxId};
use jackfield_domain::message::Message;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::send_message::SendMessageUseCase;
use jackfield_domain::session::Session;
use jackfield_domain::setup::{Opening, Setup};
use jackfield_domain::system_prompt::SystemPrompt;
use jackfield_domain::target::Target;
use jackfield_domain::time::{MonoTime, Now, WallTime};
use jackfield_domain::tool::{
    Catalog, CatalogEntry, Discovery, InputFormat, Permission, Safety, ToolDefinition, ToolOrigin,
    UnknownPolicy,
};
use jackfield_domain::tool_loop::{Action, Input, LOOP_VERSION, Restrictions, Step, ToolLoop};
use jackfield_domain::usage::Usage;
use jackfield_provider_bedrock as bedrock;
use jackfield_testkit::arb;
use jackfield_testkit::laws::beginnings::changed_beginning;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

/// What happens to the request in flight.
#[derive(Clone, Debug)]
enum Event {
    /// The model answers, and the user goes on with this message.
    Answer(Message),
    /// The model makes as many calls, with these results. The context may be almost full then.
    Calls(Vec<ToolResult>, bool),
    /// Another process takes over from the journal.
    Crash,
    /// The provider fails.
    Fail,
    /// The model searches for tools, and finds the one of this index, if it does not know it. (One that a summary left
    /// without its result, and that is found again, is sent to Claude in another place.)
    Find(usize),
}

fn events() -> impl Strategy<Value = (Message, SystemPrompt, Vec<Event>)> {
    let event = prop_oneof![
        2 => arb::user_message().prop_map(Event::Answer),
        4 => (vec(arb::tool_result(), 1..4), prop::bool::weighted(0.3))
            .prop_map(|(results, is_full)| Event::Calls(results, is_full)),
        1 => Just(Event::Crash),
        1 => Just(Event::Fail),
        1 => (0..HIDDEN.len()).prop_map(Event::Find),
    ];
    (arb::user_message(), arb::system_prompt(), vec(event, 1..12))
}

/// The loop, and what it asked of models.
struct Bench {
    /// What came about between two requests, by name.
    about: BTreeSet<&'static str>,
    /// The last request, and whether a compaction came after it.
    before: Option<(Bodies, bool)>,
    calls: usize,
    in_flight: Option<(ModelAttempt, ModelRequest)>,
    machine: ToolLoop,
    now: Now,
    runs: Vec<ToolAttempt>,
    setup: Arc<Setup>,
    steps: Vec<Envelope>,
}

/// The bodies of a request, by vendor; none where a vendor cannot be sent it.
type Bodies = [(&'static str, Option<Value>); 5];

impl Bench {
    fn begin(first: Message, system: SystemPrompt) -> Result<Self, TestCaseError> {
        let now = Now {
            mono: MonoTime::from_start(Duration::from_secs(5)),
            wall: WallTime::from_millis(1_000_000),
        };
        let setup = Arc::new(setup(system));
        let base = Session::new(session()).next_turn();
        let opening = Opening::UserMessage(Arc::new(first));
        let (machine, step) = SendMessageUseCase::begin(base, opening, Arc::clone(&setup), now);
        let mut bench = Self {
            about: BTreeSet::new(),
            before: None,
            calls: 0,
            in_flight: None,
            machine,
            now,
            runs: Vec::new(),
            setup,
            steps: Vec::new(),
        };
        bench.keep(step, InputKind::Began)?;
        Ok(bench)
    }

    fn keep(&mut self, step: Step, input: InputKind) -> Result<(), TestCaseError> {
        let is_compacted = |fact: &Fact| matches!(fact, Fact::Compacted(_));
        if step.facts.iter().any(is_compacted)
            && let Some((_, is_new)) = &mut self.before
        {
            *is_new = true;
            self.about.insert("compacted");
        }
        self.steps.push(Envelope {
            facts: step.facts,
            input,
            now: self.now,
            step: self.steps.len() as u64,
            version: LOOP_VERSION,
        });
        for action in step.actions {
            match action {
                Action::CallModel { attempt, request } => {
                    self.asked(attempt, &request)?;
                    self.in_flight = Some((attempt, *request));
                }
                Action::RunTool(run) => self.runs.push(run.attempt),
                Action::AbandonTool { .. }
                | Action::Abort(_)
                | Action::Finish(_)
                | Action::OpenWait(_)
                | Action::ResumeTool { .. } => {}
            }
        }
        Ok(())
    }

    /// A request begins like the one before it, unless a compaction came between them.
    fn asked(
        &mut self,
        attempt: ModelAttempt,
        request: &ModelRequest,
    ) -> Result<(), TestCaseError> {
        if attempt.is_compaction() {
            return Ok(());
        }
        let now = bodies(request);
        if let Some((before, false)) = &self.before {
            for ((vendor, before), (_, now)) in before.iter().zip(&now) {
                if let (Some(before), Some(now)) = (before, now) {
                    let changed = changed_beginning(before, now);
                    prop_assert!(changed.is_none(), "{vendor}: {changed:?}");
                }
            }
            if &*request.model.provider == OTHER {
                self.about.insert("failed over");
            }
            if request
                .tools
                .iter()
                .any(|tool| HIDDEN.contains(&tool.name.as_str()))
            {
                self.about.insert("found");
            }
        }
        self.before = Some((now, false));
        Ok(())
    }

    fn feed(&mut self, input: Input) -> Result<(), TestCaseError> {
        let kind = input.kind();
        let step = self.machine.handle(input, self.now);
        self.keep(step, kind)
    }

    /// The model says this, and calls these tools.
    fn reply(&mut self, text: &str, tools: &[&str], input: u64) -> Result<(), TestCaseError> {
        let Some((attempt, _)) = self.in_flight.take() else {
            return Ok(());
        };
        let mut deltas = vec![
            Delta::BlockStarted {
                index: 0,
                start: BlockStart::Text,
            },
            Delta::TextAppended {
                index: 0,
                text: text.into(),
            },
            Delta::BlockEnded { index: 0 },
        ];
        for (index, name) in (1..).zip(tools) {
            self.calls += 1;
            let start = BlockStart::ToolCall {
                json: true,
                name: (*name).into(),
                ran_by: RanBy::Engine,
                upstream: None,
            };
            let text = json!({ "query": self.calls }).to_string().into();
            deltas.push(Delta::BlockStarted { index, start });
            deltas.push(Delta::ArgumentsAppended { index, text });
            deltas.push(Delta::BlockEnded { index });
        }
        for delta in deltas {
            self.feed(Input::ReplyDelta { attempt, delta })?;
        }
        let mut end = ReplyEnd::new(if tools.is_empty() {
            FinishReason::Stop
        } else {
            FinishReason::ToolCalls
        });
        end.usage = Some(Usage {
            input,
            output: 10,
            ..Usage::default()
        });
        let end = Box::new(end);
        self.feed(Input::ReplyEnded { attempt, end })
    }

    fn run(&mut self, event: Event) -> Result<(), TestCaseError> {
        let mut next = Message::user("Go on.");
        match event {
            Event::Answer(message) => {
                self.reply("It is done.", &[], 100)?;
                next = message;
            }
            Event::Calls(results, is_full) => {
                let tools = vec!["look"; results.len()];
                self.reply(
                    &"Let me see. ".repeat(40),
                    &tools,
                    if is_full { WINDOW } else { 100 },
                )?;
                // The last one ends first.
                for (attempt, result) in self.runs.split_off(0).into_iter().zip(results).rev() {
                    self.feed(Input::ToolFinished { attempt, result })?;
                }
            }
            Event::Crash => self.crash()?,
            Event::Fail => {
                if let Some((attempt, _)) = self.in_flight.take() {
                    let (kind, phase) =
                        (ModelFailureKind::Unauthenticated, Phase::BeforeFirstDelta);
                    let failure = ModelFailure::new(kind, phase, "the key is wrong");
                    self.feed(Input::ReplyFailed { attempt, failure })?;
                }
            }
            Event::Find(n) if self.knows(HIDDEN[n]) => {}
            Event::Find(n) => {
                self.reply("I look for a tool.", &[find_tools::NAME], 100)?;
                let hidden = entry(HIDDEN[n]);
                for attempt in self.runs.split_off(0) {
                    let result = find_tools::outcome(&[&hidden]);
                    self.feed(Input::ToolFinished { attempt, result })?;
                }
            }
        }
        self.settle(next)
    }

    /// Whether the model is offered a tool.
    fn knows(&self, name: &str) -> bool {
        let request = self.in_flight.as_ref().map(|(_, request)| request);
        let mut tools = request.into_iter().flat_map(|request| request.tools.iter());
        tools.any(|tool| tool.name.as_str() == name)
    }

    /// Goes on until a request of a round is in flight.
    fn settle(&mut self, next: Message) -> Result<(), TestCaseError> {
        for _ in 0..20 {
            match &self.in_flight {
                Some((attempt, _)) if attempt.is_compaction() => {
                    self.reply("They said hello.", &[], 100)?;
                }
                Some(_) => return Ok(()),
                None if self.machine.is_over() => {
                    let facts = self.steps.iter().flat_map(|step| &step.facts);
                    let folded = Session::fold(session(), facts);
                    let (base, setup) = (folded.next_turn(), self.setup_after(&folded));
                    let opening = Opening::UserMessage(Arc::new(next.clone()));
                    let (machine, step) = SendMessageUseCase::begin(base, opening, setup, self.now);
                    self.machine = machine;
                    self.keep(step, InputKind::Began)?;
                }
                None => {
                    let passed = Duration::from_secs(60);
                    self.now.mono = self.now.mono.after(passed);
                    self.now.wall = self.now.wall.after(passed);
                    self.feed(Input::Woke)?;
                }
            }
        }
        Err(TestCaseError::fail("nothing is in flight"))
    }

    /// The setup of the next turn, which is offered what searches have found.
    fn setup_after(&self, session: &Session) -> Arc<Setup> {
        let tools = self.setup.catalog.iter().cloned().map(|mut tool| {
            let mut known = (0..).zip(session.revealed());
            let place = known.find(|(_, name)| **name == tool.definition.name);
            if let Some((place, _)) = place {
                tool.discovery = Some(Discovery::Revealed(place));
            }
            tool
        });
        Arc::new(Setup {
            catalog: Arc::new(tools.collect()),
            ..Setup::clone(&self.setup)
        })
    }

    /// The process that takes over sends the request that was lost, byte for byte.
    fn crash(&mut self) -> Result<(), TestCaseError> {
        let Some((_, lost)) = self.in_flight.take() else {
            return Ok(());
        };
        let decoded = self.steps.iter().map(|step| {
            let record = jackfield_record::encode_envelope(step).expect("a record");
            jackfield_record::decode_envelope(&record).expect("a step")
        });
        self.steps = decoded.collect();
        let facts = self.steps.iter().flat_map(|step| &step.facts);
        let (session, today) = (session(), Restrictions::default());
        let recovered =
            SendMessageUseCase::recover(&session, facts, &[], self.now, today, Vec::new());
        let (machine, step) = recovered.expect("an open turn");
        self.machine = machine;
        self.keep(step, InputKind::Recovered)?;
        if let Some((_, again)) = &self.in_flight {
            let text = |request| bodies(request).map(|(_, body)| body.map(|body| body.to_string()));
            prop_assert_eq!(text(&lost), text(again));
            self.about.insert("resumed");
        }
        Ok(())
    }
}

fn bodies(request: &ModelRequest) -> Bodies {
    let owner = |dialect: &str| StateOwner {
        dialect: dialect.into(),
        endpoint: "https://api.example".into(),
        model: MODEL.into(),
    };
    let anthropic = claude::request::to_wire(
        request,
        &owner(claude::DIALECT),
        &claude::options::Profile::NEWEST,
        true,
    );
    let aws = bedrock::request::to_wire(
        request,
        &owner(bedrock::DIALECT),
        &bedrock::profile::ModelProfile::of(MODEL),
    );
    let profile = openai::profile::Profile::OPENAI;
    let chat =
        openai::chat::request::to_wire(request, &owner(openai::chat::DIALECT), &profile, true);
    let responses = openai::responses::request::to_wire(
        request,
        &owner(openai::responses::DIALECT),
        &profile,
        true,
    );
    let google = gemini::request::to_wire(
        request,
        &owner(gemini::DIALECT),
        &gemini::options::Profile::NEWEST,
    );
    [
        ("claude", anthropic.ok().map(|(body, _)| json!(body))),
        ("bedrock", aws.ok().map(|(body, _)| json!(body))),
        ("chat", chat.ok().map(|(body, _)| json!(body))),
        ("responses", responses.ok().map(|(body, _)| json!(body))),
        ("gemini", google.ok().map(|(body, _)| json!(body))),
    ]
}

fn session() -> SessionId {
    SessionId::parse("one").expect("an id")
}

fn at(provider: &str) -> ModelRef {
    ModelRef {
        model: MODEL.into(),
        provider: provider.into(),
    }
}

/// A turn with tools of which one is found by a search, an equal model at another provider, and compactions.
fn setup(system: SystemPrompt) -> Setup {
    let hidden = HIDDEN.map(|name| CatalogEntry {
        discovery: Some(Discovery::Deferred),
        ..entry(name)
    });
    let tools: Catalog = hidden.into_iter().chain([entry("look")]).collect();
    let search = find_tools::entry(&tools);
    let fallback = Target {
        content_filter: false,
        first_byte: None,
        model: at(OTHER),
        price: None,
        window: Some(WINDOW),
    };
    let mut setup = Setup {
        compaction: Some(CompactionPolicy { at_percent: 80 }),
        fallbacks: vec![fallback],
        system: Arc::new(system),
        window: Some(WINDOW),
        ..Setup::new(at("first"), tools.iter().cloned().chain(search).collect())
    };
    setup.limits.rounds = 100;
    setup
}

fn entry(name: &str) -> CatalogEntry {
    CatalogEntry {
        asked_by: None,
        definition: Arc::new(ToolDefinition {
            description: name.into(),
            extensions: Vec::new(),
            input: InputFormat::Json(Arc::new(json!({ "type": "object", "properties": {} }))),
            name: ToolName::parse(name).expect("a name"),
            output: None,
            strict: None,
        }),
        digest: Digest::of(name.as_bytes()),
        discovery: None,
        icon: None,
        origin: ToolOrigin {
            tool: name.into(),
            toolbox: ToolboxId::parse("box").expect("an id"),
        },
        permission: Permission::Allow,
        ran_by: RanBy::Engine,
        safety: Safety::ReadOnly,
        time_limit: None,
        title: None,
        when_unknown: UnknownPolicy::Retry,
    }
}

#[test]
fn each_request_of_a_session_begins_like_the_one_before_at_each_vendor() {
    let about = RefCell::new(BTreeSet::new());
    let mut runner = TestRunner::new(Config::with_source_file(file!()));
    let kept = runner.run(&events(), |(first, system, events)| {
        let mut bench = Bench::begin(first, system)?;
        for event in events {
            bench.run(event)?;
        }
        about.borrow_mut().append(&mut bench.about);
        Ok(())
    });
    if let Err(broken) = kept {
        panic!("{broken}");
    }
    let all = ["compacted", "failed over", "found", "resumed"];
    assert_eq!(about.into_inner(), all.into());
}

/// The tools that searches find.
const HIDDEN: [&str; 2] = ["alarm", "clock"];

const MODEL: &str = "us.anthropic.claude-opus-5-5";

/// The provider of the equal model.
const OTHER: &str = "other";

/// The context window, in tokens.
const WINDOW: u64 = 4_000;
