//! The arguments of `jackfield serve`.

use std::net::SocketAddr;

use jackfield_assembly::listen_address;

use super::ConfigArgs;

/// `jackfield serve`
#[derive(Clone, Debug, clap::Args)]
pub struct Serve {
    /// Listen there, such as localhost:9000; any address but that of this machine needs a token of
    /// [serve.tokens], a key, or [serve.oidc].
    #[arg(long, value_name = "ADDRESS", value_parser = listen_address)]
    pub bind: Option<SocketAddr>,
    /// Ask the provider of this model where a client names a model alone: an alias, or provider/model.
    #[arg(short, long)]
    pub model: Option<String>,
    /// Where the configuration is, and what it says about tools.
    #[command(flatten)]
    pub setup: ConfigArgs,
}

/// `jackfield page`
#[derive(Clone, Debug, clap::Args)]
pub struct Page {
    /// The address of the gateway, if it was started with another than that of [serve].
    #[arg(long, value_name = "ADDRESS", value_parser = listen_address)]
    pub bind: Option<SocketAddr>,
    /// Where the configuration is, and what it says about tools.
    #[command(flatten)]
    pub setup: ConfigArgs,
}

pub(super) const PAGE_EXAMPLES: &str = "\
Examples:
  jackfield page
  jackfield page --bind 127.0.0.1:9000

The link has a token in it, which the page needs where no key does: another web page on this
machine does not know it. It is the same after a restart.";
pub(super) const EXAMPLES: &str = "\
Examples:
  jackfield serve
  jackfield serve --bind 127.0.0.1:9000 --model openai/gpt-6-sol
  curl http://127.0.0.1:8350/v1/chat/completions -H 'content-type: application/json' \\
    -d '{\"model\": \"claude/claude-opus-5-5\", \"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}'

Point any OpenAI, Claude or Gemini client at it; docs/http.md says what it answers.
It ends with Ctrl-C, a request to terminate or, unless started with nohup, a hang-up, and lets
what is under way end before.";
