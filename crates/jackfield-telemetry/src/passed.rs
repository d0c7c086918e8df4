//! What a spending record says of a request that was passed through.

use jackfield_domain::spending_record::SpendingRecord;

/// Whether a record is of a request that was passed through: others name no path, and are of turns and summaries.
pub(crate) fn is_passed(record: &SpendingRecord) -> bool {
    record.endpoint.starts_with('/')
}

/// The operation of an endpoint (`gen_ai.operation.name`), if it has one.
pub(crate) fn operation(endpoint: &str) -> Option<&'static str> {
    match endpoint {
        "/v1/chat/completions" | "/v1/messages" | "/v1/responses" => Some("chat"),
        "/v1/completions" => Some("text_completion"),
        "/v1/embeddings" => Some("embeddings"),
        _ if endpoint.ends_with(":generateContent")
            || endpoint.ends_with(":streamGenerateContent") =>
        {
            Some("chat")
        }
        _ => None,
    }
}

/// Why its provider gave no good reply; empty if it did. A record without a status does not say whether the provider
/// failed or the client went away.
pub(crate) fn error_of(record: &SpendingRecord) -> String {
    match record.status {
        Some(status) if status < 400 => String::new(),
        Some(status) => status.to_string(),
        None => "no_reply".to_owned(),
    }
}
