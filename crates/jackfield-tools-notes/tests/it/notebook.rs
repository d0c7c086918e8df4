//! The file of notes: what is found, by whom, and how fast.

use jackfield_domain::time::WallTime;
use jackfield_tools_notes::for_tests::query;
use jackfield_tools_notes::{NewNote, Notebook, NotebookError, Scope, StoredNote};
use proptest::prelude::*;
use rusqlite::Connection;

fn note(title: &str, text: &str, friends: &[&str]) -> NewNote {
    NewNote {
        shared_with: friends.iter().map(ToString::to_string).collect(),
        text: text.to_owned(),
        title: title.to_owned(),
    }
}

fn titles(notes: Vec<StoredNote>) -> Vec<String> {
    notes.into_iter().map(|note| note.title).collect()
}

#[test]
fn a_file_keeps_its_notes_and_another_process_sees_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notes.db");
    let first = Notebook::open(&path).expect("a file");
    let second = Notebook::open(&path).expect("a file");
    let new = note("Tea", "Buy green tea", &["bob"]);
    let added = first
        .add("ann", &new, WallTime::from_millis(1_000))
        .expect("a note");
    let id = added.id;
    let expected = StoredNote {
        id,
        owner: "ann".to_owned(),
        shared_with: vec!["bob".to_owned()],
        text: "Buy green tea".to_owned(),
        title: "Tea".to_owned(),
        updated: WallTime::from_millis(1_000),
    };
    assert_eq!(added, expected);
    let own = second.get("ann", &Scope::Own, id).expect("the file");
    assert_eq!(own.as_ref(), Some(&expected));
    let shared = second.get("bob", &Scope::Shared, id).expect("the file");
    let expected = StoredNote {
        shared_with: Vec::new(),
        ..expected
    };
    assert_eq!(shared, Some(expected));
}

#[test]
fn a_search_needs_every_word_and_gives_the_newest_first() {
    let notebook = Notebook::in_memory().expect("memory");
    let notes = [
        ("one", "React hooks", 1),
        ("two", "React router", 2),
        ("three", "机器学习的笔记", 3),
        ("four", "Заметки о React", 4),
    ];
    for (title, text, at) in notes {
        let new = note(title, text, &[]);
        notebook
            .add("ann", &new, WallTime::from_millis(at))
            .expect("a note");
    }
    for (search, found) in [
        ("react", &["four", "two", "one"][..]),
        ("react hook", &["one"]),
        ("机器学习", &["three"]),
        ("笔记", &["three"]),
        ("заметка", &["four"]),
        ("заметка react", &["four"]),
        ("vue", &[]),
        ("", &[]),
    ] {
        let notes = notebook
            .search("ann", &Scope::Own, search, 10)
            .expect("memory");
        assert_eq!(titles(notes), found, "{search}");
    }
    let notes = notebook
        .search("ann", &Scope::Own, "react", 1)
        .expect("memory");
    assert_eq!(titles(notes), ["four"]);
}

/// Whether a search finds a note of this text.
fn finds(search: &str, text: &str) -> bool {
    let notebook = Notebook::in_memory().expect("memory");
    let added = notebook.add("ann", &note("", text, &[]), WallTime::from_millis(1));
    added.expect("a note");
    let found = notebook.search("ann", &Scope::Own, search, 10);
    !found.expect("memory").is_empty()
}

#[test]
fn a_search_finds_words_in_three_languages() {
    for (search, text) in [
        ("react", "Hooks of React, explained"),
        ("REACT hook", "hooks of react"),
        ("go", "Go and Rust"),
        ("机器学习", "我在学习机器学习的基础"),
        ("笔记", "这是我的笔记。"),
        ("书", "买书"),
        ("заметка", "Мои ЗАМЕТКИ о проекте"),
        ("машинное обучение", "Основы машинного обучения"),
        ("еж", "Ёж"),
        ("東京タワー", "昨日は東京タワーへ行った"),
        ("c3po", "C3PO"),
    ] {
        assert!(finds(search, text), "{search} in {text}");
    }
}

#[test]
fn a_search_does_not_find_other_words() {
    for (search, text) in [
        ("react", "Vue"),
        ("go", "Google"),
        ("笔记", "毛笔和日记"),
        ("react vue", "react"),
        ("", "text"),
        ("?!", "text?!"),
    ] {
        assert!(!finds(search, text), "{search} in {text}");
    }
}

#[test]
fn a_list_is_not_sorted_after_it_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notes.db");
    let _notebook = Notebook::open(&path).expect("a file");
    let connection = Connection::open(&path).expect("a file");
    for scope in [Scope::Own, Scope::Shared, Scope::SharedBy("ann".to_owned())] {
        let explained = format!("EXPLAIN QUERY PLAN {}", query(&scope, ""));
        let mut statement = connection.prepare(&explained).expect("a query");
        let steps = statement.raw_query().mapped(|row| row.get("detail"));
        let steps: Vec<String> = steps.collect::<Result<_, _>>().expect("a plan");
        let sorts = steps.iter().any(|step| step.contains("TEMP B-TREE"));
        assert!(!steps.is_empty() && !sorts, "{scope:?}: {steps:#?}");
    }
}

