//! TLS: whom to trust, and which protocols to offer.

use std::{io, sync::Arc};

use lycosa_types::{CertificateFault, Failure};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

/// How servers are trusted and spoken to.
#[derive(Clone, Debug, Default)]
pub struct TlsOptions {
    /// More root certificates, each a PEM file's contents.
    pub extra_roots_pem: Vec<Vec<u8>>,
    /// Take any certificate, expired, self-signed or for another name. The connection is then open to whoever sits
    /// on the path. Off.
    pub danger_accept_invalid_certs: bool,
    /// Offer HTTP/2. Off: an archive wants the bytes a server sent, and HTTP/2 has none of that kind.
    pub http2: bool,
}

/// Why TLS cannot be set up as asked.
#[derive(Debug, thiserror::Error)]
pub enum TlsSetupError {
    #[error("extra root certificate {index} is not pem: {reason}")]
    Pem { index: usize, reason: String },
    #[error("extra root certificate {index} holds no certificate; give a file with BEGIN CERTIFICATE in it")]
    NoCertificate { index: usize },
    #[error("extra root certificate {index} cannot be used: {reason}")]
    Root { index: usize, reason: rustls::Error },
    #[error("tls cannot be configured: {0}")]
    Config(#[from] rustls::Error),
}

/// The connector shared by all fetchers.
#[derive(Clone)]
pub(crate) struct Tls {
    connector: TlsConnector,
}

impl Tls {
    pub fn new(options: &TlsOptions) -> Result<Self, TlsSetupError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?;
        let mut config = if options.danger_accept_invalid_certs {
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(TrustAnyone(provider)))
                .with_no_client_auth()
        } else {
            builder.with_root_certificates(roots(&options.extra_roots_pem)?).with_no_client_auth()
        };
        config.alpn_protocols = if options.http2 {
            vec![b"h2".to_vec(), b"http/1.1".to_vec()]
        } else {
            vec![b"http/1.1".to_vec()]
        };
        Ok(Self { connector: TlsConnector::from(Arc::new(config)) })
    }

    /// Shakes hands with the server that `host` names.
    pub async fn connect(&self, host: &str, stream: TcpStream) -> Result<TlsStream<TcpStream>, Failure> {
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        let name = ServerName::try_from(bare.to_owned()).map_err(|_| Failure::TlsError)?;
        self.connector.connect(name, stream).await.map_err(|error| failure_of(&error))
    }
}

/// A certificate that was refused is told from a handshake that failed.
fn failure_of(error: &io::Error) -> Failure {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let Some(rustls::Error::InvalidCertificate(problem)) = inner else { return Failure::TlsError };
    Failure::Certificate(match problem {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => CertificateFault::Expired,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            CertificateFault::NotYetValid
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            CertificateFault::WrongName
        }
        CertificateError::UnknownIssuer => CertificateFault::UnknownAuthority,
        CertificateError::Revoked => CertificateFault::Revoked,
        CertificateError::BadSignature
        | CertificateError::UnsupportedSignatureAlgorithmContext { .. }
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            CertificateFault::Signature
        }
        _ => CertificateFault::Unusable,
    })
}

fn roots(extra: &[Vec<u8>]) -> Result<RootCertStore, TlsSetupError> {
    let mut store = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    for (index, pem) in extra.iter().enumerate() {
        let before = store.len();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate =
                certificate.map_err(|error| TlsSetupError::Pem { index, reason: error.to_string() })?;
            store.add(certificate).map_err(|reason| TlsSetupError::Root { index, reason })?;
        }
        if store.len() == before {
            return Err(TlsSetupError::NoCertificate { index });
        }
    }
    Ok(store)
}

/// Takes every certificate; still checks that the server holds its key, so that a broken server is told from a lie.
#[derive(Debug)]
struct TrustAnyone(Arc<CryptoProvider>);

impl ServerCertVerifier for TrustAnyone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_file_without_a_certificate_is_refused() {
        let options = TlsOptions { extra_roots_pem: vec![b"hello".to_vec()], ..TlsOptions::default() };
        assert!(matches!(Tls::new(&options).err(), Some(TlsSetupError::NoCertificate { index: 0 })));
        assert!(Tls::new(&TlsOptions::default()).is_ok());
    }
}
