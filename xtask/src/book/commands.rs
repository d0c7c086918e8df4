//! The help of every command, as the program prints it.

use std::path::Path;

use anyhow::bail;

use super::Generated;
use super::pages::Page;
use crate::run;

/// A command, as its words behind the program's name, and its help.
pub(super) type Help = (Vec<String>, String);

/// The help of every command, each before those below it.
pub(super) fn helps(root: &Path, program: &Path) -> anyhow::Result<Vec<Help>> {
    let mut left: Vec<Vec<String>> = vec![Vec::new()];
    let mut helps = Vec::new();
    while let Some(command) = left.pop() {
        let mut asked = run::command(program, root, &command);
        asked.arg("--help").env("NO_COLOR", "1");
        let help = run::output(asked.env("COLUMNS", "100"))?;
        for below in subcommands(&help).into_iter().rev() {
            left.push([&command[..], &[below]].concat());
        }
        helps.push((command, help));
    }
    if helps.len() < 20 {
        bail!(
            "the help names {} commands: has its form changed?",
            helps.len()
        );
    }
    Ok(helps)
}

/// The page of all commands.
pub(super) fn page(helps: &[Help]) -> Generated {
    let mut text = "# Commands\n\nWhat `--help` says of each command.\n[The command line](cli.md) says more.\n".to_owned();
    for (command, help) in helps {
        let name = ["jackfield"]
            .into_iter()
            .chain(command.iter().map(|name| &**name));
        let name: Vec<&str> = name.collect();
        text.push_str(&format!(
            "\n## `{}`\n\n```text\n{}\n```\n",
            name.join(" "),
            help.trim_end()
        ));
    }
    let page = Page {
        from: "".into(),
        title: "Commands".to_owned(),
        to: "commands.md".into(),
    };
    (page, text)
}

/// The commands that a help lists.
fn subcommands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    lines
        .take_while(|line| line.starts_with(' '))
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::subcommands;

    #[test]
    fn the_commands_of_a_help_are_its_list() {
        let help = "About\n\nUsage: x\n\nCommands:\n  ask   Asks\n  long  Says a\n        lot\n  help  Helps\n\nOptions:\n  -h\n";
        assert_eq!(subcommands(help), ["ask", "long"]);
        assert!(subcommands("About\n\nOptions:\n  -h\n").is_empty());
    }
}
