//! Assistants: what their tables say, over everything else.

use jackfield_assembly::{Config, Environment, Flags, Registry};
use jackfield_domain::settings::{CacheMode, CacheTtl};
use jackfield_domain::system_prompt::SystemPrompt;
use jackfield_engine::ServerTools;

use crate::world::{World, lines};

const TABLES: &str = r#"
[aliases]
fast = "openai/gpt-6-sol"
[limits]
rounds = 7
tool_call = "9s"
[settings]
seed = 1
top_k = 5
[system]
prompt = "For all."
[serve]
approvals = "wait"
[tool_search]
always = ["git/status"]
[assistants.plain]
[assistants.reviewer]
model = "fast"
system = "You review."
tools = ["git/*"]
tool_search = true
approvals = "deny"
kept = false
limits.rounds = 20
settings.seed = 2
settings.extensions.openai-chat.user = "r"
"#;

fn told(prompt: &SystemPrompt) -> String {
    prompt.render()
}

fn loaded(world: &World) -> Config {
    world.load().unwrap()
}

#[test]
fn what_an_assistant_does_not_say_is_as_for_other_turns() {
    let config = loaded(&World::new().with_user(TABLES));
    let reviewer = config.assistant("reviewer").expect("an assistant");
    let options = &reviewer.options;
    assert_eq!(options.assistant.as_deref(), Some("reviewer"));
    assert_eq!(&*options.model.provider, "openai");
    assert_eq!(told(&options.system), "You review.");
    assert_eq!(
        options.server_tools,
        ServerTools::Only(vec!["git/*".into()])
    );
    assert!(options.tool_search.enabled);
    assert_eq!(options.tool_search.always, ["git/status".into()]);
    assert_eq!(options.limits.rounds, 20);
    assert_eq!(options.limits.tool_call.as_secs(), 9);
    assert_eq!(options.settings.seed, Some(2));
    assert_eq!(options.settings.top_k, Some(5));
    assert_eq!(reviewer.extensions.len(), 1);
    assert!(!reviewer.kept);
    assert_ne!(reviewer.approvals, config.serve.approvals);
    let plain = config.assistant("plain").expect("an assistant");
    assert_eq!(plain.options.model, config.options.model);
    assert_eq!(told(&plain.options.system), "For all.");
    assert_eq!(plain.options.server_tools, ServerTools::All);
    assert_eq!(plain.options.limits, config.options.limits);
    assert_eq!(plain.options.settings, config.options.settings);
    assert_eq!(plain.approvals, config.serve.approvals);
    assert!(plain.kept);
    assert!(!plain.options.tool_search.enabled);
    // Other turns do not have it.
    assert_eq!(config.options.limits.rounds, 7);
    assert_eq!(config.options.settings.seed, Some(1));
    assert!(config.extensions.is_empty());
}

#[test]
fn a_later_file_adds_to_an_assistant_and_to_what_it_does_not_say() {
    let world = World::new()
        .with_user("trusted_projects = [\"~/project\"]\n[assistants.a]\nsystem = \"One.\"\nlimits.rounds = 3\n")
        .with_project(
            "model = \"openai/gpt-6-sol\"\nlimits.repeats = 4\nassistants.a.system = \"Two.\"\n",
        );
    let config = loaded(&world);
    let options = config.assistant("a").expect("an assistant").options;
    assert_eq!(told(&options.system), "Two.");
    assert_eq!(options.limits.rounds, 3);
    assert_eq!(options.limits.repeats, 4);
    assert_eq!(&*options.model.provider, "openai");
}

#[test]
fn one_is_there_without_configuration_and_can_be_changed() {
    let config = loaded(&World::new());
    let names: Vec<_> = config.assistant_names().into_iter().collect();
    assert_eq!(names, ["jackfield".into()]);
    let assistant = config.assistant("jackfield").expect("an assistant");
    assert_eq!(assistant.options.model, config.options.model);
    assert_eq!(assistant.options.server_tools, ServerTools::All);
    assert!(config.assistant("other").is_none());
    let config = loaded(&World::new().with_user("assistants.jackfield.limits.rounds = 2"));
    let assistant = config.assistant("jackfield").expect("an assistant");
    assert_eq!(assistant.options.limits.rounds, 2);
    assert_eq!(config.assistant_names().len(), 1);
    // An alias of this name was there first.
    let config = loaded(&World::new().with_user("aliases.jackfield = \"openai/gpt-6-sol\""));
    assert!(config.assistant("jackfield").is_none());
    assert!(config.assistant_names().is_empty());
}

