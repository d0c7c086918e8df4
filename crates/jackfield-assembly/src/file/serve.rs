//! Reads the gateway's table.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::digest::Digest;
use jackfield_domain::ids::ToolboxId;
use jackfield_engine::ServerTools;
use toml::de::DeValue;
use url::Url;

use crate::document::Section;
use crate::endpoints::{self, TokenEndpoint};
use crate::file::{Trust, oidc, tool_sets, trust_help};
use crate::form::{self, ValueForm};
use crate::otlp::{OtlpConfig, check_address};
use crate::place::ConfigProblem;
use crate::serve::{
    ApprovalsMode, DisconnectSetting, LogFormat, ResponsesSetting, SOURCES, ServeConfig,
    ServeLimits, TlsConfig, TokenConfig, TokenSource,
};
use crate::values::{at_least_one, between, duration, filled, listen_address, one_of, text, texts};

/// Reads `[serve]`.
pub(crate) fn read(serve: &mut ServeConfig, mut section: Section<'_>, trust: Trust) {
    if trust == Trust::Found
        && let Some(place) = section.first_place()
    {
        let help = trust_help(&place);
        let message = "a file that was merely found does not say who may ask";
        section.problem(ConfigProblem::new(place, message).with_help(help));
    }
    let bind = form::of(ValueForm::Text("127.0.0.1:8350"), address);
    form::keys! { let section;
        bind: bind, "Where the gateway listens; any address but loopback needs a token, a key or a sign-in";
    }
    if let Some((bind, place)) = bind {
        (serve.bind, serve.bind_place) = (bind, Some(place));
    }
    let keep_alive = form::of(ValueForm::Duration("10s"), at_most_ten_seconds);
    form::keys! { section over serve;
        access_log: form::flag(), "Whether each request is a line of the log";
        approvals: form::one_of(ApprovalsMode::NAMES), "What becomes of a call that needs a word";
        budget_warning: form::of(ValueForm::Number(0.0, 1.0), percent), "The share of a budget from which on its clients are warned; 0 is never";
        disconnect: form::one_of(DisconnectSetting::NAMES), "What becomes of a turn whose client goes away";
        endpoints: form::of(ValueForm::Texts("/v1/images/*"), endpoints::for_all), "The endpoints, beside those for messages, that go to the provider of the model that a request names";
        extensions: form::flag(), "Whether Chat Completions says what its vendor has no field for";
        keep_alive: keep_alive, "How long a stream says nothing at most";
        log: form::one_of(LogFormat::NAMES), "The form of the log";
        approve: form::flag(), "Whether MCP clients have a tool that answers permission questions of other agents";
        ask: form::flag(), "Whether MCP clients have a tool that runs a whole turn";
        log_content: form::flag(), "Whether what was said is logged, too";
        metrics: form::flag(), "Whether metrics for Prometheus are at /metrics";
        passthrough: form::one_of(&PASSTHROUGH), "Whether requests go to their provider byte for byte where nothing speaks for a turn";
        responses: form::one_of(ResponsesSetting::NAMES), "Who keeps the responses of the Responses API";
        offer: form::of(ValueForm::Tools, tools), "The server tools that a request to a model uses without asking";
        show_tools: form::flag(), "Whether clients are shown the calls of tools that run here";
        stream_arguments: form::flag(), "Whether streams show the calls of a client's tools while they are written";
        tools: form::of(ValueForm::Tools, tools), "The server tools that a request may use";
        whole_replies: form::flag(), "Whether replies are requested in one piece where no client streams";
    }
    let public = form::of(ValueForm::Text("https://jackfield.example.com"), public_url);
    form::keys! { let section;
        public_url: public, "The address by which browsers reach the gateway";
    }
    if let Some((url, _)) = public_url {
        serve.public_url = Some(url);
    }
    limits(&mut serve.limits, section.section("limits"));
    oidc::read(&mut serve.oidc, section.section("oidc"));
    otlp(&mut serve.otlp, section.section("otlp"));
    tool_sets::read(&mut serve.tool_sets, section.section("mcp"));
    tls(serve, section.section("tls"));
    tokens(serve, section.section("tokens"));
    section.finish();
}

