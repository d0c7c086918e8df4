//! Checks whether other users and programs can read the keys, and the files that Jackfield keeps.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackfield_assembly::{Assembly, Config, KeySource, KeyState, Surroundings, TokenSource};

use crate::doctor_check::{Area, DoctorCheck, TroubleshootingSection};

/// Checks the files with keys, and the environment of a gateway.
pub(super) fn all(
    config: &Config,
    assembled: &Assembly,
    chosen: &[Arc<str>],
    surroundings: &Surroundings,
    is_gateway: bool,
) -> Vec<DoctorCheck> {
    let files = files(config).into_iter();
    let mut checks: Vec<DoctorCheck> = files
        .filter_map(|(path, what)| readable(&path, &what))
        .collect();
    let kept = kept(config, surroundings).into_iter();
    checks.extend(
        kept.filter_map(|(path, what)| readable(&path, what))
            .take(MOST_KEPT),
    );
    let starts_programs = config.servers.values();
    let mut starts_programs = starts_programs.filter(|server| !server.command.is_empty());
    if (is_gateway || config.serve.has_clients()) && starts_programs.any(|server| server.enabled) {
        let found = chosen.iter().filter_map(|name| {
            let place = match &assembled.providers.get(name)?.key {
                KeyState::Found(place) => place,
                KeyState::Missing(_) | KeyState::NotNeeded => return None,
            };
            surroundings.environment.get(place).map(|_| (name, place))
        });
        checks.extend(found.map(|(name, place)| {
            let says = format!(
                "the key of `{name}` is in {place}, and the gateway starts MCP servers as the same user"
            );
            let help = "keep it in a file that this user alone can read (`api_key_file`), in the keyring, or let \
                        the servers run in a container";
            DoctorCheck::warning(Area::Keys, says, help)
                .with_page(TroubleshootingSection::Gateway)
        }));
    }
    checks
}

/// The files with keys, and what each has.
fn files(config: &Config) -> BTreeMap<PathBuf, String> {
    let of = |source: &KeySource| match source {
        KeySource::File(path) => Some(path.clone()),
        KeySource::Keyring | KeySource::None | KeySource::Variable(_) => None,
    };
    let mut files = BTreeMap::new();
    for (name, provider) in &config.providers {
        if let Some(path) = provider.key.as_ref().and_then(of) {
            files.insert(path, format!("the key of `{name}`"));
        }
    }
    for (name, token) in &config.serve.tokens {
        if let Some(TokenSource::File(path)) = &token.source {
            files.insert(path.clone(), format!("the token `{name}`"));
        }
    }
    if let Some(path) = config.secrets.as_ref().and_then(|(key, _)| of(key)) {
        files.insert(path, "the master key of secrets".to_owned());
    }
    if let Some(path) = config
        .serve
        .oidc
        .as_ref()
        .and_then(|oidc| of(&oidc.client_secret))
    {
        files.insert(path, "the secret at the identity provider".to_owned());
    }
    if let Some(tls) = &config.serve.tls {
        files.insert(
            tls.key.clone(),
            "the private key of the certificate".to_owned(),
        );
    }
    files
}

/// The files that Jackfield keeps beside the journal, and what each has. It makes them private; a copy or an older one
/// may not be.
fn kept(config: &Config, surroundings: &Surroundings) -> Vec<(PathBuf, &'static str)> {
    let below = |folder: &Option<PathBuf>, name| folder.as_ref().map(|folder| folder.join(name));
    let folders = [
        (below(&config.cache, "mcp"), "what a server offers"),
        (below(&config.data, "mcp"), "what is accepted of a server"),
        (below(&config.data, "mcp-sign-in"), "a sign-in at a server"),
    ];
    let mut kept = Vec::new();
    for (folder, what) in folders {
        let listed = folder.and_then(|folder| std::fs::read_dir(folder).ok());
        let files = listed.into_iter().flatten().flatten();
        let files = files.map(|file| file.path());
        kept.extend(files.filter(|file| file.is_file()).map(|file| (file, what)));
    }
    kept.extend(
        surroundings
            .history_file()
            .map(|file| (file, "what was typed in chats")),
    );
    kept.sort_unstable();
    kept
}

/// A warning if others can read a file of this user. Another owner, such as a container's, knows what it does.
#[cfg(unix)]
fn readable(path: &Path, what: &str) -> Option<DoctorCheck> {
    use std::os::unix::fs::MetadataExt as _;
    let found = std::fs::metadata(path).ok()?;
    let is_own = found.uid() == rustix::process::geteuid().as_raw();
    let shown = path.display();
    (is_own && found.mode() & 0o077 != 0).then(|| {
        let says = format!("other users can read {shown}, which has {what}");
        DoctorCheck::warning(Area::Keys, says, format!("`chmod 600 {shown}`"))
    })
}

#[cfg(not(unix))]
fn readable(_: &Path, _: &str) -> Option<DoctorCheck> {
    None
}

/// The most files of Jackfield's own that are named.
const MOST_KEPT: usize = 10;
