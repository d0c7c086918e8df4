//! Files, environment and flags: the later one wins.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jackfield_assembly::{Environment, Flags, Registry, load};
use jackfield_domain::limits::OnLimit;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::policy::RuleVerdict;
use jackfield_domain::price::Money;
use jackfield_domain::settings::{Effort, ResponseFormat, ThinkingMode};
use jackfield_domain::system_prompt::PartOrigin;
use jackfield_domain::tool::Permission;
use jackfield_domain::tool::{Safety, UnknownPolicy};
use jackfield_engine::{SecondMessage, ServerTools};

use serde_json::json;

use crate::world::World;

#[test]
fn with_nothing_at_all_there_are_defaults() {
    let config = World::new().load().unwrap();
    assert_eq!(
        (
            &*config.options.model.provider,
            &*config.options.model.model
        ),
        ("claude", "claude-opus-5-5")
    );
    assert_eq!(config.options.system.parts.len(), 1);
    assert_eq!(config.options.system.parts[0].origin, PartOrigin::Default);
    assert!(config.providers.contains_key("claude"));
    assert!(config.files.is_empty());
}

#[test]
fn without_a_model_a_provider_that_has_a_key_is_asked() {
    let user = "~/.config/jackfield/jackfield.toml:1";
    for (variables, file, model, place) in [
        (
            vec!["OPENAI_API_KEY"],
            "",
            "openai/gpt-6-sol",
            "OPENAI_API_KEY",
        ),
        (
            vec!["GOOGLE_API_KEY", "MISTRAL_API_KEY"],
            "",
            "gemini/gemini-3.8-flash",
            "GOOGLE_API_KEY",
        ),
        (
            vec!["MISTRAL_API_KEY"],
            "",
            "mistral/mistral-large-latest",
            "MISTRAL_API_KEY",
        ),
        (
            vec!["DEEPSEEK_API_KEY", "OPENAI_API_KEY"],
            "",
            "openai/gpt-6-sol",
            "OPENAI_API_KEY",
        ),
        (
            vec!["ANTHROPIC_API_KEY", "OPENAI_API_KEY"],
            "",
            "claude/claude-opus-5-5",
            "default",
        ),
        (vec![], "", "claude/claude-opus-5-5", "default"),
        (
            vec!["OPENAI_API_KEY"],
            "model = 'claude/a'",
            "claude/a",
            user,
        ),
        // The configuration says where the key of a provider is.
        (
            vec!["MY_KEY", "OPENAI_API_KEY"],
            "[providers.claude]\napi_key_env = 'MY_KEY'",
            "claude/claude-opus-5-5",
            "default",
        ),
        (
            vec!["MY_KEY", "DEEPSEEK_API_KEY"],
            "[providers.openai]\napi_key_env = 'MY_KEY'",
            "openai/gpt-6-sol",
            user,
        ),
        (
            vec!["ANTHROPIC_API_KEY", "DEEPSEEK_API_KEY"],
            "[providers.claude]\napi_key_env = 'GONE'",
            "deepseek/deepseek-flash",
            "DEEPSEEK_API_KEY",
        ),
    ] {
        let mut world = World::new().with_user(file);
        world.variables = variables.iter().map(|name| (*name, "a-key")).collect();
        let config = world.load().unwrap();
        let chosen = &config.options.model;
        let home = format!("{}/", world.home().display());
        assert_eq!(
            (
                &*format!("{}/{}", chosen.provider, chosen.model),
                &*config.model_place.short().replace(&home, "~/")
            ),
            (model, place),
            "{variables:?} {file}"
        );
        let all = config.explain();
        let said = all.iter().find(|value| value.key == "model").unwrap();
        assert_eq!(said.value, json!(model));
    }
    // A blank key is none.
    let mut world = World::new();
    world.variables = vec![("OPENAI_API_KEY", " ")];
    assert_eq!(&*world.load().unwrap().options.model.provider, "claude");
}

