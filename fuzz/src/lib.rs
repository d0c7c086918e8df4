//! What the targets check: a request is taken or refused, a stream is a reply or a failure.

use jackfield_dialect_kit::decode::DecodeReply;
use jackfield_dialect_kit::serve::ServeDialect;
use jackfield_domain::opaque::StateOwner;
use serde_json::Value;

/// Whose state is read.
pub fn owner() -> StateOwner {
    StateOwner {
        dialect: "fuzz".into(),
        endpoint: "https://example.com".into(),
        model: "model".into(),
    }
}

/// Reads a request, and checks how it is refused if it is.
pub fn request(dialect: &dyn ServeDialect, body: &[u8]) {
    if let Err(error) = dialect.request(&|_| None, body, &|_| owner()) {
        let refused = dialect.error(&error, "req_1");
        assert!((400..500).contains(&refused.status), "{error:?}");
        let told: Value = serde_json::from_slice(&refused.body).expect("JSON");
        assert!(told["error"]["message"].is_string(), "{told}");
    }
}

/// Reads a stream, and the same bytes as a whole reply.
pub fn stream<D: DecodeReply>(decoder: impl Fn() -> D, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut reading = decoder();
    for event in text.split("\n\n") {
        let name = event.lines().find_map(|line| line.strip_prefix("event: "));
        let data = event.lines().find_map(|line| line.strip_prefix("data: "));
        if reading.push(name, data.unwrap_or(event)).is_err() {
            return;
        }
    }
    let _rest = reading.rest();
    let _end = reading.finish();
    let _whole = decoder().read_whole(bytes);
}
