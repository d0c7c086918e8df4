//! The top-level modules of a crate form no circle: read from the paths in its sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::tokens::{paths, test_modules, tokens};
use super::{Finding, Rule};
use crate::workspace::{Package, TextFile};

/// Checks every crate.
pub(crate) fn check(packages: &[Package], files: &[TextFile]) -> Vec<Finding> {
    let crates = packages
        .iter()
        .filter(|package| package.folder.starts_with("crates"));
    crates
        .flat_map(|package| {
            let sources = package.folder.join("src");
            let imports = Imports::read(&sources, files);
            let circles = imports.circles().into_iter();
            let findings = circles.map(|circle| {
                let problem = imports.problem(&package.name, &circle);
                CIRCLE.broken(&sources, 1, problem)
            });
            findings.collect::<Vec<_>>()
        })
        .collect()
}

/// The imports between the top-level modules of a crate: by module and imported module, the first file.
struct Imports<'a>(BTreeMap<&'a str, BTreeMap<&'a str, &'a Path>>);

impl<'a> Imports<'a> {
    /// Reads the files below this folder.
    fn read(sources: &Path, files: &'a [TextFile]) -> Self {
        let own: Vec<(&str, &Path, &str)> = files
            .iter()
            .filter(|file| file.is("rs"))
            .filter_map(|file| {
                let path = file.path.strip_prefix(sources).ok()?;
                Some((top_module(path)?, path, file.text.as_str()))
            })
            .collect();
        let mut imports: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        let names: BTreeSet<&str> = own.iter().map(|(module, ..)| *module).collect();
        for (module, path, text) in own {
            let imports = imports.entry(module).or_default();
            for name in imported(path, text) {
                if let Some(to) = names.get(name.as_str()).filter(|to| **to != module) {
                    imports.entry(*to).or_insert(path);
                }
            }
        }
        Self(imports)
    }

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

    /// The modules that a module imports, and those that these import, and so on.
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

    fn problem(&self, package: &str, circle: &BTreeSet<&str>) -> String {
        let modules: Vec<String> = circle.iter().map(|module| format!("`{module}`")).collect();
        let mut problem = format!("`{package}` has a circle of {}", modules.join(", "));
        for from in circle {
            let to = self.0.get(from).into_iter().flatten();
            for (to, file) in to.filter(|(to, _)| circle.contains(*to)) {
                problem.push_str(&format!("\n    `{from}` uses `{to}` in {}", file.display()));
            }
        }
        problem
    }
}

/// The top-level module that a file belongs to; none if it is the root of a crate.
fn top_module(path: &Path) -> Option<&str> {
    let first = Path::new(path.components().next()?.as_os_str());
    let name = first.file_stem()?.to_str()?;
    (!["bin", "lib", "main"].contains(&name)).then_some(name)
}

/// The names below the root of the crate that a file uses outside of its test modules.
fn imported(path: &Path, text: &str) -> Vec<String> {
    let all = tokens(text);
    let tests = test_modules(&all);
    let code = all.into_iter().enumerate();
    let code = code.filter(|(index, _)| !tests.iter().any(|module| module.contains(index)));
    let code: Vec<_> = code.map(|(_, token)| token).collect();
    // From a top-level module, the root is one module up.
    let up = vec!["super"; path.components().count()];
    [&["crate"][..], &up]
        .into_iter()
        .flat_map(|root| paths(&code, root))
        .filter_map(|(_, path)| path.first().map(|name| name.text.to_owned()))
        .collect()
}

const CIRCLE: Rule = Rule {
    name: "module-circle",
    mend: "move what both sides need into a module below them, pass a value in, or make a child of what only one parent uses",
};

#[cfg(test)]
mod tests {
    use super::check;
    use crate::workspace::{Package, TextFile};

    fn found(package: &str, files: &[(&str, &str)]) -> Vec<String> {
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
        let findings = check(&[package], &files);
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
            found("jackfield-a", &files),
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
        assert_eq!(found("jackfield-a", &files).len(), 2);
    }

    #[test]
    fn a_way_over_super_is_found() {
        let files = [
            ("a.rs", "use super::b::B;"),
            ("b.rs", "mod c;"),
            ("b/c.rs", "use super::super::a::A;"),
        ];
        assert_eq!(found("jackfield-a", &files).len(), 1);
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
            assert_eq!(found("jackfield-a", &files), [""; 0], "{files:?}");
        }
    }
}
