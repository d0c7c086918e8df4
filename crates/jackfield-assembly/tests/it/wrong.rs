//! What is wrong is told with file, line and key, all of it at once.

use jackfield_assembly::{ConfigError, Flags};

use crate::world::{World, lines};

/// Checks what is said of this text as the user's own file.
fn check(text: &str, expected: &[&str]) {
    let found = World::new().with_user(text).problems();
    let expected: Vec<String> = expected
        .iter()
        .map(|line| format!("~/.config/jackfield/jackfield.toml:{line}"))
        .collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn a_server_in_the_wrong_file_is_told_where_servers_are() {
    for text in [
        "[mcp.weather]\ncommand = 'x'",
        "[mcp_servers.weather]\ncommand = 'x'",
        "[mcpServers.weather]\ncommand = 'x'",
    ] {
        let world = World::new().with_user(text);
        let Err(ConfigError::Wrong(problems)) = world.load() else {
            panic!("{text}");
        };
        let help = problems[0].help.as_deref().unwrap_or_default();
        assert_eq!(problems[0].message, "unknown", "{text}");
        assert!(
            help.contains("`mcp-servers.json` beside this one"),
            "{help}"
        );
    }
    check(
        "[mcp]\nstart_wat = '5s'",
        &["2: key `mcp.start_wat`: unknown; did you mean `start_wait`?"],
    );
}

#[test]
fn a_name_that_no_tag_has_is_told_with_its_form() {
    check(
        "[tags]\nnames = ['team', 'Cost Centre']",
        &[
            "2: key `tags.names`: `Cost Centre` is no name of a tag, which has 1 to 32 of the characters a to z, 0 to 9, `_`, `.` and `-`",
        ],
    );
    check(
        "tags.names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']",
        &["1: key `tags.names`: there are more than 8 names of tags"],
    );
}

#[test]
fn an_unknown_key_is_told_with_the_nearest_name() {
    check(
        "\n[limits]\nroundz = 3",
        &["3: key `limits.roundz`: unknown; did you mean `rounds`?"],
    );
    check(
        "[limts]\nrounds = 3",
        &["1: key `limts`: unknown; did you mean `limits`?"],
    );
    check(
        "modle = 'claude/x'",
        &["1: key `modle`: unknown; did you mean `model`?"],
    );
    check(
        "[settings]\n\"max tokens\" = 3",
        &["2: key `settings.\"max tokens\"`: unknown; did you mean `max_output_tokens`?"],
    );
    check(
        "[budget]\nxyz = 1",
        &["2: key `budget.xyz`: unknown; there are: active, cost, currency, tokens, unpriced"],
    );
}

#[test]
fn a_value_that_cannot_be_is_told_with_its_key() {
    for (text, expected) in [
        (
            "model = 3",
            "1: key `model`: a text in quotes was expected, not an integer",
        ),
        ("model = ''", "1: key `model`: this must not be empty"),
        (
            "limits = 3",
            "1: key `limits`: a table was expected, not an integer",
        ),
        (
            "limits.rounds = 0",
            "1: key `limits.rounds`: this must be at least 1",
        ),
        (
            "limits.rounds = -1",
            "1: key `limits.rounds`: -1 is out of range",
        ),
        (
            "limits.rounds = 1.5",
            "1: key `limits.rounds`: a whole number was expected, not a float",
        ),
        (
            "limits.tool_call = '30 parsecs'",
            "1: key `limits.tool_call`: `30 parsecs` is not a length of time such as \"30s\" or \"2m\": \
             unknown time unit \"parsecs\", supported units: ns, us/µs, ms, sec, min, hours, days, weeks, months, years (and few variations)",
        ),
        (
            "limits.tool_call = 30",
            "1: key `limits.tool_call`: a length of time such as \"30s\" was expected, not an integer",
        ),
        (
            "limits.tool_call = '0s'",
            "1: key `limits.tool_call`: this must be longer than nothing",
        ),
        (
            "limits.model_idle = '101years'",
            "1: key `limits.model_idle`: `101years` is longer than a hundred years",
        ),
        (
            "limits.shown = 'big'",
            "1: key `limits.shown`: `big` is not a size such as \"256KiB\" or \"4MB\"",
        ),
        (
            "limits.on_limit = 'eror'",
            "1: key `limits.on_limit`: `eror` is unknown; did you mean `error`?",
        ),
        (
            "settings.temperature = 3.0",
            "1: key `settings.temperature`: 3 is not between 0 and 2",
        ),
        (
            "settings.temperature = nan",
            "1: key `settings.temperature`: NaN is not between 0 and 2",
        ),
        (
            "settings.stop = 'END'",
            "1: key `settings.stop`: a list of texts was expected, not a string",
        ),
        (
            "settings.response_format = 'jsonobject'",
            "1: key `settings.response_format`: `jsonobject` is unknown; did you mean `json_object`?",
        ),
        (
            "settings.response_format = { shema = {} }",
            "1: key `settings.response_format`: `shema` is unknown; did you mean `schema`?",
        ),
        (
            "settings.response_format = { name = 'city' }",
            "1: key `settings.response_format`: `schema` is a table, or a text with JSON",
        ),
        (
            "settings.response_format = { schema = '[]' }",
            "1: key `settings.response_format`: `schema` is no JSON object",
        ),
        (
            "settings.response_format = { schema = {}, name = 'a city' }",
            "1: key `settings.response_format`: `name` has at most 64 letters, digits, `_` and `-`",
        ),
        (
            "settings.response_format = { schema = {}, strict = 'yes' }",
            "1: key `settings.response_format`: `strict` is true or false",
        ),
        (
            "settings.strict = 'meanings'",
            "1: key `settings.strict`: `meanings` is unknown; did you mean `meaning`?",
        ),
        (
            "settings.strict = true",
            "1: key `settings.strict`: `true` does not say about what: meaning, quality, cost or cosmetic",
        ),
        (
            "settings.parallel_calls = 'yes'",
            "1: key `settings.parallel_calls`: true or false was expected, not a string",
        ),
        (
            "policy.tools.'a/*' = 'alow'",
            "1: key `policy.tools.\"a/*\"`: `alow` is unknown; did you mean `allow`?",
        ),
        (
            "aliases.a = 'b'",
            "1: key `aliases.a`: `b` is not of the form `provider/model`",
        ),
        (
            "aliases.a = 'b/c'",
            "1: key `aliases.a`: there is no provider `b`; there are: cerebras, claude, deepseek, fireworks, gemini, groq, huggingface, llama-cpp, lm-studio, mistral, ollama, openai, openrouter, sglang, together, vllm, xai",
        ),
        (
            "model = 'opus'",
            "1: key `model`: `opus` is neither an alias nor of the form `provider/model`",
        ),
        (
            "model = 'claud/opus'",
            "1: key `model`: there is no provider `claud`; did you mean `claude`?",
        ),
        (
            "model = 'qick'\naliases.quick = 'claude/a'",
            "1: key `model`: `qick` is neither an alias nor of the form `provider/model`; did you mean `quick`?",
        ),
        (
            "providers.'a/b'.kind = 'claude'",
            "1: key `providers.\"a/b\"`: the name of a provider is not empty and has no `/`",
        ),
        (
            "providers.agents.kind = 'claude'",
            "1: key `providers.agents`: `agents` is the name of the permission questions of agents",
        ),
    ] {
        check(text, &[expected]);
    }
}

#[test]
fn a_key_in_the_file_is_refused_and_not_repeated() {
    let world = World::new().with_user("[providers.claude]\napi_key = 'sk-very-secret'");
    let error = world.load().unwrap_err();
    assert_eq!(
        lines(&error, &world.home()),
        [
            "~/.config/jackfield/jackfield.toml:2: key `providers.claude.api_key`: \
          a key does not belong in a file that is shown, copied and committed"
        ]
    );
    let ConfigError::Wrong(problems) = &error else {
        panic!("{error}")
    };
    assert!(problems[0].help.as_ref().unwrap().contains("api_key_env"));
    assert!(!format!("{error:?}").contains("very-secret"));
}

#[test]
fn a_key_in_place_of_its_variables_name_is_refused_and_not_repeated() {
    let world = World::new().with_user("[providers.claude]\napi_key_env = 'sk-very-secret'");
    let error = world.load().unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the name of an environment variable"),
        "{error}"
    );
    assert!(!format!("{error:?}").contains("very-secret"));
}

