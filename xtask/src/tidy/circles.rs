//! The modules of a crate form no circle: those at its root, and those inside of each other module.
//!
//! A module stands for all that is inside of it. What it uses of its own children, and they of it, is no arrow.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::module_arrows::{self, Arrow};
use super::{Finding, Rule};
use crate::workspace::{Package, TextFile};

/// Checks every crate, and that the list has no circle that is gone.
pub(crate) fn check(packages: &[Package], files: &[TextFile]) -> Vec<Finding> {
    of(packages, files, OLD)
}

fn of(packages: &[Package], files: &[TextFile], old: &[(&str, &str)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut gone = old.to_vec();
    let crates = packages
        .iter()
        .filter(|package| package.folder.starts_with("crates"));
    for package in crates {
        let sources = package.folder.join("src");
        for (folder, level) in levels(&module_arrows::read(&sources, files)) {
            let place = below(package.name.as_ref(), &folder);
            let place = place.to_string_lossy();
            for circle in level.circles() {
                let listed = |(at, modules): &(&str, &str)| {
                    *at == place && modules.split(' ').eq(circle.iter().copied())
                };
                if let Some(row) = gone.iter().position(listed) {
                    gone.swap_remove(row);
                } else {
                    let problem = level.problem(&place, &circle);
                    findings.push(CIRCLE.broken(below(&sources, &folder), 1, problem));
                }
            }
        }
    }
    findings.extend(gone.into_iter().map(|(place, modules)| {
        let problem = format!("`{place}` has no circle of {modules} any more");
        CIRCLE.broken(LIST, 1, problem)
    }));
    findings
}

/// A folder that may be the root, inside of another one.
fn below(parent: &Path, folder: &Path) -> PathBuf {
    parent.iter().chain(folder).collect()
}

/// The arrows between the modules of each folder.
fn levels(arrows: &[Arrow]) -> BTreeMap<PathBuf, Level<'_>> {
    let mut levels: BTreeMap<PathBuf, Level<'_>> = BTreeMap::new();
    for arrow in arrows {
        let mut folder = PathBuf::new();
        for (from, to) in arrow.from.iter().zip(&arrow.to) {
            if let (Some(from), Some(to), true) = (from.to_str(), to.to_str(), from != to) {
                let level = levels.entry(folder).or_default();
                let all = level.0.entry(from).or_default();
                all.entry(to).or_insert(arrow);
                break;
            }
            folder.push(from);
        }
    }
    levels
}

/// The first arrow from each module to each.
#[derive(Default)]
struct Level<'a>(BTreeMap<&'a str, BTreeMap<&'a str, &'a Arrow>>);

impl<'a> Level<'a> {
    /// The circles: the sets of modules of which each reaches every other one.
    fn circles(&self) -> Vec<BTreeSet<&'a str>> {
        let reached: BTreeMap<_, _> = self
            .0
            .keys()
            .map(|from| (*from, self.reach(from)))
            .collect();
        let mut circles = Vec::new();
        for (from, to) in &reached {
            let back = |module: &&&str| reached.get(**module).is_some_and(|to| to.contains(from));
            let circle: BTreeSet<&str> = to.iter().filter(back).copied().collect();
            if !circle.is_empty() && !circles.contains(&circle) {
                circles.push(circle);
            }
        }
        circles
    }

    /// The modules that a module uses, and those that these use, and so on.
    fn reach(&self, from: &str) -> BTreeSet<&'a str> {
        let mut reached = BTreeSet::new();
        let mut open = vec![from];
        while let Some(module) = open.pop() {
            for to in self.0.get(module).into_iter().flat_map(BTreeMap::keys) {
                if reached.insert(*to) {
                    open.push(to);
                }
            }
        }
        reached
    }

    fn problem(&self, place: &str, circle: &BTreeSet<&str>) -> String {
        let modules: Vec<String> = circle.iter().map(|module| format!("`{module}`")).collect();
        let mut problem = format!("`{place}` has a circle of {}", modules.join(", "));
        for from in circle {
            let to = self.0.get(from).into_iter().flatten();
            for (to, arrow) in to.filter(|(to, _)| circle.contains(*to)) {
                let method = arrow.method.iter().map(|method| format!(" (`{method}`)"));
                let method: String = method.collect();
                let file = arrow.from.with_extension("rs");
                problem.push_str(&format!(
                    "\n    `{from}` uses `{to}`{method} in {}",
                    file.display()
                ));
            }
        }
        problem
    }
}

