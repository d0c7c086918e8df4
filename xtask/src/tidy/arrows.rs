//! Who may depend on whom: the table that the design gives, against the manifests.

use super::{Finding, Rule};
use crate::workspace::{Dependency, Package};

/// Checks the arrows between our crates, and the outside crates that have one home.
pub(crate) fn check(packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == package.name) else {
            let problem = format!("`{}` has no row in the arrow table", package.name);
            findings.push(ARROW.broken(package.manifest_path(), 1, problem));
            continue;
        };
        for dependency in &package.dependencies {
            if let Some((rule, problem)) = objection(package, dependency, allowed) {
                let line = package.manifest_line(&dependency.name);
                findings.push(rule.broken(package.manifest_path(), line, problem));
            }
        }
    }
    findings
}

/// Checks that the table allows no more than is used.
pub(crate) fn unused(packages: &[Package]) -> Vec<Finding> {
    let mut problems = Vec::new();
    for package in packages {
        let row = ARROWS.iter().find(|(name, _)| *name == package.name);
        let allowed = row.map_or(&[][..], |(_, allowed)| allowed);
        for to in allowed.iter().filter(|to| **to != ANY && !package.uses(to)) {
            let name = &package.name;
            problems.push(format!("nothing uses the arrow from `{name}` to `{to}`"));
        }
        let idle = |(name, homes): &&(&str, &[&str])| {
            homes.contains(&package.name.as_str()) && !package.uses(name)
        };
        for (name, _) in HOMES.iter().filter(idle) {
            problems.push(format!(
                "`{}` is a home of `{name}`, and does not use it",
                package.name
            ));
        }
    }
    let finding = |problem| UNUSED.broken(TABLE, 1, problem);
    problems.into_iter().map(finding).collect()
}

fn objection(
    package: &Package,
    dependency: &Dependency,
    allowed: &[&str],
) -> Option<(Rule, String)> {
    let (from, to) = (&package.name, dependency.name.as_str());
    if dependency.ours {
        let open = allowed.contains(&to)
            || allowed.contains(&ANY)
            || (dependency.dev && FOR_TESTS.contains(&to));
        return (!open).then(|| (ARROW, format!("no arrow leads from `{from}` to `{to}`")));
    }
    if let Some((_, homes)) = HOMES.iter().find(|(name, _)| *name == to)
        && !homes.contains(&from.as_str())
    {
        let homes = homes.join(", ");
        return Some((
            HOME,
            format!("`{from}` uses `{to}`, which lives in {homes}"),
        ));
    }
    (from == "jackfield-domain" && !dependency.dev && !DOMAIN_MAY_USE.contains(&to))
        .then(|| (PURE, format!("the domain uses `{to}`")))
}

const ARROW: Rule = Rule {
    name: "arrow",
    mend: "go the way round that the table in xtask/src/tidy/arrows.rs leaves open; a new arrow needs an ADR",
};
const HOME: Rule = Rule {
    name: "one-home",
    mend: "use what the home crate offers; another home needs an ADR and a line in xtask/src/tidy/arrows.rs",
};
const UNUSED: Rule = Rule {
    name: "unused-arrow",
    mend: "take it out of the table",
};
const PURE: Rule = Rule {
    name: "pure-domain",
    mend: "the domain's dependencies are a literal list: do without, or move the code out",
};

const TABLE: &str = "xtask/src/tidy/arrows.rs";

/// What the domain may use.
const DOMAIN_MAY_USE: &[&str] = &["serde_json", "sha2", "thiserror"];

/// What every crate's tests may use.
const FOR_TESTS: &[&str] = &[
    "jackfield-dialect-rules",
    "jackfield-store-memory",
    "jackfield-testkit",
    "jackfield-testservers",
];

/// Stands for every crate of ours.
const ANY: &str = "*";

