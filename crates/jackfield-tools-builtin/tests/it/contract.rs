//! The contract of a toolbox, for the built-in tools.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use jackfield_ports::toolbox::Toolbox;
use jackfield_testkit::contract::toolbox::{SampleCall, ToolboxHarness};
use jackfield_tools_builtin::{Builtins, CurrentDatetime};
use serde_json::json;

jackfield_testkit::toolbox_contract!(Fixed, except: {
    a_crash_of_a_tool_ends_its_call_alone => "no arguments make a built-in tool crash",
    a_read_only_call_has_no_effect => "there is nothing that a built-in tool could change",
    a_repetition_after_a_restart_has_no_further_effect => "no built-in tool is `Idempotent`: all are `ReadOnly`",
    a_repetition_has_no_further_effect => "no built-in tool is `Idempotent`: all are `ReadOnly`",
    a_repetition_has_the_same_outcome => "no built-in tool is `Idempotent`: all are `ReadOnly`",
    an_outcome_after_the_drop_is_handed_on => "no built-in tool runs until it is cancelled",
    another_key_is_another_call => "no built-in tool is `Idempotent`: all are `ReadOnly`",
    dropping_a_call_cancels_it => "no built-in tool runs until it is cancelled",
});

/// The built-in tools with a clock that stands still, and counts how often it is read.
struct Fixed {
    builtins: Builtins,
    readings: Arc<AtomicUsize>,
}

#[async_trait]
impl ToolboxHarness for Fixed {
    async fn fresh() -> Self {
        let readings = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&readings);
        let clock = move || {
            count.fetch_add(1, Ordering::Relaxed);
            SystemTime::UNIX_EPOCH + Duration::from_secs(1_782_907_200)
        };
        Self {
            builtins: Builtins::new(CurrentDatetime::new(clock)),
            readings,
        }
    }

    fn toolbox(&self) -> Arc<dyn Toolbox> {
        Arc::new(self.builtins.clone())
    }

    fn working(&self) -> SampleCall {
        SampleCall::new("current_datetime", json!({ "timezone": "Asia/Tokyo" }))
    }

    fn read_only(&self) -> Vec<SampleCall> {
        let expression = json!({ "expression": "2^0.5 * 1000!" });
        vec![SampleCall::new("calculator", expression)]
    }

    fn failing(&self) -> Option<SampleCall> {
        // The clock is read before the zone is looked for.
        let arguments = json!({ "timezone": "Tokio" });
        Some(SampleCall::new("current_datetime", arguments))
    }

    fn runs(&self) -> Option<usize> {
        Some(self.readings.load(Ordering::Relaxed))
    }
}
