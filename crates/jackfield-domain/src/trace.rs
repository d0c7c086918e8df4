//! The trace context of a request (W3C Trace Context, recommendation of 2021-11-23).

use std::sync::Arc;

use crate::digest::Digest;
use crate::ids::{ModelAttempt, ToolAttempt, TurnId};

/// The trace context that a client sent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TraceContext {
    /// The header `traceparent`.
    pub parent: Arc<str>,
    /// The header `tracestate`, if there was one.
    pub state: Option<Arc<str>>,
}

/// The parts of a `traceparent`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TraceParent {
    /// Whether the caller records the trace.
    pub is_sampled: bool,
    /// The span of the caller.
    pub span: [u8; 8],
    /// The trace.
    pub trace: [u8; 16],
}

/// The trace of a turn. The ids of its spans follow from the turn, so that each process gives a span the same id.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TurnTrace {
    context: Option<Arc<TraceContext>>,
    id: [u8; 16],
    parent: Option<TraceParent>,
    turn: TurnId,
}

/// A span of a turn's trace.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum TurnSpan<'a> {
    /// A model call.
    Model(ModelAttempt),
    /// Something else, by its place in the [`Timeline`](crate::timeline::Timeline).
    Place(usize),
    /// An attempt at a tool call.
    Tool(&'a ToolAttempt),
    /// The turn, above all others.
    Turn,
}

impl TurnTrace {
    /// The trace of a turn whose client sent this context; `None` if the client does not record it.
    #[must_use]
    pub fn of(turn: &TurnId, context: Option<&Arc<TraceContext>>) -> Option<Self> {
        let parent = context.and_then(|context| TraceParent::parse(&context.parent));
        parent.is_none_or(|parent| parent.is_sampled).then(|| Self {
            context: context.cloned(),
            id: match parent {
                Some(parent) => parent.trace,
                None => digest_bytes([turn.as_str(), "trace"]),
            },
            parent,
            turn: turn.clone(),
        })
    }

    /// Its id: the client's, if it sent one.
    #[must_use]
    pub const fn id(&self) -> [u8; 16] {
        self.id
    }

    /// The span of the client, if it sent one.
    #[must_use]
    pub fn parent(&self) -> Option<[u8; 8]> {
        self.parent.map(|parent| parent.span)
    }

    /// The client's `tracestate`.
    #[must_use]
    pub fn state(&self) -> Option<&str> {
        self.context.as_ref()?.state.as_deref()
    }

    /// The id of a span.
    #[must_use]
    pub fn span_id(&self, span: &TurnSpan<'_>) -> [u8; 8] {
        let name = match span {
            TurnSpan::Model(ModelAttempt { round, attempt }) => format!("model {round}.{attempt}"),
            TurnSpan::Place(place) => place.to_string(),
            TurnSpan::Tool(ToolAttempt { call, attempt }) => format!("tool {attempt} {call}"),
            TurnSpan::Turn => String::new(),
        };
        digest_bytes([self.turn.as_str(), &name])
    }

    /// The context that the call of this span passes on.
    #[must_use]
    pub fn context(&self, span: &TurnSpan<'_>) -> TraceContext {
        let state = self.state().map(Into::into);
        TraceContext::new(self.id(), self.span_id(span), state)
    }
}

impl TraceContext {
    /// The context of a span that is recorded.
    #[must_use]
    pub fn new(trace: [u8; 16], span: [u8; 8], state: Option<Arc<str>>) -> Self {
        let mut parent = "00-".to_owned();
        push_hex(&trace, &mut parent);
        parent.push('-');
        push_hex(&span, &mut parent);
        parent.push_str("-01");
        Self {
            parent: parent.into(),
            state,
        }
    }

    /// The context of a call within the span of this one, which is recorded: its id follows from the span and a name.
    /// `None` if this is not recorded.
    #[must_use]
    pub fn child(&self, name: &str) -> Option<Self> {
        let parent = TraceParent::parse(&self.parent).filter(|parent| parent.is_sampled)?;
        let span = digest_bytes([&*self.parent, name]);
        Some(Self::new(parent.trace, span, self.state.clone()))
    }

    /// The context of these headers; `None` if `traceparent` does not have the form of one. A `tracestate` that is too
    /// long is left out.
    #[must_use]
    pub fn parse(parent: &str, state: Option<&str>) -> Option<Self> {
        TraceParent::parse(parent)?;
        let state = state.filter(|state| state.len() <= MAX_LENGTH);
        Some(Self {
            parent: parent.into(),
            state: state.map(Into::into),
        })
    }
}

impl TraceParent {
    /// The parts of a header: version, trace id, parent id and flags. A later version may have more.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_LENGTH {
            return None;
        }
        let mut parts = text.split('-');
        let [version] = bytes(parts.next()?)?;
        let (trace, span) = (bytes(parts.next()?)?, bytes(parts.next()?)?);
        let [flags] = bytes(parts.next()?)?;
        let is_whole = parts.next().is_none() || version > 0;
        let is_valid = version < 0xff && trace != [0; 16] && span != [0; 8];
        (is_whole && is_valid).then_some(Self {
            is_sampled: flags & 1 == 1,
            span,
            trace,
        })
    }
}

/// The first bytes of a digest.
fn digest_bytes<const N: usize>(parts: [&str; 2]) -> [u8; N] {
    let digest = Digest::of_parts(parts);
    let mut bytes = [0; N];
    for (byte, of) in bytes.iter_mut().zip(digest.as_bytes()) {
        *byte = *of;
    }
    bytes
}

fn push_hex(bytes: &[u8], text: &mut String) {
    for byte in bytes {
        for digit in [byte >> 4, byte & 0xf] {
            text.extend(char::from_digit(digit.into(), 16));
        }
    }
}

/// Bytes of lower-case hexadecimal digits.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |sign: u8| match sign {
        b'0'..=b'9' => Some(sign - b'0'),
        b'a'..=b'f' => Some(sign - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    if text.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}

/// The maximum length of a header, in bytes: at least this much of a `tracestate` has to be passed on.
const MAX_LENGTH: usize = 512;
