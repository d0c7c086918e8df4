//! What is accepted of a server's tools: seen first, kept, compared, accepted, and never guessed.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jackfield_assembly::{AcceptError, Config, Environment, Registry, ServerTest, ServerToolbox};
use serde_json::{Value, json};

use crate::world::World;

/// A server in the shell, which reads at each list what its tools are: it changes in silence.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
  say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
  case $line in
    *'"initialize"'*) say '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) say "\"result\":{\"tools\":$(cat "$1")}" ;;
    *'"id"'*) say '"error":{"code":-32601,"message":"no such method"}' ;;
  esac
done
"#;

/// A home with servers of these ids, and tools that can be changed.
struct Shell {
    config: Config,
    tools: PathBuf,
    world: World,
}

impl Shell {
    fn new<const N: usize>(ids: [&str; N]) -> Self {
        let world = World::new().with("server.sh", SERVER);
        let tools = world.home().join("tools.json");
        let entry = json!({ "command": "sh", "args": [world.home().join("server.sh"), tools] });
        let entries: Value = ids
            .iter()
            .map(|id| ((*id).to_owned(), entry.clone()))
            .collect();
        let servers = json!({ "mcpServers": entries });
        let world = world.with(".config/jackfield/mcp-servers.json", servers.to_string());
        let mut config = world.load().unwrap();
        // Each test of a server lists its tools again.
        config.list_lifetime = Duration::ZERO;
        Self {
            config,
            tools,
            world,
        }
    }

    fn offers(&self, tools: &Value) {
        fs::write(&self.tools, tools.to_string()).unwrap();
    }

    /// The servers of one process.
    fn servers(&self) -> Vec<ServerToolbox> {
        let path = ("PATH", std::env::var("PATH").unwrap());
        let environment: Environment = [path].into_iter().collect();
        let assembled = Registry::default().assemble(&self.config, &environment);
        assembled.unwrap().servers.all()
    }

    fn server(&self) -> ServerToolbox {
        self.servers().remove(0)
    }

    fn folder(&self) -> PathBuf {
        self.world.home().join(".local/share/jackfield/mcp")
    }

