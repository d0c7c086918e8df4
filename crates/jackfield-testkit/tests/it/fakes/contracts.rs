//! Fakes without a fault keep the contracts of their ports.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::time::WallTime;
use jackfield_domain::tool::Safety;
use jackfield_ports::journal::Journal;
use jackfield_ports::toolbox::Toolbox;
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::contract::journal::{JournalHarness, START};
use jackfield_testkit::contract::toolbox::{SampleCall, ToolboxHarness};
use jackfield_testkit::fakes::{Ending, FaultyJournal, Gate, ScriptedCall, ScriptedToolbox};
use serde_json::json;

mod journal {
    jackfield_testkit::journal_contract!(super::WithoutFault);
}

mod toolbox {
    jackfield_testkit::toolbox_contract!(super::Scripted, except: {
        a_crash_of_a_tool_ends_its_call_alone => "whoever calls a scripted tool has to bear its panic",
        a_read_only_call_has_no_effect => "a scripted tool has no effects",
        a_repetition_after_a_restart_has_no_further_effect => "a scripted tool has no effects",
        a_repetition_has_no_further_effect => "a scripted tool has no effects",
        a_repetition_has_the_same_outcome => "a scripted tool has no effects",
        another_key_is_another_call => "a scripted tool has no effects",
        what_cannot_be_taken_up_is_not_run => "it fails the test by design",
    });
}

struct WithoutFault {
    clock: Arc<AtomicI64>,
    journal: FaultyJournal,
}

#[async_trait]
impl JournalHarness for WithoutFault {
    async fn fresh() -> Self {
        let clock = Arc::new(AtomicI64::new(START.as_millis()));
        let told = Arc::clone(&clock);
        let now = move || WallTime::from_millis(told.load(Ordering::Relaxed));
        let journal = FaultyJournal::new(Arc::new(MemoryJournal::with_clock(now)));
        Self { clock, journal }
    }

    fn journal(&self) -> Arc<dyn Journal> {
        Arc::new(self.journal.clone())
    }

    fn set_clock(&self, now: WallTime) {
        self.clock.store(now.as_millis(), Ordering::Relaxed);
    }
}

struct Scripted(ScriptedToolbox);

#[async_trait]
impl ToolboxHarness for Scripted {
    async fn fresh() -> Self {
        let id = ToolboxId::parse("scripted").unwrap_or_else(|invalid| panic!("{invalid}"));
        let toolbox = ScriptedToolbox::new(id);
        for tool in ["echo", "fail", "last", "outlive", "crash"] {
            toolbox.tool(tool, Safety::Unknown);
        }
        toolbox
            .set_default_call("echo", ScriptedCall::text("Привет, мир"))
            .set_default_call(
                "fail",
                ScriptedCall::result(ToolResult::error("it cannot be done")),
            )
            .set_default_call("last", ScriptedCall::text("never").held_at(&Gate::new()))
            .set_default_call("outlive", {
                let (never, at_once) = (Gate::new(), Gate::new());
                at_once.open();
                let call = ScriptedCall::text("never").held_at(&never);
                call.late(ToolResult::text("after all"), &at_once)
            })
            .set_default_call("crash", ScriptedCall::panicking());
        Self(toolbox)
    }

    fn toolbox(&self) -> Arc<dyn Toolbox> {
        self.0.port()
    }

    fn working(&self) -> SampleCall {
        SampleCall::new("echo", json!({}))
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
        Some(self.0.runs().len())
    }

    fn is_running(&self) -> Option<bool> {
        let calls = self.0.calls();
        Some(calls.iter().any(|call| call.ending == Ending::Running))
    }
}
