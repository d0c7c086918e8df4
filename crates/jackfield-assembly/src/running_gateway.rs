//! Asks the gateway that runs with this configuration, over its API.

mod page_token;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use http::Request;
use http::header::AUTHORIZATION;
use jackfield_provider_kit::transport::{Transport, TransportSettings};
use serde_json::Value;
use thiserror::Error;
use tokio::time::timeout;

use crate::config::Config;

pub use self::page_token::PageToken;

/// Why a running gateway cannot be asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GatewayNotAsked {
    /// Nothing answers at its address.
    #[error("no gateway answers at {address}")]
    NotRunning {
        /// The address.
        address: SocketAddr,
    },
    /// It answered with another status than 200, such as 401 without a token.
    #[error("the gateway at {address} answered {status}")]
    Refused {
        /// The address.
        address: SocketAddr,
        /// The status.
        status: u16,
    },
}

/// The document at a path of the API of the gateway that runs with this configuration, such as `/api/v1/routes`.
/// Dropping the future ends the request.
///
/// # Errors
///
/// [`GatewayNotAsked`] if there is none, if it refuses, or if it takes more than two seconds.
pub async fn ask_gateway(
    config: &Config,
    path: &str,
    token: Option<&str>,
) -> Result<Value, GatewayNotAsked> {
    let mut address = config.serve.bind;
    // It listens at every address, so also at this one.
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    let not_running = || GatewayNotAsked::NotRunning { address };
    let mut request = Request::get(format!("http://{address}{path}"));
    if let Some(token) = token {
        request = request.header(AUTHORIZATION, format!("Bearer {token}"));
    }
    let request = request.body(Default::default());
    let transport = Transport::new(TransportSettings::default());
    let (Ok(request), Ok(transport)) = (request, transport) else {
        return Err(not_running());
    };
    let asked = timeout(TIME_LIMIT, async {
        let answer = transport.send(request).await.map_err(|_| not_running())?;
        let status = answer.status().as_u16();
        if status != 200 {
            return Err(GatewayNotAsked::Refused { address, status });
        }
        let body = answer.into_body().await.map_err(|_| not_running())?;
        serde_json::from_slice(&body).map_err(|_| GatewayNotAsked::Refused { address, status })
    });
    asked.await.unwrap_or_else(|_| Err(not_running()))
}

/// How long the gateway may take.
const TIME_LIMIT: Duration = Duration::from_secs(2);
