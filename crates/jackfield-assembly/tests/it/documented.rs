//! Every key that can be written is in docs/configuration.md, and no other.

const PAGE: &str = include_str!("../../../../docs/configuration.md");

#[test]
fn every_key_is_documented() {
    let keys = jackfield_assembly::keys();
    assert!(keys.len() > 40, "{keys:?}");
    let missing: Vec<String> = keys
        .into_iter()
        .filter(|key| !PAGE.contains(&format!("\n| `{key}` |")))
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
