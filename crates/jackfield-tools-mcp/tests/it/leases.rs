//! Calls whose lease passes while their server starts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_domain::failure::Disposition;
use jackfield_domain::wait::ElicitationAnswer;
use jackfield_ports::call_context::{CallContext, LeasePassed};
use jackfield_ports::lease::LeaseDeadline;
use jackfield_ports::toolbox::{ToolEnd, Toolbox as _};
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

/// A lease that lasts, and the circumstances of a call in it.
fn leased() -> (LeaseDeadline, CallContext) {
    let lease = LeaseDeadline::at(Instant::now() + Duration::from_secs(600));
    (lease.clone(), CallContext::new(lease))
}

#[tokio::test]
async fn a_task_is_left_to_the_next_owner_when_its_call_ends_with_the_lease() {
    let working = json!({ "status": "working", "pollInterval": 10 });
    let steps = json!([{ "task": [working] }]);
    let server = Scripted::new(script("build", &steps));
    let (lease, call) = leased();
    let toolbox = Arc::clone(&server.toolbox);
    let following = tokio::spawn(async move {
        let run = run("build", json!({}));
        toolbox.call(&run, &call, &mut ()).await.is_ok()
    });
    server.until("said tasks/get", 2).await;
    lease.end_now();
    following.abort();
    assert!(following.await.unwrap_err().is_cancelled());
    // A cancellation would be there before the answer to this.
    soon(server.toolbox.list()).await.unwrap();
    soon(server.toolbox.stop()).await;
    assert_eq!(server.count("cancelled task"), 0);
}

#[tokio::test]
async fn an_answer_is_not_passed_on_after_the_lease() {
    let question = json!({ "message": "Pay?", "requestedSchema": { "type": "object" } });
    let mut held = script("pay", &json!([{ "elicit": question }]));
    held["era"] = json!("legacy");
    let asks = json!({ "method": "elicitation/create", "params": question });
    let asking = script(
        "pay",
        &json!([{ "ask": { "requests": { "may": asks } } }, { "text": "paid" }]),
    );
    for server in [
        Scripted::new(held.clone()),
        Scripted::over_http(held),
        Scripted::new(asking),
    ] {
        let (lease, call) = leased();
        let asked = soon(server.toolbox.call(&run("pay", json!({})), &call, &mut ())).await;
        let Ok(ToolEnd::Asked { handle, .. }) = asked else {
            panic!("{asked:?}");
        };
        lease.end_now();
        let answer = ElicitationAnswer::Accepted(Arc::new(json!({})));
        let mut events = ();
        let resuming = server
            .toolbox
            .resume(&handle, Some(&answer), &call, &mut events);
        let failure = soon(resuming).await.unwrap_err().failure;
        // It was sent once.
        assert_eq!(failure.disposition, Disposition::Unknown, "{failure:?}");
        soon(server.toolbox.stop()).await;
        let answers = server.count("answers") + server.count("elicited");
        assert_eq!(answers, 0, "{:?}", server.log());
    }
}
