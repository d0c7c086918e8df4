//! The parts of a request that repeat earlier replies.

/// The parts of a request that repeat earlier replies, read from the vendor's wire format.
///
/// The harness reads them, and the contract judges them.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Echo {
    /// The model's calls, in their order.
    pub calls: Vec<EchoedCall>,
    /// The outcomes, in the order of the request.
    pub outcomes: Vec<EchoedOutcome>,
    /// The model's reasoning, block by block; only the parts that the vendor requires back.
    pub reasoning: Vec<EchoedReasoning>,
}

/// A call of the model in a request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EchoedCall {
    /// The arguments as text; a JSON value is serialized.
    pub arguments: String,
    /// The id that links it to its outcome.
    pub id: String,
    /// The tool's name.
    pub name: String,
}

/// An outcome of a call in a request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EchoedOutcome {
    /// The id of its call.
    pub id: String,
    /// Its text.
    pub text: String,
}

/// A reasoning block in a request.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct EchoedReasoning {
    /// The vendor's state, such as a signature; `None` if the vendor has none.
    pub state: Option<String>,
    /// The text; `None` if the vendor does not require it back.
    pub text: Option<String>,
}