/// Parses the address of the gateway for browsers: an origin.
fn public_url(value: &DeValue<'_>) -> Result<Arc<str>, String> {
    let text = filled(value)?;
    let url = Url::parse(&text).ok();
    let url = url.filter(|url| ["http", "https"].contains(&url.scheme()) && url.path() == "/");
    let url = url.filter(|url| url.query().is_none() && url.fragment().is_none());
    let url = url.filter(|url| url.username().is_empty() && url.password().is_none());
    let origin = url.map(|url| url.origin().ascii_serialization().into());
    origin.ok_or_else(|| {
        "this is an address such as \"https://jackfield.example.com\", without a path".to_owned()
    })
}

/// A share in percent, rounded up.
fn percent(value: &DeValue<'_>) -> Result<u32, String> {
    let share = between(0.0, 1.0)(value)?;
    let percent = (0..=100).find(|percent| f64::from(*percent) / 100.0 >= share);
    Ok(percent.unwrap_or(100))
}

/// Reads `[serve.limits]`.
fn limits(limits: &mut ServeLimits, mut section: Section<'_>) {
    let number = |value: &DeValue<'_>| at_least_one(value).map(|number| number as usize);
    let number = || form::of(ValueForm::Whole(1), number);
    form::keys! { section over limits;
        body: form::size("32MiB"), "The largest body of a request";
        body_time: form::duration("1m"), "How long a body may take to come";
        connections: number(), "How many connections are open at once; more wait";
        drain: form::duration("25s"), "How long the end waits for what is under way";
        header_time: form::duration("30s"), "How long the head of a request may take to come";
        headers: number(), "How many headers a request has";
        recovered_turns: number(), "How many turns that were left open go on at once; more wait";
        streams: number(), "How many requests are answered at once; more get 429";
        tools: number(), "How many tools a request brings";
        whole_reply: form::duration("10m"), "How long a reply may take that is asked for in one piece";
        write_time: form::duration("1m"), "How long a client may take nothing of an answer that is there";
    }
    section.finish();
}

/// Reads `[serve.otlp]`.
fn otlp(otlp: &mut OtlpConfig, mut section: Section<'_>) {
    let collector = |value: &DeValue<'_>| {
        let base = filled(value)?;
        check_address(&base).map(|()| base)
    };
    form::keys! { let section;
        endpoint: form::of(ValueForm::Text("http://127.0.0.1:4318"), collector), "The collector to which traces, metrics and the log are sent, by OTLP over HTTP";
        headers_env: form::filled("OTEL_EXPORTER_OTLP_HEADERS"), "The environment variable with the headers of each request, as name=value,name=value";
        service: form::filled("jackfield"), "The name of this service at the collector";
    }
    form::keys! { section over otlp;
        logs: form::flag(), "Whether the log is sent";
        metrics: form::flag(), "Whether metrics are sent";
        traces: form::flag(), "Whether traces of turns are sent";
    }
    if let Some((endpoint, _)) = endpoint {
        otlp.endpoint = Some(endpoint);
    }
    if headers_env.is_some() {
        otlp.headers_env = headers_env;
    }
    if let Some((service, _)) = service {
        otlp.service = Some(service);
    }
    section.finish();
}

/// Reads `[serve.tls]`.
fn tls(serve: &mut ServeConfig, mut section: Section<'_>) {
    form::keys! { let section;
        certificate: form::filled("gateway.pem"), "The file with the certificate and those that vouch for it, in PEM form";
        key: form::filled("gateway.key"), "The file with the private key of the certificate, in PEM form";
    }
    match (certificate, key) {
        (Some((certificate, _)), Some((key, _))) => {
            serve.tls = Some(TlsConfig {
                certificate: PathBuf::from(&*certificate),
                key: PathBuf::from(&*key),
            });
        }
        (Some((_, place)), None) | (None, Some((_, place))) => {
            let message = "[serve.tls] needs both `certificate` and `key`";
            section.problem(ConfigProblem::new(place, message));
        }
        (None, None) => {}
    }
    section.finish();
}

