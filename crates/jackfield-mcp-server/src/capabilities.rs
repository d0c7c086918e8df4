//! What the server can do, as it tells its clients.

use rmcp::model::{PromptsCapability, ResourcesCapability, ServerCapabilities};

/// All capabilities; `announces_changes` says whether the client can learn of changes.
pub(crate) fn all(announces_changes: bool) -> ServerCapabilities {
    let capabilities = ServerCapabilities::builder().enable_tools();
    let mut capabilities = capabilities.build();
    let announced = announces_changes.then_some(true);
    if let Some(tools) = &mut capabilities.tools {
        tools.list_changed = announced;
    }
    let (mut prompts, mut resources) =
        (PromptsCapability::default(), ResourcesCapability::default());
    prompts.list_changed = announced;
    resources.list_changed = announced;
    resources.subscribe = announced;
    capabilities.completions = Some(Default::default());
    capabilities.logging = Some(Default::default());
    capabilities.prompts = Some(prompts);
    capabilities.resources = Some(resources);
    capabilities
}

/// Takes the capabilities of MCP servers away: resources, prompts and log messages.
pub(crate) fn remove_those_of_servers(capabilities: &mut ServerCapabilities) {
    capabilities.completions = None;
    capabilities.logging = None;
    capabilities.prompts = None;
    capabilities.resources = None;
}
