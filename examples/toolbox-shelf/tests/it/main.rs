//! The contract, kept by the shelf; and the shelf in the two programs.
#![expect(clippy::expect_used, reason = "a test stops at the first surprise")]

mod programs;

use std::sync::Arc;

use async_trait::async_trait;
use jackfield_ports::toolbox::Toolbox;
use jackfield_testkit::contract::toolbox::{SampleCall, ToolboxHarness};
use jackfield_toolbox_shelf::Shelf;
use serde_json::json;

struct ShelfHarness(Arc<Shelf>);

#[async_trait]
impl ToolboxHarness for ShelfHarness {
    async fn fresh() -> Self {
        Self(Arc::new(Shelf::new().expect("a shelf")))
    }

    fn toolbox(&self) -> Arc<dyn Toolbox> {
        Arc::clone(&self.0) as _
    }

    fn working(&self) -> SampleCall {
        SampleCall::new("find", json!({ "word": "sea" }))
    }

    fn acting(&self, _nth: usize) -> Vec<SampleCall> {
        vec![SampleCall::new("lend", json!({ "title": "Erewhon" }))]
    }

    fn read_only(&self) -> Vec<SampleCall> {
        let find = |word: &str| SampleCall::new("find", json!({ "word": word }));
        vec![find("sea"), find("vampire")]
    }

    async fn effects(&self) -> Option<Vec<String>> {
        Some(self.0.lent())
    }

    fn failing(&self) -> Option<SampleCall> {
        Some(SampleCall::new("lend", json!({ "title": "Dracula" })))
    }

    fn runs(&self) -> Option<usize> {
        Some(self.0.runs())
    }
}

jackfield_testkit::toolbox_contract!(ShelfHarness, except: {
    a_crash_of_a_tool_ends_its_call_alone => "no arguments make the shelf crash",
    a_repetition_after_a_restart_has_no_further_effect => "the shelf and its keys are in memory",
    an_outcome_after_the_drop_is_handed_on => "a call is over before it could be given up",
    dropping_a_call_cancels_it => "a call is over before it could be given up",
});