#[test]
fn a_friend_is_found_in_any_case_if_only_one_is_meant() {
    let notebook = Notebook::in_memory().expect("memory");
    let share = |owner: &str, friends: &[&str]| {
        let new = note("t", "x", friends);
        let added = notebook.add(owner, &new, WallTime::from_millis(1));
        added.expect("a note").shared_with
    };
    let received = |reader: &str| {
        let notes = notebook.recent(reader, &Scope::Shared, 50).expect("memory");
        notes.len()
    };
    assert_eq!(share("Bob", &[]), [""; 0]);
    // A person counts once, however often they are named, and a note is not shared with its owner.
    assert_eq!(share("Ann", &["bob", "BOB", "Bob", "ann"]), ["Bob"]);
    assert_eq!((received("Bob"), received("bob")), (1, 0));
    // Now there are two, and the exact name says which.
    assert_eq!(share("bob", &[]), [""; 0]);
    assert_eq!(share("Ann", &["bob"]), ["bob"]);
    assert_eq!(share("Ann", &["Bob"]), ["Bob"]);
    assert_eq!((received("Bob"), received("bob")), (2, 1));
    // A name that is of neither is a new person's, and so is an unknown one.
    assert_eq!(share("Ann", &["BOB", "eve"]), ["BOB", "eve"]);
    let counts = ["Bob", "bob", "BOB", "eve", "Ann", "ann"].map(received);
    assert_eq!(counts, [2, 1, 1, 1, 0, 0]);
}

#[test]
fn a_newer_file_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notes.db");
    drop(Notebook::open(&path).expect("a file"));
    let newer = Connection::open(&path).expect("a file");
    newer
        .execute_batch("PRAGMA user_version = 99")
        .expect("a file");
    let error = Notebook::open(&path).expect_err("it is newer");
    assert!(matches!(error, NotebookError::Newer), "{error}");
}

#[test]
fn a_file_of_another_program_is_refused_and_stays_as_it_is() {
    for made in [
        "CREATE TABLE theirs (id INTEGER)",
        "PRAGMA application_id = 7",
        "PRAGMA application_id = 7; PRAGMA user_version = 1",
        "PRAGMA user_version = 1",
        "PRAGMA user_version = 99",
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("theirs.db");
        let theirs = Connection::open(&path).expect("a file");
        theirs.execute_batch(made).expect("a file");
        drop(theirs);
        let before = std::fs::read(&path).expect("a file");
        let error = Notebook::open(&path).expect_err("it is another's");
        assert!(matches!(error, NotebookError::NotNotes), "{made}: {error}");
        assert_eq!(std::fs::read(&path).expect("a file"), before, "{made}");
    }
}

proptest! {
    /// Each reader, in each way, sees own notes as own and the notes that were shared as shared, and no other.
    #[test]
    fn a_person_never_sees_another_persons_private_note(
        notes in prop::collection::vec((0_usize..4, prop::collection::vec(0_usize..4, 0..3), 0_usize..3), 0..12),
        reader in 0_usize..4,
        friend in 0_usize..4,
        word in 0_usize..3,
    ) {
        const PEOPLE: [&str; 4] = ["ann", "bob", "eve", "an"];
        const WORDS: [&str; 3] = ["secret", "笔记", "тайна"];
        let notebook = Notebook::in_memory().expect("memory");
        let mut ids = Vec::new();
        for (owner, readers, word) in &notes {
            let friends: Vec<&str> = readers.iter().map(|reader| PEOPLE[*reader]).collect();
            let new = note("t", WORDS[*word], &friends);
            ids.push(notebook.add(PEOPLE[*owner], &new, WallTime::from_millis(1)).expect("a note").id);
        }
        let expected = |keeps: &dyn Fn(usize, &[usize], usize) -> bool| -> Vec<i64> {
            let kept = notes.iter().zip(&ids).rev();
            kept.filter(|((owner, readers, word), _)| keeps(*owner, readers, *word))
                .map(|(_, id)| *id)
                .collect()
        };
        let own = |owner: usize, _: &[usize]| owner == reader;
        let shared = |owner: usize, readers: &[usize]| owner != reader && readers.contains(&reader);
        let found = |notes: Vec<StoredNote>| -> Vec<i64> { notes.iter().map(|note| note.id).collect() };
        let name = PEOPLE[reader];
        let recent = |scope: &Scope| found(notebook.recent(name, scope, 50).expect("memory"));
        prop_assert_eq!(recent(&Scope::Own), expected(&|owner, readers, _| own(owner, readers)));
        prop_assert_eq!(recent(&Scope::Shared), expected(&|owner, readers, _| shared(owner, readers)));
        prop_assert_eq!(
            recent(&Scope::SharedBy(PEOPLE[friend].to_owned())),
            expected(&|owner, readers, _| owner == friend && shared(owner, readers))
        );
        let search = |scope: &Scope| {
            found(notebook.search(name, scope, WORDS[word], 50).expect("memory"))
        };
        prop_assert_eq!(search(&Scope::Own), expected(&|owner, readers, of| of == word && own(owner, readers)));
        prop_assert_eq!(
            search(&Scope::Shared),
            expected(&|owner, readers, of| of == word && shared(owner, readers))
        );
        for ((owner, readers, _), id) in notes.iter().zip(&ids) {
            let get = |scope: &Scope| notebook.get(name, scope, *id).expect("memory").is_some();
            prop_assert_eq!(get(&Scope::Own), own(*owner, readers));
            prop_assert_eq!(get(&Scope::Shared), shared(*owner, readers));
        }
    }
}