const CIRCLE: Rule = Rule {
    name: "module-circle",
    mend: "move what both sides need into a module below them, pass a value in, or make a child of what only one parent uses; \
           the list in xtask/src/tidy/circles.rs has the old ones, and only shrinks",
};

const LIST: &str = "xtask/src/tidy/circles.rs";

/// The circles that are older than the rule: where, and of which modules.
const OLD: &[(&str, &str)] = &[
    (
        "jackfield-assembly",
        "config explain own_servers preferred servers",
    ),
    ("jackfield-assembly/file", "oidc serve"),
    (
        "jackfield-cli/commands",
        "ask chat config context doctor gateway_doctor import init mcp routes session_journal sessions tools",
    ),
    (
        "jackfield-cli/commands",
        "directory own_servers provider_keys",
    ),
    ("jackfield-cli/render", "spent words"),
    ("jackfield-demo/brain", "notes small_talk words"),
    ("jackfield-demo/server", "messages routes"),
    (
        "jackfield-dialect-claude/request",
        "blocks conversation outcomes",
    ),
    (
        "jackfield-dialect-claude/request/incoming",
        "blocks server_calls",
    ),
    (
        "jackfield-dialect-gemini/request",
        "blocks conversation outcomes",
    ),
    ("jackfield-dialect-kit/text_tools", "formats opener"),
    ("jackfield-dialect-openai/chat", "reply request stream"),
    (
        "jackfield-dialect-openai/chat/request",
        "content conversation",
    ),
    (
        "jackfield-dialect-openai/chat/request/incoming",
        "content messages",
    ),
    ("jackfield-dialect-openai/responses", "request serve stream"),
    (
        "jackfield-dialect-openai/responses/request",
        "conversation media",
    ),
    (
        "jackfield-dialect-openai/responses/request",
        "tool_search tools",
    ),
    (
        "jackfield-dialect-openai/responses/request/incoming",
        "items parts server_calls",
    ),
    (
        "jackfield-dialect-openai/responses/stream",
        "block_writer thinking",
    ),
    (
        "jackfield-dialect-openai/responses/stream",
        "item_reader message reasoning",
    ),
    ("jackfield-dialect-rules/openai", "form tools"),
    ("jackfield-domain/replay", "ended outcome rebuild"),
    (
        "jackfield-domain/tool_loop",
        "approvals calls cancel compaction decider pauses recover replies rounds targets waits",
    ),
    ("jackfield-engine", "background clients engine resume send"),
    (
        "jackfield-engine",
        "budgets directory own_toolboxes secrets state",
    ),
    ("jackfield-engine/directory", "own_servers sign_ins"),
    ("jackfield-engine/validate", "patterns schema"),
    ("jackfield-gateway", "clients sign_in"),
    ("jackfield-gateway", "gateway models routes"),
    (
        "jackfield-http/api",
        "answer approval_events approvals budgets context directory doctor document events extract keys \
         listing login own_servers provider_keys resource_events sessions sign_in sign_ins timeline \
         turns ui usage",
    ),
    (
        "jackfield-import/litellm",
        "deployment groups settings weights",
    ),
    ("jackfield-mcp-server", "handler tool_call"),
    ("jackfield-provider-bedrock/request", "blocks conversation"),
    ("jackfield-provider-gemini/google", "assertion issuer"),
    ("jackfield-provider-ollama/request", "content conversation"),
    (
        "jackfield-testkit/arb",
        "fact request setup target tool wait",
    ),
    ("jackfield-testkit/contract/toolbox", "scene threads"),
    ("jackfield-tools-mcp/http", "exchange stream"),
];

#[cfg(test)]
mod tests {
    use super::of;
    use crate::workspace::{Package, TextFile};

    fn found(files: &[(&str, &str)], old: &[(&str, &str)]) -> Vec<String> {
        let package = "jackfield-a";
        let folder = std::path::PathBuf::from(format!("crates/{package}"));
        let files: Vec<TextFile> = files
            .iter()
            .map(|(path, text)| TextFile {
                path: folder.join("src").join(path),
                text: (*text).to_owned(),
            })
            .collect();
        let package = Package {
            name: package.to_owned(),
            folder,
            ..Package::default()
        };
        let findings = of(&[package], &files, old);
        findings.into_iter().map(|found| found.problem).collect()
    }

