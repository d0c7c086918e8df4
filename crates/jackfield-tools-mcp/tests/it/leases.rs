//! Calls whose lease passes while their server starts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_domain::failure::Disposition;
use jackfield_ports::call_context::{CallContext, LeasePassed};
use jackfield_ports::lease::LeaseDeadline;
use jackfield_ports::toolbox::Toolbox as _;
use jackfield_tools_mcp::{DefinitionGate, McpToolbox, Review};
use serde_json::{Value, json};

use crate::harness::{Scripted, config, run, script, settings, soon};

/// A start that takes so long that this lease passes meanwhile: the definitions are reviewed at its end.
struct Slow(LeaseDeadline);

impl DefinitionGate for Slow {
    fn review(&self, _: &[Arc<Value>]) -> Review {
        self.0.end_now();
        Review::default()
    }
}

#[tokio::test]
async fn a_call_is_not_sent_when_its_lease_passes_while_the_server_starts() {
    let steps = json!([{ "text": "paid" }]);
    for mut server in [
        Scripted::new(script("pay", &steps)),
        Scripted::over_http(script("pay", &steps)),
    ] {
        let lease = LeaseDeadline::at(Instant::now() + Duration::from_secs(600));
        let none = McpToolbox::new(config(&json!({})), settings());
        let toolbox = std::mem::replace(&mut server.toolbox, Arc::new(none));
        let toolbox = Arc::into_inner(toolbox).unwrap();
        server.toolbox = Arc::new(toolbox.gated(Arc::new(Slow(lease.clone()))));
        let (run, call) = (run("pay", json!({})), CallContext::new(lease));
        let ended = soon(server.toolbox.call(&run, &call, &mut ())).await;
        let failure = ended.unwrap_err().failure;
        assert_eq!(failure.disposition, Disposition::NotSent, "{failure:?}");
        assert_eq!(failure.message, LeasePassed.to_string());
        assert_eq!(server.count("call pay"), 0);
        // The connection is as good as before.
        server.result("pay", json!({})).await;
        assert_eq!(server.count("call pay"), 1);
        server.kept();
    }
}
