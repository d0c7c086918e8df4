//! What is measured: servers in processes of their own, on a core of their own.

use std::fmt;
use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use jackfield_testservers::postgres::PostgresServer;
use serde_json::json;
use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::process::{Provider, beside};

/// Which server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// `jackfield serve`, with its journal in memory, which makes each request a turn.
    Gateway,
    /// The same, with its journal in a file.
    GatewayInAFile,
    /// The same, with its journal in PostgreSQL.
    GatewayInPostgres,
    /// `jackfield serve`, which passes requests through.
    Passthrough,
    /// nginx, which passes on what it does not look at.
    Nginx,
    /// The bare proxy.
    Proxy,
    /// Nothing in between.
    Upstream,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gateway => "jackfield, a turn",
            Self::GatewayInAFile => "jackfield, a turn in a file",
            Self::GatewayInPostgres => "jackfield, a turn in PostgreSQL",
            Self::Passthrough => "jackfield, passed through",
            Self::Nginx => "nginx",
            Self::Proxy => "the bare proxy",
            Self::Upstream => "nothing in between",
        })
    }
}

/// What all servers have before and behind them.
#[derive(Debug)]
pub struct World {
    /// Whether a person is asked before each call of a gateway's tool.
    pub asks: bool,
    database: Option<PostgresServer>,
    folder: TempDir,
    nginx: Option<PathBuf>,
    /// Runs the turns.
    pub provider: Provider,
    upstream: Running,
}

impl World {
    /// Starts the upstreams, and keeps this process to the core of the load.
    ///
    /// # Errors
    ///
    /// If one does not start.
    pub fn new() -> anyhow::Result<Self> {
        // Whatever this process starts from here on inherits it, unless it is told otherwise.
        let this = std::process::id().to_string();
        let _elsewhere = Command::new("taskset")
            .args(["-a", "-p", LOAD, &this])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        let nginx = ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/bin/nginx"];
        let nginx = nginx
            .into_iter()
            .map(PathBuf::from)
            .find(|path| path.is_file());
        Ok(Self {
            asks: false,
            database: None,
            folder: tempfile::tempdir()?,
            nginx,
            provider: Provider::start()?,
            upstream: Running::saying(&mut Command::new(beside("bench-upstream")?))?,
        })
    }

    /// Starts a PostgreSQL server, whose commits are synced; says whether it is installed.
    pub fn start_database(&mut self) -> bool {
        // A path beside the build may be too long for a socket.
        self.database = PostgresServer::start_synced(Path::new("/var/tmp")).ok();
        self.database.is_some()
    }

    /// What can be measured here. Without nginx there is nothing to hold against; the bare proxy is there.
    #[must_use]
    pub fn kinds(&self) -> Vec<Kind> {
        let nginx = self.nginx.is_some().then_some(Kind::Nginx);
        let ours = [Kind::Proxy, Kind::Passthrough, Kind::Gateway];
        nginx.into_iter().chain(ours).collect()
    }
}

/// A process, and what it says first. Dropping it ends it.
#[derive(Debug)]
struct Running {
    child: Child,
    line: String,
}

impl Running {
    fn saying(command: &mut Command) -> anyhow::Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        let output = child.stdout.take().context("no output")?;
        let mut line = String::new();
        std::io::BufReader::new(output).read_line(&mut line)?;
        let line = line.trim().to_owned();
        Ok(Self { child, line })
    }

    fn silent(command: &mut Command) -> anyhow::Result<Self> {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        let line = String::new();
        Ok(Self { child, line })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

/// A server that is measured.
#[derive(Debug)]
pub struct Subject {
    /// Where it is.
    pub base_url: String,
    /// Which it is.
    pub kind: Kind,
    process: u32,
    _running: Option<Running>,
}

impl Subject {
    /// Starts it, and waits until it can be reached.
    ///
    /// # Errors
    ///
    /// If it does not start.
    pub async fn start(world: &World, kind: Kind) -> anyhow::Result<Self> {
        let upstream = &world.upstream.line;
        let port = free_port()?;
        let mut base_url = format!("http://127.0.0.1:{port}/v1");
        let running = match kind {
            Kind::Upstream => None,
            Kind::Proxy => {
                let mut command = on_its_core(&beside("bench-proxy")?);
                let running = Running::saying(command.arg(upstream))?;
                base_url.clone_from(&running.line);
                Some(running)
            }
            Kind::Nginx => {
                let program = world.nginx.as_ref().context("there is no nginx")?;
                let folder = world.folder.path();
                let config = folder.join(format!("nginx-{port}.conf"));
                std::fs::write(&config, nginx(folder, port, upstream)?)?;
                let mut command = on_its_core(program);
                command.arg("-p").arg(folder).arg("-c").arg(&config);
                Some(Running::silent(&mut command)?)
            }
            Kind::Gateway | Kind::GatewayInAFile | Kind::GatewayInPostgres | Kind::Passthrough => {
                let home = world.folder.path().join(format!("home-{port}"));
                configure(&home, world, kind)?;
                let mut command = on_its_core(&beside("jackfield")?);
                command
                    .args(["serve", "--bind", &format!("127.0.0.1:{port}")])
                    .current_dir(&home)
                    .env_clear()
                    .env("HOME", &home)
                    .env("PATH", std::env::var_os("PATH").unwrap_or_default());
                Some(Running::silent(&mut command)?)
            }
        };
        if running.is_none() {
            base_url.clone_from(upstream);
        }
        let host = base_url.strip_prefix("http://").unwrap_or_default();
        let (host, _) = host.split_once('/').unwrap_or_default();
        reachable(host).await?;
        let process = running.as_ref().map_or(0, |running| running.child.id());
        Ok(Self {
            base_url,
            kind,
            process,
            _running: running,
        })
    }

    /// What it has computed so far, all threads together, as Linux tells it.
    ///
    /// # Errors
    ///
    /// If it is gone.
    pub fn cpu(&self) -> anyhow::Result<Duration> {
        if self.process == 0 {
            return Ok(Duration::ZERO);
        }
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process))?;
        let (_, fields) = stat.rsplit_once(") ").context("no fields")?;
        let ticks: u64 = fields
            .split(' ')
            .skip(11)
            .take(2)
            .map(|ticks| ticks.parse::<u64>().unwrap_or_default())
            .sum();
        Ok(Duration::from_millis(ticks * TICK))
    }

    /// What it has in memory, in KiB, as Linux tells it.
    ///
    /// # Errors
    ///
    /// If it is gone.
    pub fn memory(&self) -> anyhow::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process))?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident = resident.context("no such field")?.trim();
        Ok(resident.trim_end_matches(" kB").parse()?)
    }
}

