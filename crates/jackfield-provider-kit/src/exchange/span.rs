//! The span of a call, by the OpenTelemetry conventions for generative AI.

use jackfield_domain::failure::ModelFailureKind;
use jackfield_domain::reply::ReplyEnd;
use tracing::Span;
use tracing::field::{debug, display};

#[doc(hidden)]
pub use tracing;

/// Creates the span of a model call, with the calling crate as its target.
///
/// Takes the provider's name in the telemetry conventions, the field for the provider's request id, the model, and
/// the base URL.
///
/// ```text
/// let span = jackfield_provider_kit::chat_span!("acme", "acme.request_id", "acme-1", base_url);
/// ```
#[macro_export]
macro_rules! chat_span {
    ($provider:expr, $request_id:literal, $model:expr, $base_url:expr) => {{
        use $crate::exchange::tracing::{self, field::Empty};
        let model: &str = $model;
        tracing::info_span!(
            "chat",
            $request_id = Empty,
            error.type = Empty,
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = $provider,
            gen_ai.request.model = model,
            gen_ai.response.finish_reasons = Empty,
            gen_ai.response.id = Empty,
            gen_ai.response.model = Empty,
            gen_ai.usage.cache_creation.input_tokens = Empty,
            gen_ai.usage.cache_read.input_tokens = Empty,
            gen_ai.usage.input_tokens = Empty,
            gen_ai.usage.output_tokens = Empty,
            otel.kind = "client",
            otel.name = format!("chat {model}"),
            otel.status_code = Empty,
            server.address = %$base_url,
        )
    }};
}

/// Records the end of a reply.
pub fn record(span: &Span, end: &ReplyEnd) {
    span.record("gen_ai.response.finish_reasons", debug([&end.finish]));
    if let Some(id) = &end.upstream {
        span.record("gen_ai.response.id", display(id));
    }
    if let Some(model) = &end.model {
        span.record("gen_ai.response.model", display(model));
    }
    if let Some(usage) = &end.usage {
        span.record(
            "gen_ai.usage.cache_creation.input_tokens",
            usage.cache_write,
        );
        span.record("gen_ai.usage.cache_read.input_tokens", usage.cache_read);
        span.record("gen_ai.usage.input_tokens", usage.input);
        span.record("gen_ai.usage.output_tokens", usage.output);
    }
}

/// Records that the call failed.
pub fn fail(span: &Span, kind: ModelFailureKind) {
    span.record("error.type", debug(kind));
    span.record("otel.status_code", "ERROR");
}