    #[test]
    fn a_circle_is_found_with_a_file_for_each_edge() {
        let files = [
            ("a.rs", "use crate::b::B;\nuse crate::d;"),
            ("b/c.rs", "fn f() -> crate::c::C {}"),
            ("c.rs", "use crate::{\n    a::{self, A},\n    lone::L,\n};"),
            ("d.rs", "use crate::lone;"),
            ("lone.rs", ""),
        ];
        assert_eq!(
            found(&files, &[]),
            [
                "`jackfield-a` has a circle of `a`, `b`, `c`\n    `a` uses `b` in a.rs\n    \
                 `b` uses `c` in b/c.rs\n    `c` uses `a` in c.rs"
            ]
        );
    }

    #[test]
    fn each_circle_of_a_crate_is_found() {
        let files = [
            ("a.rs", "use crate::b;"),
            ("b.rs", "use crate::a;"),
            ("c.rs", "use crate::{a, d};"),
            ("d.rs", "use crate::c;"),
        ];
        assert_eq!(found(&files, &[]).len(), 2);
    }

    #[test]
    fn a_way_over_super_is_found() {
        let files = [
            ("a.rs", "use super::b::B;"),
            ("b.rs", "mod c;"),
            ("b/c.rs", "use super::super::a::A;"),
        ];
        assert_eq!(found(&files, &[]).len(), 1);
    }

    #[test]
    fn what_forms_no_circle_is_left_alone() {
        for files in [
            // One module with its children.
            [("a.rs", "use self::b::B;"), ("a/b.rs", "use crate::a::A;")],
            [("a.rs", "use crate::b::B;"), ("b.rs", "use super::B;")],
            // The root may use every module, and every module the root.
            [
                ("lib.rs", "use crate::a::A;"),
                ("a.rs", "use crate::{A, lib};"),
            ],
            // Comments and tests.
            [
                ("a.rs", "use crate::b;"),
                (
                    "b.rs",
                    "//! See [`A`](crate::a::A).\n// crate::a\nfn f() {}",
                ),
            ],
            [
                ("a.rs", "use crate::b;"),
                ("b.rs", "#[cfg(test)]\nmod tests {\n    use crate::a;\n}"),
            ],
            // Another crate's module of the same name.
            [("a.rs", "use crate::b;"), ("b.rs", "use other::a;")],
        ] {
            assert_eq!(found(&files, &[]), [""; 0], "{files:?}");
        }
    }

    #[test]
    fn a_circle_inside_a_module_is_found() {
        let files = [
            ("a.rs", "mod b;\nmod c;\npub use self::b::B;"),
            ("a/b.rs", "use super::{A, c::C};"),
            ("a/c.rs", "mod d;"),
            ("a/c/d.rs", "use crate::a::b::B;"),
        ];
        assert_eq!(
            found(&files, &[]),
            [
                "`jackfield-a/a` has a circle of `b`, `c`\n    `b` uses `c` in a/b.rs\n    \
                 `c` uses `b` in a/c/d.rs"
            ]
        );
    }

    #[test]
    fn a_circle_over_methods_is_found() {
        let files = [
            ("a.rs", "impl T { fn a(&self) { self.b() } }"),
            ("b.rs", "impl T { fn b(&self) { self.a() } }"),
        ];
        let found = found(&files, &[]);
        assert!(
            found[0].contains("\n    `a` uses `b` (`T::b`) in a.rs"),
            "{found:?}"
        );
    }

    #[test]
    fn a_listed_circle_is_left_alone_as_long_as_it_is_there() {
        let circle = [("a.rs", "use crate::b;"), ("b.rs", "use crate::a;")];
        let listed = [("jackfield-a", "a b")];
        assert_eq!(found(&circle, &listed), [""; 0]);
        assert_eq!(
            found(&circle[..1], &listed),
            ["`jackfield-a` has no circle of a b any more"]
        );
        let larger = [("jackfield-a", "a b c")];
        assert_eq!(found(&circle, &larger).len(), 2);
    }
}
