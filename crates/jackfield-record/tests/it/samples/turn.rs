//! The opening of a turn, with every setting.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::block::RanBy;
use jackfield_domain::caller::tags::{Tag, TagNames};
use jackfield_domain::digest::Digest;
use jackfield_domain::fact::{Envelope, Fact, InputKind};
use jackfield_domain::ids::{ToolName, ToolboxId};
use jackfield_domain::limits::{Allowance, Limits};
use jackfield_domain::note::NoteEffect;
use jackfield_domain::opaque::Extension;
use jackfield_domain::outcome::{ToolOutcome, ToolResult};
use jackfield_domain::price::{Money, Price, Rates};
use jackfield_domain::request::ModelRef;
use jackfield_domain::settings::{Effort, ResponseFormat, Settings, ThinkingMode, Verbosity};
use jackfield_domain::setup::{Opening, Setup, Transcript};
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};
use jackfield_domain::tool::{
    Catalog, CatalogEntry, Grammar, InputFormat, Permission, Safety, ToolChoice, ToolDefinition,
    ToolOrigin, UnknownPolicy,
};
use serde_json::json;

use super::conversation::{partial, user};
use super::{call, id, step, turn_id};

fn extension() -> Extension {
    Extension {
        dialect: "openai-chat".into(),
        path: "/logit_bias".to_owned(),
        json: json!({ "50256": -100 }),
    }
}

fn settings() -> Settings {
    Settings {
        cache: None,
        cache_ttl: None,
        effort: Some(Effort::ExtraHigh),
        end_user: Some("user-1".into()),
        extensions: vec![extension()],
        frequency_penalty: Some(-0.5),
        max_output_tokens: Some(4_096),
        parallel_calls: Some(false),
        presence_penalty: Some(2.0),
        response_format: ResponseFormat::JsonSchema {
            description: Some("the answer".into()),
            name: "answer".into(),
            schema: Arc::new(json!({ "type": "object" })),
            strict: Some(true),
        },
        seed: Some(-7),
        service_tier: Some("flex".into()),
        stop: vec!["\n\n".into(), "终".into()],
        temperature: Some(0.7),
        thinking: Some(ThinkingMode::Budget(1_024)),
        thinking_shown: Some(true),
        top_k: Some(40),
        top_p: Some(0.95),
        verbosity: Some(Verbosity::Low),
        headers: Vec::new(),
    }
}

fn entry(name: &str, input: InputFormat, permission: Permission) -> CatalogEntry {
    CatalogEntry {
        asked_by: None,
        definition: Arc::new(ToolDefinition {
            description: "Reads a file.".into(),
            extensions: Vec::new(),
            input,
            name: id(ToolName::parse(name)),
            output: None,
            strict: None,
        }),
        digest: Digest::of(name.as_bytes()),
        discovery: None,
        icon: None,
        origin: ToolOrigin {
            tool: name.into(),
            toolbox: id(ToolboxId::parse("files")),
        },
        permission,
        ran_by: RanBy::Engine,
        safety: Safety::ReadOnly,
        time_limit: None,
        title: None,
        when_unknown: UnknownPolicy::Report,
    }
}

fn catalog() -> Catalog {
    let schema = Arc::new(json!({ "type": "object", "required": ["path"] }));
    let full = entry(
        "read",
        InputFormat::Json(Arc::clone(&schema)),
        Permission::Ask,
    );
    let full = CatalogEntry {
        definition: Arc::new(ToolDefinition {
            extensions: vec![extension()],
            output: Some(schema),
            strict: Some(true),
            ..(*full.definition).clone()
        }),
        icon: Some("📄".into()),
        time_limit: Some(Duration::from_secs(5)),
        title: Some("Read".into()),
        ..full
    };
    let grammar = Grammar {
        definition: "start: \"a\"+".into(),
        syntax: "lark".into(),
    };
    let denied = Permission::Deny("denied by a rule".into());
    Catalog::from_iter([
        full,
        entry("query", InputFormat::Text(Some(grammar)), denied),
        entry("say", InputFormat::Text(None), Permission::Allow),
    ])
}

