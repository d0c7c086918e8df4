//! What a request gives back of a reply before it.

/// What a request says of the conversation so far, read from the vendor's wire.
///
/// The harness reads, and the contract judges.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Echo {
    /// The model's calls, in their order.
    pub calls: Vec<EchoedCall>,
    /// What came of them, in the order of the request.
    pub outcomes: Vec<EchoedOutcome>,
    /// The model's reasoning, block by block; only what the vendor wants to see again.
    pub reasoning: Vec<EchoedReasoning>,
}

/// A call of the model, as a request tells of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EchoedCall {
    /// The arguments as text; what comes as a JSON value, written as JSON.
    pub arguments: String,
    /// The id that ties it to its outcome.
    pub id: String,
    /// The tool.
    pub name: String,
}

/// An outcome of a call, as a request tells of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EchoedOutcome {
    /// The id of the call that it belongs to.
    pub id: String,
    /// Its words.
    pub text: String,
}

/// A block of reasoning, as a request gives it back.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct EchoedReasoning {
    /// The vendor's state, such as a signature; `None` if the vendor has none.
    pub state: Option<String>,
    /// The words; `None` if the vendor does not want them back.
    pub text: Option<String>,
}