#[test]
fn what_is_no_toml_is_told_with_its_line() {
    let found = World::new()
        .with_user("model = 'claude/a'\n[limits\nrounds = 3\nx = = 2\n")
        .problems();
    assert!(
        found[0].starts_with("~/.config/jackfield/jackfield.toml:2: this is not TOML: "),
        "{found:?}"
    );
    assert!(
        found
            .iter()
            .any(|line| line.contains("toml:4: this is not TOML: ")),
        "{found:?}"
    );
    let twice = World::new()
        .with_user("model = 'claude/a'\nmodel = 'claude/b'\n")
        .problems();
    assert!(
        twice[0].contains("toml:2: this is not TOML: duplicate key"),
        "{twice:?}"
    );
}

#[test]
fn what_is_no_utf_8_is_told_with_its_line_and_byte() {
    let found = World::new()
        .with_user(b"model = 'claude/a'\n# caf\xe9\n")
        .problems();
    assert_eq!(
        found,
        ["~/.config/jackfield/jackfield.toml:2: this is not UTF-8 from byte 24 on"]
    );
}

#[test]
fn a_file_that_is_too_large_to_be_meant_is_not_read() {
    let world = World::new().with_user("#".repeat((1 << 20) + 1));
    let error = world.load().unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "it is larger than 1048576 bytes");
    World::new().with_user("#".repeat(1 << 20)).load().unwrap();
}

