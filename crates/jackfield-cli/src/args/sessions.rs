//! The arguments of `jackfield sessions`.

use std::path::PathBuf;

use clap::{ArgGroup, Subcommand};

use super::{ConfigArgs, Export, Source, WatchArgs, with_exit_codes};

/// `jackfield sessions`
#[derive(Clone, Debug, Subcommand)]
pub enum SessionsCommand {
    /// Delete sessions, with everything of them.
    #[command(after_help = DELETE_EXAMPLES)]
    Delete {
        /// The sessions: ids, beginnings of them, or `last`.
        #[arg(value_name = "ID", required = true)]
        sessions: Vec<String>,
        /// Do not ask for confirmation.
        #[arg(short, long)]
        yes: bool,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print a session as one document: JSON with everything, or Markdown to be read.
    #[command(after_help = super::export::EXAMPLES)]
    Export(Export),
    /// Begin a new session with what was said in another one, up to a place; the other one stays.
    #[command(after_help = FORK_EXAMPLES)]
    Fork {
        /// The other session: an id, the beginning of one, or `last`.
        #[arg(value_name = "ID")]
        session: String,
        /// Up to where: a turn, as in 2, or a round of one, as in 2.1; the end of the last turn, if not said.
        #[arg(long, value_name = "TURN[.ROUND]")]
        at: Option<String>,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Bring conversations along from ChatGPT or Open WebUI.
    #[command(after_help = IMPORT_EXAMPLES)]
    Import(Import),
    /// List the sessions, the newest change first.
    #[command(after_help = LIST_EXAMPLES)]
    List {
        /// Only those with this text, case-insensitive.
        #[arg(long, value_name = "TEXT")]
        search: Option<String>,
        /// At most this many.
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
        most: u32,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say that the file was restored from a copy: open turns are then left to a person.
    #[command(after_help = MARK_EXAMPLES)]
    MarkRestored {
        /// The sessions: ids, beginnings of them, or `last`.
        #[arg(value_name = "ID", required_unless_present = "all")]
        sessions: Vec<String>,
        /// All that have an open turn.
        #[arg(long, conflicts_with = "sessions")]
        all: bool,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Delete sessions that are old, or more than there is to be room for.
    #[command(
        after_help = PRUNE_EXAMPLES,
        group = ArgGroup::new("what").args(["older_than", "over"]).required(true).multiple(true)
    )]
    Prune {
        /// Those not continued for this long, such as 30d.
        #[arg(long, value_name = "TIME")]
        older_than: Option<String>,
        /// Those that were gone on with the longest time ago, until no more than this is left, such as 1GiB.
        #[arg(long, value_name = "SIZE")]
        over: Option<String>,
        /// Delete nothing, and say what would be deleted.
        #[arg(long)]
        dry_run: bool,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Give a session a title, which lists show instead of its first message.
    #[command(after_help = RENAME_EXAMPLES)]
    Rename {
        /// The session: an id, the beginning of one, or `last`.
        #[arg(value_name = "ID")]
        session: String,
        /// The title, in one line of at most 200 characters; an empty one takes the title away.
        #[arg(value_name = "TITLE")]
        title: String,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Go on with turns that were left open, as by a crash.
    #[command(after_help = with_exit_codes(RESUME_EXAMPLES))]
    Resume(Resume),
    /// Show what was said and done in a session.
    #[command(after_help = SHOW_EXAMPLES)]
    Show {
        /// The session: an id, the beginning of one, or `last`.
        #[arg(value_name = "ID", default_value = "last")]
        session: String,
        /// Where the configuration is.
        #[command(flatten)]
        source: Source,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// Show more: reasoning, whole outcomes of tools.
        #[arg(short, long)]
        verbose: bool,
    },
    /// Show a session as it goes on, from wherever it is driven.
    #[command(after_help = super::watch::EXAMPLES)]
    Watch(WatchArgs),
}

/// `jackfield sessions import`
#[derive(Clone, Debug, clap::Args)]
pub struct Import {
    /// The files: ChatGPT's export (the zip, or its conversations.json), or the JSON of Open WebUI's "Export chats".
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// The user of the gateway whose sessions they become.
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Import nothing, and say what would be imported.
    #[arg(long)]
    pub dry_run: bool,
    /// Where the configuration is.
    #[command(flatten)]
    pub source: Source,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `jackfield sessions resume`
#[derive(Clone, Debug, clap::Args)]
pub struct Resume {
    /// The sessions: ids, beginnings of them, or `last`.
    #[arg(value_name = "ID", required_unless_present = "all")]
    pub sessions: Vec<String>,
    /// All sessions with an open turn that no process drives.
    #[arg(long, conflicts_with = "sessions")]
    pub all: bool,
    /// Those, too, that were taken up too often in vain, that are restored from an older state, or that lack
    /// servers; their tools are then gone.
    #[arg(long)]
    pub again: bool,
    /// Say yes to every call that needs approval; what is denied stays denied.
    #[arg(short, long)]
    pub yes: bool,
    /// Where the configuration is, and what it says about tools.
    #[command(flatten)]
    pub setup: ConfigArgs,
    /// Print one JSON event a line; see docs/cli.md.
    #[arg(long)]
    pub json: bool,
    /// Show more: notes, reasoning, whole outcomes of tools.
    #[arg(short, long)]
    pub verbose: bool,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  jackfield sessions list
  jackfield sessions list --search \"Tokyo\"
  jackfield sessions show last
  jackfield chat --session last
  jackfield sessions resume --all";

const DELETE_EXAMPLES: &str = "\
Examples:
  jackfield sessions delete k3f9
  jackfield sessions delete --yes k3f9 m7xa";

const FORK_EXAMPLES: &str = "\
Examples:
  jackfield sessions fork last
  jackfield sessions fork k3f9 --at 2
  jackfield chat --session \"$(jackfield sessions fork k3f9 --at 2.1)\"";

const IMPORT_EXAMPLES: &str = "\
Examples:
  jackfield sessions import chatgpt-export.zip --dry-run
  jackfield sessions import chatgpt-export.zip
  jackfield sessions import chat-export-*.json --user ada

Text is imported, on the branch of each conversation that was shown last; pictures, files and calls of tools are left
out and counted. A conversation that was imported before stays as it is; one that was deleted is imported again.";

const LIST_EXAMPLES: &str = "\
Examples:
  jackfield sessions list
  jackfield sessions list --search \"Tokyo\" --most 5
  jackfield sessions list --json | jq -r '.[] | select(.state == \"open\") | .id'";

const MARK_EXAMPLES: &str = "\
Examples:
  jackfield sessions mark-restored --all
  jackfield sessions mark-restored k3f9

A turn that was open when the copy was made may be over since, and its calls were made. A marked one waits for
`jackfield sessions resume ID --again`.";

const RENAME_EXAMPLES: &str = "\
Examples:
  jackfield sessions rename last \"Plans for May\"
  jackfield sessions rename k3f9 \"\"";

const PRUNE_EXAMPLES: &str = "\
Examples:
  jackfield sessions prune --older-than 30d --dry-run
  jackfield sessions prune --over 1GiB

A session with a turn that is not over, and one that a process is at work on
or has open in a chat, is never deleted by this.";

const RESUME_EXAMPLES: &str = "\
Examples:
  jackfield sessions resume last
  jackfield sessions resume --all
  jackfield sessions resume k3f9 --again";

const SHOW_EXAMPLES: &str = "\
Examples:
  jackfield sessions show
  jackfield sessions show k3f9 | less
  jackfield sessions show k3f9 --json | jq '.turns[].messages[] | select(.role == \"tool\")'";