    fn file(&self) -> PathBuf {
        let files = files(&self.folder());
        let mut files = files
            .into_iter()
            .filter(|file| file.extension().unwrap() == "json");
        files.next().unwrap()
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

fn tool(name: &str, description: &str) -> Value {
    json!({ "name": name, "description": description, "inputSchema": { "type": "object" } })
}

fn names(tested: &ServerTest) -> (Vec<&str>, Vec<&str>) {
    let offered = tested.tools.iter().map(|tool| &*tool.name).collect();
    let quarantined = tested.quarantined.iter().map(|tool| &**tool).collect();
    (offered, quarantined)
}

#[tokio::test]
async fn what_was_shown_is_accepted_and_not_what_came_after_it() {
    let shell = Shell::new(["a"]);
    shell.offers(&json!([tool("x", "one")]));
    let server = shell.server();
    assert_eq!(names(&server.test().await), (vec!["x"], vec![]));
    assert!(server.changed().is_empty());
    shell.offers(&json!([tool("x", "two")]));
    assert_eq!(names(&server.test().await), (vec![], vec!["x"]));
    let shown = server.changed();
    assert_eq!(shown[0].accepted.as_deref(), Some(&tool("x", "one")));
    assert_eq!(*shown[0].offered, tool("x", "two"));
    shell.offers(&json!([tool("x", "three")]));
    server.test().await;
    server.accept(&shown).unwrap();
    let tested = server.test().await;
    assert_eq!(names(&tested), (vec![], vec!["x"]));
    assert_eq!(
        server.changed()[0].accepted.as_deref(),
        Some(&tool("x", "two"))
    );
    shell.offers(&json!([tool("x", "two")]));
    assert_eq!(names(&server.test().await), (vec!["x"], vec![]));
    // Another process finds it so.
    assert_eq!(names(&shell.server().test().await), (vec!["x"], vec![]));
    server.stop().await;
}

#[tokio::test]
async fn whoever_was_overtaken_accepts_nothing() {
    let shell = Shell::new(["a"]);
    shell.offers(&json!([tool("x", "one"), tool("y", "one")]));
    let (first, second) = (shell.server(), shell.server());
    first.test().await;
    shell.offers(&json!([tool("x", "two"), tool("y", "two")]));
    second.test().await;
    let shown = second.changed();
    shell.offers(&json!([tool("x", "three"), tool("y", "one")]));
    first.test().await;
    first.accept(&first.changed()).unwrap();
    let before = fs::read(shell.file()).unwrap();
    let error = second.accept(&shown).unwrap_err();
    assert!(
        matches!(&error, AcceptError::Overtaken { tool } if &**tool == "x"),
        "{error}"
    );
    assert_eq!(fs::read(shell.file()).unwrap(), before);
    // Twice the same is no quarrel.
    shell.offers(&json!([tool("x", "two"), tool("y", "one")]));
    first.test().await;
    second.test().await;
    first.accept(&first.changed()).unwrap();
    second.accept(&second.changed()).unwrap();
    assert_eq!(names(&second.test().await), (vec!["x", "y"], vec![]));
    first.stop().await;
    second.stop().await;
}

#[tokio::test]
async fn without_a_place_the_process_pins_for_itself_and_one_server_says_so() {
    let mut shell = Shell::new(["a", "b"]);
    shell.config.data = None;
    shell.offers(&json!([tool("x", "one")]));
    let servers = shell.servers();
    let told = |tested: &ServerTest| {
        let problems = tested.problems.iter();
        problems
            .filter(|problem| problem.contains("pinned until this process ends"))
            .count()
    };
    for _ in 0..2 {
        let (a, b) = (servers[0].test().await, servers[1].test().await);
        assert_eq!(
            (names(&a), names(&b)),
            ((vec!["x"], vec![]), (vec!["x"], vec![]))
        );
        assert_eq!((told(&a), told(&b)), (1, 0));
    }
    shell.offers(&json!([tool("x", "two"), tool("y", "one")]));
    assert_eq!(names(&servers[0].test().await), (vec!["y"], vec!["x"]));
    let error = servers[0].accept(&servers[0].changed()).unwrap_err();
    assert!(
        error.to_string().contains("HOME or XDG_DATA_HOME"),
        "{error}"
    );
    assert_eq!(names(&servers[0].test().await), (vec!["y"], vec!["x"]));
    // Another process knows nothing of it.
    assert_eq!(
        names(&shell.server().test().await),
        (vec!["x", "y"], vec![])
    );
    for server in servers {
        server.stop().await;
    }
}

#[tokio::test]
async fn what_was_pinned_without_a_place_is_kept_as_soon_as_there_is_one() {
    let shell = Shell::new(["a"]);
    shell.offers(&json!([tool("x", "one")]));
    let data = shell.world.home().join(".local/share/jackfield");
    fs::create_dir_all(data.parent().unwrap()).unwrap();
    fs::write(&data, "in the way").unwrap();
    let server = shell.server();
    assert_eq!(names(&server.test().await), (vec!["x"], vec![]));
    fs::remove_file(&data).unwrap();
    shell.offers(&json!([tool("x", "two"), tool("y", "one")]));
    assert_eq!(names(&server.test().await), (vec!["y"], vec!["x"]));
    assert_eq!(names(&shell.server().test().await), (vec!["y"], vec!["x"]));
    server.stop().await;
}

#[tokio::test]
async fn the_file_is_the_users_alone_and_nothing_else_is_left_beside_it() {
    let shell = Shell::new(["a"]);
    shell.offers(&json!([tool("x", "one")]));
    let server = shell.server();
    server.test().await;
    // What somebody left who was ended in the middle of writing is no hindrance.
    let left = shell.file().with_extension("tmp");
    fs::write(&left, "{\"format\": 1, \"to").unwrap();
    shell.offers(&json!([tool("x", "one"), tool("y", "one")]));
    assert_eq!(names(&server.test().await), (vec!["x", "y"], vec![]));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let endings: Vec<_> = files(&shell.folder())
        .iter()
        .map(|file| {
            assert_eq!(mode(file), 0o600, "{}", file.display());
            file.extension().unwrap().to_owned()
        })
        .collect();
    assert_eq!(endings, ["json", "lock"]);
    assert_eq!(mode(&shell.folder()), 0o700);
    server.stop().await;
}

#[tokio::test]
async fn a_file_that_is_not_small_or_no_file_at_all_is_not_read() {
    let shell = Shell::new(["a"]);
    shell.offers(&json!([tool("x", "one")]));
    let server = shell.server();
    server.test().await;
    let file = shell.file();
    let whole = fs::read(&file).unwrap();
    let sparse = fs::File::create(&file).unwrap();
    sparse.set_len((64 << 20) + 1).unwrap();
    let tested = server.test().await;
    assert!(!tested.usable, "{tested:?}");
    assert!(
        tested.problems[0].contains("is larger than"),
        "{:?}",
        tested.problems
    );
    assert!(names(&tested).0.is_empty());
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let tested = server.test().await;
    assert!(
        tested.problems[0].contains("it is no file"),
        "{:?}",
        tested.problems
    );
    fs::remove_dir(&file).unwrap();
    // A link to nowhere, one to itself, and one through what is no folder.
    let through = format!("{}/x", shell.tools.display());
    for to in [
        "nowhere",
        file.file_name().unwrap().to_str().unwrap(),
        &through,
    ] {
        std::os::unix::fs::symlink(to, &file).unwrap();
        let tested = server.test().await;
        assert!(!tested.usable, "{to}: {tested:?}");
        assert!(tested.problems[0].contains(&file.display().to_string()));
        fs::remove_file(&file).unwrap();
    }
    fs::write(&file, whole).unwrap();
    assert_eq!(names(&server.test().await), (vec!["x"], vec![]));
    server.stop().await;
}

#[tokio::test]
async fn servers_of_other_names_have_files_of_their_own() {
    let shell = Shell::new(["a", "b"]);
    shell.offers(&json!([tool("x", "one")]));
    for server in shell.servers() {
        server.test().await;
        server.stop().await;
    }
    let named = files(&shell.folder());
    let named: Vec<_> = named
        .iter()
        .filter(|file| file.extension().unwrap() == "json")
        .collect();
    assert_eq!(named.len(), 2);
    for (file, id) in named.iter().zip(["a-", "b-"]) {
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with(id) && name.len() == 2 + 16 + 5, "{name}");
    }
}

#[tokio::test]
async fn a_definition_that_is_no_longer_kept_is_compared_by_its_digest() {
    let shell = Shell::new(["a"]);
    let long = "x".repeat(300 << 10);
    shell.offers(&json!([tool("x", &long)]));
    let server = shell.server();
    assert_eq!(names(&server.test().await), (vec!["x"], vec![]));
    assert!(fs::metadata(shell.file()).unwrap().len() < 1000);
    shell.offers(&json!([tool("x", &format!("{long}y"))]));
    assert_eq!(names(&server.test().await), (vec![], vec!["x"]));
    let shown = server.changed();
    assert_eq!(shown[0].accepted, None);
    server.accept(&shown).unwrap();
    assert_eq!(names(&server.test().await), (vec!["x"], vec![]));
    // The order of keys says nothing.
    let turned = json!([{ "inputSchema": { "type": "object" }, "name": "y", "description": "" }]);
    shell.offers(&turned);
    server.test().await;
    shell.offers(&json!([tool("y", "")]));
    assert_eq!(names(&server.test().await), (vec!["y"], vec![]));
    server.stop().await;
}

#[tokio::test]
async fn where_there_are_too_many_the_file_is_not_written_again_and_again() {
    let shell = Shell::new(["a"]);
    shell.offers(&json!([tool("x", "one")]));
    let server = shell.server();
    server.test().await;
    let mut whole: Value = serde_json::from_slice(&fs::read(shell.file()).unwrap()).unwrap();
    let pin = json!({ "digest": "0".repeat(64), "definition": null });
    let tools = whole["tools"].as_object_mut().unwrap();
    for nth in tools.len()..16 << 10 {
        tools.insert(format!("gone{nth}"), pin.clone());
    }
    fs::write(shell.file(), whole.to_string()).unwrap();
    let numbers = || {
        let file = fs::metadata(shell.file()).unwrap();
        (file.ino(), file.modified().unwrap())
    };
    let before = numbers();
    shell.offers(&json!([tool("x", "one"), tool("y", "one")]));
    for _ in 0..2 {
        let tested = server.test().await;
        assert_eq!(names(&tested), (vec!["x"], vec![]));
        assert!(tested.problems[0].contains("1 of its tools are new and not offered"));
        assert_eq!(numbers(), before);
    }
    server.stop().await;
}

#[tokio::test]
async fn what_was_held_in_memory_is_kept_although_nothing_is_new() {
    let shell = Shell::new(["a"]);
    shell.offers(&json!([tool("x", "one")]));
    let data = shell.world.home().join(".local/share/jackfield");
    fs::create_dir_all(data.parent().unwrap()).unwrap();
    fs::write(&data, "in the way").unwrap();
    let server = shell.server();
    server.test().await;
    fs::remove_file(&data).unwrap();
    shell.offers(&json!([tool("x", "two")]));
    assert_eq!(names(&server.test().await), (vec![], vec!["x"]));
    server.stop().await;
    assert_eq!(names(&shell.server().test().await), (vec![], vec!["x"]));
}

#[tokio::test]
async fn planted_links_take_nothing_that_is_kept_of_a_server() {
    let shell = Shell::new(["a"]);
    let nowhere = shell.world.home().join("nowhere");
    let plant = |file: &Path| {
        // It may not be there.
        let _removed = fs::remove_file(file);
        std::os::unix::fs::symlink(&nowhere, file).unwrap();
    };
    shell.offers(&json!([tool("x", "one")]));
    let server = shell.server();
    server.test().await;
    server.stop().await;
    let cached = files(&shell.world.home().join(".cache/jackfield/mcp")).remove(0);
    let list = fs::read(&cached).unwrap();
    // A link in the place of a list, or of one that is being written, gives way.
    let being_written = cached.with_extension(format!("{}.tmp", std::process::id()));
    for link in [&cached, &being_written, &shell.file().with_extension("tmp")] {
        plant(link);
    }
    shell.offers(&json!([tool("x", "one"), tool("y", "one")]));
    let server = shell.server();
    assert_eq!(names(&server.test().await), (vec!["x", "y"], vec![]));
    server.stop().await;
    assert!(fs::symlink_metadata(&cached).unwrap().is_file());
    assert_ne!(fs::read(&cached).unwrap(), list);
    // A lock behind a link locks nothing.
    let lock = shell.file().with_extension("lock");
    plant(&lock);
    shell.offers(&json!([tool("x", "one"), tool("z", "one")]));
    let server = shell.server();
    let tested = server.test().await;
    // This process pins for itself then, and says why.
    assert_eq!(names(&tested), (vec!["x", "z"], vec![]));
    let told = format!("{} is a symbolic link", lock.display());
    assert!(tested.problems[0].contains(&told), "{tested:?}");
    server.stop().await;
    assert!(!nowhere.exists());
}
