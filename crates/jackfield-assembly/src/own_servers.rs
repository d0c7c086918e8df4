//! The servers of users and teams, `[own_servers]`: which they may have, and their toolboxes.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::directory::{OwnEndpoint, OwnServer};
use jackfield_engine::near::did_you_mean;
use jackfield_engine::{OpenedServer, OwnServerFactory, OwnServerLimits, SignInClient};
use jackfield_ports::toolbox_source::{RegisteredToolbox, ToolboxStatus};
use jackfield_provider_kit::guarded::{Allowed, GuardedSettings, special};
use jackfield_provider_kit::transport::Transport;
use jackfield_tools_mcp::{ServerFault, is_reserved_header};
use url::{Host, Url};

use crate::own_sign_ins::{JournalTokens, OwnSignIns};
use crate::place::ValueSource;
use crate::servers::{BrokenServer, CommonSettings, McpServerEntry, ServerToolbox, literal};

/// Which servers users and teams may have of their own.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OwnServersConfig {
    /// Destinations that are allowed although they are not public.
    pub allow_private: Allowed,
    /// How long a connection that no turn uses stays open.
    pub idle: Duration,
    /// The maximum number of connections of this process.
    pub max_open: u32,
    /// The maximum number of servers of a team.
    pub per_team: usize,
    /// The maximum number of servers of a user.
    pub per_user: usize,
    /// The programs that they may have, by name.
    pub programs: BTreeMap<Arc<str>, OwnProgram>,
}

impl Default for OwnServersConfig {
    fn default() -> Self {
        Self {
            allow_private: Allowed::default(),
            idle: Duration::from_secs(600),
            max_open: 200,
            per_team: 20,
            per_user: 10,
            programs: BTreeMap::new(),
        }
    }
}

/// A program that users and teams may have as a server. Texts are as written, with `${NAME}` in them.
#[derive(Clone, Debug)]
pub struct OwnProgram {
    /// Its arguments.
    pub arguments: Vec<Arc<str>>,
    /// The program: a name to look up in `PATH`, or a path.
    pub command: Arc<str>,
    /// The variables that are the same for all.
    pub environment: Vec<(Arc<str>, Arc<str>)>,
    /// Where it is configured.
    pub place: ValueSource,
    /// The variables whose values each owner sets.
    pub variables: Vec<Arc<str>>,
}

impl OwnServersConfig {
    fn check_server(&self, server: &OwnServer) -> Result<(), String> {
        match &server.endpoint {
            OwnEndpoint::Http(url) => {
                let mut reserved = server.secrets.iter();
                match reserved.find(|name| is_reserved_header(name)) {
                    Some(name) => Err(format!(
                        "the header `{name}` cannot be set: the connection or the protocol sets it"
                    )),
                    None => self.check_address(url),
                }
            }
            OwnEndpoint::Program(name) => self.check_program(name, &server.secrets),
        }
    }

    fn check_address(&self, text: &str) -> Result<(), String> {
        let url = Url::parse(text).map_err(|_| "the address is none".to_owned())?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("the address has a user in it: set a header instead".to_owned());
        }
        let allowed = &self.allow_private;
        let is_allowed = match url.host() {
            Some(Host::Domain(name)) => allowed.has_name(name),
            Some(Host::Ipv4(address)) => self.check_literal(address.into())?,
            Some(Host::Ipv6(address)) => self.check_literal(address.into())?,
            None => return Err("the address has no host".to_owned()),
        };
        match url.scheme() {
            "https" => Ok(()),
            "http" if is_allowed => Ok(()),
            "http" => Err("the address is not encrypted: it has to begin with https://".to_owned()),
            _ => Err("the address has to begin with https://".to_owned()),
        }
    }

    /// Whether a literal address is allowed although it is not public.
    fn check_literal(&self, address: IpAddr) -> Result<bool, String> {
        let is_allowed = self.allow_private.has_address(address);
        match special(address) {
            Some(what) if !is_allowed => Err(format!(
                "{address} is {what}, and only public addresses are reached"
            )),
            Some(_) | None => Ok(is_allowed),
        }
    }

    fn check_program(&self, name: &str, variables: &[Arc<str>]) -> Result<(), String> {
        let Some(program) = self.programs.get(name) else {
            let known: Vec<&str> = self.programs.keys().map(|name| &**name).collect();
            let hint = did_you_mean(name, &known);
            return Err(format!(
                "the administrator's list has no program `{name}`{hint}"
            ));
        };
        let unknown = variables.iter();
        let mut unknown = unknown.filter(|name| !program.variables.contains(name));
        match unknown.next() {
            Some(variable) => Err(format!(
                "the program `{name}` has no variable `{variable}` that its owners set"
            )),
            None => Ok(()),
        }
    }
}

