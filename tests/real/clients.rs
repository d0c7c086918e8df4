//! `jackfield mcp serve` in front of the official clients, in the modes that they have.

use std::path::{Path, PathBuf};

use crate::world::{World, node_folder, python_folder};

/// A program of `tests/clients`.
fn client(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients");
    folder.join(name)
}

#[tokio::test]
async fn the_client_for_python_lists_and_calls_in_both_eras() {
    let world = World::new();
    let run = world.shell(r#"exec "$python" -B "$client" "$jackfield" mcp serve"#);
    let run = run.env("client", client("client.py"));
    let ran = run.env("python", python_folder().join("bin/python")).run();
    ran.await
        .answers("legacy 2025-11-25\nauto 2026-07-28\n2026-07-28 2026-07-28\n");
    world.is_left().await;
}

#[tokio::test]
async fn the_client_for_javascript_lists_and_calls() {
    let world = World::new();
    let run = world.shell(r#"exec node "$client" "$modules" "$jackfield" mcp serve"#);
    let run = run.env("client", client("client.cjs"));
    run.env("modules", node_folder())
        .run()
        .await
        .answers("done\n");
    world.is_left().await;
}
