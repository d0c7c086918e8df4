//! The contract of the toolbox: each test that fails is something to do, and says what. `cargo test CLAUSE` runs one.
//! One that cannot hold is an exception: `toolbox_contract!(BrookHarness, except: { clause => "why" })`.

use std::sync::Arc;

use async_trait::async_trait;
use jackfield_ports::toolbox::Toolbox;
use jackfield_testkit::contract::toolbox::{SampleCall, ToolboxHarness};
use serde_json::json;
use toolbox_brook::BrookToolbox;

struct BrookHarness(Arc<BrookToolbox>);

/// To do: `restarted`, `runs`, `lasting`, `is_running`, `outliving` and `crashing`, as far as your tools have them.
#[async_trait]
impl ToolboxHarness for BrookHarness {
    async fn fresh() -> Self {
        Self(Arc::default())
    }

    fn toolbox(&self) -> Arc<dyn Toolbox> {
        Arc::clone(&self.0) as _
    }

    fn working(&self) -> SampleCall {
        SampleCall::new("find", json!({ "word": "stone" }))
    }

    fn acting(&self, nth: usize) -> Vec<SampleCall> {
        let text = format!("stone {nth}");
        vec![SampleCall::new("note", json!({ "text": text }))]
    }

    fn read_only(&self) -> Vec<SampleCall> {
        let find = |word: &str| SampleCall::new("find", json!({ "word": word }));
        vec![find("stone"), find("nothing")]
    }

    async fn effects(&self) -> Option<Vec<String>> {
        Some(self.0.notes())
    }

    fn failing(&self) -> Option<SampleCall> {
        Some(SampleCall::new("note", json!({})))
    }
}

jackfield_testkit::toolbox_contract!(BrookHarness);
