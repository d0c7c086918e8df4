//! What is configured of the gateway, `[serve]`.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::digest::Digest;

use crate::place::{ConfigProblem, ValueSource};
use crate::surroundings::{Environment, read_small};

/// What is configured of the gateway.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ServeConfig {
    /// Whether each request is a line of the log.
    pub access_log: bool,
    /// What becomes of a call that needs a word.
    pub approvals: ApprovalsMode,
    /// Where it listens.
    pub bind: SocketAddr,
    /// Where that was said; nowhere if it is the default.
    pub bind_place: Option<ValueSource>,
    /// What becomes of a turn whose client goes away.
    pub disconnect: DisconnectSetting,
    /// Whether Chat Completions says what its vendor has no field for.
    pub extensions: bool,
    /// How long a stream says nothing at most.
    pub keep_alive: Duration,
    /// What a client may ask for at most.
    pub limits: ServeLimits,
    /// The form of the log.
    pub log: LogFormat,
    /// Whether what was said is logged, too.
    pub log_content: bool,
    /// Whether clients are shown the calls of tools that run here, where their dialect has a form for it.
    pub show_tools: bool,
    /// Whether a client that reads a stream is shown the calls that it is to run while the model writes them.
    pub stream_arguments: bool,
    /// Who may ask, by name.
    pub tokens: BTreeMap<Arc<str>, TokenConfig>,
    /// The tools of this side that a request may use.
    pub tools: ToolsUsed,
    /// Whether a reply is asked of its provider in one piece where its client wants it so and nobody else
    /// can read along.
    pub whole_replies: bool,
}

/// What a client may ask for at most.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ServeLimits {
    /// The bytes of a body.
    pub body: usize,
    /// How long a body may take to come.
    pub body_time: Duration,
    /// How many connections are open at once; more wait.
    pub connections: usize,
    /// How long the end waits for what is under way.
    pub drain: Duration,
    /// How long the head of a request may take to come, and a connection may say nothing between two.
    pub header_time: Duration,
    /// How many headers a request has.
    pub headers: usize,
    /// How many turns that were left open go on at once, besides those of requests; more go on one after
    /// another.
    pub recovered_turns: usize,
    /// How many requests are answered at once; more are told to come again.
    pub streams: usize,
    /// How many tools a request brings.
    pub tools: usize,
    /// How long a reply may take that is asked for in one piece.
    pub whole_reply: Duration,
    /// How long a client may take nothing of an answer that is there.
    pub write_time: Duration,
}

/// What becomes of a call that needs a word before it runs.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ApprovalsMode {
    /// It is denied, with what would allow it.
    #[default]
    Deny,
    /// It waits for one, which somebody gives elsewhere.
    Wait,
}

/// What becomes of a turn whose client goes away.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum DisconnectSetting {
    /// It is cancelled.
    Cancel,
    /// It goes on, and its answer can be collected.
    #[default]
    Finish,
}

/// The form of a log.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LogFormat {
    /// A JSON object a line.
    Json,
    /// Lines for people.
    #[default]
    Text,
}

/// Tools of this side that a request may use.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum ToolsUsed {
    /// All that there are.
    #[default]
    All,
    /// None.
    None,
    /// Those of these patterns, as in `[policy.tools]`.
    Only(Vec<Arc<str>>),
}

/// Somebody who may ask.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct TokenConfig {
    /// Whether it sees the conversations of all.
    pub admin: bool,
    /// Where it is configured.
    pub place: ValueSource,
    /// Whose conversations it sees; its own name if nothing is said.
    pub principal: Option<Arc<str>>,
    /// Where its secret is.
    pub source: Option<TokenSource>,
    /// The tools of this side that it may use; what the gateway says if nothing is said.
    pub tools: Option<ToolsUsed>,
}

/// Where the secret of a token is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum TokenSource {
    /// The file that holds nothing else.
    File(PathBuf),
    /// Nowhere: this is its SHA-256 digest.
    Sha256(Digest),
    /// The environment variable of this name.
    Variable(Arc<str>),
}

