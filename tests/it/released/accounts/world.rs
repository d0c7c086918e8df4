//! What stands around a gateway with users: providers, a sign-in, and a server that people may have.

use jackfield_domain::usage::Usage;
use jackfield_testkit::server::{Gate, Response, TestServer};
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::openid::{CLIENT_ID, CLIENT_SECRET, ScriptedOpenId};
use jackfield_testservers::script::{Script, ScriptRequest, ScriptTurn};
use serde_json::{Value, json};

use super::AccountsJournal;
use crate::harness::{Gateway, Jackfield, MASTER, McpServer, Ran};

/// The model of all turns.
pub(crate) const MODEL: &str = "claude/claude-opus-5-5";
/// The gateway's own key at OpenAI.
pub(crate) const GATEWAYS: &str = "sk-of-the-gateway-0123456789";
/// Ann's key there.
pub(crate) const ANNS: &str = "sk-of-ann-herself-0123456789";

/// Everything that is not the gateway.
pub(crate) struct World {
    pub(crate) claude: ScriptedClaude,
    config: String,
    pub(crate) openai: TestServer,
    pub(crate) openid: ScriptedOpenId,
    pub(crate) weather: McpServer,
}

impl World {
    /// A world in which a reply to `Stall.` waits at the gate.
    pub(crate) async fn new(gate: Option<Gate>) -> Self {
        let script = Script::by(move |asked| Some(reply(asked, gate.as_ref())));
        let claude = ScriptedClaude::start(script).await;
        let openai = TestServer::start_with(|_| passed_through()).await;
        let openid = ScriptedOpenId::start().await;
        let weather = McpServer::of("get_weather", &json!([{ "text": "Rain" }]));
        let entry = weather.entry();
        let config = format!(
            "[providers.claude]\nbase_url = \"{}\"\n\
             [providers.openai]\napi = \"chat\"\nbase_url = \"{}/v1\"\n\
             [serve.oidc]\nissuer = \"{}\"\nclient_id = \"{CLIENT_ID}\"\nclient_secret_env = \"SECRET_THERE\"\n\
             [own_servers.programs.weather]\ncommand = {}\narguments = {}\nvariables = [\"API_KEY\"]\n\
             {CONFIG}",
            claude.base_url(),
            openai.base_url(),
            openid.issuer(),
            entry["command"],
            entry["args"],
        );
        Self {
            claude,
            config,
            openai,
            openid,
            weather,
        }
    }

    /// A gateway on this journal.
    pub(crate) async fn gateway(&self, journal: &AccountsJournal) -> Gateway {
        let serve = journal.run(&["serve", "--bind", "127.0.0.1:0"]);
        Gateway::listening(self.around(serve).start()).await
    }

    /// Runs a command on this journal, which ends well.
    pub(crate) async fn done(
        &self,
        journal: &AccountsJournal,
        arguments: &[&str],
        stdin: &str,
    ) -> Ran {
        let run = self.around(journal.run(arguments)).stdin(stdin);
        let ran = run.run().await;
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.err);
        ran
    }

    /// Ends a gateway; all that Claude was asked was right.
    pub(crate) async fn end(&self, gateway: Gateway) {
        gateway.end().await;
        assert_eq!(self.claude.violations(), [""; 0]);
    }

    fn around(&self, run: Jackfield) -> Jackfield {
        let run = run.configured(&self.config);
        let run = run.env("MASTER_OF_THE_TEST", MASTER);
        let run = run.env("SECRET_THERE", CLIENT_SECRET);
        run.env("OPENAI_API_KEY", GATEWAYS)
    }
}

/// What Claude says, by what it is asked last.
fn reply(asked: &ScriptRequest<'_>, gate: Option<&Gate>) -> ScriptTurn {
    let last = asked.last_text.as_str();
    let turn = match last {
        "What is 2 * 21?" => ScriptTurn::call("calculator", &json!({ "expression": "2*21" })),
        "42" => ScriptTurn::text("It is 42."),
        "Ask my side." => ScriptTurn::call("mine", &json!({})),
        "Rain" => ScriptTurn::text("It rains."),
        "Stall." => ScriptTurn::text("It was worth the wait."),
        last if last.starts_with("Weather") => match offered(asked.body) {
            Some(tool) => ScriptTurn::call(tool, &json!({})),
            None => ScriptTurn::text("Who knows?"),
        },
        _ => ScriptTurn::text("Thank you."),
    };
    let used = Usage {
        input: 1000,
        output: 100,
        ..Usage::default()
    };
    match gate {
        Some(gate) if last == "Stall." => turn.using(used).pause_after(300, gate),
        Some(_) | None => turn.using(used),
    }
}

/// The first tool about the weather that the request has.
fn offered(body: &Value) -> Option<&str> {
    let tools = body["tools"].as_array().into_iter().flatten();
    let mut names = tools.filter_map(|tool| tool["name"].as_str());
    names.find(|name| name.ends_with("get_weather"))
}

/// What OpenAI answers to everything.
fn passed_through() -> Response {
    let reply = json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "small-1",
        "choices": [{ "index": 0, "finish_reason": "stop",
            "message": { "role": "assistant", "content": "Hi." } }],
        "usage": { "prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10 },
    });
    Response::json(200, reply.to_string())
}

/// The rest of the configuration.
const CONFIG: &str = r#"
[secrets]
key_env = "MASTER_OF_THE_TEST"
[own_servers]
allow_private = ["127.0.0.0/8"]
[limits]
approval = "36500d"
client_tool = "36500d"
[policy.tools]
calculator = "ask"
"own-*/*" = "allow"
"team-*/*" = "allow"
[prices."claude/claude-opus-5-5"]
input = 1
output = 10
date = "2026-11-01"
source = "a test"
[prices."openai/small-1"]
input = 2
output = 20
date = "2026-11-01"
source = "a test"
"#;