#[tokio::test]
async fn the_built_in_tools_only_compute_and_run_without_a_question_unless_a_rule_says_otherwise() {
    let verdict = async |world: World| {
        let mut config = world.load().unwrap();
        config.options.policy.can_ask = true;
        let assembled = Registry::default().assemble(&config, &Environment::from_iter([("", "")]));
        let assembled = assembled.unwrap();
        let offered = assembled.engine.tools(&assembled.options).await;
        for tool in offered.catalog.iter() {
            assert_eq!(tool.safety, Safety::ReadOnly, "{:?}", tool.origin);
        }
        offered
            .catalog
            .tool("calculator")
            .unwrap()
            .permission
            .clone()
    };
    assert_eq!(verdict(World::new()).await, Permission::Allow);
    let own = World::new().with_user("[policy.tools]\n\"*\" = 'ask'");
    assert_eq!(verdict(own).await, Permission::Ask);
    let found = World::new().with_project("[policy.tools]\ncalculator = 'ask'");
    assert_eq!(verdict(found).await, Permission::Ask);
    // The user's own rule is stronger than that of a found file.
    let both = World::new()
        .with_user("[policy.tools]\ncalculator = 'allow'")
        .with_project("[policy.tools]\ncalculator = 'ask'");
    assert_eq!(verdict(both).await, Permission::Allow);
}

#[test]
fn everything_that_can_be_said_is_understood() {
    let world = World::new().with_user(
        r#"
        model = "quick"
        trusted_projects = ["~/project"]
        [aliases]
        quick = "proxy/claude-haiku-5-5"
        [providers.proxy]
        kind = "claude"
        base_url = "https://proxy.example/claude"
        api_key_env = "PROXY_KEY"
        version = "2023-06-01"
        [system]
        prompt = "Be brief."
        [limits]
        approval = "1h 30m"
        client_tool = "5s"
        model_idle = "90s"
        model_retries = 0
        on_limit = "error"
        parallel_calls = 2
        repeats = 5
        retry_after = "10s"
        rounds = 0x10
        shown = "64KiB"
        stored = 1_000
        tool_call = "2m"
        [network]
        connect_timeout = "3s"
        proxy = "http://proxy.example:8080"
        [budget]
        active = "10m"
        cost = "0.50 EUR"
        currency = "EUR"
        tokens = 50_000
        [prices."proxy/claude-haiku-5-5"]
        cache_read = 0.01
        date = "2026-11-01"
        input = 0.1
        output = 1
        source = "a contract"
        [policy]
        unknown = "ask"
        tools_after_first_round = false
        [policy.tools]
        "z/*" = "deny"
        "a/*" = "allow"
        "m/*" = "ask"
        [policy.unknown_of]
        "files/*" = "retry"
        "transfer" = "ask"
        [session]
        second_message = "queue"
        [settings]
        effort = "extra_high"
        max_output_tokens = 2000
        strict = "quality"
        temperature = 1
        top_p = 0.5
        stop = ["END"]
        thinking = 4096
        "#,
    );
    let config = world.load().unwrap();
    let options = &config.options;
    assert_eq!(
        (&*options.model.provider, &*options.model.model),
        ("proxy", "claude-haiku-5-5")
    );
    assert_eq!(options.system.render(), "Be brief.");
    assert_eq!(options.system.parts[0].origin, PartOrigin::Configuration);
    let limits = options.limits;
    assert_eq!(limits.approval, Duration::from_secs(5_400));
    assert_eq!(
        (limits.model_retries, limits.rounds, limits.parallel_calls),
        (0, 16, 2)
    );
    assert_eq!((limits.shown, limits.stored), (65_536, 1_000));
    assert_eq!(limits.on_limit, OnLimit::Error);
    assert_eq!(options.allowance.tokens, Some(50_000));
    assert_eq!(options.allowance.cost, Money::parse("0.5").ok());
    let price = config.prices().get(&options.model).unwrap();
    let picos = |money: Money| money.as_picos();
    assert_eq!(
        (
            picos(price.rates.input),
            picos(price.rates.output),
            picos(price.rates.cache_read)
        ),
        (100_000, 1_000_000, 10_000)
    );
    // Where nothing is said, cached input costs what other input costs.
    assert_eq!(price.rates.cache_write, price.rates.input);
    assert_eq!(
        (&*price.currency, &*price.date, &*price.source),
        ("EUR", "2026-11-01", "a contract")
    );
    assert_eq!(options.allowance.active, Some(Duration::from_secs(600)));
    assert_eq!(options.when_unknown, UnknownPolicy::Ask);
    let unknown: Vec<(&str, UnknownPolicy)> = options
        .unknown_rules
        .iter()
        .map(|rule| (&*rule.pattern, rule.answer))
        .collect();
    assert_eq!(
        unknown,
        [
            ("files/*", UnknownPolicy::Retry),
            ("transfer", UnknownPolicy::Ask)
        ]
    );
    assert_eq!(options.if_busy, SecondMessage::Queue);
    assert!(!options.tools_after_first_round);
    let own: Vec<(&str, RuleVerdict)> = options
        .policy
        .rules
        .iter()
        .map(|rule| (&*rule.pattern, rule.verdict))
        .collect();
    assert_eq!(
        own,
        [
            ("builtin/*", RuleVerdict::Allow),
            ("z/*", RuleVerdict::Deny),
            ("a/*", RuleVerdict::Allow),
            ("m/*", RuleVerdict::Ask)
        ]
    );
    assert_eq!(config.network.connect_timeout, Some(Duration::from_secs(3)));
    let (proxy, _) = config.network.proxy.as_ref().unwrap();
    assert_eq!(&**proxy, "http://proxy.example:8080");
    assert_eq!(options.settings.effort, Some(Effort::ExtraHigh));
    assert_eq!(options.settings.temperature, Some(1.0));
    assert_eq!(options.strict, Some(NoteEffect::Quality));
    assert_eq!(options.settings.thinking, Some(ThinkingMode::Budget(4_096)));
    assert_eq!(options.settings.stop.len(), 1);
}

