//! The sign-in of the scripted server: its metadata, and an authorization server at the same address (RFC 6749 with
//! PKCE, RFC 7591, RFC 8414, RFC 9207, RFC 9728; MCP 2026-07-28, "Authorization", read 2026-11-26).
//!
//! The field `sign_in` of the field `http` is an object with these optional fields:
//!
//! | field | meaning |
//! |---|---|
//! | `expires_in` | the life of an access token, in seconds, as the token endpoint says it |
//! | `holds_renewals` | the answer to a renewal waits until the test releases it |
//! | `issuer` | fields of the authorization server's metadata; `null` takes one out |
//! | `iss` | what the redirect says of the issuer, instead of the truth; `null` for nothing |
//! | `refreshes` | `false` for no refresh tokens |
//! | `resource` | fields of the resource's metadata; `null` takes one out |
//! | `scopes` | the scope that a tool's call needs: `{"write": "write"}` |
//! | `token_fault` | what the token endpoint answers to a renewal: `{"status": 503, "body": text}`; `{refresh_token}` in the text stands for that of the request |

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::wire::WireRequest;

/// What the authorization server knows.
#[derive(Default)]
pub(super) struct SignIns {
    codes: HashMap<String, GivenCode>,
    next: u64,
    /// The refresh tokens that are good, with their scope.
    refresh: HashMap<String, String>,
    /// The access tokens that are good, with their scope.
    access: HashMap<String, String>,
}

struct GivenCode {
    /// The challenge that the verifier has to meet.
    challenge: String,
    redirect: String,
    scope: String,
}

/// An answer: status, media type, further headers, body, and a line for the log.
pub(super) struct SignInAnswer {
    pub(super) body: String,
    pub(super) extra: String,
    /// Whether it waits until the test releases it.
    pub(super) is_held: bool,
    pub(super) log: Option<String>,
    pub(super) status: u64,
}

impl SignInAnswer {
    fn json(status: u64, body: &Value) -> Self {
        Self {
            body: body.to_string(),
            extra: String::new(),
            is_held: false,
            log: None,
            status,
        }
    }

    fn logged(self, line: impl Into<String>) -> Self {
        Self {
            log: Some(line.into()),
            ..self
        }
    }

    fn error(error: &str) -> Self {
        Self::json(
            400,
            &json!({ "error": error, "error_description": "it is scripted" }),
        )
    }
}

impl SignIns {
    /// Makes every access token bad, as if it had ended.
    pub(super) fn end_access(&mut self) {
        self.access.clear();
    }

    pub(super) fn end_all(&mut self) {
        self.access.clear();
        self.refresh.clear();
    }

    /// The answer to a request without a good token, or with one that does not cover it.
    pub(super) fn refusal(
        &self,
        script: &Value,
        base: &str,
        request: &WireRequest,
    ) -> Option<SignInAnswer> {
        let metadata =
            format!("resource_metadata=\"{base}/.well-known/oauth-protected-resource/mcp\"");
        let challenge = |rest: &str| format!("www-authenticate: Bearer {metadata}{rest}\r\n");
        let token = request.header("authorization").strip_prefix("Bearer ");
        let Some(scope) = token.and_then(|token| self.access.get(token)) else {
            let error = if token.is_some() {
                ", error=\"invalid_token\""
            } else {
                ""
            };
            return Some(SignInAnswer {
                extra: challenge(&format!(", scope=\"read\"{error}")),
                ..SignInAnswer::json(401, &json!({ "error": "invalid_token" }))
            });
        };
        let tool = request.header("mcp-name");
        let needed = script["scopes"][tool].as_str()?;
        let is_covered = scope.split(' ').any(|one| one == needed);
        (!is_covered).then(|| SignInAnswer {
            extra: challenge(&format!(
                ", error=\"insufficient_scope\", scope=\"{needed}\""
            )),
            ..SignInAnswer::json(403, &json!({ "error": "insufficient_scope" }))
        })
    }

