//! A central archive at a parent node: a [depot](crate::depot), reached over HTTPS.
//!
//! The depot knows how much of a segment it has; after anything that broke off it is asked, and the rest is sent.

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::{Certificate, Client, Identity, Method, RequestBuilder, Response};
use url::Url;

use super::ledger::Safe;
use super::{ShipError, file_error};

/// Sent at a time.
const PIECE_BYTES: u64 = 4 << 20;
const CONNECTING: Duration = Duration::from_secs(10);
/// For a piece to arrive, and for the last one to be checked and synced.
const PATIENCE: Duration = Duration::from_secs(300);
/// Times a depot may say that it has less, or other, than was sent.
const MAX_STEPS_BACK: u32 = 3;
/// Largest file of certificates or keys.
const MAX_PEM_BYTES: u64 = 1 << 20;
const OFFSET: &str = "lycosa-offset";
const SHA256: &str = "lycosa-sha256";

/// How to come in.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ParentOptions {
    pub token: Option<String>,
    /// The authority that signed the depot's certificate (PEM), instead of the system's.
    pub authority: Option<PathBuf>,
    /// This node's certificate and its key (PEM).
    pub certificate: Option<(PathBuf, PathBuf)>,
}

impl fmt::Debug for ParentOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParentOptions").field("authority", &self.authority).finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub struct Parent {
    client: Client,
    base: Url,
    token: Option<String>,
}

impl Parent {
    pub fn new(url: &Url, options: &ParentOptions) -> Result<Self, ShipError> {
        if url.host_str().is_none_or(str::is_empty) || url.query().is_some() || !url.username().is_empty() {
            return Err(ShipError::Address(url.to_string()));
        }
        // The client takes the process's default; where none is set yet, it is the one that all of Lycosa uses.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .https_only(true)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECTING)
            .timeout(PATIENCE);
        if let Some(path) = &options.authority {
            let found = Certificate::from_pem_bundle(&read(path)?).map_err(|error| unusable(path, &error))?;
            builder = builder.tls_certs_only(found);
        }
        if let Some((certificate, key)) = &options.certificate {
            let mut pem = read(certificate)?;
            pem.push(b'\n');
            pem.extend(read(key)?);
            builder =
                builder.identity(Identity::from_pem(&pem).map_err(|error| unusable(certificate, &error))?);
        }
        let client = builder.build().map_err(|error| failed(&error))?;
        let mut base = url.clone();
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        Ok(Self { client, base, token: options.token.clone() })
    }

    fn request(&self, method: Method, safe: &Safe) -> Result<RequestBuilder, ShipError> {
        let url = self.base.join(&safe.segment).map_err(|_| ShipError::Name(safe.segment.clone()))?;
        let request = self.client.request(method, url).header(SHA256, &safe.sha256);
        Ok(match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        })
    }

    /// Brings a segment, or what is missing of it.
    pub async fn put(&self, path: &Path, safe: &Safe) -> Result<(), ShipError> {
        let mut file = File::open(path).map_err(file_error(path))?;
        let mut steps_back = 0;
        let mut at = match self.ask(self.request(Method::HEAD, safe)?, safe).await? {
            Told::Whole => return Ok(()),
            Told::Has(bytes) => bytes,
            Told::Broken => 0,
        };
        loop {
            if at > safe.bytes {
                return Err(ShipError::Taken(safe.segment.clone()));
            }
            let length = PIECE_BYTES.min(safe.bytes - at);
            let mut body = Vec::new();
            file.seek(SeekFrom::Start(at)).map_err(file_error(path))?;
            Read::by_ref(&mut file).take(length).read_to_end(&mut body).map_err(file_error(path))?;
            if body.len() as u64 != length {
                return Err(ShipError::Changed(safe.segment.clone()));
            }
            let range = match length {
                0 => format!("bytes */{}", safe.bytes),
                length => format!("bytes {at}-{}/{}", at + length - 1, safe.bytes),
            };
            let request = self.request(Method::PUT, safe)?.header("content-range", range).body(body);
            let next = match self.ask(request, safe).await? {
                Told::Whole => return Ok(()),
                Told::Has(bytes) => bytes,
                Told::Broken => 0,
            };
            if next <= at {
                steps_back += 1;
                if steps_back > MAX_STEPS_BACK {
                    return Err(ShipError::Changed(safe.segment.clone()));
                }
            }
            at = next;
        }
    }

    async fn ask(&self, request: RequestBuilder, safe: &Safe) -> Result<Told, ShipError> {
        let response = request.send().await.map_err(|error| failed(&error))?;
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let offset = header(OFFSET).and_then(|value| value.parse::<u64>().ok());
        match (response.status().as_u16(), offset) {
            (200 | 201, Some(bytes)) if header(SHA256) == Some(&safe.sha256) && bytes == safe.bytes => {
                Ok(Told::Whole)
            }
            (200 | 202 | 409, Some(bytes)) => Ok(Told::Has(bytes)),
            (409, None) => Err(ShipError::Taken(safe.segment.clone())),
            (422, _) => Ok(Told::Broken),
            (401 | 403, _) => Err(ShipError::Refused(why(&response))),
            (status, _) => Err(ShipError::Store(format!("the parent answers {status}: {}", why(&response)))),
        }
    }
}

/// What the depot says it has.
enum Told {
    Whole,
    Has(u64),
    Broken,
}

fn why(response: &Response) -> String {
    let why = response.headers().get("lycosa-why").and_then(|value| value.to_str().ok());
    why.unwrap_or("no reason given").chars().take(200).collect()
}

fn failed(error: &reqwest::Error) -> ShipError {
    // The cause says more than the error itself: a refused certificate, for one.
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    ShipError::Store(text)
}

fn unusable(path: &Path, error: &reqwest::Error) -> ShipError {
    file_error(path)(std::io::Error::other(error.to_string()))
}

fn read(path: &Path) -> Result<Vec<u8>, ShipError> {
    let file = File::open(path).map_err(file_error(path))?;
    let mut bytes = Vec::new();
    file.take(MAX_PEM_BYTES).read_to_end(&mut bytes).map_err(file_error(path))?;
    Ok(bytes)
}