#[test]
fn the_project_wins_over_the_user_and_both_count() {
    let world = World::new()
        .with_user(
            "model = 'claude/a'\n[limits]\nrounds = 3\nrepeats = 4\n[policy.tools]\nx = 'allow'",
        )
        .with_project("model = 'claude/b'\n[limits]\nrounds = 5\n[policy.tools]\nx = 'deny'");
    let config = world.load().unwrap();
    assert_eq!(&*config.options.model.model, "b");
    assert_eq!(
        (config.options.limits.rounds, config.options.limits.repeats),
        (5, 4)
    );
    assert_eq!(
        config.options.policy.rules.last().unwrap().verdict,
        RuleVerdict::Deny
    );
    assert_eq!(config.files.len(), 2);
}

#[test]
fn the_environment_wins_over_files_and_flags_over_the_environment() {
    let mut world = World::new()
        .with_project("model = 'claude/file'\nsettings.strict = 'cost'\n[system]\nprompt = 'file'");
    world.variables = vec![
        ("JACKFIELD_MODEL", "claude/variable"),
        ("JACKFIELD_SYSTEM", "variable"),
    ];
    let config = world.load().unwrap();
    assert_eq!(config.options.strict, Some(NoteEffect::Cost));
    assert_eq!(
        (
            &*config.options.model.model,
            config.options.system.render().as_str()
        ),
        ("variable", "variable")
    );
    let flags = Flags {
        allow: vec!["*".to_owned()],
        config: None,
        cost: Money::parse("0.25").ok(),
        db: None,
        deny: vec!["x".to_owned()],
        mcp_config: None,
        model: Some("claude/flag".to_owned()),
        rounds: Some(2),
        strict: Some(None),
        system: Some("flag".to_owned()),
        takes_assistant: false,
        tools: Some(false),
        without_servers: false,
    };
    let config = world.load_with(&flags).unwrap();
    assert_eq!(config.options.allowance.cost, flags.cost);
    assert_eq!(config.options.strict, None);
    assert_eq!(
        (
            &*config.options.model.model,
            config.options.system.render().as_str()
        ),
        ("flag", "flag")
    );
    assert_eq!(
        (config.options.limits.rounds, config.options.server_tools),
        (2, ServerTools::None)
    );
    let rules: Vec<&str> = config
        .options
        .policy
        .rules
        .iter()
        .rev()
        .take(2)
        .map(|rule| &*rule.pattern)
        .collect();
    assert_eq!(rules, ["x", "*"]);
}