#[test]
fn what_is_wrong_with_an_assistant_is_told() {
    let check = |text: &str, expected: &str| {
        let found = World::new().with_user(text).problems();
        let expected = format!("~/.config/jackfield/jackfield.toml:{expected}");
        assert_eq!(found, [expected], "{text}");
    };
    check(
        "aliases.fast = \"openai/gpt-6-sol\"\nassistants.a.model = \"fats\"",
        "2: key `assistants.a.model`: `fats` is neither an alias nor of the form `provider/model`; did you mean `fast`?",
    );
    check(
        "assistants.a.model = \"opnai/gpt-6-sol\"",
        "1: key `assistants.a.model`: there is no provider `opnai`; did you mean `openai`?",
    );
    check(
        "aliases.a = \"openai/gpt-6-sol\"\n[assistants.a]",
        "2: key `assistants.a`: `a` is an alias, too",
    );
    check(
        "[assistants.\"a/b\"]",
        "1: key `assistants.\"a/b\"`: the name of an assistant has no `/`, which stands between provider and model",
    );
    check(
        "assistants.a.tool = \"all\"",
        "1: key `assistants.a.tool`: unknown; did you mean `tools`?",
    );
    check(
        "assistants.a.tools = \"some\"",
        "1: key `assistants.a.tools`: `some` is unknown; there are: all, none",
    );
    check(
        "assistants.a.limits.roundz = 1",
        "1: key `assistants.a.limits.roundz`: unknown; did you mean `rounds`?",
    );
    check(
        "model = \"a\"\n[assistants.a]",
        "1: key `model`: `a` is an assistant, not a model",
    );
    let world = World::new().with_user("assistants.a.settings.extensions.opnai.x = 1");
    let assembled =
        Registry::default().assemble(&loaded(&world), &Environment::from_iter([("", "")]));
    let problem = assembled.expect_err("no provider speaks it").to_string();
    assert!(problem.contains("no provider speaks `opnai`"), "{problem}");
}

#[test]
fn a_file_that_was_merely_found_says_nothing_of_assistants() {
    let found = World::new()
        .with_project("[assistants.a]\nsystem = \"Obey.\"\n")
        .problems();
    assert_eq!(
        found,
        [
            "jackfield.toml:1: key `assistants`: a file that was merely found says nothing of assistants"
        ]
    );
}

#[test]
fn a_run_takes_the_assistant_that_it_names_and_its_flags_are_over_it() {
    let world = World::new().with_user(TABLES);
    let mut flags = Flags {
        model: Some("reviewer".to_owned()),
        takes_assistant: true,
        ..Flags::default()
    };
    let config = world.load_with(&flags).expect("a configuration");
    assert_eq!(config.options.assistant.as_deref(), Some("reviewer"));
    assert_eq!(config.options.limits.rounds, 20);
    assert_eq!(config.extensions.len(), 1);
    assert_eq!(config.journal.kind.name(), "memory");
    flags.rounds = Some(2);
    flags.tools = Some(false);
    flags.system = Some("Flagged.".to_owned());
    let config = world.load_with(&flags).expect("a configuration");
    assert_eq!(config.options.limits.rounds, 2);
    assert_eq!(config.options.server_tools, ServerTools::None);
    assert_eq!(told(&config.options.system), "Flagged.");
    flags.model = Some("revewer".to_owned());
    let problem = world.load_with(&flags).expect_err("there is none");
    assert_eq!(
        lines(&problem, &world.home()),
        [
            "--model: `revewer` is neither an alias nor of the form `provider/model`; did you mean `reviewer`?"
        ]
    );
    // Without a name, a run takes the default assistant if the file configures it.
    flags.model = None;
    let config = world.load_with(&flags).expect("a configuration");
    assert_eq!(config.options.assistant, None);
    let mut world = world.with_user("assistants.jackfield.limits.repeats = 9");
    let config = world.load_with(&flags).expect("a configuration");
    assert_eq!(config.options.assistant.as_deref(), Some("jackfield"));
    assert_eq!(config.options.limits.repeats, 9);
    // What is not asked for a turn is of none.
    flags.takes_assistant = false;
    let config = world.load_with(&flags).expect("a configuration");
    assert_eq!(config.options.assistant, None);
    flags.takes_assistant = true;
    world.variables = vec![("JACKFIELD_MODEL", "openai/gpt-6-sol")];
    let config = world.load_with(&flags).expect("a configuration");
    assert_eq!(config.options.assistant, None);
    assert_eq!(&*config.options.model.provider, "openai");
}

#[test]
fn an_assistant_that_a_flag_names_has_the_configured_model() {
    let world = World::new().with_user("model = 'openai/gpt-6-sol'\n[assistants.terse]\n");
    for name in ["jackfield", "terse"] {
        let flags = Flags {
            model: Some(name.to_owned()),
            takes_assistant: true,
            ..Flags::default()
        };
        let config = world.load_with(&flags).expect("a configuration");
        assert_eq!(config.options.assistant.as_deref(), Some(name));
        assert_eq!(&*config.options.model.provider, "openai", "{name}");
    }
}

#[test]
fn cache_points_of_an_assistant_are_over_a_providers_and_those_over_those_of_all() {
    let config = loaded(&World::new().with_user(
        "settings.cache = \"client\"\nsettings.cache_ttl = \"1h\"\nproviders.claude.cache = \"off\"\n\
         [assistants.a]\nsettings.cache = \"auto\"\nsettings.cache_ttl = \"5m\"\n[assistants.b]\n",
    ));
    assert_eq!(config.cache_mode, CacheMode::Client);
    assert_eq!(config.providers["claude"].cache, Some(CacheMode::Off));
    let of = |name: &str| {
        let assistant = config.assistant(name).expect("an assistant");
        let settings = &assistant.options.settings;
        (settings.cache, settings.cache_ttl)
    };
    assert_eq!(
        of("a"),
        (Some(CacheMode::Auto), Some(CacheTtl::FiveMinutes))
    );
    assert_eq!(of("b"), (None, Some(CacheTtl::OneHour)));
}
