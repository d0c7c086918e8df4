//! The harness by which an adapter's author describes the upstream to the contract.

use jackfield_ports::upstream::Upstream;

/// Configures an upstream, and says what it adds to requests.
///
/// The test kit owns the server, the requests and the assertions.
pub trait UpstreamHarness: Sync {
    /// The adapter.
    type Upstream: Upstream;

    /// Creates an upstream for a server at this URL, with this key. Configure a value of each kind of header that
    /// the adapter can add.
    fn connect(&self, base_url: &str, key: &str) -> Self::Upstream;

    /// The endpoints in the adapter's documentation: for each, the path by which clients name it, and the path that
    /// the server sees. Both end in `/*` if the endpoint stands for all paths below.
    fn endpoints(&self) -> &[(&str, &str)];

    /// The headers that the adapter adds with this key, except for `accept` and `user-agent`.
    fn added_headers(&self, key: &str) -> Vec<AddedHeader>;
}

/// A header that an adapter adds to requests.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AddedHeader {
    /// The name, in lower case.
    pub name: &'static str,
    /// How it goes with the client's.
    pub to: AddedTo,
    /// The value.
    pub value: String,
}

/// How an added header goes with the client's of the same name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AddedTo {
    /// Its items are added to the client's comma-separated list, without duplicates and in one line.
    List,
    /// The client's stays; it is only added if there is none.
    Nothing,
    /// It replaces the client's.
    Requests,
}

impl AddedHeader {
    /// A header of every request, such as the key.
    #[must_use]
    pub fn new(name: &'static str, value: impl Into<String>) -> Self {
        let value = value.into();
        let to = AddedTo::Requests;
        Self { name, to, value }
    }

    /// A header of requests without one of this name, such as a version.
    #[must_use]
    pub fn default(name: &'static str, value: impl Into<String>) -> Self {
        let to = AddedTo::Nothing;
        Self {
            to,
            ..Self::new(name, value)
        }
    }

    /// A list that is added to the client's, such as betas.
    #[must_use]
    pub fn list(name: &'static str, value: impl Into<String>) -> Self {
        let to = AddedTo::List;
        Self {
            to,
            ..Self::new(name, value)
        }
    }
}
