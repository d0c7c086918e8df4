//! What the modules of a crate use of each other: read from the paths in its files, and from calls of methods that
//! another file adds to a type.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::tokens::{Token, after_closing, is_path, paths, test_modules, text, tokens};
use crate::workspace::TextFile;

/// That a module uses another one; none is inside the other.
#[derive(Clone, Debug)]
pub(crate) struct Arrow {
    /// Below the root of the crate, as `commands/ask`.
    pub(crate) from: PathBuf,
    pub(crate) to: PathBuf,
    /// The method, as `Engine::send`; none for a path.
    pub(crate) method: Option<String>,
}

/// Returns the arrows between the files below this folder, without those of test modules and of the roots of crates.
pub(crate) fn read(sources: &Path, files: &[TextFile]) -> Vec<Arrow> {
    let modules = modules(sources, files);
    // A folder may be a module that has no file.
    let known: BTreeSet<&Path> = modules
        .keys()
        .flat_map(|module| module.ancestors())
        .collect();
    let methods = Methods::read(&modules);
    let mut arrows = Vec::new();
    for (module, tokens) in &modules {
        let mut add = |to: &Path, method: Option<String>| {
            if !module.starts_with(to) && !to.starts_with(module) {
                let (from, to) = (module.clone(), to.to_owned());
                arrows.push(Arrow { from, to, method });
            }
        };
        for (_, path) in paths(tokens, &["crate", "self", "super"]) {
            let path = resolved(module, &path);
            if let Some(to) = path.ancestors().find(|to| known.contains(to)) {
                add(to, None);
            }
        }
        for (of, method) in calls(tokens) {
            if let Some(home) = methods.home(of, method) {
                add(home, Some(format!("{of}::{method}")));
            }
        }
    }
    arrows
}

/// The tokens of each module, without those of its tests.
fn modules(sources: &Path, files: &[TextFile]) -> BTreeMap<PathBuf, Vec<Token>> {
    let mut modules = BTreeMap::new();
    for file in files.iter().filter(|file| file.is("rs")) {
        let Ok(path) = file.path.strip_prefix(sources) else {
            continue;
        };
        let module = path.with_extension("");
        if ["bin", "lib", "main"]
            .iter()
            .any(|root| module.starts_with(root))
        {
            continue;
        }
        let mut code = tokens(&file.text);
        for tests in test_modules(&code).into_iter().rev() {
            code.drain(tests);
        }
        modules.insert(module, code);
    }
    modules
}

/// A path below the root of the crate, as a module writes it.
fn resolved(module: &Path, path: &[&str]) -> PathBuf {
    let mut resolved = PathBuf::new();
    for (index, name) in path.iter().enumerate() {
        match *name {
            "crate" => {}
            "self" if index == 0 => resolved.push(module),
            "super" => {
                if index == 0 {
                    resolved.push(module);
                }
                resolved.pop();
            }
            name => resolved.push(name),
        }
    }
    resolved
}

/// The methods of types that have methods in several modules; by type and name, the modules.
struct Methods<'a>(BTreeMap<&'a str, BTreeMap<&'a str, BTreeSet<&'a Path>>>);

impl<'a> Methods<'a> {
    fn read(modules: &'a BTreeMap<PathBuf, Vec<Token>>) -> Self {
        let mut methods: BTreeMap<_, BTreeMap<_, BTreeSet<_>>> = BTreeMap::new();
        for (module, tokens) in modules {
            for block in blocks(tokens).iter().filter(|block| block.is_inherent) {
                let of = methods.entry(block.of).or_default();
                let mut at = block.body.start + 1;
                while at + 1 < block.body.end {
                    if text(tokens, at) == "fn" {
                        of.entry(text(tokens, at + 1))
                            .or_default()
                            .insert(&**module);
                    }
                    at = after_closing(tokens, at);
                }
            }
        }
        Self(methods)
    }

    /// The one module that has this method, where the type has others elsewhere.
    fn home(&self, of: &str, method: &str) -> Option<&'a Path> {
        let methods = self.0.get(of)?;
        let homes: BTreeSet<_> = methods.values().flatten().collect();
        let mut home = methods.get(method)?.iter();
        let only = home.next()?;
        (homes.len() > 1 && home.next().is_none()).then_some(*only)
    }
}

/// An `impl`.
struct Block<'a> {
    of: &'a str,
    is_inherent: bool,
    /// Brackets included.
    body: Range<usize>,
}

fn blocks(tokens: &[Token]) -> Vec<Block<'_>> {
    let is_item = |at: usize| at == 0 || ["}", ";", "]", "{"].contains(&text(tokens, at - 1));
    let items = tokens.iter().enumerate();
    items
        .filter(|(at, token)| token.text == "impl" && is_item(*at))
        .filter_map(|(at, _)| block(tokens, at + 1))
        .collect()
}

/// Reads `<T> Trait for path::Type<T> where … {`.
fn block(tokens: &[Token], start: usize) -> Option<Block<'_>> {
    let (mut depth, mut of, mut is_inherent, mut is_bound) = (0_usize, None, true, false);
    for (at, token) in tokens.iter().enumerate().skip(start) {
        match token.text.as_str() {
            "<" => depth += 1,
            ">" if text(tokens, at - 1) != "-" => depth = depth.saturating_sub(1),
            "{" => {
                let body = at..after_closing(tokens, at);
                return of.map(|of| Block {
                    of,
                    is_inherent,
                    body,
                });
            }
            _ if depth > 0 || is_bound => {}
            "for" => is_inherent = false,
            "where" => is_bound = true,
            name if name.starts_with(char::is_alphabetic) => of = Some(name),
            _ => {}
        }
    }
    None
}

