//! The upstream of a toy vendor, with a switch for every mistake that an adapter can make.

use std::borrow::Cow;
use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind as Kind, Phase};
use jackfield_ports::chat_model::ModelError;
use jackfield_ports::credential::Credential;
use jackfield_ports::upstream::{RawBody, RawReply, RawRequest, Upstream};
use jackfield_testkit::contract::upstream::{AddedHeader, UpstreamHarness};

use super::wire::{self, Answer, Body};

pub(super) struct ToyHarness(pub(super) Fault);

/// What is wrong with the adapter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fault {
    AnswersOnlySuccess,
    BuffersAll,
    ClaimsUnsent,
    DropsQueries,
    DropsUnknownHeaders,
    EndsAfterErrors,
    FollowsRedirects,
    ForgetsPhase,
    HoldsOn,
    JoinsHeaders,
    KeepsAccounts,
    ListsMore,
    LosesNewlines,
    LosesPieces,
    NamesItself,
    None,
    PassesTraces,
    PostsAll,
    ReadsText,
    ReplacesLists,
    ReplacesVersions,
    Retries,
    ReturnsConnections,
    ReturnsCookies,
    ReturnsKeys,
    ReturnsOrigins,
    ReturnsTypesOnly,
    RewritesBodies,
    SendsConnections,
    SendsCookies,
    SendsCredentials,
    SendsNamedHeaders,
    ServesAll,
    KeepsItsKey,
    ShowsKey,
    ShowsRequests,
    TakesAnyChunk,
    TakesAnyEnd,
}

impl UpstreamHarness for ToyHarness {
    type Upstream = Toy;

    fn connect(&self, base_url: &str, key: &str) -> Toy {
        Toy {
            address: base_url.replace("http://", ""),
            fault: self.0,
            key: key.to_owned(),
        }
    }

    fn endpoints(&self) -> &[(&str, &str)] {
        &[("/v1/talk", "/api/talk"), ("/v1/count", "/api/count")]
    }

    fn added_headers(&self, key: &str) -> Vec<AddedHeader> {
        vec![
            AddedHeader::new("x-api-key", key),
            AddedHeader::new("x-account", "7"),
            AddedHeader::default("x-version", "1"),
            AddedHeader::list("x-features", "a,b"),
        ]
    }
}

pub(super) struct Toy {
    address: String,
    fault: Fault,
    key: String,
}

impl fmt::Debug for Toy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Toy");
        if self.has(Fault::ShowsKey) {
            shown.field("key", &self.key);
        }
        shown.finish_non_exhaustive()
    }
}

#[async_trait]
impl Upstream for Toy {
    fn endpoints(&self) -> &[Cow<'static, str>] {
        const ALL: [Cow<'static, str>; 3] = [
            Cow::Borrowed("/v1/talk"),
            Cow::Borrowed("/v1/count"),
            Cow::Borrowed("/v1/sing"),
        ];
        if self.has(Fault::ListsMore) {
            &ALL
        } else {
            &ALL[..2]
        }
    }

    async fn send(&self, request: RawRequest) -> Result<RawReply, ModelError> {
        let shown = format!("{:?} {:?}", request.headers, request.query);
        let (method, mut target, headers, body) = self.prepare(request)?;
        loop {
            let answer = if self.has(Fault::HoldsOn) {
                // What goes on by itself cannot be dropped.
                let (toy, method, target) = (self.copy(), method.clone(), target.clone());
                let (headers, body) = (headers.clone(), body.clone());
                let task = tokio::spawn(async move {
                    let answer = toy.exchange(&method, &target, &headers, &body);
                    answer.await
                });
                task.await.expect("the exchange does not panic")
            } else {
                self.exchange(&method, &target, &headers, &body).await
            };
            let mut answer = answer.map_err(|mut failure| {
                if self.has(Fault::ShowsRequests) {
                    failure.message.push_str(&shown);
                }
                failure
            })?;
            let location = answer.headers.get("location");
            if let Some(Ok(location)) = location.map(HeaderValue::to_str)
                && self.has(Fault::FollowsRedirects)
            {
                let path = location.split("://").last().unwrap_or(location);
                target = path[path.find('/').unwrap_or(path.len())..].to_owned();
                continue;
            }
            if self.has(Fault::Retries) && answer.status >= 500 {
                answer = self.exchange(&method, &target, &headers, &body).await?;
            }
            return self.reply(answer).await;
        }
    }
}