/// A program, kept to the core of what is measured, and with room for many connections.
fn on_its_core(program: &Path) -> Command {
    let mut command = Command::new("sh");
    let start = format!("ulimit -n 16384; exec taskset {SUBJECT} \"$0\" \"$@\"");
    command.args(["-c", &start]).arg(program);
    command
}

pub(crate) async fn reachable(host: &str) -> anyhow::Result<()> {
    for _ in 0..500 {
        if TcpStream::connect(host).await.is_ok() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    bail!("nobody listens at {host}")
}

pub(crate) fn free_port() -> anyhow::Result<u16> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(listener.local_addr()?.port())
}

/// nginx as a plain proxy: one process, connections kept on both sides, nothing held back.
fn nginx(folder: &Path, port: u16, upstream: &str) -> anyhow::Result<String> {
    let host = upstream.strip_prefix("http://").context("no http URL")?;
    let (host, _) = host.split_once('/').context("no path")?;
    let folder = folder.display();
    Ok(format!(
        "daemon off; master_process off; worker_processes 1; pid {folder}/nginx-{port}.pid;\n\
         error_log stderr crit;\n\
         events {{ worker_connections 8192; }}\n\
         http {{\n\
           access_log off; keepalive_requests 10000000; keepalive_timeout 600s;\n\
           client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;\n\
           fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;\n\
           upstream up {{ server {host}; keepalive 1200; keepalive_requests 10000000; }}\n\
           server {{\n\
             listen 127.0.0.1:{port} backlog=4096;\n\
             location / {{\n\
               proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection \"\";\n\
               proxy_buffering off; proxy_read_timeout 600s; tcp_nodelay on;\n\
             }}\n\
           }}\n\
         }}\n"
    ))
}

/// A home for a gateway: the upstream as a provider, and another one that runs turns.
fn configure(home: &Path, world: &World, kind: Kind) -> anyhow::Result<()> {
    let folder = home.join(".config/jackfield");
    std::fs::create_dir_all(&folder)?;
    let (upstream, provider) = (&world.upstream.line, &world.provider.base_url);
    let passthrough = if kind == Kind::Passthrough {
        "always"
    } else {
        "never"
    };
    let journal = match (kind, &world.database) {
        (Kind::GatewayInAFile, _) => String::new(),
        (Kind::GatewayInPostgres, Some(database)) => {
            format!(
                "[journal]\nurl = \"{}\"\n",
                database.url("postgres", "postgres")
            )
        }
        (Kind::GatewayInPostgres, None) => bail!("there is no database"),
        _ => "[journal]\nkind = \"memory\"\n".to_owned(),
    };
    let verdict = if world.asks { "ask" } else { "allow" };
    let config = format!(
        "model = \"turns/bench\"\n\n[serve]\naccess_log = false\noffer = \"all\"\n\n{journal}\n\
         [providers.bench]\nkind = \"openai-compatible\"\nbase_url = \"{upstream}\"\n\
         api_key_env = \"\"\napi = \"chat\"\npassthrough = \"{passthrough}\"\n\n\
         [providers.turns]\nkind = \"openai-compatible\"\nbase_url = \"{provider}\"\n\
         api_key_env = \"\"\napi = \"chat\"\n\n[policy.tools]\n\"*\" = \"{verdict}\"\n"
    );
    std::fs::write(folder.join("jackfield.toml"), config)?;
    // The server of its tools is behind it as the upstream is, and would inherit its core.
    let echo = beside("bench-echo")?;
    let server = json!({ "command": "taskset", "args": [LOAD, echo], "trust": true });
    let servers = json!({ "mcpServers": { "echo": server } });
    std::fs::write(folder.join("mcp-servers.json"), servers.to_string())?;
    Ok(())
}

/// The core of the load and the upstream, as `taskset` has it.
const LOAD: &str = "2";
/// The core of what is measured.
const SUBJECT: &str = "1";
/// How many milliseconds a tick of Linux has.
const TICK: u64 = 10;