impl Default for ServeConfig {
    fn default() -> Self {
        Self {
            access_log: true,
            approvals: ApprovalsMode::default(),
            bind: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT),
            bind_place: None,
            disconnect: DisconnectSetting::default(),
            extensions: false,
            keep_alive: Duration::from_secs(10),
            limits: ServeLimits::default(),
            log: LogFormat::default(),
            log_content: false,
            show_tools: true,
            stream_arguments: true,
            tokens: BTreeMap::new(),
            tools: ToolsUsed::default(),
            whole_replies: true,
        }
    }
}

impl Default for ServeLimits {
    fn default() -> Self {
        Self {
            body: 32 << 20,
            body_time: Duration::from_secs(60),
            connections: 4096,
            drain: Duration::from_secs(25),
            header_time: Duration::from_secs(30),
            headers: 100,
            recovered_turns: 256,
            streams: 2048,
            tools: 1024,
            // As long as the vendors' own clients wait (`openai` and `anthropic` for Python, 2026-11).
            whole_reply: Duration::from_secs(600),
            write_time: Duration::from_secs(60),
        }
    }
}

impl ServeConfig {
    /// The digest of each token, in the order of their names, or why there is none. One that another one is,
    /// too, is none: nobody could say whose a request with it is.
    pub fn digests(
        &self,
        environment: &Environment,
    ) -> Vec<(&Arc<str>, Result<Digest, ConfigProblem>)> {
        let mut known: Vec<(&Arc<str>, Digest)> = Vec::new();
        let had = self.tokens.iter().map(|(name, token)| {
            let had = token.digest(environment).and_then(|digest| {
                if let Some((other, _)) = known.iter().find(|(_, known)| *known == digest) {
                    let message = format!("the token is that of `{other}`, too");
                    let help = "give each a token of its own, or leave one of them out";
                    return Err(ConfigProblem::new(token.place.clone(), message).with_help(help));
                }
                known.push((name, digest));
                Ok(digest)
            });
            (name, had)
        });
        had.collect()
    }

    /// Makes the paths of the tokens' files absolute.
    pub(crate) fn resolve(&mut self, resolve: impl Fn(&str) -> PathBuf) {
        for token in self.tokens.values_mut() {
            if let Some(TokenSource::File(path)) = &mut token.source
                && let Some(text) = path.to_str()
            {
                *path = resolve(text);
            }
        }
    }
}

impl TokenConfig {
    /// The digest of its secret, which is read and not kept.
    ///
    /// # Errors
    ///
    /// Why there is none: the variable or the file is not there, or too little stands in it.
    fn digest(&self, environment: &Environment) -> Result<Digest, ConfigProblem> {
        let problem = |message: String| ConfigProblem::new(self.place.clone(), message);
        let secret = match &self.source {
            Some(TokenSource::Sha256(digest)) => return Ok(*digest),
            Some(TokenSource::Variable(name)) => match environment.named(name) {
                Some(Ok(value)) => value,
                Some(Err(_)) => return Err(problem(format!("{name} is not UTF-8"))),
                None => {
                    let help =
                        format!("set {name} where `jackfield serve` is started: it is the token");
                    return Err(problem(format!("{name} is not set")).with_help(help));
                }
            },
            Some(TokenSource::File(path)) => {
                let shown = path.display();
                let bytes = read_small(path)
                    .map_err(|error| problem(format!("`{shown}` cannot be read: {error}")))?;
                String::from_utf8(bytes).map_err(|_| problem(format!("`{shown}` is not UTF-8")))?
            }
            None => {
                let message = "it is said nowhere what the token is".to_owned();
                return Err(problem(message).with_help(SOURCES));
            }
        };
        let secret = secret.trim();
        if secret.len() < SHORTEST {
            let message = format!("a token has at least {SHORTEST} characters");
            return Err(problem(message).with_help("`openssl rand -hex 24` makes one"));
        }
        Ok(Digest::of(secret.as_bytes()))
    }
}

/// What to say of where a token is.
pub(crate) const SOURCES: &str =
    "name one of `env`, `file` and `sha256`: a variable, a file, or the token's SHA-256 digest";

/// The port where nothing is said.
const PORT: u16 = 8350;

/// The fewest characters of a token.
const SHORTEST: usize = 16;
