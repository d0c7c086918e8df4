//! Every key that can be written is in docs/configuration.md, and no other.

use jackfield_assembly::{Environment, Registry};

use crate::world::World;

const PAGE: &str = include_str!("../../../../docs/configuration.md");

#[test]
fn every_key_is_documented() {
    let keys = jackfield_assembly::keys();
    assert!(keys.len() > 40, "{keys:?}");
    // An assistant's own tables have the keys of the tables of these names.
    let of_all = |key: &str| {
        let key = key.strip_prefix("assistants.NAME.");
        key.filter(|key| key.contains('.')).map(str::to_owned)
    };
    let is_named = |key: &str| PAGE.contains(&format!("\n| `{key}` |"));
    let missing: Vec<String> = keys
        .into_iter()
        .filter(|key| !is_named(&of_all(key).unwrap_or_else(|| key.clone())))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/configuration.md does not name {missing:?}"
    );
}

#[test]
fn every_documented_key_can_be_written() {
    let keys = jackfield_assembly::keys();
    let rows = PAGE
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let documented = rows.map(|(key, _)| key).filter(|key| key.contains('.'));
    // Names that are free are asked of nobody.
    let gone: Vec<&str> = documented
        .filter(|key| !key.ends_with(".NAME") && !keys.iter().any(|known| known == key))
        .collect();
    assert!(gone.is_empty(), "docs/configuration.md names {gone:?}");
}

#[test]
fn every_quirk_is_documented_with_what_it_takes() {
    let of_bedrock = format!(
        "{:#?}",
        jackfield_provider_bedrock::profile::ModelProfile::UNKNOWN
    );
    for (kind, profile) in [
        // What Claude takes has no quirk of its own.
        ("bedrock", of_bedrock.replace("    claude: None,\n", "")),
        (
            "claude",
            format!("{:#?}", jackfield_provider_claude::config::Profile::NEWEST),
        ),
        (
            "gemini",
            format!("{:#?}", jackfield_provider_gemini::config::Profile::NEWEST),
        ),
        (
            "openai",
            format!("{:#?}", jackfield_provider_openai::profile::Profile::OPENAI),
        ),
    ] {
        let (_, section) = PAGE
            .split_once(&format!("\n#### Quirks of `{kind}`\n"))
            .unwrap();
        let section = section.split("\n#").next().unwrap();
        let mut documented: Vec<&str> = Vec::new();
        for row in section.lines().filter_map(|line| line.strip_prefix("| `")) {
            let (name, rest) = row.split_once("` |").unwrap();
            documented.push(name);
            // Each value of the second column, as it stands there; a field without values takes a flag.
            let values = rest.trim_start().split("| ").next().unwrap();
            let mut values: Vec<&str> = values.split('`').skip(1).step_by(2).collect();
            if values.is_empty() {
                values = vec!["true", "false"];
            }
            for value in values {
                let text = format!("[providers.{kind}.quirks]\n{name} = {value}");
                let world = World::new().with_user(&text);
                let environment = Environment::from_iter([("AWS_REGION", "us-east-1")]);
                let assembled = Registry::default().assemble(&world.load().unwrap(), &environment);
                assert!(assembled.is_ok(), "{text}: {assembled:?}");
            }
        }
        let fields = profile.lines().filter_map(|line| line.strip_prefix("    "));
        let mut fields: Vec<&str> = fields
            .filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()))
            .filter_map(|line| Some(line.split_once(':')?.0))
            // One is `providers.NAME.cache`, and the model says the other.
            .filter(|name| !matches!(*name, "cache" | "cache_minimum"))
            .collect();
        fields.sort_unstable();
        assert_eq!(documented, fields, "quirks of {kind}");
    }
}
