//! The trace context of a request (W3C Trace Context, recommendation of 2021-11-23).

use std::sync::Arc;

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

impl TraceContext {
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

#[cfg(test)]
mod tests {
    use super::{MAX_LENGTH, TraceContext, TraceParent};

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_context_is_one_only_in_the_form_of_one() {
        let found = TraceContext::parse(PARENT, Some("a=b")).unwrap();
        assert_eq!(
            (&*found.parent, found.state.as_deref()),
            (PARENT, Some("a=b"))
        );
        let long = "a".repeat(MAX_LENGTH + 1);
        assert_eq!(
            TraceContext::parse(PARENT, Some(&long)).unwrap().state,
            None
        );
        let later = PARENT.replacen("00", "01", 1) + "-more";
        assert!(TraceContext::parse(&later, None).is_some());
        for parent in [
            "",
            "00",
            "ö",
            &PARENT.replacen("00", "ff", 1),
            &PARENT.to_uppercase(),
            &format!("{PARENT}-more"),
            &format!("{later}{}", "-more".repeat(200)),
            &PARENT[..PARENT.len() - 1],
            &PARENT.replace("00f067aa0ba902b7", "0000000000000000"),
            &PARENT.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
        ] {
            assert!(TraceContext::parse(parent, None).is_none(), "{parent}");
        }
    }

    #[test]
    fn a_parent_has_a_trace_a_span_and_flags() {
        let parent = TraceParent::parse(PARENT).unwrap();
        assert_eq!(parent.span, [0, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 2, 0xb7]);
        assert_eq!(parent.trace[..3], [0x4b, 0xf9, 0x2f]);
        assert!(parent.is_sampled);
        let unsampled = PARENT.replace("-01", "-00");
        assert!(!TraceParent::parse(&unsampled).unwrap().is_sampled);
    }
}
