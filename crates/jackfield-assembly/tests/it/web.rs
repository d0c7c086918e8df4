//! Web APIs in the configuration: what is wrong with them, whose word counts, and what is offered.

use std::sync::Arc;

use jackfield_assembly::{Config, Environment, Registry};
use jackfield_domain::tool::{Permission, Safety};
use jackfield_engine::ToolOffer;

use crate::world::World;

const WEATHER: &str = "\
[web.tools.weather]
description = 'Weather'
url = 'https://api.example.com/{city}'
read_only = true
[web.tools.weather.parameters.city]
";

/// Checks what is said of this text as the user's own file.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let found = World::new().with_user(text).problems();
    let expected: Vec<String> = expected
        .iter()
        .map(|line| format!("~/.config/jackfield/jackfield.toml:{line}"))
        .collect();
    assert_eq!(found, expected, "{text}");
}

async fn offered(config: &Config, environment: &Environment) -> ToolOffer {
    let assembled = Registry::default().assemble(config, environment).unwrap();
    assembled.engine.tools(&assembled.options).await
}

fn nothing() -> Environment {
    [("", "")].into_iter().collect()
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    check(
        "[web]\nprefx = ''",
        &["2: key `web.prefx`: unknown; did you mean `prefix`?"],
    );
    check(
        "[web.tools.a]\ndescriptoin = 'x'\nurl = 'https://a.example'",
        &[
            "1: key `web.tools.a`: `description` is missing: what the tool does and when to use it, for the model",
            "2: key `web.tools.a.descriptoin`: unknown; did you mean `description`?",
        ],
    );
    check(
        "[web.tools.a]\ndescription = 'x'",
        &[
            "1: key `web.tools.a`: `url` is missing: the address, such as \"https://api.example.com/v1/{city}\"",
        ],
    );
    check(
        "[web.tools.a]\ndescription = 'x'\nurl = 'https://{host}/'\nmethod = 'GETT'",
        &[
            "3: key `web.tools.a.url`: scheme, host and port are fixed: no `{parameter}` and no variable stands before the path",
            "4: key `web.tools.a.method`: `GETT` is unknown; did you mean `GET`?",
        ],
    );
    check(
        "[web.tools.a]\ndescription = 'x'\n\nurl = 'https://a.example/{b}'",
        &["4: key `web.tools.a.url`: `{b}` is no parameter: say what it is under `parameters`"],
    );
    check(
        "[web.tools.a]\ndescription = 'x'\nurl = 'https://a.example/{b}'\n\
         [web.tools.a.parameters.b]\ntyp = 'string'\ntype = 'strin'\nin = 'pth'\nrequired = 1",
        &[
            "7: key `web.tools.a.parameters.b.in`: `pth` is unknown; did you mean `path`?",
            "8: key `web.tools.a.parameters.b.required`: true or false was expected, not an integer",
            "5: key `web.tools.a.parameters.b.typ`: unknown; did you mean `type`?",
            "6: key `web.tools.a.parameters.b.type`: `strin` is no type; did you mean `string`?",
        ],
    );
    check(
        "[web.tools.a]\ndescription = 'x'\nurl = 'https://a.example/{b}'\n\
         [web.tools.a.parameters.b]\nin = 'query'\n[web.tools.a.headers]\nHost = 'x'\nx-a = 'b'\nX-A = 'c'",
        &[
            "7: key `web.tools.a.headers.Host`: `host` is set by the request itself",
            "9: key `web.tools.a.headers.X-A`: this header is there already, in other letters",
            "5: key `web.tools.a.parameters.b.in`: `url` has `{b}` in its path",
        ],
    );
    check(
        "[web.tools.\"a/b\"]\ndescription = 'x'\nurl = 'https://a.example'",
        &[
            "1: key `web.tools.\"a/b\"`: the name of a tool has at most 64 letters, digits, `_` and `-`",
        ],
    );
    check(
        "[network]\nallow_private = ['10.0.0.1/8']",
        &["2: key `network.allow_private`: `10.0.0.1/8` is no network; did you mean `10.0.0.0/8`?"],
    );
    check(
        "web.prefix = 'a b'",
        &["1: key `web.prefix`: a prefix has at most 32 letters, digits, `_` and `-`"],
    );
}