impl Toy {
    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn copy(&self) -> Self {
        Self {
            address: self.address.clone(),
            fault: self.fault,
            key: self.key.clone(),
        }
    }

    /// Method, target, headers and body as they are sent.
    fn prepare(
        &self,
        request: RawRequest,
    ) -> Result<(Method, String, HeaderMap, Bytes), ModelFailure> {
        let own = request.credential.clone();
        let refuse = |kind, message: &str| Err(ModelFailure::new(kind, Phase::BeforeSend, message));
        let resource = match request.path.as_str() {
            "/v1/count" => "/api/count",
            "/v1/talk" => "/api/talk",
            _ if self.has(Fault::ServesAll) => "/api/talk",
            _ => return refuse(Kind::Unsupported, "toy does not serve this"),
        };
        let traces = [Method::CONNECT, Method::TRACE].contains(&request.method);
        if traces && !self.has(Fault::PassesTraces) {
            return refuse(Kind::Unsupported, "toy does not pass this on");
        }
        let mut target = resource.to_owned();
        if let Some(query) = request.query.filter(|_| !self.has(Fault::DropsQueries)) {
            if query.contains(['#', '\n', '\r', ' ']) {
                return refuse(Kind::InvalidRequest, "this is no query");
            }
            target.push_str(&format!("?{query}"));
        }
        let method = if self.has(Fault::PostsAll) {
            Method::POST
        } else {
            request.method
        };
        let mut body = request.body;
        if self.has(Fault::RewritesBodies)
            && let Ok(json) = serde_json::from_slice::<serde_json::Value>(&body)
        {
            body = json.to_string().into();
        }
        Ok((
            method,
            target,
            self.headers(request.headers, own.as_ref()),
            body,
        ))
    }

    fn headers(&self, mut headers: HeaderMap, own: Option<&Credential>) -> HeaderMap {
        if !self.has(Fault::SendsConnections) {
            remove_connection(&mut headers, !self.has(Fault::SendsNamedHeaders));
        }
        headers.remove(HOST);
        headers.remove(CONTENT_LENGTH);
        for (fault, names) in [
            (Fault::SendsCookies, &["cookie", "cookie2"][..]),
            (
                Fault::SendsCredentials,
                &[
                    "api-key",
                    "authorization",
                    "proxy-authorization",
                    "x-goog-api-key",
                ],
            ),
        ] {
            for name in names.iter().filter(|_| !self.has(fault)) {
                headers.remove(*name);
            }
        }
        if self.has(Fault::DropsUnknownHeaders) {
            headers.remove("x-note");
        }
        if self.has(Fault::JoinsHeaders) {
            let values = headers.get_all("x-several").iter();
            let values: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
            if !values.is_empty() {
                let joined = HeaderValue::from_str(&values.join(", "));
                headers.insert("x-several", joined.expect("joined values are a value"));
            }
        }
        if self.has(Fault::NamesItself) {
            headers.append("via", HeaderValue::from_static("1.1 toy"));
        }
        let own = own.filter(|_| !self.has(Fault::KeepsItsKey));
        let key = own.map_or(&*self.key, |own| own.expose());
        let key = HeaderValue::from_str(key).expect("a key is a value");
        headers.insert("x-api-key", key);
        let account = HeaderValue::from_static("7");
        if self.has(Fault::KeepsAccounts) {
            headers.entry("x-account").or_insert(account);
        } else {
            headers.insert("x-account", account);
        }
        let version = HeaderValue::from_static("1");
        if self.has(Fault::ReplacesVersions) {
            headers.insert("x-version", version);
        } else {
            headers.entry("x-version").or_insert(version);
        }
        let known = headers.get_all("x-features").iter();
        let known: Vec<&str> = known.filter_map(|value| value.to_str().ok()).collect();
        let mut features = known.join(",");
        if features.is_empty() || self.has(Fault::ReplacesLists) {
            features = "a,b".to_owned();
        } else if !features.contains("a,b") {
            features.push_str(",a,b");
        }
        let features = HeaderValue::from_str(&features).expect("a list is a value");
        headers.insert("x-features", features);
        headers
    }