/// The methods that are named: `self.method`, `Type::method`, and `x.method` where each `x: …` of the file gives the
/// same type.
fn calls(tokens: &[Token]) -> Vec<(&str, &str)> {
    let blocks = blocks(tokens);
    let types = types_of_names(tokens);
    let mut calls = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_path = is_path(tokens, at + 1);
        let of = match (token.text.as_str(), is_path) {
            ("self", false) | ("Self", true) => {
                let around = blocks.iter().find(|block| block.body.contains(&at));
                around.map(|block| block.of)
            }
            (name, true) => Some(name),
            (name, false) => types.get(name).copied().flatten(),
        };
        let method = if is_path {
            at + 3
        } else if text(tokens, at + 1) == "." && ["(", ":"].contains(&text(tokens, at + 3)) {
            at + 2
        } else {
            continue;
        };
        calls.extend(of.map(|of| (of, text(tokens, method))));
    }
    calls
}

/// The type of each `name: &Type` or `name: Arc<Type>`; none where the file gives it several.
fn types_of_names(tokens: &[Token]) -> BTreeMap<&str, Option<&str>> {
    let mut types = BTreeMap::new();
    for (at, name) in tokens.iter().enumerate() {
        let is_typed = text(tokens, at + 1) == ":" && !is_path(tokens, at + 1);
        let Some(of) = is_typed.then(|| type_at(tokens, at + 2)).flatten() else {
            continue;
        };
        let known = types.entry(name.text.as_str()).or_insert(Some(of));
        if *known != Some(of) {
            *known = None;
        }
    }
    types
}

/// The last name of the type that stands here, behind references and pointers.
fn type_at(tokens: &[Token], mut at: usize) -> Option<&str> {
    loop {
        match text(tokens, at) {
            "&" | "mut" | "dyn" | "impl" => at += 1,
            _ if is_path(tokens, at + 1) => at += 3,
            "Arc" | "Box" | "Rc" if text(tokens, at + 1) == "<" => at += 2,
            name => return name.starts_with(char::is_uppercase).then_some(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::workspace::TextFile;

    /// The arrows as `a > b`, or `a > b Type::method`.
    fn arrows(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<TextFile> = files
            .iter()
            .map(|(path, text)| TextFile {
                path: std::path::Path::new("src").join(path),
                text: (*text).to_owned(),
            })
            .collect();
        let shown = read("src".as_ref(), &files).into_iter().map(|arrow| {
            let arrow_of = format!("{} > {}", arrow.from.display(), arrow.to.display());
            let method = arrow.method.map(|method| format!(" {method}"));
            arrow_of + &method.unwrap_or_default()
        });
        shown.collect()
    }

    #[test]
    fn a_path_leads_to_the_nearest_module() {
        let files = [
            ("a.rs", "use crate::{b::c::{self, C}, lone};"),
            (
                "a/x.rs",
                "use super::y; use super::super::b::c; use self::z::Z;",
            ),
            (
                "a/x/z.rs",
                "use super::super::super::b; use super::X; fn f() { super::super::y::f() }",
            ),
            ("a/y.rs", ""),
            ("b.rs", "use self::c::C; use std::a::x;"),
            ("b/c.rs", ""),
        ];
        let expected = [
            "a > b/c",
            "a > b/c",
            "a/x > a/y",
            "a/x > b/c",
            "a/x/z > b",
            "a/x/z > a/y",
        ];
        assert_eq!(arrows(&files), expected);
    }

    #[test]
    fn a_method_that_another_file_adds_to_the_type_is_an_arrow() {
        let add = (
            "a.rs",
            "impl<T: Fn() -> U> Engine<T> where T: for<'a> X<'a> { pub fn one(&self) {} }",
        );
        for call in [
            "impl Engine { fn two(&self) { self.one(); } }",
            "impl Engine { fn two(&self) { Self::one(self); } }",
            "impl Engine { fn two() {} }\nimpl Clone for Engine { fn clone(&self) { self.one::<u8>() } }",
            "impl Engine { fn two() {} }\nfn f(engine: &'a mut Engine) { engine.one() }",
            "impl Engine { fn two() {} }\nstruct S { engine: Arc<b::Engine> }\nfn f(s: S) { s.engine.one() }",
            "impl Engine { fn two() {} }\nfn f() { g(Engine::one) }",
        ] {
            assert_eq!(
                arrows(&[add, ("b.rs", call)]),
                ["b > a Engine::one"],
                "{call}"
            );
        }
    }

    #[test]
    fn a_method_that_may_be_another_one_is_no_arrow() {
        let add = ("a.rs", "impl Engine { fn one(&self) {} }");
        for call in [
            // No other file has methods of the type.
            "fn f(engine: Engine) { engine.one() }",
            // Two files have the method.
            "impl Engine { fn two(&self) { self.one() } fn one(&self) {} }",
            // A trait's.
            "impl One for Engine { fn two(&self) { self.one() } }",
            // The type is not clear.
            "impl Engine { fn two(&self) { x.one() } }",
            "impl Engine { fn two() {} }\nfn f(x: Engine) {}\nfn g(x: Other) { x.one() }",
            // A field, and a path that is no method.
            "impl Engine { fn two(&self) { self.one; self::one() } }",
        ] {
            assert_eq!(arrows(&[add, ("b.rs", call)]), [""; 0], "{call}");
        }
    }
}
