//! Decides whether a request is passed through to its provider, or becomes a turn. Pure.

/// How a request is answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum RequestPath {
    /// Its bytes go to the provider, and the provider's bytes come back.
    Passthrough,
    /// It becomes a turn, for this reason.
    Turn(TurnReason),
}

/// Why a request becomes a turn.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum TurnReason {
    /// It names an assistant.
    Assistant,
    /// It asks for a reply in the background, which the gateway keeps.
    Background,
    /// The configuration has a prompt, settings or a budget for it.
    Configured,
    /// It is of a conversation that its provider keeps, and that may be another client's.
    Conversation,
    /// Pass-through is disabled.
    Disabled,
    /// It has an idempotency key.
    IdempotencyKey,
    /// It continues a reply that its provider does not keep for its client.
    PreviousReply,
    /// A target of its route does not serve this endpoint in the client's language.
    Route,
    /// It names a session.
    Session,
    /// The gateway offers it server tools.
    ServerTools,
    /// The gateway keeps its response.
    Stored,
    /// It is strict about losses.
    Strict,
    /// Its provider does not serve this endpoint in its own language.
    Upstream,
}

/// What the decision depends on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathInput {
    pub(crate) has_idempotency_key: bool,
    /// Whether a prompt, settings or a budget are configured for it.
    pub(crate) has_configured_options: bool,
    /// Whether it names a conversation of the provider's account that its client has no access to.
    pub(crate) has_foreign_conversation: bool,
    /// Whether it continues a reply that its provider does not keep for its client.
    pub(crate) has_previous_reply: bool,
    pub(crate) has_server_tools: bool,
    pub(crate) has_session: bool,
    /// Whether its provider serves its endpoint, in the vendor's own language or by setting.
    pub(crate) has_upstream: bool,
    pub(crate) is_assistant: bool,
    /// Whether it asks for a reply in the background that the gateway keeps.
    pub(crate) is_background: bool,
    /// Whether pass-through is enabled for its client.
    pub(crate) is_enabled: bool,
    /// Whether it names a route of which a target does not serve its endpoint so.
    pub(crate) is_mixed_route: bool,
    pub(crate) is_strict: bool,
    /// Whether the gateway keeps its response for later requests.
    pub(crate) keeps_response: bool,
}

/// The path of a request. The order decides which reason is named.
pub(crate) fn decide(input: PathInput) -> RequestPath {
    let reasons = [
        (!input.is_enabled, TurnReason::Disabled),
        (input.is_assistant, TurnReason::Assistant),
        (input.is_mixed_route, TurnReason::Route),
        (!input.has_upstream, TurnReason::Upstream),
        (input.has_session, TurnReason::Session),
        (input.has_previous_reply, TurnReason::PreviousReply),
        (input.has_foreign_conversation, TurnReason::Conversation),
        (input.is_background, TurnReason::Background),
        (input.has_idempotency_key, TurnReason::IdempotencyKey),
        (input.is_strict, TurnReason::Strict),
        (input.has_server_tools, TurnReason::ServerTools),
        (input.keeps_response, TurnReason::Stored),
        (input.has_configured_options, TurnReason::Configured),
    ];
    let reason = reasons.into_iter().find(|(holds, _)| *holds);
    reason.map_or(RequestPath::Passthrough, |(_, reason)| {
        RequestPath::Turn(reason)
    })
}
