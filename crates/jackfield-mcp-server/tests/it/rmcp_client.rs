//! The official client for Rust, in both eras.

use jackfield_domain::tool::Safety;
use jackfield_testkit::fakes::{Ending, Gate, ScriptedCall};
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion,
};
use rmcp::service::RunningService;
use rmcp::{ClientLifecycleMode, ClientServiceExt as _, RoleClient, ServiceError};

use crate::harness::{TIME_LIMIT, server, toolbox};

fn modes() -> [ClientLifecycleMode; 3] {
    let preferred_versions = vec![ProtocolVersion::LATEST];
    [
        ClientLifecycleMode::Discover {
            preferred_versions: preferred_versions.clone(),
        },
        ClientLifecycleMode::Auto {
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
            preferred_versions,
        },
        ClientLifecycleMode::Initialize,
    ]
}

async fn connect(
    tools: &jackfield_testkit::fakes::ScriptedToolbox,
    mode: ClientLifecycleMode,
) -> RunningService<RoleClient, ClientConfig> {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let server = server(tools);
    tokio::spawn(async move {
        let (read, write) = tokio::io::split(theirs);
        server.serve(read, write, std::future::pending()).await;
    });
    let info = Implementation::new("test", "1");
    let client = ClientConfig::new(ClientCapabilities::default(), info);
    let connected = client.serve_with_lifecycle(tokio::io::split(ours), mode);
    let connected = tokio::time::timeout(TIME_LIMIT, connected).await;
    connected
        .expect("it connects in time")
        .expect("it connects")
}

#[tokio::test]
async fn it_lists_and_calls_in_every_way_of_beginning() {
    for mode in modes() {
        let tools = toolbox("ours");
        tools
            .tool("read", Safety::ReadOnly)
            .push_call("read", ScriptedCall::text("done"));
        let shown = format!("{mode:?}");
        let client = connect(&tools, mode).await;
        let listed = client.list_all_tools().await.expect("a list");
        assert_eq!(listed.len(), 1, "{shown}");
        assert_eq!(listed[0].name, "read");
        let called = client.call_tool(CallToolRequestParams::new("read")).await;
        let called = called.expect("an outcome");
        let text = called.content[0].as_text().expect("a text");
        assert_eq!((text.text.as_str(), called.is_error), ("done", Some(false)));
        let refused = client.call_tool(CallToolRequestParams::new("raed")).await;
        let Err(ServiceError::McpError(error)) = refused else {
            panic!("{shown}: {refused:?}");
        };
        assert_eq!(error.code.0, -32602);
        client.cancel().await.expect("it ends");
    }
}

#[tokio::test]
async fn a_call_that_it_drops_is_aborted() {
    for mode in modes() {
        let (tools, gate) = (toolbox("ours"), Gate::new());
        tools
            .tool("read", Safety::ReadOnly)
            .push_call("read", ScriptedCall::text("done").held_at(&gate));
        let client = connect(&tools, mode).await;
        let call = client.call_tool(CallToolRequestParams::new("read"));
        tokio::select! {
            ended = call => panic!("{ended:?}"),
            () = gate.reached() => {}
        }
        let aborted = async {
            while tools.calls()[0].ending != Ending::Dropped {
                tokio::task::yield_now().await;
            }
        };
        let aborted = tokio::time::timeout(TIME_LIMIT, aborted).await;
        aborted.expect("it is aborted in time");
    }
}