/// Checks servers, and opens none: for programs that administer them.
impl OwnServerFactory for OwnServersConfig {
    fn limits(&self) -> OwnServerLimits {
        OwnServerLimits {
            idle: self.idle,
            open: usize::try_from(self.max_open).unwrap_or(usize::MAX),
            per_team: self.per_team,
            per_user: self.per_user,
        }
    }

    fn check(&self, server: &OwnServer) -> Result<(), String> {
        self.check_server(server)
    }

    fn open(&self, opened: &OpenedServer) -> RegisteredToolbox {
        broken(opened, "this program opens no servers of people".to_owned())
    }
}

/// Makes the toolboxes of these servers.
pub(crate) struct OwnServerToolboxes {
    common: CommonSettings,
    config: OwnServersConfig,
    guarded: GuardedSettings,
    sign_ins: OwnSignIns,
}

impl OwnServerToolboxes {
    /// Makes toolboxes within this configuration. `common` are the settings of configured servers.
    pub(crate) fn new(
        config: &OwnServersConfig,
        common: &CommonSettings,
        mut guarded: GuardedSettings,
    ) -> Self {
        guarded.allowed = config.allow_private.clone();
        Self {
            common: common.clone(),
            config: config.clone(),
            sign_ins: OwnSignIns::new(guarded.clone()),
            guarded,
        }
    }

    /// The server as a configured one.
    fn entry(&self, opened: &OpenedServer) -> Result<McpServerEntry, String> {
        let secrets = opened.secrets.iter();
        let secrets = secrets.map(|(name, value)| (Arc::clone(name), literal(value.expose())));
        let (server, revision) = (opened.server.entry(), opened.revision);
        // Users who sign in have accounts of their own, whose tools may differ.
        let owner = match &opened.sign_in {
            Some(sign_in) => format!("{}@{revision}", sign_in.entry()),
            None => format!("{server}@{revision}"),
        };
        let mut entry = McpServerEntry {
            owner: Some(owner.into()),
            ..McpServerEntry::empty(opened.id.clone())
        };
        match &opened.server.endpoint {
            OwnEndpoint::Http(url) => {
                entry.headers = secrets.collect();
                entry.url = Some(literal(url));
            }
            OwnEndpoint::Program(name) => {
                let program = self.config.programs.get(name);
                let program = program
                    .ok_or_else(|| format!("the administrator's list has no program `{name}`"))?;
                entry.arguments.clone_from(&program.arguments);
                entry.command = Arc::clone(&program.command);
                entry.environment.clone_from(&program.environment);
                entry.environment.extend(secrets);
                entry.place = program.place.clone();
            }
        }
        Ok(entry)
    }

    fn toolbox(&self, opened: &OpenedServer) -> Result<RegisteredToolbox, String> {
        // The configuration may be another one than when it was stored.
        self.check(&opened.server)?;
        let entry = self.entry(opened)?;
        let mut common = self.common.clone();
        // A list of tools of one person is not found by another.
        common.cache = None;
        if entry.url.is_some() {
            // Its owner gave the address, and may know what is wrong there; no other connection is shared with it.
            common.redact_details = false;
            let transport = Transport::guarded(&self.guarded);
            common.transport = transport.map_err(|error| error.to_string())?;
        }
        if let (Some(sign_in), Some(url)) = (&opened.sign_in, opened.server.sign_in_address()) {
            let tokens = Arc::new(JournalTokens(Arc::clone(sign_in)));
            let authorization = self.sign_ins.authorization(&opened.server, tokens, url);
            let authorization = authorization.map_err(|fault| fault.to_string())?;
            common.own_sign_in = Some(Arc::new(authorization));
        }
        let server = ServerToolbox::new(&entry, &common).registered();
        server.ok_or_else(|| "it is disabled".to_owned())
    }
}

impl OwnServerFactory for OwnServerToolboxes {
    fn limits(&self) -> OwnServerLimits {
        self.config.limits()
    }

    fn check(&self, server: &OwnServer) -> Result<(), String> {
        self.config.check_server(server)
    }

    fn open(&self, opened: &OpenedServer) -> RegisteredToolbox {
        let toolbox = self.toolbox(opened);
        let mut registered = toolbox.unwrap_or_else(|why| broken(opened, why));
        registered.status.server = Some(opened.server.identity());
        registered
    }

    fn sign_in_client(&self) -> Option<&dyn SignInClient> {
        Some(&self.sign_ins)
    }
}

/// A server that cannot be used.
fn broken(opened: &OpenedServer, reason: String) -> RegisteredToolbox {
    let advice = "set the server again".to_owned();
    let fault = ServerFault { advice, reason };
    RegisteredToolbox {
        status: ToolboxStatus::default(),
        toolbox: Arc::new(BrokenServer::new(opened.id.clone(), fault)),
    }
}
