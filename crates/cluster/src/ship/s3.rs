//! A central archive in an S3-compatible object store, uploaded in parts.
//!
//! What was uploaded so far is kept in a small file beside the ledger, so that an upload goes on after a crash where it
//! stopped. Every part carries its SHA-256, which the store checks; the whole one's lies beside it as `NAME.sha256`.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use object_store::aws::{AmazonS3, AmazonS3Builder, Checksum};
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path as Key;
use object_store::{ObjectStoreExt, PutPayload};
use serde::{Deserialize, Serialize};
use url::Url;

use super::ledger::Safe;
use super::{ShipError, file_error};

/// Size of a part.
const PART_BYTES: u64 = 8 << 20;

/// How to reach the store. What is not given comes from the environment (`AWS_ACCESS_KEY_ID` and so on).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct S3Options {
    /// For stores other than Amazon's: `https://host:port`.
    pub endpoint: Option<String>,
    pub region: Option<String>,
    /// Access key and secret.
    pub key: Option<(String, String)>,
    /// Allow an endpoint without TLS.
    pub allow_http: bool,
}

/// An upload under way, as it is kept on disk.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Upload {
    id: String,
    sha256: String,
    parts: Vec<String>,
}

#[derive(Debug)]
pub struct S3 {
    store: AmazonS3,
    prefix: String,
    dir: PathBuf,
}

fn store_error(error: object_store::Error) -> ShipError {
    ShipError::Store(error.to_string())
}

impl S3 {
    pub fn new(url: &Url, options: &S3Options, dir: &Path) -> Result<Self, ShipError> {
        let bucket = url.host_str().ok_or_else(|| ShipError::Address(url.to_string()))?;
        // The client takes the process's default; where none is set yet, it is the one that all of Lycosa uses.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = AmazonS3Builder::from_env()
            .with_bucket_name(bucket)
            .with_checksum_algorithm(Checksum::SHA256)
            .with_allow_http(options.allow_http);
        if let Some(endpoint) = &options.endpoint {
            builder = builder.with_endpoint(endpoint);
        }
        if let Some(region) = &options.region {
            builder = builder.with_region(region);
        }
        if let Some((id, secret)) = &options.key {
            builder = builder.with_access_key_id(id).with_secret_access_key(secret);
        }
        let store = builder.build().map_err(store_error)?;
        Ok(Self { store, prefix: url.path().trim_matches('/').to_owned(), dir: dir.to_owned() })
    }

    fn key(&self, name: &str) -> Key {
        if self.prefix.is_empty() { Key::from(name) } else { Key::from(format!("{}/{name}", self.prefix)) }
    }

    fn upload_path(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{}.upload", name.replace('/', "_")))
    }

    /// Uploads a segment, or what is missing of it.
    pub async fn put(&self, path: &Path, safe: &Safe) -> Result<(), ShipError> {
        let key = self.key(&safe.segment);
        let sum_key = self.key(&format!("{}.sha256", safe.segment));
        if let Some(found) = self.checksum_there(&sum_key).await? {
            return if found == safe.sha256 { Ok(()) } else { Err(ShipError::Taken(safe.segment.clone())) };
        }
        let mut upload = self.begin(&key, safe).await?;
        let count = safe.bytes.div_ceil(PART_BYTES).max(1);
        let mut file = File::open(path).map_err(file_error(path))?;
        for part in upload.parts.len() as u64..count {
            let start = part * PART_BYTES;
            let mut body = Vec::new();
            file.seek(SeekFrom::Start(start)).map_err(file_error(path))?;
            let wanted = PART_BYTES.min(safe.bytes - start);
            Read::by_ref(&mut file).take(wanted).read_to_end(&mut body).map_err(file_error(path))?;
            if body.len() as u64 != wanted {
                return Err(ShipError::Changed(safe.segment.clone()));
            }
            let sent = self.store.put_part(&key, &upload.id, part as usize, PutPayload::from(body)).await;
            let Ok(sent) = sent else {
                return Err(self.give_up(sent.err(), safe));
            };
            upload.parts.push(sent.content_id);
            self.save(&upload, safe)?;
        }
        let parts = upload.parts.iter().map(|id| PartId { content_id: id.clone() }).collect();
        if let Err(error) = self.store.complete_multipart(&key, &upload.id, parts).await {
            return Err(self.give_up(Some(error), safe));
        }
        let there = self.store.head(&key).await.map_err(store_error)?;
        if there.size != safe.bytes {
            return Err(ShipError::Changed(safe.segment.clone()));
        }
        // Last: where this lies, the segment is whole.
        let sum = PutPayload::from(safe.sha256.clone().into_bytes());
        self.store.put(&sum_key, sum).await.map_err(store_error)?;
        let _ = std::fs::remove_file(self.upload_path(&safe.segment));
        Ok(())
    }

    async fn checksum_there(&self, key: &Key) -> Result<Option<String>, ShipError> {
        match self.store.get(key).await {
            Ok(found) => {
                let body = found.bytes().await.map_err(store_error)?;
                Ok(Some(String::from_utf8_lossy(&body).into_owned()))
            }
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(store_error(error)),
        }
    }

    /// Takes up an upload of the same segment, or begins one.
    async fn begin(&self, key: &Key, safe: &Safe) -> Result<Upload, ShipError> {
        let path = self.upload_path(&safe.segment);
        let kept = std::fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<Upload>(&bytes).ok());
        if let Some(kept) = kept.filter(|kept| kept.sha256 == safe.sha256) {
            return Ok(kept);
        }
        let id = self.store.create_multipart(key).await.map_err(store_error)?;
        let upload = Upload { id, sha256: safe.sha256.clone(), parts: Vec::new() };
        self.save(&upload, safe)?;
        Ok(upload)
    }

    fn save(&self, upload: &Upload, safe: &Safe) -> Result<(), ShipError> {
        let path = self.upload_path(&safe.segment);
        let bytes = serde_json::to_vec(upload).map_err(|error| ShipError::Store(error.to_string()))?;
        let fresh = path.with_extension("new");
        std::fs::write(&fresh, bytes).map_err(file_error(&fresh))?;
        std::fs::rename(&fresh, &path).map_err(file_error(&path))
    }

    /// An upload that the store no longer knows is begun anew next time; any other is taken up.
    fn give_up(&self, error: Option<object_store::Error>, safe: &Safe) -> ShipError {
        if matches!(error, Some(object_store::Error::NotFound { .. })) {
            let _ = std::fs::remove_file(self.upload_path(&safe.segment));
        }
        ShipError::Store(error.map_or_else(String::new, |error| error.to_string()))
    }
}
