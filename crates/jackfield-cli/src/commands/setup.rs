//! `jackfield setup`: asks for a provider, its key and a model, tries them, and writes the configuration.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use jackfield_assembly::{
    ConfigFile, Flags, KeyState, LocalFindings, Registry, Surroundings, preferred_models,
};

use crate::approval::Terminal;
use crate::args::SetupArgs;
use crate::commands::{ask, init, key_store, keys};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::reach::reach;
use crate::render::{self, words};
use crate::withdrawal::ReadQuestion;

/// Asks, and writes the configuration.
///
/// # Errors
///
/// [`CommandError`] without a terminal, if the person ends the input, or if a file cannot be written.
pub async fn run(setup: &SetupArgs, registry: &Registry) -> Result<Exit, CommandError> {
    let terminal = (io::stdin().is_terminal() && io::stderr().is_terminal()).then(Terminal::open);
    let Some(Ok(terminal)) = terminal else {
        let message = "`jackfield setup` asks questions, and here is no terminal";
        let help = "`jackfield config init` asks none";
        return Err(CommandError::new(Exit::Usage, message).with_help(help));
    };
    let surroundings = ask::surroundings()?;
    let flags = ask::source_flags(&setup.source);
    let file = keys::config_file(&surroundings, &flags)?;
    render::remark("looking for keys, and for models on this machine");
    let found = init::detect(true, &surroundings, registry).await?;
    let mut wizard = Wizard {
        file,
        flags,
        registry,
        surroundings,
        terminal,
    };
    let provider = wizard.choose_provider(&found)?;
    if !wizard.file.path().exists() {
        let text = found.file(wizard.surroundings.home.as_deref());
        init::write(wizard.file.path(), &text, false)?;
    }
    let models = wizard.connect(&provider).await?;
    let model = wizard.choose_model(&provider, &models)?;
    let full_name = format!("{provider}/{model}");
    wizard
        .file
        .set_model(&full_name)
        .map_err(|error| key_store::cannot_write(wizard.file.path(), &error))?;
    render::remark(&format!("written: {}", wizard.file.path().display()));
    init::take_over(false, &wizard.surroundings, &found)?;
    render::remark("next: jackfield chat");
    Ok(Exit::Answered)
}

struct Wizard<'a> {
    file: ConfigFile,
    flags: Flags,
    registry: &'a Registry,
    surroundings: Surroundings,
    terminal: Terminal,
}