    /// The answer of the authorization server, or of the metadata; `None` for other addresses.
    pub(super) fn answer(
        &mut self,
        script: &Value,
        base: &str,
        request: &WireRequest,
    ) -> Option<SignInAnswer> {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        match (&*request.method, path) {
            ("GET", "/.well-known/oauth-protected-resource/mcp") => {
                let resource = json!({
                    "resource": format!("{base}/mcp"),
                    "authorization_servers": [base],
                    "scopes_supported": ["read", "write"],
                });
                Some(SignInAnswer::json(
                    200,
                    &merged(resource, &script["resource"]),
                ))
            }
            ("GET", "/.well-known/oauth-authorization-server") => {
                let issuer = json!({
                    "issuer": base,
                    "authorization_endpoint": format!("{base}/authorize"),
                    "token_endpoint": format!("{base}/token"),
                    "registration_endpoint": format!("{base}/register"),
                    "revocation_endpoint": format!("{base}/revoke"),
                    "code_challenge_methods_supported": ["S256"],
                    "token_endpoint_auth_methods_supported": ["none"],
                    "authorization_response_iss_parameter_supported": true,
                });
                Some(SignInAnswer::json(200, &merged(issuer, &script["issuer"])))
            }
            ("GET", "/authorize") => Some(self.authorize(script, base, &fields(query))),
            ("POST", "/register") => {
                let client = json!({ "client_id": format!("client-{}", self.number()) });
                Some(SignInAnswer::json(201, &client).logged("registers"))
            }
            ("POST", "/token") => {
                let form = fields(&String::from_utf8_lossy(&request.body));
                Some(self.token(script, base, &form))
            }
            ("POST", "/revoke") => {
                self.end_all();
                Some(SignInAnswer::json(200, &json!({})).logged("revokes"))
            }
            _ => None,
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn authorize(
        &mut self,
        script: &Value,
        base: &str,
        query: &HashMap<String, String>,
    ) -> SignInAnswer {
        let field = |name: &str| query.get(name).cloned().unwrap_or_default();
        let is_whole = field("response_type") == "code"
            && field("code_challenge_method") == "S256"
            && field("code_challenge").len() == 43
            && field("resource") == format!("{base}/mcp")
            && !field("client_id").is_empty()
            && !field("state").is_empty();
        if !is_whole {
            return SignInAnswer::error("invalid_request");
        }
        let code = format!("code-{}", self.number());
        let (scope, redirect) = (field("scope"), field("redirect_uri"));
        let issuer = match script.get("iss") {
            None => Some(base),
            Some(issuer) => issuer.as_str(),
        };
        let issuer = issuer.map(|issuer| format!("&iss={}", escaped(issuer)));
        let state = escaped(&field("state"));
        let location = format!(
            "{redirect}?code={code}&state={state}{}",
            issuer.unwrap_or_default()
        );
        let given = GivenCode {
            challenge: field("code_challenge"),
            redirect,
            scope: scope.clone(),
        };
        self.codes.insert(code, given);
        SignInAnswer {
            extra: format!("location: {location}\r\n"),
            ..SignInAnswer::json(302, &json!({}))
        }
        .logged(format!("asks for `{scope}`"))
    }

    fn token(
        &mut self,
        script: &Value,
        base: &str,
        form: &HashMap<String, String>,
    ) -> SignInAnswer {
        let field = |name: &str| form.get(name).cloned().unwrap_or_default();
        let grant = field("grant_type");
        if field("resource") != format!("{base}/mcp") || field("client_id").is_empty() {
            return SignInAnswer::error("invalid_request");
        }
        let scope = match &*grant {
            "authorization_code" => {
                let verifier = field("code_verifier");
                // The shortest one (RFC 7636, section 4.1).
                let is_long_enough = verifier.len() >= 43;
                let code = self.codes.remove(&field("code"));
                let code = code.filter(|code| code.redirect == field("redirect_uri"));
                let code = code.filter(|code| code.challenge == challenge(&verifier));
                code.filter(|_| is_long_enough).map(|code| code.scope)
            }
            "refresh_token" => {
                if let Some(status) = script["token_fault"]["status"].as_u64() {
                    let body = script["token_fault"]["body"].as_str().unwrap_or_default();
                    return SignInAnswer {
                        body: body.replace("{refresh_token}", &field("refresh_token")),
                        ..SignInAnswer::json(status, &Value::Null)
                    };
                }
                self.refresh.remove(&field("refresh_token"))
            }
            _ => return SignInAnswer::error("unsupported_grant_type"),
        };
        let Some(scope) = scope else {
            return SignInAnswer::error("invalid_grant").logged(format!("refuses {grant}"));
        };
        let access = format!("access-{}", self.number());
        self.access.insert(access.clone(), scope.clone());
        let mut answer = json!({ "access_token": access, "token_type": "Bearer", "scope": scope });
        if script["refreshes"] != false {
            let refresh = format!("refresh-{}", self.number());
            self.refresh.insert(refresh.clone(), scope);
            answer["refresh_token"] = json!(refresh);
        }
        if let Some(lifetime) = script["expires_in"].as_u64() {
            answer["expires_in"] = json!(lifetime);
        }
        SignInAnswer {
            is_held: grant == "refresh_token" && script["holds_renewals"] == true,
            ..SignInAnswer::json(200, &answer)
        }
        .logged(format!("gives {grant}"))
    }
}

/// The challenge of a verifier (RFC 7636, section 4.2).
fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}

/// A document with other fields; `null` takes one out.
fn merged(mut document: Value, changes: &Value) -> Value {
    let nothing = Map::new();
    for (name, value) in changes.as_object().unwrap_or(&nothing) {
        if let Some(fields) = document.as_object_mut() {
            if value.is_null() {
                fields.remove(name);
            } else {
                fields.insert(name.clone(), value.clone());
            }
        }
    }
    document
}

/// The fields of a query or of a form.
fn fields(text: &str) -> HashMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (unescaped(name), unescaped(value)))
        .collect()
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits: Vec<u8> = rest.by_ref().take(2).collect();
                let digits = String::from_utf8_lossy(&digits);
                bytes.extend(u8::from_str_radix(&digits, 16));
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    text.bytes().map(escape).collect()
}
