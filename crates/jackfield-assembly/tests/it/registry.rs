//! From a configuration to an engine.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use jackfield_assembly::{Environment, Flags, ProviderFactory, ProviderSettings, Registry};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::opaque::{Extension, StateOwner};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::{ModelRequest, ToolRun};
use jackfield_domain::tool::{InputFormat, Permission, Safety, ToolSpec};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{BoxError, Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_ports::toolbox::{ToolEnd, ToolError, ToolEvents, Toolbox};
use serde_json::json;

use crate::world::{World, lines};

/// Makes models that say nothing, and keeps what they were made of.
#[derive(Default)]
struct Factory(Mutex<Vec<String>>);

impl ProviderFactory for Factory {
    fn key_variable(&self) -> Option<&str> {
        Some("ECHO_KEY")
    }

    fn options(&self) -> &[&str] {
        &["speed"]
    }

    fn build(&self, settings: ProviderSettings) -> Result<Arc<dyn ChatModel>, BoxError> {
        if settings.base_url.as_deref() == Some("nowhere") {
            return Err("base_url is not a URL".into());
        }
        let key = settings.key.as_ref().map(|key| key.expose().to_owned());
        self.0.lock().unwrap().push(format!(
            "{} {:?} {:?} {:?} {:?}",
            settings.name, settings.base_url, key, settings.missing_key, settings.options
        ));
        Ok(Arc::new(Silent))
    }
}

struct Silent;

#[async_trait]
impl ChatModel for Silent {
    fn capabilities(&self) -> Capabilities {
        let mut can = Capabilities::NONE;
        can.tools = true;
        can
    }

    fn state_owner(&self, model: &str) -> StateOwner {
        StateOwner {
            dialect: "silent".into(),
            endpoint: "none".into(),
            model: model.into(),
        }
    }

    async fn reply(
        &self,
        _request: &ModelRequest,
        _: &CallContext,
        _sink: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelError> {
        Ok(ReplyEnd::new(FinishReason::Stop))
    }
}

/// What the factory made of this file and these variables, or what is wrong.
fn assembled(
    text: &str,
    variables: &[(&'static str, &'static str)],
) -> Result<Vec<String>, Vec<String>> {
    let world = World::new()
        .with_user(text)
        .with("keys/echo", "from-a-file\n");
    let factory = Arc::new(Factory::default());
    let kind = Arc::clone(&factory) as Arc<dyn ProviderFactory>;
    let registry = Registry::empty()
        .provider("claude", Arc::clone(&kind))
        .provider("echo", kind);
    let config = world.load().unwrap();
    let environment: Environment = variables.iter().copied().collect();
    match registry.assemble(&config, &environment) {
        Ok(_) => Ok(factory
            .0
            .lock()
            .unwrap()
            .iter()
            .filter(|made| !made.starts_with("claude "))
            .cloned()
            .collect()),
        Err(error) => Err(lines(&error, &world.home())),
    }
}

#[test]
fn several_providers_of_one_kind_stand_side_by_side() {
    let text = "[providers.a]\nkind = 'echo'\nbase_url = 'https://a'\nspeed = 3\n\
                [providers.b]\nkind = 'echo'\napi_key_env = 'B_KEY'\n[providers.echo]\n";
    assert_eq!(
        assembled(text, &[("ECHO_KEY", "k"), ("B_KEY", "b")]).unwrap(),
        [
            r#"a Some("https://a") Some("k") None {"speed": Number(3)}"#,
            r#"b None Some("b") None {}"#,
            r#"echo None Some("k") None {}"#,
        ]
    );
}

#[test]
fn a_provider_without_a_key_is_made_all_the_same_and_says_why() {
    let text = "[providers.echo]\n";
    let missing = [r#"echo None None Some("ECHO_KEY is not set") {}"#];
    assert_eq!(assembled(text, &[]).unwrap(), missing);
    let empty = [r#"echo None None Some("ECHO_KEY is empty") {}"#];
    assert_eq!(assembled(text, &[("ECHO_KEY", "  ")]).unwrap(), empty);
    assert_eq!(
        assembled("[providers.echo]\napi_key_env = ''", &[]).unwrap(),
        ["echo None None None {}"]
    );
}

#[test]
fn a_key_is_read_from_a_file_of_its_own() {
    let from_a_file = [r#"echo None Some("from-a-file") None {}"#];
    let home = assembled("[providers.echo]\napi_key_file = '~/keys/echo'", &[]).unwrap();
    assert_eq!(home, from_a_file);
    let beside = assembled("[providers.echo]\napi_key_file = '../../keys/echo'", &[]).unwrap();
    assert_eq!(beside, from_a_file);
    let gone = assembled("[providers.echo]\napi_key_file = '~/keys/gone'", &[]).unwrap();
    assert!(gone[0].contains("/keys/gone` cannot be read: "), "{gone:?}");
}

#[test]
fn what_no_factory_knows_is_told_with_its_line() {
    let at = "~/.config/jackfield/jackfield.toml";
    for (text, expected) in [
        (
            "[providers.x]\nkind = 'ecco'",
            "2: key `providers.x.kind`: there is no kind of provider `ecco`; did you mean `echo`?",
        ),
        (
            "[providers.x]\n",
            "1: key `providers.x`: there is no kind of provider `x`; there are: claude, echo",
        ),
        (
            "[providers.echo]\nspeeed = 3",
            "2: key `providers.echo.speeed`: unknown; did you mean `speed`?",
        ),
        (
            "[providers.echo]\nbase_ur = 'a'",
            "2: key `providers.echo.base_ur`: unknown; did you mean `base_url`?",
        ),
        (
            "[providers.echo]\nbase_url = 'nowhere'",
            "1: key `providers.echo`: base_url is not a URL",
        ),
    ] {
        assert_eq!(
            assembled(text, &[]).unwrap_err(),
            [format!("{at}:{expected}")],
            "{text}"
        );
    }
}

#[test]
fn claude_says_which_of_its_settings_cannot_be() {
    for (text, expected) in [
        (
            "base_url = 'nowhere'",
            "2: key `providers.claude`: base_url is not a URL: one looks like `https://host` or `http://127.0.0.1:8080`",
        ),
        (
            "key_header = 'cookie'",
            "key_header is \"x-api-key\" or \"bearer\"",
        ),
        ("betas = 'one'", "betas is a list of texts"),
        ("version = 3", "version is a text such as \"2023-06-01\""),
        (
            "speed = 3",
            "3: key `providers.claude.speed`: unknown; there are: ",
        ),
    ] {
        let world = World::new().with_user(format!("\n[providers.claude]\n{text}"));
        let environment = Environment::from_iter([("ANTHROPIC_API_KEY", "k")]);
        let error = Registry::default()
            .assemble(&world.load().unwrap(), &environment)
            .unwrap_err();
        let found = lines(&error, &world.home());
        assert!(found[0].contains(expected), "{text}: {found:?}");
    }
    let world = World::new().with_user(
        "[providers.claude]\nbetas = ['one']\nkey_header = 'bearer'\nversion = '2023-06-01'\n[network]\nproxy = ':'",
    );
    let error =
        Registry::default().assemble(&world.load().unwrap(), &Environment::from_iter([("", "")]));
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("jackfield.toml:6: key `network.proxy`: the proxy is not a URL"),
        "{error}"
    );
}

#[test]
fn fields_of_a_dialect_are_settings_of_the_models_that_speak_it() {
    let text = "model = 'echo/m'
        [providers.echo]
        [settings.extensions.silent]
        plain = [1, { a = 2 }]
        below.'a/b'.'c~d' = 'deep'
        below.empty = {}
        [settings.extensions.openai-responses]
        truncation = 'auto'";
    let world = World::new()
        .with_user("settings.extensions.silent = { plain = 0, other = true }")
        .with("named.toml", text);
    let named = Flags {
        config: Some("../named.toml".into()),
        ..Flags::default()
    };
    let sent = |flags: &Flags| {
        let config = world.load_with(flags).unwrap();
        let kind: Arc<dyn ProviderFactory> = Arc::new(Factory::default());
        let registry = Registry::empty()
            .provider("claude", Arc::clone(&kind))
            .provider("echo", kind);
        let environment = Environment::from_iter([("ECHO_KEY", "k")]);
        let assembled = registry.assemble(&config, &environment).unwrap();
        let mut sent: Vec<String> = Vec::new();
        for Extension {
            dialect,
            path,
            json,
        } in &assembled.options.settings.extensions
        {
            assert_eq!(&**dialect, "silent");
            sent.push(format!("{path} {json}"));
        }
        sent.sort();
        sent
    };
    assert_eq!(sent(&Flags::default()), ["/other true", "/plain 0"]);
    assert_eq!(
        sent(&named),
        [
            r#"/below/a~1b/c~0d "deep""#,
            "/below/empty {}",
            r#"/plain [1,{"a":2}]"#
        ]
    );
}

#[test]
fn a_later_file_takes_the_place_of_a_field() {
    let world = World::new()
        .with_user(
            "trusted_projects = ['~']\nsettings.extensions.claude = { speed = 'fast', a.b = 1 }",
        )
        .with_project("settings.extensions.claude = { speed = 'standard', a.c = 2 }");
    let config = world.load().unwrap();
    let fields = config
        .extensions
        .iter()
        .map(|(field, _)| format!("{} {}", field.path, field.json));
    let fields: Vec<String> = fields.collect();
    assert_eq!(fields, ["/a/b 1", r#"/speed "standard""#, "/a/c 2"]);
}

#[test]
fn a_dialect_that_nobody_speaks_is_told_once_with_the_nearest() {
    let text = "[settings.extensions.claud]\nspeed = 'fast'\nother = 1\n[settings.extensions.openai-chat]\na = 1";
    let at = "~/.config/jackfield/jackfield.toml:2: key `settings.extensions.claud.";
    let problems = assembled(text, &[]).unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with(at), "{problems:?}");
    assert!(
        problems[0].ends_with("no provider speaks `claud`; did you mean `claude`?"),
        "{problems:?}"
    );
}

#[tokio::test]
async fn the_engine_offers_the_built_in_tools_under_the_configured_policy() {
    let world = World::new().with_user("[policy.tools]\ncurrent_datetime = 'deny'");
    let config = world.load().unwrap();
    let registry = Registry::empty().provider("claude", Arc::new(Factory::default()));
    let assembled = registry
        .assemble(&config, &Environment::from_iter([("", "")]))
        .unwrap();
    assert_eq!(
        assembled.missing_keys["claude"].variable.as_deref(),
        Some("ECHO_KEY")
    );
    let offered = assembled.engine.tools(&assembled.options).await;
    let tools: Vec<String> = offered
        .catalog
        .iter()
        .map(|tool| format!("{} {:?}", tool.definition.name, tool.permission))
        .collect();
    assert_eq!(tools[0], "calculator Allow");
    assert!(tools[1].starts_with("current_datetime Deny("), "{tools:?}");
}

#[tokio::test]
async fn a_toolbox_of_the_programs_own_stands_beside_the_configured_ones() {
    let registry = Registry::default().toolbox(Arc::new(Own::new("own")));
    let config = World::new().load().unwrap();
    let assembled = registry
        .assemble(&config, &Environment::from_iter(NOTHING))
        .unwrap();
    let offered = assembled.engine.tools(&assembled.options).await;
    let tool = offered.catalog.tool("own__look").expect("it is offered");
    // What it says of itself is believed, so that it runs where nobody can be asked.
    assert_eq!(tool.permission, Permission::Allow);
    assert!(offered.catalog.tool("calculator").is_some());
}

#[test]
fn an_id_that_two_toolboxes_have_is_told() {
    let wrong = |ids: &[&'static str], servers: &str| {
        let world = World::new().with_user("").with(
            ".config/jackfield/mcp-servers.json",
            format!("{{\"mcpServers\": {{{servers}}}}}"),
        );
        let registry = ids.iter().fold(Registry::default(), |registry, id| {
            registry.toolbox(Arc::new(Own::new(id)))
        });
        match registry.assemble(&world.load().unwrap(), &Environment::from_iter(NOTHING)) {
            Ok(_) => Vec::new(),
            Err(error) => lines(&error, &world.home()),
        }
    };
    let none: [&str; 0] = [];
    assert_eq!(
        wrong(&["own", "other"], "\"third\": {\"command\": \"x\"}"),
        none
    );
    let twice = |id| format!("this program has two toolboxes of the id `{id}`");
    for (ids, id) in [
        (["own", "own"], "own"),
        (["own", "builtin"], "builtin"),
        (["own", "web"], "web"),
    ] {
        let told = wrong(&ids, "").join("\n");
        assert!(told.contains(&twice(id)), "{told}");
    }
    let told = wrong(&["own"], "\"own\": {\"command\": \"x\"}").join("\n");
    let taken =
        "mcp-servers.json:1: key `mcpServers.own`: `own` is a toolbox of this program already";
    assert!(told.contains(taken), "{told}");
}

/// An environment without variables.
const NOTHING: [(&str, &str); 0] = [];

/// A toolbox with one tool that looks.
struct Own(ToolboxId);

impl Own {
    fn new(id: &str) -> Self {
        Self(ToolboxId::parse(id).unwrap())
    }
}

#[async_trait]
impl Toolbox for Own {
    fn id(&self) -> &ToolboxId {
        &self.0
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        Ok(vec![ToolSpec {
            description: "Looks.".into(),
            icon: None,
            input: InputFormat::Json(Arc::new(json!({ "type": "object" }))),
            name: "look".into(),
            output: None,
            safety: Safety::ReadOnly,
            time_limit: None,
            title: None,
        }])
    }

    async fn call(
        &self,
        _: &ToolRun,
        _: &CallContext,
        _: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        Ok(ToolEnd::Finished(ToolResult::text("seen")))
    }
}
