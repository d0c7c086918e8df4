//! The contract of a toolbox, for a server of each era.

use std::sync::Arc;

use async_trait::async_trait;
use jackfield_ports::toolbox::Toolbox;
use jackfield_testkit::contract::toolbox::{SampleCall, ToolboxHarness};
use jackfield_tools_mcp::{ClientSettings, ServerConfig};
use serde_json::json;

use crate::harness::{Scripted, tool};

// The server keeps what it did under a key: here its file `effects` is read as if it did each key once. So the
// clauses about repetitions test that each attempt comes with the key of its call.

mod handshake {
    //! A server with a handshake.

    jackfield_testkit::toolbox_contract!(super::Of<false, false>);
}

mod stateless {
    //! A server without one.

    jackfield_testkit::toolbox_contract!(super::Of<true, false>);
}

mod http_handshake {
    //! A server over HTTP with a handshake, which answers in streams of events.

    jackfield_testkit::toolbox_contract!(super::Of<false, true>);
}

mod http_stateless {
    //! A server over HTTP without one.

    jackfield_testkit::toolbox_contract!(super::Of<true, true>, except: {
        an_outcome_after_the_drop_is_handed_on =>
            "a call is cancelled by closing its stream, which no outcome can come over then",
    });
}

/// A toolbox over a server of the newer era, or of the older one, over HTTP or not.
struct Of<const NEW: bool, const HTTP: bool>(Scripted);

#[async_trait]
impl<const NEW: bool, const HTTP: bool> ToolboxHarness for Of<NEW, HTTP> {
    async fn fresh() -> Self {
        let hinted = |name: &str, hint: &str| {
            let mut tool = tool(name);
            tool["annotations"] = json!({ hint: true });
            tool
        };
        let script = json!({
            "era": if NEW { "modern" } else { "legacy" },
            "tools": [
                tool("crash"),
                tool("echo"),
                tool("fail"),
                tool("last"),
                hinted("look", "readOnlyHint"),
                hinted("note", "idempotentHint"),
                tool("outlive"),
            ],
            "calls": {
                "crash": [{ "die": 3 }],
                "echo": [{ "text": "some words, always the same ones" }],
                "fail": [{ "reply": {
                    "content": [{ "type": "text", "text": "there is no such city" }],
                    "isError": true,
                } }],
                "last": [{ "wait": true }],
                "look": [{ "text": "nothing is noted" }],
                "note": [{ "text": "it is noted" }],
                "outlive": [{ "wait": "it was done by then" }],
            },
        });
        let trust = |config: &mut ServerConfig, _: &mut ClientSettings| config.trusted = true;
        Self(if HTTP {
            Scripted::over_http_with(script, trust)
        } else {
            Scripted::with(script, trust)
        })
    }

    fn toolbox(&self) -> Arc<dyn Toolbox> {
        Arc::clone(&self.0.toolbox) as _
    }

    fn working(&self) -> SampleCall {
        SampleCall::new("echo", json!({ "city": "Paris" }))
    }

    fn acting(&self, nth: usize) -> Vec<SampleCall> {
        vec![SampleCall::new("note", json!({ "nth": nth }))]
    }

    fn read_only(&self) -> Vec<SampleCall> {
        vec![SampleCall::new("look", json!({}))]
    }

    async fn effects(&self) -> Option<Vec<String>> {
        let mut keys = Vec::new();
        for effect in self.0.effects() {
            let key = effect["key"].to_string();
            if effect["tool"] == "note" && !keys.contains(&key) {
                keys.push(key);
            }
        }
        Some(keys)
    }

    async fn restarted(&self) -> Option<Arc<dyn Toolbox>> {
        Some(self.0.restarted())
    }

    fn failing(&self) -> Option<SampleCall> {
        Some(SampleCall::new("fail", json!({})))
    }

    fn lasting(&self) -> Option<SampleCall> {
        Some(SampleCall::new("last", json!({})))
    }

    fn outliving(&self) -> Option<SampleCall> {
        let can_come_late = !(NEW && HTTP);
        can_come_late.then(|| SampleCall::new("outlive", json!({})))
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