/// From a crate of ours to those that it may use; written by hand, from the design.
const ARROWS: &[(&str, &[&str])] = &[
    (
        "jackfield-assembly",
        &[
            "jackfield-domain",
            "jackfield-engine",
            "jackfield-oidc",
            "jackfield-ports",
            "jackfield-prices",
            "jackfield-provider-bedrock",
            "jackfield-provider-claude",
            "jackfield-provider-claude-code",
            "jackfield-provider-gemini",
            "jackfield-provider-kit",
            "jackfield-provider-ollama",
            "jackfield-provider-openai",
            "jackfield-store-memory",
            "jackfield-store-postgres",
            "jackfield-store-sqlite",
            "jackfield-tools-builtin",
            "jackfield-tools-mcp",
            "jackfield-tools-web",
        ],
    ),
    // Unpublished: what it costs, against floors of its own.
    ("jackfield-benches", &[ANY]),
    // Not a part of it: what to copy.
    (
        "jackfield-chat-bot",
        &[
            "jackfield-assembly",
            "jackfield-domain",
            "jackfield-engine",
            "jackfield-gateway",
        ],
    ),
    (
        "jackfield-cli",
        &[
            "jackfield-assembly",
            "jackfield-demo",
            "jackfield-domain",
            "jackfield-engine",
            "jackfield-export",
            "jackfield-import",
            "jackfield-mcp-server",
            "jackfield-prices",
            "jackfield-record",
            "jackfield-server",
            "jackfield-store-memory",
            "jackfield-tools-notes",
        ],
    ),
    (
        "jackfield-demo",
        &[
            "jackfield-dialect-claude",
            "jackfield-dialect-rules",
            "jackfield-domain",
        ],
    ),
    (
        "jackfield-dialect-claude",
        &["jackfield-dialect-kit", "jackfield-domain"],
    ),
    (
        "jackfield-dialect-gemini",
        &["jackfield-dialect-kit", "jackfield-domain"],
    ),
    ("jackfield-dialect-kit", &["jackfield-domain"]),
    (
        "jackfield-dialect-openai",
        &["jackfield-dialect-kit", "jackfield-domain"],
    ),
    (
        "jackfield-dialect-rules",
        &[
            "jackfield-dialect-claude",
            "jackfield-dialect-gemini",
            "jackfield-dialect-kit",
            "jackfield-dialect-openai",
            "jackfield-domain",
        ],
    ),
    ("jackfield-domain", &[]),
    ("jackfield-engine", &["jackfield-domain", "jackfield-ports"]),
    ("jackfield-export", &["jackfield-domain"]),
    (
        "jackfield-gateway",
        &[
            "jackfield-dialect-claude",
            "jackfield-dialect-gemini",
            "jackfield-dialect-kit",
            "jackfield-dialect-openai",
            "jackfield-domain",
            "jackfield-engine",
            "jackfield-ports",
        ],
    ),
    ("jackfield-guard", &[]),
    (
        "jackfield-http",
        &[
            "jackfield-dialect-claude",
            "jackfield-dialect-gemini",
            "jackfield-dialect-kit",
            "jackfield-dialect-openai",
            "jackfield-domain",
            "jackfield-engine",
            "jackfield-export",
            "jackfield-gateway",
            "jackfield-import",
            "jackfield-mcp-server",
            "jackfield-ports",
            "jackfield-record",
            "jackfield-web",
        ],
    ),
    // Not a part of it: what to copy.
    (
        "jackfield-journal-ledger",
        &[
            "jackfield-assembly",
            "jackfield-cli",
            "jackfield-domain",
            "jackfield-ports",
            "jackfield-record",
        ],
    ),
    ("jackfield-import", &["jackfield-domain"]),
    (
        "jackfield-mcp-server",
        &["jackfield-domain", "jackfield-engine"],
    ),
    (
        "jackfield-oidc",
        &["jackfield-ports", "jackfield-provider-kit"],
    ),
    ("jackfield-ports", &["jackfield-domain"]),
    ("jackfield-prices", &["jackfield-domain"]),
    // Not a part of it: what to copy.
    (
        "jackfield-provider-acme",
        &[
            "jackfield-assembly",
            "jackfield-cli",
            "jackfield-dialect-kit",
            "jackfield-domain",
            "jackfield-ports",
            "jackfield-provider-kit",
        ],
    ),
    // Its language goes one way, so it has no dialect beside it; Claude's is for what Claude takes wherever it runs.
    (
        "jackfield-provider-bedrock",
        &[
            "jackfield-dialect-claude",
            "jackfield-dialect-kit",
            "jackfield-domain",
            "jackfield-ports",
            "jackfield-provider-kit",
        ],
    ),
    (
        "jackfield-provider-claude",
        &[
            "jackfield-dialect-claude",
            "jackfield-domain",
            "jackfield-ports",
            "jackfield-provider-kit",
        ],
    ),
    (
        "jackfield-provider-claude-code",
        &[
            "jackfield-dialect-claude",
            "jackfield-dialect-kit",
            "jackfield-domain",
            "jackfield-guard",
            "jackfield-ports",
            "jackfield-provider-kit",
        ],
    ),
    (
        "jackfield-provider-gemini",
        &[
            "jackfield-dialect-gemini",
            "jackfield-domain",
            "jackfield-ports",
            "jackfield-provider-kit",
        ],
    ),
    (
        "jackfield-provider-kit",
        &[
            "jackfield-dialect-kit",
            "jackfield-domain",
            "jackfield-ports",
        ],
    ),
    // Its language goes one way, so it has no dialect beside it.
    (
        "jackfield-provider-ollama",
        &[
            "jackfield-dialect-kit",
            "jackfield-domain",
            "jackfield-ports",
            "jackfield-provider-kit",
        ],
    ),
    (
        "jackfield-provider-openai",
        &[
            "jackfield-dialect-openai",
            "jackfield-domain",
            "jackfield-ports",
            "jackfield-provider-kit",
        ],
    ),
    ("jackfield-record", &["jackfield-domain"]),
    (
        "jackfield-server",
        &[
            "jackfield-assembly",
            "jackfield-domain",
            "jackfield-engine",
            "jackfield-gateway",
            "jackfield-http",
            "jackfield-telemetry",
        ],
    ),
    (
        "jackfield-store-memory",
        &["jackfield-domain", "jackfield-ports", "jackfield-record"],
    ),
    (
        "jackfield-store-postgres",
        &["jackfield-domain", "jackfield-ports", "jackfield-record"],
    ),
    (
        "jackfield-store-sqlite",
        &["jackfield-domain", "jackfield-ports", "jackfield-record"],
    ),
    // The ports are for its tests: they run turns.
    (
        "jackfield-telemetry",
        &[
            "jackfield-domain",
            "jackfield-engine",
            "jackfield-export",
            "jackfield-gateway",
            "jackfield-ports",
            "jackfield-provider-kit",
        ],
    ),
    (
        "jackfield-testkit",
        &["jackfield-domain", "jackfield-ports", "jackfield-record"],
    ),
    (
        "jackfield-testservers",
        &[
            "jackfield-dialect-claude",
            "jackfield-dialect-gemini",
            "jackfield-dialect-rules",
            "jackfield-domain",
            "jackfield-testkit",
        ],
    ),
    ("jackfield-tests", &[ANY]),
    // Not a part of it: what to copy.
    (
        "jackfield-toolbox-shelf",
        &[
            "jackfield-assembly",
            "jackfield-cli",
            "jackfield-domain",
            "jackfield-engine",
            "jackfield-ports",
        ],
    ),
    (
        "jackfield-tools-builtin",
        &["jackfield-domain", "jackfield-ports"],
    ),
    (
        "jackfield-tools-mcp",
        &[
            "jackfield-domain",
            "jackfield-guard",
            "jackfield-ports",
            "jackfield-provider-kit",
        ],
    ),
    // The engine is for its tests: they call the tools as a model does.
    (
        "jackfield-tools-notes",
        &["jackfield-domain", "jackfield-engine", "jackfield-ports"],
    ),
    (
        "jackfield-tools-web",
        &[
            "jackfield-domain",
            "jackfield-ports",
            "jackfield-provider-kit",
        ],
    ),
    ("jackfield-web", &[]),
    ("xtask", &["jackfield-prices"]),
];

