//! Opens connections to one address.

use std::future::poll_fn;
use std::time::Duration;

use rustls_tokio_postgres::MakeRustlsConnect;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::{AsyncMessage, Client, NoTls, Notification};

use crate::address::{Address, Encryption};
use crate::error::Fault;
use crate::tls;

/// Opens connections to one address.
pub(crate) struct Connector {
    address: Address,
    tls: Option<MakeRustlsConnect>,
}

impl Connector {
    /// Opens no connection yet. Packets that the other end does not acknowledge within `timeout` end a connection.
    pub(crate) fn new(mut address: Address, timeout: Duration) -> Result<Self, Fault> {
        let tls = match &address.encryption {
            Encryption::Off => None,
            Encryption::Verified(root) => {
                let made = tls::connector(root.as_deref());
                Some(made.map_err(|error| Fault::Unconnected(error.to_string().into()))?)
            }
        };
        address
            .config
            .connect_timeout(timeout)
            .keepalives_idle(Duration::from_secs(30))
            .tcp_user_timeout(timeout);
        Ok(Self { address, tls })
    }

    /// The address as it is shown.
    pub(crate) fn place(&self) -> String {
        self.address.to_string()
    }

    /// Asks the server to cancel what a connection runs, as far as it can be reached.
    pub(crate) async fn cancel(&self, client: &Client) {
        let token = client.cancel_token();
        let asked = match &self.tls {
            Some(tls) => token.cancel_query(tls.clone()).await,
            None => token.cancel_query(NoTls).await,
        };
        if let Err(error) = asked {
            tracing::debug!(%error, "a statement could not be cancelled");
        }
    }

    /// Opens a connection, which a task drives until it ends. The task calls `on_notification` with each notification,
    /// and drops it with the connection.
    pub(crate) async fn connect(
        &self,
        timeout: Duration,
        on_notification: impl FnMut(Notification) + Send + 'static,
    ) -> Result<Client, Fault> {
        let config = &self.address.config;
        let connecting = async {
            match &self.tls {
                Some(tls) => {
                    let (client, connection) = config.connect(tls.clone()).await?;
                    tokio::spawn(drive(connection, on_notification));
                    Ok(client)
                }
                None => {
                    let (client, connection) = config.connect(NoTls).await?;
                    tokio::spawn(drive(connection, on_notification));
                    Ok(client)
                }
            }
        };
        match tokio::time::timeout(timeout, connecting).await {
            Ok(connected) => {
                connected.map_err(|error: tokio_postgres::Error| Fault::of_connection(&error))
            }
            Err(_) => Err(Fault::Unconnected("it does not answer".into())),
        }
    }
}

/// Drives a connection until it ends.
async fn drive<S, T>(
    mut connection: tokio_postgres::Connection<S, T>,
    mut on_notification: impl FnMut(Notification),
) where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
        match message {
            Ok(AsyncMessage::Notification(notification)) => on_notification(notification),
            Ok(AsyncMessage::Notice(notice)) => {
                tracing::debug!(notice = notice.message(), "the database says");
            }
            Ok(_) => {}
            Err(error) => {
                tracing::debug!(%error, "a connection to the database has ended");
                return;
            }
        }
    }
}
