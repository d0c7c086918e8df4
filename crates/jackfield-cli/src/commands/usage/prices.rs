//! `jackfield prices`: what models cost, and where that stands.

use std::io::ErrorKind;
use std::path::Path;

use jackfield_assembly::{
    Config, ConfigError, ConfigFile, Origin, PriceOrigin, PricesFile, read_at_most,
};
use jackfield_domain::request::ModelRef;
use jackfield_prices::merge::merge;
use jackfield_prices::source::{self, PriceFile};

use crate::args::prices::{ImportPrices, ListPrices, Prices, ShowPrice};
use crate::commands::{ask, printed};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::usage::prices::{self as show, ShownPrice};
use crate::render::{self, words};
use crate::since;

/// Lists, shows or imports prices.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub fn run(asked: &Prices) -> Result<Exit, CommandError> {
    match asked {
        Prices::Import(asked) => import(asked),
        Prices::List(asked) => list(asked),
        Prices::Show(asked) => one(asked),
    }
}

fn list(asked: &ListPrices) -> Result<Exit, CommandError> {
    let (config, _) = ask::load_config(&ask::flags_without_servers(&asked.source))?;
    let models = config.priced_models(asked.all).into_iter();
    let shown: Vec<ShownPrice> = models.filter_map(|model| shown(&config, model)).collect();
    let out = &mut anstream::stdout();
    printed::finish(show::list(out, &shown, asked.json), Exit::Answered)
}

fn one(asked: &ShowPrice) -> Result<Exit, CommandError> {
    let (config, _) = ask::load_config(&ask::flags_without_servers(&asked.source))?;
    let model = config.model(&asked.model, &Origin::Flag("MODEL").into());
    let model = model.map_err(|problem| ConfigError::Wrong(vec![problem]))?;
    let ModelRef {
        model: name,
        provider,
    } = model.clone();
    let Some(shown) = shown(&config, model.clone()) else {
        let message = format!("no price is known for {provider}/{name}");
        let why = if config.is_listed_elsewhere(&model) {
            "the list's price holds only at the vendor's own address, and this provider has another; "
        } else {
            ""
        };
        let help = format!(
            "{why}add it to your configuration, in dollars for a million tokens: {}",
            jackfield_engine::price_line(&model)
        );
        return Err(CommandError::new(Exit::Configuration, message).with_help(help));
    };
    let out = &mut anstream::stdout();
    printed::finish(
        show::one(out, &shown, since::now(), asked.json),
        Exit::Answered,
    )
}

fn shown(config: &Config, model: ModelRef) -> Option<ShownPrice> {
    let known = config.known_price(&model)?;
    let said = match known.origin {
        PriceOrigin::BuiltIn => "the list of Jackfield".to_owned(),
        PriceOrigin::Configured(place) => place.short(),
        PriceOrigin::Imported(path) => path.display().to_string(),
        PriceOrigin::Local => "the address of the server".to_owned(),
    };
    Some(ShownPrice {
        model: format!("{}/{}", model.provider, model.model),
        price: known.price,
        retires: config.retires(&model),
        said,
    })
}

fn import(asked: &ImportPrices) -> Result<Exit, CommandError> {
    let surroundings = ask::surroundings()?;
    let flags = ask::flags_without_servers(&asked.source);
    let path = surroundings.directory.join(&asked.file);
    let day = asked
        .day
        .clone()
        .unwrap_or_else(|| since::day(since::now()));
    let mut file = source::read(&text(&path)?, &day);
    for problem in &file.problems {
        render::remark(&format!("{}: {problem}", path.display()));
    }
    check(&path, &mut file, asked.skip)?;
    let merged = merge(std::slice::from_ref(&file), None, &day);
    let merged = merged.map_err(|error| wrong(&path).with_cause(&error))?;
    let models = merged.catalogue.names().count();
    if models == 0 {
        let help =
            "name LiteLLM's model_prices_and_context_window.json, or the data.json of genai-prices";
        return Err(wrong(&path).with_help(help));
    }
    for difference in &merged.differences {
        render::remark(&difference.to_string());
    }
    let to = ConfigFile::of(&surroundings, &flags).map_err(CommandError::from)?;
    let Some(to) = to.map(|own| PricesFile::beside(own.path())) else {
        let help = "name a configuration with --config: the prices are written beside it";
        let message = "there is no folder for the configuration";
        return Err(CommandError::new(Exit::Configuration, message).with_help(help));
    };
    to.write(&merged.catalogue).map_err(|error| {
        if error.kind() == ErrorKind::FileTooLarge {
            return wrong(&path).with_cause(&error);
        }
        let message = format!("{} cannot be written", to.path().display());
        CommandError::new(Exit::Internal, message).with_cause(&error)
    })?;
    let models = words::counted(models as u64, "model");
    render::remark(&format!("{models}; written: {}", to.path().display()));
    Ok(Exit::Answered)
}

fn text(path: &Path) -> Result<String, CommandError> {
    let bytes = read_at_most(path, MOST).map_err(|error| wrong(path).with_cause(&error))?;
    String::from_utf8(bytes).map_err(|error| wrong(path).with_cause(&error))
}

/// Refuses a file with errors, or leaves out the models that they name.
fn check(path: &Path, file: &mut PriceFile, skip: bool) -> Result<(), CommandError> {
    let errors = || file.problems.iter().filter(|problem| problem.is_error);
    if errors().next().is_none() {
        return Ok(());
    }
    let is_whole = errors().any(|problem| problem.model.is_empty());
    if !skip || is_whole {
        let help = if is_whole {
            "name LiteLLM's model_prices_and_context_window.json, or the data.json of genai-prices"
        } else {
            "mend the lines above, or leave out their models with --skip"
        };
        return Err(wrong(path).with_help(help));
    }
    file.leave_out_wrong();
    Ok(())
}

fn wrong(path: &Path) -> CommandError {
    let message = format!("`{}` cannot be imported, and nothing was", path.display());
    CommandError::new(Exit::Configuration, message)
}

/// The largest file that is read.
const MOST: u64 = 64 << 20;