impl Wizard<'_> {
    /// Asks for a provider: those that are ready first, and then those that need a key.
    fn choose_provider(&mut self, found: &LocalFindings) -> Result<Arc<str>, CommandError> {
        let is_new = !self.file.path().exists();
        let keys = found.keys.iter();
        let keys = keys.map(|(name, variable)| (Arc::clone(name), format!("key in {variable}")));
        // The addresses of the others are only in a file that is written now.
        let local = found.local.iter();
        let local = local.filter(|server| is_new || server.base_url.is_none());
        let local = local.map(|server| {
            let models = words::counted(server.models.len() as u64, "model");
            (
                Arc::clone(&server.name),
                format!("on this machine, {models}"),
            )
        });
        let mut choices: Vec<(Arc<str>, String)> = keys.chain(local).collect();
        let config = ask::load_config_in(&self.flags, &self.surroundings)?;
        let environment = &self.surroundings.environment;
        let assembled = self.registry.assemble(&config, environment)?;
        let keyless = assembled.providers.into_iter();
        let keyless = keyless.filter(|(_, state)| matches!(state.key, KeyState::Missing(_)));
        let preferred = preferred_models().map(|model| model.provider);
        for name in preferred.chain(keyless.map(|(name, _)| name)) {
            if !choices.iter().any(|(known, _)| *known == name) {
                choices.push((name, "needs a key".to_owned()));
            }
        }
        let lines = choices
            .iter()
            .map(|(name, about)| format!("{name}: {about}"));
        let lines: Vec<String> = lines.collect();
        let names: Vec<Arc<str>> = choices.into_iter().map(|(name, _)| name).collect();
        self.choose("Which provider?", &lines, &names, false)
    }

    /// Lists the models of a provider, after a question for its key if it has none that works.
    async fn connect(&mut self, provider: &Arc<str>) -> Result<Vec<Arc<str>>, CommandError> {
        for _ in 0..MAX_TRIES {
            let config = ask::load_config_in(&self.flags, &self.surroundings)?;
            let environment = &self.surroundings.environment;
            let mut assembled = self.registry.assemble(&config, environment)?;
            let state = assembled.providers.remove(provider).map(|state| state.key);
            if let Some(KeyState::Missing(missing)) = state {
                if let Some(page) = &missing.page {
                    render::remark(&format!("a key of {provider} is made at {page}"));
                }
                self.store_key(provider)?;
                continue;
            }
            let reached = reach(assembled.engine, Arc::clone(provider)).await;
            if reached.is_well() {
                render::remark(&format!("{provider} answers"));
                let models = reached.listed.unwrap_or_default();
                return Ok(models.into_iter().map(|model| model.id).collect());
            }
            if let Err(failure) = reached.listed {
                render::remark(&format!("{provider}: {}", failure.message));
                let asked = "[k]ey again  [t]ry again  [g]o on without an answer";
                match self.line(asked)?.to_lowercase().as_str() {
                    "k" | "key" => self.store_key(provider)?,
                    "g" | "go" => return Ok(Vec::new()),
                    _ => {}
                }
            }
        }
        Ok(Vec::new())
    }

    /// Asks for a key, and stores it in the keyring, or else in a file.
    fn store_key(&self, provider: &str) -> Result<(), CommandError> {
        let key = key_store::read_key(provider)?;
        let environment = &self.surroundings.environment;
        match key_store::store_in_keyring(provider, &key, &self.file, environment) {
            Ok(()) => render::remark("stored: in the keyring"),
            Err(_) => {
                let path = key_store::store_in_file(provider, &key, &self.file)?;
                render::remark(&format!(
                    "stored: in {}, for you alone to read",
                    path.display()
                ));
            }
        }
        Ok(())
    }

    /// Asks for a model. The preferred one comes first.
    fn choose_model(
        &mut self,
        provider: &Arc<str>,
        listed: &[Arc<str>],
    ) -> Result<Arc<str>, CommandError> {
        let preferred = preferred_models().filter(|model| model.provider == *provider);
        let mut models: Vec<Arc<str>> = preferred.map(|model| model.model).collect();
        models.retain(|model| listed.is_empty() || listed.contains(model));
        for model in listed {
            if models.len() < MAX_MODELS && !models.contains(model) && !model.contains("embed") {
                models.push(Arc::clone(model));
            }
        }
        let lines: Vec<String> = models.iter().map(ToString::to_string).collect();
        self.choose(
            "Which model? (a number, or any name)",
            &lines,
            &models,
            true,
        )
    }

    /// Asks for one of these, by its number or its name, or for another name if `takes_others`.
    fn choose(
        &mut self,
        question: &str,
        lines: &[String],
        names: &[Arc<str>],
        takes_others: bool,
    ) -> Result<Arc<str>, CommandError> {
        render::remark(question);
        for (nth, line) in lines.iter().enumerate() {
            render::remark(&format!("{:>4}  {}", nth + 1, words::one_line(line)));
        }
        loop {
            let first = names.first();
            let prompt = first.map_or_else(|| "name:".to_owned(), |name| format!("[{name}]:"));
            let said = self.line(&prompt)?;
            let chosen = match (said.as_str(), said.parse::<usize>()) {
                ("", _) => first.cloned(),
                (_, Ok(number)) => names.get(number.wrapping_sub(1)).cloned(),
                (name, Err(_)) if takes_others => Some(name.into()),
                (name, Err(_)) => names.iter().find(|known| ***known == *name).cloned(),
            };
            if let Some(name) = chosen {
                return Ok(name);
            }
            render::remark(&format!(
                "a number from 1 to {}, or one of these names",
                names.len()
            ));
        }
    }

    fn line(&mut self, prompt: &str) -> Result<String, CommandError> {
        render::remark(prompt);
        let said = self.terminal.line(&ReadQuestion::never_withdrawn());
        let said = said.ok_or_else(|| {
            CommandError::new(Exit::Usage, "the questions were not answered to the end")
        })?;
        Ok(said.trim().to_owned())
    }
}

/// How often a provider is tried.
const MAX_TRIES: usize = 5;
/// The most models that are shown.
const MAX_MODELS: usize = 20;