/// Outside crates with one home, and where it is.
const HOMES: &[(&str, &[&str])] = &[
    ("axum", &["jackfield-http"]),
    ("clap", &["jackfield-cli", "xtask"]),
    ("hyper", SERVERS),
    ("hyper-util", SERVERS),
    ("jiff", &["jackfield-cli", "jackfield-tools-builtin"]),
    ("jsonschema", &["jackfield-engine"]),
    ("jsonwebtoken", &["jackfield-oidc"]),
    ("num", &["jackfield-tools-builtin"]),
    (
        "opentelemetry-proto",
        &["jackfield-telemetry", "jackfield-tests"],
    ),
    ("prometheus-client", &["jackfield-telemetry"]),
    ("reqwest", &["jackfield-provider-kit"]),
    (
        "rmcp",
        &[
            "jackfield-benches",
            "jackfield-mcp-server",
            "jackfield-tools-mcp",
        ],
    ),
    (
        "rusqlite",
        &[
            "jackfield-benches",
            "jackfield-store-sqlite",
            "jackfield-tools-notes",
        ],
    ),
    ("saphyr-parser", &["jackfield-import"]),
    ("tokio-postgres", &["jackfield-store-postgres"]),
];

/// The crates that serve below axum; the gateway's own connections are among them.
const SERVERS: &[&str] = &["jackfield-benches", "jackfield-demo", "jackfield-http"];