/// Reads `[serve.tokens]`.
fn tokens(serve: &mut ServeConfig, section: Section<'_>) {
    let names = section.again();
    for entry in section.entries() {
        if ToolboxId::parse(&entry.name).is_err() {
            let message = "the name of a token is made of letters, digits, `-` and `_`";
            names.problem(ConfigProblem::new(entry.place.clone(), message));
        }
        let mut section = Section::of(&names, &entry);
        let mut token = TokenConfig {
            admin: false,
            endpoints: Vec::new(),
            passthrough: None,
            place: entry.place,
            principal: None,
            source: None,
            tools: None,
        };
        form::keys! { let section;
            env: form::filled("TEAM_TOKEN"), "The environment variable that holds the token";
            file: form::filled("token"), "The file that holds the token and nothing else";
            sha256: form::of(ValueForm::Text(DIGEST), digest), "The SHA-256 digest of the token";
            passthrough: form::one_of(&PASSTHROUGH), "Whether its requests go to their provider byte for byte";
        }
        token.endpoints = token_endpoints(section.section("endpoints"));
        token.passthrough = passthrough.map(|(passthrough, _)| passthrough);
        let sources = [
            env.map(|(name, _)| TokenSource::Variable(name)),
            file.map(|(file, _)| TokenSource::File(PathBuf::from(&*file))),
            sha256.map(|(digest, _)| TokenSource::Sha256(digest)),
        ];
        let mut sources = sources.into_iter().flatten();
        token.source = sources.next();
        if sources.next().is_some() {
            let message = "there are several places where the token is";
            let problem = ConfigProblem::new(token.place.clone(), message);
            section.problem(problem.with_help(SOURCES));
        }
        let principals = form::of(ValueForm::Text("team"), principal);
        form::keys! { section over token;
            admin: form::flag(), "Whether the token sees the conversations of all";
            principal: principals, "Whose conversations the token sees; default: its own name";
            tools: form::of(ValueForm::Tools, tools), "The server tools that the token may use";
        }
        section.finish();
        serve.tokens.insert(entry.name, token);
    }
}

/// Reads the endpoints of a token.
fn token_endpoints(section: Section<'_>) -> Vec<TokenEndpoint> {
    let table = section.again();
    let mut read = Vec::new();
    for entry in section.entries() {
        let form = form::of(ValueForm::Text("openai"), endpoints::provider);
        let about = "The provider that requests of the token to this endpoint go to";
        let provider = table.value(&entry, form, about);
        if let Err(message) = endpoints::check(&entry.name) {
            table.problem(ConfigProblem::new(entry.place, message));
        } else if let Some(provider) = provider {
            read.push(TokenEndpoint {
                path: entry.name,
                place: entry.place,
                provider,
            });
        }
    }
    read
}

/// Parses an address with its port.
fn address(value: &DeValue<'_>) -> Result<SocketAddr, String> {
    listen_address(&text(value)?)
}

/// Parses a keep-alive interval. Clients give up on a stream that is silent for long.
fn at_most_ten_seconds(value: &DeValue<'_>) -> Result<Duration, String> {
    let time = duration(value)?;
    if time > MAX_SILENCE {
        return Err("a stream says something at least every 10s".to_owned());
    }
    Ok(time)
}

fn digest(value: &DeValue<'_>) -> Result<Digest, String> {
    let text = text(value)?;
    Digest::from_hex(&text.to_ascii_lowercase())
        .ok_or_else(|| "a SHA-256 digest has 64 hexadecimal digits".to_owned())
}

fn principal(value: &DeValue<'_>) -> Result<Arc<str>, String> {
    let text = filled(value)?;
    ToolboxId::parse(&text)
        .map(|_| text)
        .map_err(|_| "a principal is made of letters, digits, `-` and `_`".to_owned())
}

/// Parses a selection of tools: a word, or patterns.
pub(crate) fn tools(value: &DeValue<'_>) -> Result<ServerTools, String> {
    if value.as_array().is_some() {
        return texts(value).map(ServerTools::Only);
    }
    one_of(&[("all", ServerTools::All), ("none", ServerTools::None)])(value)
}

/// An example of a digest.
const DIGEST: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
/// The maximum silence of a stream.
const MAX_SILENCE: Duration = Duration::from_secs(10);

/// Whether requests are passed through.
const PASSTHROUGH: [(&str, bool); 2] = [("auto", true), ("never", false)];
