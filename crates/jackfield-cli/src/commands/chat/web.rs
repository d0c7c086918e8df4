//! `jackfield chat --web`: the page of a gateway that this process runs, at the session.

use std::io::{self, IsTerminal as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use jackfield_assembly::Registry;
use jackfield_server::{immediate_shutdown_signal, shutdown_signal};

use crate::args;
use crate::commands::browser::{free_port, link};
use crate::commands::gateway_doctor::GatewayDoctor;
use crate::commands::sessions::find;
use crate::commands::{ask, browser};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render;

/// Serves the page to this machine until a signal ends it, and opens a browser.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub(super) async fn run(chat: args::Chat, registry: &Registry) -> Result<Exit, CommandError> {
    let mut flags = ask::flags(&chat.setup);
    flags.model.clone_from(&chat.model);
    ask::set_limits(&mut flags, &chat.bounds);
    let surroundings = ask::surroundings()?;
    let mut config = ask::load_config_in(&flags, &surroundings)?;
    let environment = surroundings.environment.clone();
    // The port that is configured is the one that the browser knows; `jackfield serve` may have it.
    let port = config.serve.bind.port();
    config.serve.bind = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let running = free_port::start(config, &environment, registry).await?;
    let running = running.checked_by(Arc::new(GatewayDoctor {
        flags,
        registry: registry.clone(),
        surroundings,
    }));
    let place = match chat.session.session() {
        Some(name) => format!("sessions/{}", find::session(running.engine(), name).await?),
        None => "new".to_owned(),
    };
    let base = link::base("http", running.address);
    let address = format!("{base}/#/{place}");
    let is_open = running.is_open().await;
    let to_page = match running.page_token().filter(|_| is_open) {
        Some(token) => format!("{}/{place}", link::link(&base, token)),
        None => address.clone(),
    };
    let shown = if io::stderr().is_terminal() {
        &to_page
    } else {
        &address
    };
    // Signal handlers are installed before the address is announced.
    let ends = shutdown_signal();
    render::remark(&format!("the page is at {shown}; Ctrl-C ends it"));
    // Without a browser, the printed address is enough.
    let _started = browser::open(&to_page, &environment);
    running.run_until(ends, immediate_shutdown_signal()).await;
    Ok(Exit::Answered)
}
