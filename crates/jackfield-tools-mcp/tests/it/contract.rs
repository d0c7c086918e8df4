//! The contract of a toolbox, for a server of each era.

use std::sync::Arc;

use async_trait::async_trait;
use jackfield_ports::toolbox::Toolbox;
use jackfield_testkit::contract::toolbox::{SampleCall, ToolboxHarness};
use serde_json::json;

use crate::harness::{Scripted, tool};

mod handshake {
    //! A server with a handshake.

    jackfield_testkit::toolbox_contract!(super::Of<false>);
}

mod stateless {
    //! A server without one.

    jackfield_testkit::toolbox_contract!(super::Of<true>);
}

/// A toolbox over a server of the newer era, or of the older one.
struct Of<const NEW: bool>(Scripted);

#[async_trait]
impl<const NEW: bool> ToolboxHarness for Of<NEW> {
    async fn fresh() -> Self {
        Self(Scripted::new(json!({
            "era": if NEW { "modern" } else { "legacy" },
            "tools": [tool("crash"), tool("echo"), tool("fail"), tool("last"), tool("outlive")],
            "calls": {
                "crash": [{ "die": 3 }],
                "echo": [{ "text": "some words, always the same ones" }],
                "fail": [{ "reply": {
                    "content": [{ "type": "text", "text": "there is no such city" }],
                    "isError": true,
                } }],
                "last": [{ "wait": true }],
                "outlive": [{ "wait": "it was done by then" }],
            },
        })))
    }

    fn toolbox(&self) -> Arc<dyn Toolbox> {
        Arc::clone(&self.0.toolbox) as _
    }

    fn working(&self) -> SampleCall {
        SampleCall::new("echo", json!({ "city": "Paris" }))
    }

    fn failing(&self) -> Option<SampleCall> {
        Some(SampleCall::new("fail", json!({})))
    }

    fn lasting(&self) -> Option<SampleCall> {
        Some(SampleCall::new("last", json!({})))
    }

    fn outliving(&self) -> Option<SampleCall> {
        Some(SampleCall::new("outlive", json!({})))
    }

    fn crashing(&self) -> Option<SampleCall> {
        Some(SampleCall::new("crash", json!({})))
    }

    fn runs(&self) -> Option<usize> {
        Some(self.0.count("call "))
    }

    fn is_running(&self) -> Option<bool> {
        Some(self.0.count("call ") > self.0.count("done ") + self.0.count("cancelled "))
    }
}