    async fn exchange(
        &self,
        method: &Method,
        target: &str,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Answer, ModelFailure> {
        let stream = wire::connect(&self.address).await.map_err(|error| {
            let phase = match self.has(Fault::ForgetsPhase) {
                true => Phase::BeforeFirstDelta,
                false => Phase::BeforeSend,
            };
            let message = format!("{} refused the connection: {error}", self.address);
            ModelFailure::new(Kind::Transport, phase, message)
        })?;
        let mut head = format!("{method} {target} HTTP/1.1\r\n").into_bytes();
        for (name, value) in headers {
            head.extend_from_slice(name.as_str().as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(value.as_bytes());
            head.extend_from_slice(b"\r\n");
        }
        let (host, length) = (&self.address, body.len());
        let rest = format!("host: {host}\r\ncontent-length: {length}\r\n\r\n");
        head.extend_from_slice(rest.as_bytes());
        let answer = wire::ask(stream, &head, body).await;
        answer.map_err(|error| {
            let phase = match self.has(Fault::ClaimsUnsent) {
                true => Phase::BeforeSend,
                false => Phase::BeforeFirstDelta,
            };
            ModelFailure::new(Kind::Interrupted, phase, format!("no answer: {error}"))
        })
    }

    async fn reply(&self, answer: Answer) -> Result<RawReply, ModelError> {
        if self.has(Fault::AnswersOnlySuccess) && answer.status >= 400 {
            let message = "toy answered with an error";
            return Err(
                ModelFailure::new(Kind::ServerError, Phase::BeforeFirstDelta, message).into(),
            );
        }
        let mut headers = answer.headers;
        if !self.has(Fault::ReturnsConnections) {
            remove_connection(&mut headers, true);
        }
        if !self.has(Fault::ReturnsCookies) {
            headers.remove("set-cookie");
            headers.remove("set-cookie2");
        }
        if !self.has(Fault::ReturnsOrigins) {
            for name in [
                "access-control-allow-origin",
                "access-control-expose-headers",
                "alt-svc",
                "clear-site-data",
                "strict-transport-security",
            ] {
                headers.remove(name);
            }
        }
        let hides_key = !self.has(Fault::ReturnsKeys);
        for value in headers.values_mut().filter(|_| hides_key) {
            if let Ok(text) = value.to_str() {
                let text = text.replace(&self.key, "");
                *value = HeaderValue::from_str(&text).expect("a part of a value is a value");
            }
        }
        if self.has(Fault::ReturnsTypesOnly) {
            let kind = headers.remove(CONTENT_TYPE);
            headers = kind.map(|kind| (CONTENT_TYPE, kind)).into_iter().collect();
        }
        let mut body = ToyBody {
            body: answer.body,
            failed: None,
            fault: self.fault,
            hidden: (answer.status >= 400 && hides_key).then(|| self.key.clone()),
            kept: None,
            masked: Vec::new(),
            started: false,
        };
        if self.has(Fault::BuffersAll) {
            body.kept = Some(body.rest().await);
        }
        Ok(RawReply {
            status: StatusCode::from_u16(answer.status).expect("a status has three digits"),
            headers,
            body: Box::new(body),
        })
    }
}

/// A body that is still coming.
struct ToyBody {
    body: Body,
    failed: Option<ModelFailure>,
    fault: Fault,
    /// The key, if the body may not tell it.
    hidden: Option<String>,
    /// The whole body if it was read at once, and the result of reading it.
    kept: Option<(Vec<u8>, Result<(), ModelFailure>)>,
    /// The end of what has come, which may be the beginning of the key.
    masked: Vec<u8>,
    started: bool,
}

impl ToyBody {
    /// The piece, or the end, without the key.
    fn mask(&mut self, piece: Option<Vec<u8>>) -> Option<Vec<u8>> {
        let Some(key) = &self.hidden else {
            return piece;
        };
        let is_end = piece.is_none();
        self.masked.extend(piece.unwrap_or_default());
        while let Some(at) = self
            .masked
            .windows(key.len())
            .position(|part| part == key.as_bytes())
        {
            self.masked[at..at + key.len()].fill(b'*');
        }
        let mut held = (0..key.len()).rev();
        let held = held.find(|length| self.masked.ends_with(&key.as_bytes()[..*length]));
        let held = held.filter(|_| !is_end).unwrap_or(0);
        let rest = self.masked.split_off(self.masked.len() - held);
        let piece = std::mem::replace(&mut self.masked, rest);
        (!is_end || !piece.is_empty()).then_some(piece)
    }

    async fn rest(&mut self) -> (Vec<u8>, Result<(), ModelFailure>) {
        let mut all = Vec::new();
        loop {
            match self.piece().await {
                Ok(Some(piece)) => all.extend(piece),
                Ok(None) => return (all, Ok(())),
                Err(failure) => return (all, Err(failure)),
            }
        }
    }

    async fn piece(&mut self) -> Result<Option<Vec<u8>>, ModelFailure> {
        self.body.takes_any_chunk = self.fault == Fault::TakesAnyChunk;
        let piece = match self.body.next().await {
            Ok(piece) => piece,
            Err(_) if self.fault == Fault::TakesAnyEnd => None,
            Err(error) => {
                let phase = match self.started && self.fault != Fault::ForgetsPhase {
                    true => Phase::MidReply,
                    false => Phase::BeforeFirstDelta,
                };
                let message = format!("the answer broke off: {error}");
                return Err(ModelFailure::new(Kind::Interrupted, phase, message));
            }
        };
        let piece = piece.map(|mut piece| {
            if self.fault == Fault::LosesNewlines && piece.len() > 1 && piece[0] == b'\n' {
                piece.remove(0);
            }
            if self.fault == Fault::ReadsText {
                piece = String::from_utf8_lossy(&piece).into_owned().into_bytes();
            }
            piece
        });
        self.started |= piece.is_some();
        let piece = self.mask(piece);
        // A held piece is followed by another, or by the end.
        match piece {
            Some(empty) if empty.is_empty() => Box::pin(self.piece()).await,
            piece => Ok(piece),
        }
    }
}

#[async_trait]
impl RawBody for ToyBody {
    async fn next(&mut self) -> Result<Option<Bytes>, ModelError> {
        if let Some(failure) = &self.failed {
            if self.fault == Fault::EndsAfterErrors {
                return Ok(None);
            }
            return Err(failure.clone().into());
        }
        let next = match &mut self.kept {
            Some((all, _)) if !all.is_empty() => Ok(Some(std::mem::take(all))),
            Some((_, end)) => end.clone().map(|()| None),
            None => self.piece().await,
        };
        if self.fault == Fault::LosesPieces {
            tokio::task::yield_now().await;
        }
        match next {
            Ok(piece) => Ok(piece.map(Bytes::from)),
            Err(failure) => {
                self.failed = Some(failure.clone());
                Err(failure.into())
            }
        }
    }
}

fn remove_connection(headers: &mut HeaderMap, named: bool) {
    let options = headers.get_all(CONNECTION).iter();
    let options = options.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    let names = options.filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok());
    let names: Vec<HeaderName> = names.filter(|_| named).collect();
    for name in names {
        headers.remove(name);
    }
    for name in [
        "connection",
        "expect",
        "http2-settings",
        "keep-alive",
        "proxy-authenticate",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ] {
        headers.remove(name);
    }
}
