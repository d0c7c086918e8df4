//! `jackfield sessions import`: conversations of other programs, out of a zip and out of JSON.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::{Ran, jackfield};

/// A zip archive of deflated files.
fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).unwrap();
        let packed = encoder.finish().unwrap();
        let at = archive.len() as u32;
        let mut fields = vec![20, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        fields.extend((packed.len() as u32).to_le_bytes());
        fields.extend((content.len() as u32).to_le_bytes());
        fields.extend((name.len() as u16).to_le_bytes());
        fields.extend([0, 0]);
        archive.extend(b"PK\x03\x04");
        archive.extend(&fields);
        archive.extend(name.bytes());
        archive.extend(packed);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&fields);
        directory.extend([0; 10]);
        directory.extend(at.to_le_bytes());
        directory.extend(name.bytes());
    }
    let at = archive.len() as u32;
    let count = (files.len() as u16).to_le_bytes();
    archive.extend(&directory);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend(count.into_iter().chain(count));
    archive.extend((directory.len() as u32).to_le_bytes());
    archive.extend(at.to_le_bytes());
    archive.extend([0, 0]);
    archive
}

fn conversation(id: &str) -> Value {
    let part = |parts: Value| json!({ "content_type": "multimodal_text", "parts": parts });
    let picture = json!({ "content_type": "image_asset_pointer" });
    json!({
        "id": id,
        "title": format!("Talk {id}"),
        "create_time": 1_746_230_400,
        "current_node": "a",
        "mapping": { "a": {
            "message": { "author": { "role": "user" }, "content": part(json!(["Hello", picture, picture])) },
        } },
    })
}

fn import(folder: &TempDir, more: &[&str]) -> Ran {
    let mut run = jackfield(["sessions", "import"]);
    run = run.env("JACKFIELD_DB", path(&folder.path().join("kept.db")));
    for one in more {
        run = run.arg(one);
    }
    run.run()
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn an_export_is_imported_once_and_says_what_it_leaves_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("export.zip");
    let first = json!([conversation("one"), { "title": "odd" }]).to_string();
    let second = json!([conversation("two")]).to_string();
    let archive = zip(&[
        ("user.json", b"{}"),
        ("conversations-000.json", first.as_bytes()),
        ("conversations-001.json", second.as_bytes()),
    ]);
    fs::write(&file, archive).unwrap();
    let tried = import(&folder, &[path(&file), "--dry-run"]);
    assert_eq!(tried.code, Some(0), "{}", tried.err);
    assert!(
        tried
            .out
            .contains("3 conversations: 2 to import, 0 there already, 1 not read"),
        "{}",
        tried.out
    );
    let done = import(&folder, &[path(&file)]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(
        done.out.contains("Talk one  (without 2 pictures)"),
        "{}",
        done.out
    );
    assert!(
        done.out
            .contains("it is no conversation of ChatGPT or Open WebUI"),
        "{}",
        done.out
    );
    assert!(done.out.ends_with("left out: 4 pictures\n"), "{}", done.out);
    let again = import(&folder, &[path(&file), "--json"]);
    let again: Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!(
        (&again["imported"], &again["exist"]),
        (&json!(0), &json!(2)),
        "{again}"
    );
    let id = again["conversations"][0]["id"].as_str().unwrap();
    let shown = jackfield(["sessions", "show"])
        .arg(id)
        .env("JACKFIELD_DB", path(&folder.path().join("kept.db")))
        .run();
    assert!(
        shown.out.contains("from ChatGPT, 2025-05-03"),
        "{}",
        shown.out
    );
    assert!(shown.out.contains("Hello"), "{}", shown.out);
}

#[test]
fn a_file_that_is_no_export_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    for content in [
        &b"PK\x03\x04 and no more"[..],
        b"text",
        &zip(&[("a.json", b"[]")]),
    ] {
        fs::write(&file, content).unwrap();
        let ran = import(&folder, &[path(&file)]);
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert!(ran.err.contains("cannot be imported"), "{}", ran.err);
    }
    let ran = import(&folder, &["missing.zip"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
}
