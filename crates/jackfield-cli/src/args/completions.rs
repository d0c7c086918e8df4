//! The arguments of `jackfield completions`.

use clap_complete::Shell;

/// `jackfield completions`
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Completions {
    /// The shell: bash, elvish, fish, powershell or zsh.
    #[arg(value_enum, hide_possible_values = true)]
    pub shell: Shell,
}

pub(super) const EXAMPLES: &str = "\
Examples:
  mkdir -p ~/.local/share/bash-completion/completions
  jackfield completions bash > ~/.local/share/bash-completion/completions/jackfield
  mkdir -p ~/.zfunc
  jackfield completions zsh > ~/.zfunc/_jackfield
  jackfield completions fish > ~/.config/fish/completions/jackfield.fish

bash needs the package bash-completion, and zsh `fpath+=~/.zfunc` before `compinit` in ~/.zshrc.";
