//! Tools that were looked at before: what is remembered of them is what is true of them.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::{InputFormat, Safety, ToolSpec};
use jackfield_engine::Engine;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::{ToolEnd, ToolError, ToolEvents, Toolbox};
use jackfield_store_memory::MemoryJournal;
use serde_json::{Value, json};

use crate::fixture::options;

/// Offers what it is told to.
struct Changing {
    id: ToolboxId,
    tools: Mutex<Vec<ToolSpec>>,
}

#[async_trait]
impl Toolbox for Changing {
    fn id(&self) -> &ToolboxId {
        &self.id
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        Ok(self.tools.lock().expect("no test crashed").clone())
    }

    async fn call(
        &self,
        _: &ToolRun,
        _: &CallContext,
        _: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        unreachable!("nothing is called here")
    }
}

fn object(properties: &Value) -> Arc<Value> {
    Arc::new(json!({ "type": "object", "properties": properties }))
}

#[tokio::test]
async fn whatever_changes_of_a_tool_is_seen_at_once() {
    let plain = ToolSpec {
        description: "Acts.".into(),
        icon: None,
        input: InputFormat::Json(object(&json!({}))),
        name: "act".into(),
        output: None,
        safety: Safety::ReadOnly,
        time_limit: None,
        title: None,
    };
    let changed = |change: fn(&mut ToolSpec)| {
        let mut tool = plain.clone();
        change(&mut tool);
        tool
    };
    let toolbox = Arc::new(Changing {
        id: ToolboxId::parse("box").expect("a valid id"),
        tools: Mutex::default(),
    });
    let engine = Engine::builder(Arc::new(MemoryJournal::default()))
        .toolbox(Arc::<Changing>::clone(&toolbox))
        .build();
    let says = async |tools: &[ToolSpec]| {
        *toolbox.tools.lock().expect("no test crashed") = tools.to_vec();
        let offered = engine.tools(&options()).await;
        let digests: Vec<_> = offered.catalog.iter().map(|tool| tool.digest).collect();
        (digests, offered.skipped.len())
    };
    for other in [
        changed(|tool| tool.description = "Acts on all files.".into()),
        changed(|tool| tool.input = InputFormat::Json(object(&json!({ "all": true })))),
        changed(|tool| tool.input = InputFormat::Text(None)),
        changed(|tool| tool.output = Some(object(&json!({})))),
        changed(|tool| tool.safety = Safety::Unknown),
        changed(|tool| tool.title = Some("All".into())),
        changed(|tool| tool.name = "act_2".into()),
    ] {
        for tool in [&plain, &plain, &other, &other, &plain] {
            let digests = vec![tool.digest()];
            assert_eq!(says(std::slice::from_ref(tool)).await, (digests, 0));
        }
        let (digests, _) = says(&[plain.clone(), other.clone()]).await;
        assert_eq!(digests[0], plain.digest());
    }
    // One that is left out is left out each time, and back when it is well.
    let endless = vec![json!({ "$ref": "#" }); 100_000];
    let hostile = Arc::new(json!({ "type": "object", "anyOf": endless }));
    let mut hostile_tool = plain.clone();
    hostile_tool.input = InputFormat::Json(hostile);
    let hostile = [hostile_tool];
    assert_eq!(says(&hostile).await, (Vec::new(), 1));
    assert_eq!(says(&hostile).await, (Vec::new(), 1));
    let well = says(std::slice::from_ref(&plain)).await;
    assert_eq!(well, (vec![plain.digest()], 0));
}
