//! Mocks of the ports, for assertions about calls and not for behaviour.
//!
//! A test that needs behaviour uses a fake of [`fakes`](crate::fakes). A mock only shows that a port was called,
//! was not called, or was called in an order.

use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::fact::Envelope;
use jackfield_domain::ids::{DeliveryId, SessionId, ToolboxId};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::{ModelRequest, ToolRun};
use jackfield_domain::time::WallTime;
use jackfield_domain::tool::ToolSpec;
use jackfield_domain::wait::{Delivery, DeliveryBody, ElicitationAnswer, JobHandle};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_ports::journal::marks::{FoundTurn, Mark};
use jackfield_ports::journal::sessions::{
    DueSessions, LabelChange, ListedWait, SessionQuery, SessionRow, WaitQuery,
};
use jackfield_ports::journal::{
    Append, Appended, DeliveryOutcome, Epoch, Hold, Journal, JournalError, Lease, Loaded,
};
use jackfield_ports::toolbox::{ToolEnd, ToolError, ToolEvents, Toolbox};
use mockall::mock;

mock! {
    /// A mock of a chat model. Its expectations get the request and return the end; it emits no deltas.
    #[derive(Debug)]
    pub ChatModel {
        /// See [`ChatModel::capabilities`].
        pub fn can(&self) -> Capabilities;
        /// See [`ChatModel::state_owner`].
        pub fn owner(&self, model: &str) -> StateOwner;
        /// See [`ChatModel::reply`].
        pub fn asked(&self, request: &ModelRequest) -> Result<ReplyEnd, ModelError>;
    }
}

#[async_trait]
impl ChatModel for MockChatModel {
    fn capabilities(&self) -> Capabilities {
        self.can()
    }

    fn state_owner(&self, model: &str) -> StateOwner {
        self.owner(model)
    }

    async fn reply(
        &self,
        request: &ModelRequest,
        _call: &CallContext,
        _sink: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelError> {
        self.asked(request)
    }
}

mock! {
    /// A mock of a toolbox. Its expectations get the call; it reports no progress.
    #[derive(Debug)]
    pub Toolbox {
        /// See [`Toolbox::id`].
        pub fn name(&self) -> &ToolboxId;
        /// See [`Toolbox::list`].
        pub fn listed(&self) -> Result<Vec<ToolSpec>, ToolError>;
        /// See [`Toolbox::call`].
        pub fn called(&self, run: &ToolRun) -> Result<ToolEnd, ToolError>;
        /// See [`Toolbox::resume`].
        pub fn resumed(
            &self,
            handle: &JobHandle,
            answer: Option<ElicitationAnswer>,
        ) -> Result<ToolEnd, ToolError>;
    }
}

#[async_trait]
impl Toolbox for MockToolbox {
    fn id(&self) -> &ToolboxId {
        self.name()
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        self.listed()
    }

    async fn call(
        &self,
        run: &ToolRun,
        _call: &CallContext,
        _events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        self.called(run)
    }

    async fn resume(
        &self,
        handle: &JobHandle,
        answer: Option<&ElicitationAnswer>,
        _call: &CallContext,
        _events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        self.resumed(handle, answer.cloned())
    }
}

mock! {
    /// A mock of a journal.
    #[derive(Debug)]
    pub Journal {}

    #[async_trait]
    impl Journal for Journal {
        async fn own(&self, session: &SessionId) -> Result<Lease, JournalError>;
        async fn hold(&self, session: &SessionId) -> Result<Hold, JournalError>;
        async fn exists(&self, session: &SessionId) -> Result<bool, JournalError>;
        async fn load(&self, session: &SessionId) -> Result<Loaded, JournalError>;
        async fn append(&self, append: &Append) -> Appended;
        async fn deliver(
            &self,
            session: &SessionId,
            id: DeliveryId,
            by: Arc<str>,
            body: DeliveryBody,
        ) -> Result<DeliveryOutcome, JournalError>;
        async fn inbox(
            &self,
            session: &SessionId,
            from: u64,
        ) -> Result<Vec<Delivery>, JournalError>;
        async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), JournalError>;
        async fn follow(
            &self,
            session: &SessionId,
            from: u64,
        ) -> Result<Vec<Envelope>, JournalError>;
        async fn sessions(&self, query: &SessionQuery) -> Result<Vec<SessionRow>, JournalError>;
        async fn delete(&self, session: &SessionId) -> Result<(), JournalError>;
        async fn label(&self, session: &SessionId, change: &LabelChange) -> Result<(), JournalError>;
        async fn mark_restored(&self, session: &SessionId) -> Result<(), JournalError>;
        async fn due(&self, now: WallTime, most: usize) -> Result<DueSessions, JournalError>;
        async fn waits(&self, query: &WaitQuery) -> Result<Vec<ListedWait>, JournalError>;
        async fn find(
            &self,
            principal: &str,
            marks: &[Mark],
            most: usize,
        ) -> Result<Vec<FoundTurn>, JournalError>;
    }
}
