//! `jackfield mcp serve` and `/mcp` of the gateway in front of the official clients, in the modes that they have.

use std::path::{Path, PathBuf};

use crate::harness::Gateway;
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

/// A gateway that anyone on this machine may ask.
async fn gateway(world: &World) -> Gateway {
    let serve = world.jackfield(["serve", "--bind", "127.0.0.1:0"]);
    Gateway::listening(serve.start()).await
}

#[tokio::test]
async fn over_http_the_client_for_python_lists_and_calls_in_both_eras() {
    let world = World::new();
    let gateway = gateway(&world).await;
    let run = world.shell(r#"exec "$python" -B "$client" "$url""#);
    let run = run.env("client", client("client.py"));
    let run = run.env("url", format!("http://{}/mcp", gateway.address()));
    let ran = run.env("python", python_folder().join("bin/python")).run();
    ran.await
        .answers("legacy 2025-11-25\nauto 2026-07-28\n2026-07-28 2026-07-28\n");
    gateway.end().await;
    world.is_left().await;
}

#[tokio::test]
async fn over_http_the_client_for_javascript_lists_and_calls() {
    let world = World::new();
    let gateway = gateway(&world).await;
    let run = world.shell(r#"exec node "$client" "$modules" "$url""#);
    let run = run.env("client", client("client.cjs"));
    let run = run.env("url", format!("http://{}/mcp", gateway.address()));
    run.env("modules", node_folder())
        .run()
        .await
        .answers("done\n");
    gateway.end().await;
    world.is_left().await;
}
