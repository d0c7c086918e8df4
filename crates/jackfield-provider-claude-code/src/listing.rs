//! What the program says of itself before any message: its models, its version, and whether it is logged in.

use std::sync::Arc;

use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::listing::ListedModel;
use serde_json::{Map, Value};
use tokio::time::timeout;

use crate::config::ClaudeCodeConfig;
use crate::failure;
use crate::program::{Broken, Program};
use crate::setup::ProgramSetup;
use crate::wire::{self, Line};

/// The models, from the answer to `initialize`, which costs nothing.
///
/// # Errors
///
/// A program that is missing, too old, not logged in, or does not answer.
pub(crate) async fn models(
    config: &Arc<ClaudeCodeConfig>,
    session: &str,
) -> Result<Vec<ListedModel>, ModelFailure> {
    let setup = ProgramSetup::for_questions(config);
    let program = Program::start(config, &setup, session, None, None);
    let mut program = program.map_err(|fault| failure::not_started(&fault, &config.command))?;
    program.send(&wire::initialize("", false));
    let answer = timeout(config.start_limit, answer(&mut program, config)).await;
    // Nothing waits for its end; dropping it ends it, too.
    tokio::spawn(program.end());
    let seconds = config.start_limit.as_secs().max(1);
    let said = answer.map_err(|_| failure::silent(seconds, PHASE))??;
    let text = |key: &str| said.get(key).and_then(Value::as_str);
    if let Some(version) =
        text("claude_code_version").filter(|version| failure::is_too_old(version))
    {
        return Err(failure::too_old(version));
    }
    if is_logged_out(&said) {
        return Err(failure::logged_out(PHASE));
    }
    let models = said.get("models").and_then(Value::as_array);
    let models = models.ok_or_else(|| {
        let message = "this version of Claude Code does not list its models";
        ModelFailure::new(ModelFailureKind::Unsupported, PHASE, message)
    })?;
    Ok(models.iter().filter_map(listed).collect())
}

async fn answer(
    program: &mut Program,
    config: &ClaudeCodeConfig,
) -> Result<Map<String, Value>, ModelFailure> {
    loop {
        match program.next().await {
            Ok(Line::Answer(Ok(said))) => return Ok(said),
            Ok(Line::Answer(Err(why))) => return Err(failure::ended(&why, PHASE)),
            // It asks for our tools meanwhile.
            Ok(_) => {}
            Err(Broken::NotTheProtocol) => {
                return Err(failure::not_the_protocol(&config.command, PHASE));
            }
            Err(Broken::Ended) => {
                let last_words = program.last_words().await;
                return Err(failure::ended(&last_words, PHASE));
            }
        }
    }
}

/// Whether there is neither a login nor a key. Claude Code says where each comes from, and `none` for a login.
fn is_logged_out(said: &Map<String, Value>) -> bool {
    let account = said.get("account");
    let text = |key: &str| account?.get(key)?.as_str();
    text("apiProvider") == Some("firstParty")
        && text("tokenSource") == Some("none")
        && text("apiKeySource").is_none_or(|source| source == "none")
}

fn listed(model: &Value) -> Option<ListedModel> {
    let id = model.get("value")?.as_str().filter(|id| !id.is_empty())?;
    let mut listed = ListedModel::new(id);
    listed.name = model
        .get("displayName")
        .and_then(Value::as_str)
        .map(Arc::from);
    Some(listed)
}

const PHASE: Phase = Phase::BeforeFirstDelta;