fn system() -> SystemPrompt {
    let part = |origin, text: &str| SystemPart {
        origin,
        text: text.into(),
    };
    SystemPrompt {
        parts: vec![
            part(PartOrigin::Default, "Be brief."),
            part(PartOrigin::Server("files".into()), "Paths are absolute."),
        ],
    }
}

pub(crate) fn turn_opened() -> Envelope {
    let full = Setup {
        allowance: Allowance {
            active: Some(Duration::from_secs(600)),
            tokens: Some(100_000),
            ..Allowance::default()
        },
        caller: None,
        can_supersede: true,
        catalog: Arc::new(catalog()),
        choice: ToolChoice::Only {
            required: true,
            tools: vec![id(ToolName::parse("read"))],
        },
        limits: Limits::default(),
        model: ModelRef {
            model: "model-1".into(),
            provider: "main".into(),
        },
        settings: Arc::new(settings()),
        price: None,
        strict: None,
        system: Arc::new(system()),
        own_keys: vec!["openai".into()],
        pauses: false,
        tools_after_first_round: false,
        whole: None,
        budgets: Vec::new(),
        assistant: None,
        compaction: None,
        affinity: None,
        fallbacks: Vec::new(),
        first_byte: None,
        given: None,
        route: None,
        tags: Vec::new(),
        trace: None,
        window: None,
    };
    let plain = Setup {
        allowance: Allowance::default(),
        catalog: Arc::default(),
        choice: ToolChoice::Named(id(ToolName::parse("read"))),
        settings: Arc::default(),
        system: Arc::default(),
        ..full.clone()
    };
    let opened = |opening, setup: &Setup| Fact::TurnOpened {
        opening,
        ordinal: 2,
        setup: Arc::new(setup.clone()),
        turn: turn_id(),
    };
    let results = vec![Arc::new(ToolOutcome {
        call: call(),
        result: ToolResult::text("sent later"),
        opaque: Vec::new(),
    })];
    let transcript = [user(), partial(), user()].map(Arc::new).to_vec();
    step(
        InputKind::Began,
        vec![
            opened(Opening::UserMessage(Arc::new(user())), &full),
            opened(Opening::ClientResults(results), &plain),
            opened(Opening::Transcript(Transcript::stored(transcript)), &plain),
        ],
    )
}

/// A turn with a price and a budget of money.
pub(crate) fn turn_opened_priced() -> Envelope {
    let mut envelope = turn_opened();
    envelope.facts.drain(..2);
    for fact in &mut envelope.facts {
        if let Fact::TurnOpened { setup, .. } = fact {
            let setup = Arc::make_mut(setup);
            setup.allowance.cost = Some(Money::from_picos(500_000_000_000));
            setup.price = Some(Price {
                currency: "USD".into(),
                date: "2026-11-01".into(),
                rates: Rates {
                    cache_read: Money::from_picos(300_000),
                    cache_write: Money::from_picos(3_750_000),
                    ..Rates::new(Money::from_picos(3_000_000), Money::from_picos(15_000_000))
                },
                source: "https://prices.example".into(),
                variants: Vec::new(),
            });
        }
    }
    envelope
}

/// A turn that is strict about quality.
/// A turn whose request brought tags.
pub(crate) fn turn_opened_tagged() -> Envelope {
    let mut envelope = turn_opened_strict();
    for fact in &mut envelope.facts {
        if let Fact::TurnOpened { setup, .. } = fact {
            Arc::make_mut(setup).tags = tags();
        }
    }
    envelope
}

pub(crate) fn tags() -> Vec<Tag> {
    let names = TagNames::parse(["session", "team"]).unwrap_or_default();
    names.tags([("team", "поиск"), ("session", "0f3c-11")])
}

pub(crate) fn turn_opened_strict() -> Envelope {
    let mut envelope = turn_opened();
    // The first two have tools and a history, which the other file shows.
    envelope.facts.drain(..2);
    for fact in &mut envelope.facts {
        if let Fact::TurnOpened { setup, .. } = fact {
            Arc::make_mut(setup).strict = Some(NoteEffect::Quality);
        }
    }
    envelope
}
