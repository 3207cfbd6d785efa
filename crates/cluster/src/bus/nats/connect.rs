//! How to reach a NATS server: addresses, credentials, TLS.

use std::path::PathBuf;
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::{ConnectOptions, Event, ServerAddr, ServerError};

use super::denials::Denials;
use crate::bus::BusError;

/// How long one request may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest pause between two tries to reach a server again.
const MAX_RECONNECT_DELAY: Duration = Duration::from_secs(2);
/// Most servers that may be named.
pub const MAX_SERVERS: usize = 16;

/// How a node shows who it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Credentials {
    #[default]
    None,
    User {
        name: String,
        password: String,
    },
    Token(String),
    /// A `.creds` file with a token and a key.
    File(PathBuf),
    /// The seed of an nkey.
    Nkey(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatsOptions {
    /// Servers, with commas between them: `nats://a:4222,nats://b:4222`, or `tls://…`.
    pub url: String,
    pub credentials: Credentials,
    /// Certificates of the authority that signed the server's, as PEM; the system's where none is named.
    pub authority: Option<PathBuf>,
    /// This node's certificate and key, as PEM, for servers that ask.
    pub certificate: Option<(PathBuf, PathBuf)>,
    pub require_tls: bool,
    /// Servers that hold each message: 1 on a single server, 3 in production.
    pub replicas: usize,
    /// How this connection is called in the server's monitoring.
    pub name: String,
}

impl NatsOptions {
    pub fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            credentials: Credentials::None,
            authority: None,
            certificate: None,
            require_tls: url.starts_with("tls://"),
            replicas: 1,
            name: "lycosa".to_owned(),
        }
    }

    pub(super) async fn connect(&self, denials: &Denials) -> Result<Context, BusError> {
        let refused = |what: String| BusError::Refused(what);
        let addresses: Vec<ServerAddr> = self
            .url
            .split(',')
            .map(|url| {
                url.trim().parse().map_err(|_| refused(format!("{:?} is no NATS address", url.trim())))
            })
            .collect::<Result<_, _>>()?;
        if addresses.is_empty() || addresses.len() > MAX_SERVERS {
            return Err(refused(format!("{} NATS servers named; name 1 to {MAX_SERVERS}", addresses.len())));
        }
        let mut options = match &self.credentials {
            Credentials::None => ConnectOptions::new(),
            Credentials::User { name, password } => {
                ConnectOptions::with_user_and_password(name.clone(), password.clone())
            }
            Credentials::Token(token) => ConnectOptions::with_token(token.clone()),
            Credentials::Nkey(seed) => ConnectOptions::with_nkey(seed.clone()),
            Credentials::File(path) => ConnectOptions::with_credentials_file(path)
                .await
                .map_err(|error| refused(format!("cannot read {}: {error}", path.display())))?,
        };
        let heard = denials.clone();
        options = options
            .event_callback(move |event| {
                if let Event::ServerError(ServerError::Other(error)) = &event {
                    heard.hear(error);
                }
                std::future::ready(())
            })
            .name(&self.name)
            .request_timeout(Some(REQUEST_TIMEOUT))
            .connection_timeout(REQUEST_TIMEOUT)
            .ping_interval(Duration::from_secs(5))
            .custom_inbox_prefix("_INBOX")
            .require_tls(self.require_tls)
            .reconnect_delay_callback(|tries| {
                let delay = Duration::from_millis(50u64.saturating_mul(1 << tries.min(6)));
                delay.min(MAX_RECONNECT_DELAY)
            });
        if let Some(authority) = &self.authority {
            options = options.add_root_certificates(authority.clone());
        }
        if let Some((certificate, key)) = &self.certificate {
            options = options.add_client_certificate(certificate.clone(), key.clone());
        }
        let client = options.connect(addresses).await.map_err(super::failure::of_connect)?;
        Ok(ContextBuilder::new().timeout(REQUEST_TIMEOUT).ack_timeout(REQUEST_TIMEOUT).build(client))
    }
}