#[test]
fn the_form_of_the_answer_is_a_word_or_a_schema() {
    let form = |text: &str| {
        let world = World::new().with_user(format!("settings.response_format = {text}"));
        world.load().unwrap().options.settings.response_format
    };
    assert_eq!(form("'text'"), ResponseFormat::Text);
    assert_eq!(form("'json_object'"), ResponseFormat::JsonObject);
    let schema = Arc::new(json!({ "type": "object" }));
    let plain = ResponseFormat::JsonSchema {
        description: None,
        name: "response".into(),
        schema: Arc::clone(&schema),
        strict: None,
    };
    assert_eq!(form("{ schema.type = 'object' }"), plain);
    assert_eq!(form(r#"{ schema = '{"type": "object"}' }"#), plain);
    let full = ResponseFormat::JsonSchema {
        description: Some("a city".into()),
        name: "city".into(),
        schema,
        strict: Some(true),
    };
    let text = "{ description = 'a city', name = 'city', schema.type = 'object', strict = true }";
    assert_eq!(form(text), full);
}

#[test]
fn strictness_is_an_effect_or_false() {
    for (text, strict) in [
        ("'meaning'", Some(NoteEffect::Meaning)),
        ("'quality'", Some(NoteEffect::Quality)),
        ("'cost'", Some(NoteEffect::Cost)),
        ("'cosmetic'", Some(NoteEffect::Cosmetic)),
        ("false", None),
    ] {
        let world = World::new()
            .with_user("settings.strict = 'cost'")
            .with_project(format!("settings.strict = {text}"));
        assert_eq!(world.load().unwrap().options.strict, strict, "{text}");
    }
}

#[test]
fn an_empty_variable_says_nothing_and_an_empty_prompt_says_none() {
    let mut world = World::new().with_user("[system]\nprompt = ''");
    world.variables = vec![
        ("JACKFIELD_MODEL", ""),
        ("JACKFIELD_SYSTEM", ""),
        ("JACKFIELD_CONFIG", ""),
    ];
    let config = world.load().unwrap();
    assert_eq!(&*config.options.model.model, "claude-opus-5-5");
    assert!(config.options.system.parts.is_empty());
}

#[test]
fn a_named_file_is_read_in_place_of_all_others() {
    let mut world = World::new()
        .with_user("model = 'claude/user'")
        .with_project("model = 'claude/project'")
        .with("other.toml", "[limits]\nrounds = 7");
    world.variables = vec![("JACKFIELD_CONFIG", "../other.toml")];
    let config = world.load().unwrap();
    assert_eq!(
        (&*config.options.model.model, config.options.limits.rounds),
        ("claude-opus-5-5", 7)
    );
    let flags = Flags {
        config: Some(PathBuf::from("jackfield.toml")),
        ..Flags::default()
    };
    assert_eq!(
        &*world.load_with(&flags).unwrap().options.model.model,
        "project"
    );
}

#[test]
fn a_named_file_that_is_not_there_is_an_error_and_the_others_need_not_be_there() {
    let flags = Flags {
        config: Some(PathBuf::from("nowhere.toml")),
        ..Flags::default()
    };
    let error = World::new().load_with(&flags).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("project/nowhere.toml` cannot be read"),
        "{error}"
    );
}

#[test]
fn the_projects_file_is_sought_up_to_the_root_of_the_repository_and_below_the_home() {
    let rounds = |world: &World, directory: &str| {
        load(&world.surroundings(directory), &Flags::default())
            .unwrap()
            .options
            .limits
            .rounds
    };
    let world = World::new().with_project("[limits]\nrounds = 2");
    assert_eq!(rounds(&world, "project/deep"), 2);
    let world = world.with("project/deep/.git/HEAD", "");
    assert_eq!(rounds(&world, "project/deep"), 10);
    let world = World::new().with("jackfield.toml", "[limits]\nrounds = 2");
    assert_eq!(rounds(&world, "project/deep"), 10);
    assert_eq!(rounds(&world, ""), 10);
}

#[test]
fn the_users_own_file_is_not_read_twice() {
    let world = World::new().with_user("[policy.tools]\nx = 'allow'");
    let surroundings = world.surroundings(".config/jackfield");
    let config = load(&surroundings, &Flags::default()).unwrap();
    assert_eq!(
        (config.files.len(), config.options.policy.rules.len()),
        (1, 2)
    );
}

#[test]
fn a_file_with_a_byte_order_mark_and_dos_line_ends_is_read() {
    let world =
        World::new().with_user(b"\xEF\xBB\xBFmodel = 'claude/a'\r\n[limits]\r\nrounds = 4\r\n");
    assert_eq!(world.load().unwrap().options.limits.rounds, 4);
}
