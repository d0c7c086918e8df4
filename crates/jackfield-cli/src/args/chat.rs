//! The arguments of `jackfield chat`.

use super::{ConfigArgs, SessionArgs, TurnLimitArgs};

/// `jackfield chat`
#[derive(Clone, Debug, clap::Args)]
pub struct Chat {
    /// The model: an alias or an assistant of the configuration, or provider/model.
    #[arg(short, long)]
    pub model: Option<String>,
    /// The system prompt, in place of the configured one; "" for none.
    #[arg(long, value_name = "TEXT")]
    pub system: Option<String>,
    /// Open the page in a browser, at the session, and serve it to this machine until Ctrl-C.
    #[arg(long, conflicts_with_all = ["system", "no_history", "tags", "yes"])]
    pub web: bool,
    /// Keep nothing of what is typed for later runs.
    #[arg(long)]
    pub no_history: bool,
    /// Show more: notes, reasoning, whole outcomes of tools.
    #[arg(short, long)]
    pub verbose: bool,
    /// The session.
    #[command(flatten)]
    pub session: SessionArgs,
    /// Record this tag with each turn, by which `usage` sums; its name is one of `tags.names`.
    #[arg(long = "tag", value_name = "NAME=VALUE")]
    pub tags: Vec<String>,
    /// Say yes to every call that needs approval; what is denied stays denied.
    #[arg(short, long)]
    pub yes: bool,
    /// What each turn may do.
    #[command(flatten)]
    pub bounds: TurnLimitArgs,
    /// Where the configuration is, and what it says about tools.
    #[command(flatten)]
    pub setup: ConfigArgs,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  jackfield chat
  jackfield chat -m claude/claude-haiku-5-5 --allow 'builtin/*'
  jackfield chat -c
  jackfield chat --web -c
  jackfield chat --no-history --system \"Answer in French.\"
  printf '%s\\n' 'What is 17 * 4?' 'And half of that?' | jackfield chat

/help says what can be typed: Enter sends, \\ and Enter or Alt-Enter begin a new line, Ctrl-C stops \
an answer, Ctrl-D leaves. Standard input that is no terminal is read by line, a message each; for one \
question of several lines, take `jackfield ask`.";
