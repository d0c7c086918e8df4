//! A gateway over a model in memory: no file, no configuration, no socket.

use std::sync::Arc;

use jackfield_domain::request::ModelRef;
use jackfield_engine::{Engine, TurnOptions};
use jackfield_gateway::{Gateway, GatewayConfig};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{ScriptedModel, ScriptedReply};

/// The provider of the model.
pub(crate) const PROVIDER: &str = "claude";

/// A gateway in front of a model with these replies.
pub(crate) fn gateway(
    replies: impl IntoIterator<Item = ScriptedReply>,
    change: impl FnOnce(&mut GatewayConfig),
) -> Gateway {
    let model = ScriptedModel::new();
    for reply in replies {
        model.push_reply(reply);
    }
    let engine = Engine::builder(Arc::new(MemoryJournal::default()))
        .model(PROVIDER, model.port())
        .build();
    let mut config = GatewayConfig::new(TurnOptions::new(ModelRef {
        model: "model".into(),
        provider: PROVIDER.into(),
    }));
    change(&mut config);
    Gateway::new(
        engine,
        Arc::new(MemoryJournal::default().ephemeral()),
        config,
    )
}