#[test]
fn no_server_takes_the_name_of_the_web_apis() {
    for id in ["web", "web-project"] {
        let servers = format!(r#"{{"mcpServers": {{"{id}": {{"command": "x"}}}}}}"#);
        let world = World::new().with(".config/jackfield/mcp-servers.json", servers);
        let config = world.load().unwrap();
        assert!(config.servers.is_empty());
        let message = &config.remarks[0].message;
        assert!(message.contains("is the name of the web APIs"), "{message}");
        let servers = format!(r#"{{"servers": [{{"id": "{id}", "command": "x"}}]}}"#);
        let world = World::new().with(".config/jackfield/mcp-servers.json", servers);
        let found = world.problems();
        assert!(
            found[0].contains("is the name of the web APIs"),
            "{found:?}"
        );
    }
}

#[tokio::test]
async fn a_web_api_is_offered_under_its_name_or_a_prefix() {
    for (prefix, name) in [("", "web__weather"), ("web.prefix = ''\n", "weather")] {
        let world = World::new().with_user(format!("{prefix}{WEATHER}"));
        let offered = offered(&world.load().unwrap(), &nothing()).await;
        assert_eq!(offered.problems, []);
        let tool = offered.catalog.tool(name).expect(name);
        assert_eq!(tool.origin.toolbox.as_str(), "web");
        // It only reads, and is the user's own.
        assert_eq!(
            (tool.safety, &tool.permission),
            (Safety::ReadOnly, &Permission::Allow)
        );
    }
    let acting = WEATHER.replace("read_only = true", "idempotent = true");
    let config = World::new().with_user(acting).load().unwrap();
    let offered = offered(&config, &nothing()).await;
    let tool = offered.catalog.tool("web__weather").unwrap();
    assert_eq!(tool.safety, Safety::Idempotent);
    assert!(matches!(tool.permission, Permission::Deny(_)));
}

#[tokio::test]
async fn a_variable_that_is_missing_leaves_out_its_tool_alone() {
    let more = "[web.tools.secret]\ndescription = 'x'\nurl = 'https://a.example'\n\
                headers.x-key = 'Key ${KEY_OF_MINE}'\n";
    let config = World::new()
        .with_user(format!("{WEATHER}{more}"))
        .load()
        .unwrap();
    let names = |offered: &ToolOffer| -> Vec<Arc<str>> {
        let web = offered
            .catalog
            .iter()
            .filter(|tool| tool.origin.toolbox.as_str() == "web");
        web.map(|tool| Arc::clone(&tool.origin.tool)).collect()
    };
    let without = offered(&config, &nothing()).await;
    assert_eq!(names(&without), ["weather".into()]);
    let [problem] = &*without.problems else {
        panic!("{:?}", without.problems);
    };
    assert!(
        problem.message.starts_with(
            "skipped tool `secret`: its header `x-key` cannot be sent: \
         the environment variable KEY_OF_MINE is not set; correct it in "
        ),
        "{}",
        problem.message
    );
    for bad in ["", "a\nb", "ключ"] {
        let environment = [("KEY_OF_MINE", bad)].into_iter().collect();
        let offered = offered(&config, &environment).await;
        assert_eq!(names(&offered), ["weather".into()], "{bad:?}");
        let told = &offered.problems[0].message;
        assert!(bad.is_empty() || !told.contains(bad), "{told}");
    }
    let environment = [("KEY_OF_MINE", "k-1234567")].into_iter().collect();
    let with = offered(&config, &environment).await;
    assert_eq!(names(&with), ["secret".into(), "weather".into()]);
    let shown = format!("{config:?} {with:?}");
    assert!(!shown.contains("1234567"), "{shown}");
}

#[tokio::test]
async fn what_a_found_file_says_of_web_apis_stands_apart() {
    let found = WEATHER.replace("api.example.com", "other.example");
    let world = World::new().with_user(WEATHER).with_project(&found);
    let apart = offered(&world.load().unwrap(), &nothing()).await;
    let mine = apart.catalog.tool("web__weather").unwrap();
    assert_eq!(
        (mine.safety, &mine.permission),
        (Safety::ReadOnly, &Permission::Allow)
    );
    let theirs = apart.catalog.tool("web-project__weather").unwrap();
    assert_eq!(theirs.safety, Safety::Unknown);
    assert!(matches!(theirs.permission, Permission::Deny(_)));
    // Of a trusted project they take the place of the user's.
    let trusted = format!("trusted_projects = ['~/project']\n{WEATHER}");
    let world = World::new().with_user(trusted).with_project(&found);
    let offered = offered(&world.load().unwrap(), &nothing()).await;
    assert!(offered.catalog.tool("web__weather").is_some());
    assert!(offered.catalog.tool("web-project__weather").is_none());
}

#[test]
fn a_found_file_gets_no_variables_allows_no_addresses_and_names_nothing_of_others() {
    let found = format!(
        "web.prefix = ''\nnetwork.allow_private = ['10.0.0.0/8']\n{WEATHER}[web.tools.weather.headers]\nx = '${{HOME}}'\n\
         [web.tools.other]\ndescription = 'x'\nurl = 'https://a.example/?q=${{HOME}}'\n"
    );
    let told = World::new().with_project(found).problems();
    assert_eq!(
        told,
        [
            "jackfield.toml:2: key `network.allow_private`: a file that was merely found allows no addresses",
            "jackfield.toml:1: key `web.prefix`: a file that was merely found does not name the tools of others",
            "jackfield.toml:9: key `web.tools.weather.headers.x`: a file that was merely found gets no variables",
            "jackfield.toml:12: key `web.tools.other.url`: a file that was merely found gets no variables",
        ]
    );
}

#[tokio::test]
async fn a_variable_of_an_address_is_filled_in_or_its_tool_left_out() {
    let keyed = WEATHER.replace("/{city}", "/{city}?appid=${KEY_OF_MINE}");
    let config = World::new().with_user(keyed).load().unwrap();
    for (held, why) in [
        ("", "the environment variable KEY_OF_MINE is "),
        (
            "a\tb",
            "the environment variable KEY_OF_MINE: it is too long",
        ),
    ] {
        let environment = [("KEY_OF_MINE", held)].into_iter().collect();
        let without = offered(&config, &environment).await;
        assert!(without.catalog.tool("web__weather").is_none());
        let told = &without.problems[0].message;
        let begins = format!("skipped tool `weather`: its `url` cannot be used: {why}");
        assert!(told.starts_with(&begins), "{told}");
        assert!(held.is_empty() || !told.contains(held), "{told}");
    }
    let environment = [("KEY_OF_MINE", "k-1234567")].into_iter().collect();
    let with = offered(&config, &environment).await;
    assert!(with.catalog.tool("web__weather").is_some());
    assert_eq!(with.problems, []);
    let shown = format!("{config:?} {with:?} {:?}", config.explain());
    assert!(!shown.contains("1234567"), "{shown}");
}

#[test]
fn what_is_shown_of_the_configuration_has_no_keys_in_it() {
    let text = format!(
        "{WEATHER}[web.tools.weather.headers]\nx-one = 'literal-secret'\nx-two = 'Key ${{KEY}}'\n"
    );
    let config = World::new().with_user(text).load().unwrap();
    let shown = format!("{:?} {config:?}", config.explain());
    assert!(!shown.contains("literal-secret"), "{shown}");
    assert!(format!("{:?}", config.explain()).contains("Key ${KEY}"));
    // Of two tools with one name, that which holds is shown, and nothing of the other.
    let other = "[web.tools.weather]\ndescription = 'Other'\nurl = 'https://other.example'\n";
    for (user, shown) in [
        ("", "Weather"),
        ("trusted_projects = ['~/project']\n", "Other"),
    ] {
        let world = World::new().with_user(format!("{user}{WEATHER}"));
        let explained = format!("{:?}", world.with_project(other).load().unwrap().explain());
        for (name, url) in [("Weather", "api.example.com"), ("Other", "other.example")] {
            assert_eq!(explained.contains(url), name == shown, "{explained}");
        }
        assert_eq!(explained.contains("read_only"), shown == "Weather");
    }
}
