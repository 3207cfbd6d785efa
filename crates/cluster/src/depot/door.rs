//! Who may come in: whoever shows a certificate of the right authority, or knows the token.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use sha2::{Digest, Sha256};

/// Shorter tokens are too easy to guess.
pub const MIN_TOKEN_BYTES: usize = 16;
pub const MAX_TOKEN_BYTES: usize = 1024;
/// Largest file of certificates or keys.
const MAX_PEM_BYTES: u64 = 1 << 20;

#[derive(Debug, thiserror::Error)]
pub enum DoorError {
    #[error("nobody could be told from anybody: name the authority of the nodes' certificates, or a token")]
    Open,
    #[error(
        "the token has {0} bytes; use {MIN_TOKEN_BYTES} to {MAX_TOKEN_BYTES} printable characters without spaces"
    )]
    Token(usize),
    #[error("cannot use {path}: {why}")]
    File { path: PathBuf, why: String },
    #[error("certificate and key cannot be used: {0}")]
    Tls(#[from] rustls::Error),
}

/// What a depot shows, and what it wants to be shown.
#[derive(Clone, Default)]
pub struct DoorOptions {
    /// The depot's certificate, and those between it and the authority (PEM).
    pub certificate: PathBuf,
    /// The key of the depot's certificate (PEM).
    pub key: PathBuf,
    /// The authority that signed the nodes' certificates (PEM).
    pub authority: Option<PathBuf>,
    pub token: Option<String>,
}

impl fmt::Debug for DoorOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DoorOptions").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// The way in.
pub struct Door {
    tls: Arc<ServerConfig>,
    /// The hash of the token: comparing hashes tells nothing about how much of a guess was right.
    token: Option<[u8; 32]>,
    by_certificate: bool,
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door").field("by_certificate", &self.by_certificate).finish_non_exhaustive()
    }
}

impl Door {
    pub fn new(options: &DoorOptions) -> Result<Self, DoorError> {
        if options.authority.is_none() && options.token.is_none() {
            return Err(DoorError::Open);
        }
        if let Some(token) = &options.token {
            check_token(token)?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?;
        let builder = match &options.authority {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(path)? {
                    roots.add(certificate)?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                // Where a token will do as well, a certificate is optional; a wrong one is refused all the same.
                let verifier = match options.token {
                    Some(_) => verifier.allow_unauthenticated(),
                    None => verifier,
                };
                let verifier = verifier.build().map_err(|error| file_error(path, error))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let key = PrivateKeyDer::from_pem_slice(&read(&options.key)?)
            .map_err(|error| file_error(&options.key, error))?;
        let tls = Arc::new(builder.with_single_cert(certificates(&options.certificate)?, key)?);
        let token = options.token.as_deref().map(hash);
        Ok(Self { tls, token, by_certificate: options.authority.is_some() })
    }

    pub(super) fn tls(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.tls)
    }

    /// `has_certificate`: one that the authority signed; others do not get this far.
    pub(super) fn lets_in(&self, has_certificate: bool, token: Option<&str>) -> bool {
        let knows = self.token.zip(token).is_some_and(|(wanted, shown)| wanted == hash(shown));
        knows || (self.by_certificate && has_certificate)
    }
}

/// Whether a token can be used.
pub fn check_token(token: &str) -> Result<(), DoorError> {
    let fits = (MIN_TOKEN_BYTES..=MAX_TOKEN_BYTES).contains(&token.len());
    if fits && token.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(())
    } else {
        Err(DoorError::Token(token.len()))
    }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

fn file_error(path: &Path, error: impl fmt::Display) -> DoorError {
    DoorError::File { path: path.to_owned(), why: error.to_string() }
}

fn read(path: &Path) -> Result<Vec<u8>, DoorError> {
    let file = std::fs::File::open(path).map_err(|error| file_error(path, error))?;
    let mut bytes = Vec::new();
    file.take(MAX_PEM_BYTES).read_to_end(&mut bytes).map_err(|error| file_error(path, error))?;
    Ok(bytes)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, DoorError> {
    let bytes = read(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let found = found.map_err(|error| file_error(path, error))?;
    if found.is_empty() { Err(file_error(path, "it holds no certificate (PEM)")) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_door_for_everybody_is_none_and_tokens_are_long() {
        assert!(matches!(Door::new(&DoorOptions::default()), Err(DoorError::Open)));
        for bad in ["", "short", "with spaces in it, but long", &"x".repeat(2000), "äääääääääääääääääää"]
        {
            let token = Some(bad.to_owned());
            assert!(matches!(
                Door::new(&DoorOptions { token, ..DoorOptions::default() }),
                Err(DoorError::Token(_))
            ));
        }
        let token = Some("0123456789abcdef".to_owned());
        assert!(matches!(
            Door::new(&DoorOptions { token, ..DoorOptions::default() }),
            Err(DoorError::File { .. })
        ));
    }
}
