//! The vendors behind the gateway.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

use jackfield_testkit::server::Gate;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::gemini::ScriptedGemini;
use jackfield_testservers::openai::ScriptedOpenAi;
use jackfield_testservers::script::{Script, ScriptTurn};
use jackfield_testservers::scripted::ScriptedServer;

use crate::cases;

/// What is spoken to the vendor.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Wire {
    Chat,
    Claude,
    Gemini,
    Responses,
}

impl Wire {
    /// Whether its server tells what the model thought.
    pub(crate) const fn shows_reasoning(self) -> bool {
        match self {
            Self::Chat => false,
            Self::Claude | Self::Gemini | Self::Responses => true,
        }
    }

    /// The model that the gateway asks, by its full name.
    pub(crate) const fn model(self) -> &'static str {
        match self {
            Self::Chat => "openai/gpt-6-sol",
            Self::Claude => "claude/claude-opus-5-5",
            Self::Gemini => "gemini/gemini-3.8-flash",
            Self::Responses => "openai/gpt-6.2-sol",
        }
    }

    /// The endpoint of its language.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Claude => "/v1/messages",
            Self::Gemini => "/v1beta/models/gemini-3.8-flash:streamGenerateContent",
            Self::Responses => "/v1/responses",
        }
    }

    /// The gateway's configuration for a server at this address.
    pub(crate) fn configuration(self, base_url: &str) -> String {
        match self {
            Self::Chat => format!(
                "aliases.fast = \"openai/gpt-6-sol\"\nproviders.openai.base_url = \"{base_url}\"\nproviders.openai.api = \"chat\"\n"
            ),
            Self::Claude => format!(
                "aliases.fast = \"claude/claude-opus-5-5\"\nproviders.claude.base_url = \"{base_url}\"\n"
            ),
            Self::Gemini => format!(
                "aliases.fast = \"gemini/gemini-3.8-flash\"\nproviders.gemini.base_url = \"{base_url}\"\n"
            ),
            Self::Responses => format!(
                "aliases.fast = \"openai/gpt-6.2-sol\"\nproviders.openai.base_url = \"{base_url}\"\nproviders.openai.api = \"responses\"\n"
            ),
        }
    }
}

/// A vendor that says what the cases say.
pub(crate) struct Upstream {
    /// Where the reply waits whose stream is to break.
    pub(crate) gate: Gate,
    server: Server,
    /// How many turns each case has had.
    said: Arc<Mutex<HashMap<&'static str, usize>>>,
    wire: Wire,
}

enum Server {
    Claude(ScriptedClaude),
    Gemini(ScriptedGemini),
    OpenAi(ScriptedOpenAi),
}

impl Deref for Upstream {
    type Target = ScriptedServer;

    fn deref(&self) -> &ScriptedServer {
        match &self.server {
            Server::Claude(server) => server,
            Server::Gemini(server) => server,
            Server::OpenAi(server) => server,
        }
    }
}

impl Upstream {
    /// Starts one.
    pub(crate) async fn start(wire: Wire) -> Self {
        let said: Arc<Mutex<HashMap<&'static str, usize>>> = Arc::default();
        let counts = Arc::clone(&said);
        let gate = Gate::new();
        let waits = gate.clone();
        let script = Script::by(move |asked| {
            let case = named(&asked.body.to_string())?;
            let mut counts = counts.lock().expect("nobody panics with it");
            let count = counts.entry(case).or_default();
            let turn = cases::turns(case, wire, &waits).into_iter().nth(*count);
            *count += 1;
            turn
        });
        Self {
            gate,
            said,
            ..Self::scripted(wire, script).await
        }
    }

    /// Starts one with a script of its own.
    pub(crate) async fn scripted(wire: Wire, script: Script) -> Self {
        let server = match wire {
            Wire::Claude => Server::Claude(ScriptedClaude::start(script).await),
            Wire::Gemini => Server::Gemini(ScriptedGemini::start(script).await),
            Wire::Chat | Wire::Responses => Server::OpenAi(ScriptedOpenAi::start(script).await),
        };
        Self {
            gate: Gate::new(),
            server,
            said: Arc::default(),
            wire,
        }
    }

    /// Every request kept the vendor's rules, and each of these cases had all that is said in it.
    #[track_caller]
    pub(crate) fn kept(&self, cases: &[&str]) {
        assert_eq!(self.violations(), [""; 0]);
        let said = self.said.lock().expect("nobody panics with it");
        for case in cases {
            let wanted: Vec<ScriptTurn> = cases::turns(case, self.wire, &self.gate);
            let had = said.get(case).copied().unwrap_or_default();
            assert_eq!(had, wanted.len(), "the turns of the case {case}");
        }
    }
}

/// The case whose name stands in a request, as `[name]`: the last one, if a history holds several.
fn named(body: &str) -> Option<&'static str> {
    let places = cases::NAMES.iter().filter_map(|name| {
        let place = body.rfind(&format!("[{name}]"))?;
        Some((place, *name))
    });
    places.max().map(|(_, name)| name)
}