#[cfg(test)]
mod tests {
    use super::{check, unused};
    use crate::workspace::{Dependency, Package};

    fn package(name: &str, dependencies: &[(&str, bool)]) -> Package {
        let dependency = |(name, dev): &(&str, bool)| Dependency {
            name: (*name).to_owned(),
            dev: *dev,
            requirement: "*".to_owned(),
            ours: name.starts_with("jackfield-"),
        };
        Package {
            name: name.to_owned(),
            manifest: "[package]\n\n[dependencies]\nserde.workspace = true\n".to_owned(),
            dependencies: dependencies.iter().map(dependency).collect(),
            ..Package::default()
        }
    }

    fn rules(name: &str, dependencies: &[(&str, bool)]) -> Vec<&'static str> {
        let findings = check(&[package(name, dependencies)]);
        findings.iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn an_arrow_that_the_table_lacks_is_found() {
        assert_eq!(
            rules("jackfield-ports", &[("jackfield-engine", false)]),
            ["arrow"]
        );
        assert_eq!(
            rules("jackfield-domain", &[("jackfield-ports", true)]),
            ["arrow"]
        );
        assert_eq!(
            rules("jackfield-engine", &[("jackfield-testkit", false)]),
            ["arrow"]
        );
        assert!(rules("jackfield-engine", &[("jackfield-ports", false)]).is_empty());
    }

    #[test]
    fn an_arrow_that_nothing_uses_is_found() {
        let idle = unused(&[package("jackfield-record", &[])]);
        assert_eq!(idle.len(), 1, "{idle:?}");
        assert!(unused(&[package("jackfield-record", &[("jackfield-domain", false)])]).is_empty());
        let home = unused(&[package("jackfield-demo", &[])]);
        assert!(
            home.iter()
                .any(|found| found.problem.contains("home of `hyper`"))
        );
    }

    #[test]
    fn a_crate_without_a_row_is_found() {
        assert_eq!(rules("jackfield-extra", &[]), ["arrow"]);
    }

    #[test]
    fn tests_may_use_what_is_for_tests() {
        assert!(rules("jackfield-domain", &[("jackfield-testkit", true)]).is_empty());
        assert!(rules("jackfield-engine", &[("jackfield-store-memory", true)]).is_empty());
    }

    #[test]
    fn an_outside_crate_away_from_home_is_found() {
        assert_eq!(
            rules("jackfield-engine", &[("reqwest", false)]),
            ["one-home"]
        );
        assert_eq!(rules("jackfield-tests", &[("reqwest", true)]), ["one-home"]);
        assert!(rules("jackfield-provider-kit", &[("reqwest", false)]).is_empty());
    }

    #[test]
    fn a_new_dependency_of_the_domain_is_found_at_its_line() {
        let findings = check(&[package("jackfield-domain", &[("serde", false)])]);
        let found: Vec<_> = findings.iter().map(|f| (f.rule, f.line)).collect();
        assert_eq!(found, [("pure-domain", 4)]);
        assert!(rules("jackfield-domain", &[("proptest", true), ("sha2", false)]).is_empty());
    }
}
