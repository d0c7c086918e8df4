//! The mocks are ports, and notice calls that do not come or come in another order.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::ids::{SessionId, ToolboxId};
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_ports::chat_model::{Capabilities, ChatModel};
use jackfield_ports::journal::{Epoch, Journal, Lease};
use jackfield_ports::toolbox::Toolbox;
use jackfield_testkit::mocks::{MockChatModel, MockJournal, MockToolbox};
use mockall::Sequence;

#[tokio::test]
async fn calls_are_expected_across_ports_and_in_order() {
    let mut order = Sequence::new();
    let mut journal = MockJournal::new();
    let owned = journal.expect_own().once().in_sequence(&mut order);
    owned.returning(|_| Ok(Lease::unlimited(Epoch(1))));
    let mut toolbox = MockToolbox::new();
    let listed = toolbox.expect_listed().once().in_sequence(&mut order);
    listed.returning(|| Err(ToolFailure::unknown(ToolFailureKind::Unavailable, "gone").into()));
    let id = ToolboxId::parse("box").expect("a valid id");
    toolbox.expect_name().return_const(id.clone());
    let mut model = MockChatModel::new();
    model.expect_can().return_const(Capabilities::NONE);
    model
        .expect_asked()
        .never()
        .returning(|_| Ok(ReplyEnd::new(FinishReason::Stop)));

    let (journal, toolbox): (Arc<dyn Journal>, Arc<dyn Toolbox>) =
        (Arc::new(journal), Arc::new(toolbox));
    let model: Arc<dyn ChatModel> = Arc::new(model);
    let session = SessionId::parse("s").expect("a valid id");
    assert_eq!(
        journal.own(&session).await.expect("a lease").epoch,
        Epoch(1)
    );
    assert!(toolbox.list().await.is_err());
    assert_eq!(
        (toolbox.id(), model.capabilities()),
        (&id, Capabilities::NONE)
    );
}

#[test]
fn a_call_that_does_not_come_fails_the_test() {
    let mut toolbox = MockToolbox::new();
    toolbox.expect_listed().once().returning(|| Ok(Vec::new()));
    assert!(catch_unwind(AssertUnwindSafe(|| drop(toolbox))).is_err());
}