#[test]
fn everything_is_told_at_once_and_in_the_order_of_the_files() {
    let world = World::new()
        .with_user("[limits]\nroundz = 3\nrepeats = 0\n")
        .with_project("[budget]\ntoken = 3\n");
    let error = world.load().unwrap_err();
    assert_eq!(
        lines(&error, &world.home()),
        [
            "~/.config/jackfield/jackfield.toml:3: key `limits.repeats`: this must be at least 1",
            "~/.config/jackfield/jackfield.toml:2: key `limits.roundz`: unknown; did you mean `rounds`?",
            "jackfield.toml:2: key `budget.token`: unknown; did you mean `tokens`?",
        ]
    );
    assert!(
        error
            .to_string()
            .ends_with("this must be at least 1 (and 2 more)"),
        "{error}"
    );
}

#[test]
fn a_wrong_flag_and_a_wrong_variable_are_told_by_their_names() {
    let mut world = World::new();
    world.variables = vec![("JACKFIELD_MODEL", "gpt")];
    assert_eq!(
        world.problems(),
        ["JACKFIELD_MODEL: `gpt` is neither an alias nor of the form `provider/model`"]
    );
    let flags = Flags {
        model: Some("nobody/x".to_owned()),
        ..Flags::default()
    };
    let error = world.load_with(&flags).unwrap_err();
    assert_eq!(
        error.to_string(),
        "--model: there is no provider `nobody`; \
             there are: cerebras, claude, deepseek, fireworks, gemini, groq, huggingface, llama-cpp, lm-studio, mistral, ollama, openai, openrouter, sglang, together, vllm, xai"
    );
}

#[test]
fn an_endpoint_that_must_not_be_open_is_told() {
    for (endpoint, expected) in [
        (
            "embeddings",
            "`embeddings` is no endpoint: one is `/v1/` and names, such as `/v1/embeddings`, or all below a name, \
             such as `/v1/images/*`",
        ),
        (
            "/v1/chat/completions",
            "`/v1/chat/completions` is an endpoint of the gateway itself",
        ),
        (
            "/v1/responses/*",
            "`/v1/responses/*` is an endpoint of the gateway itself",
        ),
        (
            "/v1/files/x/*",
            "data of the account lie at `/v1/files`, which all clients would share: name `/v1/files/x/*` in \
             `endpoints` of a token",
        ),
        (
            "/v1/audio/*",
            "data of the account lie at `/v1/audio/voice_consents`, which all clients would share: name \
             `/v1/audio/*` in `endpoints` of a token",
        ),
    ] {
        check(
            &format!("[serve]\nendpoints = ['{endpoint}']"),
            &[&format!("2: key `serve.endpoints`: {expected}")],
        );
    }
    for endpoint in [
        "", "/v1", "/v1/", "/v1/*/x", "/v1/../x", "/v2/x", "/v1/x/", "/v1/a b", "/v1/x*",
    ] {
        let text = format!("[serve.tokens.a]\nenv = 'A'\nendpoints.'{endpoint}' = 'openai'");
        let problems = World::new().with_user(&text).problems();
        assert_eq!(problems.len(), 1, "{endpoint}: {problems:?}");
        assert!(problems[0].contains("is no endpoint"), "{problems:?}");
    }
}
