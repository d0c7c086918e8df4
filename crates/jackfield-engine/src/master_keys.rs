//! The master keys, under which secrets are encrypted.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jackfield_domain::digest::Digest;
use jackfield_ports::chat_model::BoxError;
use jackfield_ports::credential::Credential;
use jackfield_ports::journal::JournalError;
use jackfield_ports::journal::secrets::{SealedSecret, SecretPlace};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use thiserror::Error;

/// One or several master keys. New secrets are encrypted under the first; all of them open secrets.
///
/// Each secret has a random key of its own, which encrypts it by AES-256-GCM; that key is encrypted in the same way under
/// the master key. Both are bound to the place of the secret, so that a row that is copied to another entry cannot be
/// opened there.
#[derive(Clone)]
pub struct MasterKeys(Arc<Vec<MasterKey>>);

struct MasterKey {
    id: Arc<str>,
    key: LessSafeKey,
}

/// A text that has no master keys.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum InvalidMasterKeys {
    /// A key is no 32 bytes in Base64.
    #[error(
        "master key {0} is not 32 random bytes in Base64: `jackfield secrets new-key` prints one"
    )]
    Key(usize),
    /// There is none.
    #[error("there is no master key: `jackfield secrets new-key` prints one")]
    None,
    /// There are too many.
    #[error("there are more than {MAX_KEYS} master keys")]
    TooMany,
}

/// A secret cannot be encrypted or opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SecretError {
    /// It was changed, or is of another entry.
    #[error("the secret `{}` of the {} `{}` cannot be opened: its row is damaged, or is another one's", place.name, place.kind, place.entry)]
    Damaged {
        /// Where it is stored.
        place: SecretPlace,
    },
    /// The journal cannot be read or written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// There is no master key.
    #[error(
        "secrets are kept encrypted, and there is no master key: put one that `jackfield secrets new-key` prints into \
         a file, a variable or the keyring, and name that with `key_file`, `key_env` or `key_keyring` under [secrets]"
    )]
    NotConfigured,
    /// The operating system has no random numbers.
    #[error("the operating system has no random numbers")]
    Random(#[source] BoxError),
    /// It is longer than any secret.
    #[error("the secret is too long")]
    TooLong,
    /// Secrets are encrypted under master keys that are not there.
    #[error(
        "the journal has secrets under the master key `{}`, which is not among those under [secrets]: add it there, \
         below the present one",
        ids.join("`, `")
    )]
    UnknownKey {
        /// The ids of the keys.
        ids: Vec<Arc<str>>,
    },
}

impl MasterKeys {
    /// Reads master keys in Base64, separated by white space, the newest first.
    ///
    /// # Errors
    ///
    /// [`InvalidMasterKeys`], which does not repeat the text.
    pub fn parse(text: &str) -> Result<Self, InvalidMasterKeys> {
        let mut keys: Vec<MasterKey> = Vec::new();
        for (place, word) in text.split_whitespace().enumerate() {
            if place >= MAX_KEYS {
                return Err(InvalidMasterKeys::TooMany);
            }
            let invalid = InvalidMasterKeys::Key(place + 1);
            let bytes = STANDARD.decode(word).map_err(|_| invalid)?;
            let bytes: [u8; KEY_LEN] = bytes.try_into().map_err(|_| invalid)?;
            keys.push(MasterKey {
                id: id_of(&bytes),
                key: key(&bytes).ok_or(invalid)?,
            });
        }
        if keys.is_empty() {
            return Err(InvalidMasterKeys::None);
        }
        Ok(Self(Arc::new(keys)))
    }

    /// A new master key, as text.
    ///
    /// # Errors
    ///
    /// [`SecretError::Random`] if the operating system has no random numbers.
    pub fn generate() -> Result<Credential, SecretError> {
        Ok(Credential::new(STANDARD.encode(random::<KEY_LEN>()?)))
    }

    /// The ids of the keys, the newest first: digests, which tell nothing about a key.
    #[must_use]
    pub fn ids(&self) -> Vec<Arc<str>> {
        self.0.iter().map(|key| Arc::clone(&key.id)).collect()
    }

    /// Encrypts a secret for its place.
    ///
    /// # Errors
    ///
    /// [`SecretError::Random`] if the operating system has no random numbers.
    pub fn seal(
        &self,
        place: &SecretPlace,
        secret: &Credential,
    ) -> Result<SealedSecret, SecretError> {
        let data_key: [u8; KEY_LEN] = random()?;
        let mut rest = secret.expose().as_bytes().to_vec();
        let cipher = key(&data_key).ok_or_else(|| damaged(place))?;
        let nonce = encrypt(&cipher, &mut rest, &bound(place, SECRET))?;
        self.wrap(place, &data_key, [&nonce[..], &rest].concat())
    }

    /// Decrypts a secret of this place.
    ///
    /// # Errors
    ///
    /// [`SecretError::UnknownKey`] if it is under another master key, and [`SecretError::Damaged`] if it was changed, or is
    /// of another place.
    pub fn open(
        &self,
        place: &SecretPlace,
        sealed: &SealedSecret,
    ) -> Result<Credential, SecretError> {
        let (data_key, rest) = self.unwrap(place, sealed)?;
        let (nonce, rest) = rest
            .split_at_checked(NONCE_LEN)
            .ok_or_else(|| damaged(place))?;
        let cipher = key(&data_key).ok_or_else(|| damaged(place))?;
        let opened = decrypt(&cipher, nonce, rest, &bound(place, SECRET));
        let opened = opened.ok_or_else(|| damaged(place))?;
        let text = String::from_utf8(opened).map_err(|_| damaged(place))?;
        Ok(Credential::new(text))
    }

    /// The same secret under the newest master key; `None` if it is under that one already.
    ///
    /// # Errors
    ///
    /// As of [`open`](Self::open).
    pub(crate) fn reseal(
        &self,
        place: &SecretPlace,
        sealed: &SealedSecret,
    ) -> Result<Option<SealedSecret>, SecretError> {
        // What cannot be opened is not carried on as if it could.
        self.open(place, sealed)?;
        if self
            .0
            .first()
            .is_some_and(|key| key.id == sealed.master_key)
        {
            return Ok(None);
        }
        let (data_key, rest) = self.unwrap(place, sealed)?;
        self.wrap(place, &data_key, rest).map(Some)
    }

    /// Encrypts the key of a secret under the newest master key.
    fn wrap(
        &self,
        place: &SecretPlace,
        data_key: &[u8; KEY_LEN],
        rest: Vec<u8>,
    ) -> Result<SealedSecret, SecretError> {
        let Some(master) = self.0.first() else {
            return Err(SecretError::NotConfigured);
        };
        let mut wrapped = data_key.to_vec();
        let nonce = encrypt(&master.key, &mut wrapped, &bound(place, DATA_KEY))?;
        let sealed = [&[FORM], &nonce[..], &wrapped, &rest].concat();
        Ok(SealedSecret {
            master_key: Arc::clone(&master.id),
            name: Arc::clone(&place.name),
            sealed: sealed.into(),
        })
    }

    /// The key of a secret, and what it encrypts.
    fn unwrap(
        &self,
        place: &SecretPlace,
        sealed: &SealedSecret,
    ) -> Result<([u8; KEY_LEN], Vec<u8>), SecretError> {
        let mut keys = self.0.iter();
        let master = keys.find(|key| key.id == sealed.master_key);
        let master = master.ok_or_else(|| SecretError::UnknownKey {
            ids: vec![Arc::clone(&sealed.master_key)],
        })?;
        let damaged = || damaged(place);
        let (form, rest) = sealed.sealed.split_first().ok_or_else(damaged)?;
        if *form != FORM {
            return Err(damaged());
        }
        let (nonce, rest) = rest.split_at_checked(NONCE_LEN).ok_or_else(damaged)?;
        let wrapped = KEY_LEN + AES_256_GCM.tag_len();
        let (wrapped, rest) = rest.split_at_checked(wrapped).ok_or_else(damaged)?;
        let data_key = decrypt(&master.key, nonce, wrapped, &bound(place, DATA_KEY));
        let data_key = data_key.and_then(|bytes| bytes.try_into().ok());
        Ok((data_key.ok_or_else(damaged)?, rest.to_vec()))
    }
}

impl fmt::Debug for MasterKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MasterKeys").field(&self.ids()).finish()
    }
}

/// What a cipher text is bound to: its purpose, and each part of its place behind its length.
fn bound(place: &SecretPlace, purpose: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in [purpose, &place.kind, &place.entry, &place.name] {
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    bytes
}

/// Encrypts in place, with the tag at the end, and returns the nonce.
fn encrypt(
    key: &LessSafeKey,
    bytes: &mut Vec<u8>,
    bound: &[u8],
) -> Result<[u8; NONCE_LEN], SecretError> {
    let nonce = random()?;
    let sealed =
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(bound), bytes);
    sealed.map_err(|_| SecretError::TooLong)?;
    Ok(nonce)
}

fn decrypt(key: &LessSafeKey, nonce: &[u8], sealed: &[u8], bound: &[u8]) -> Option<Vec<u8>> {
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let mut bytes = sealed.to_vec();
    let length = key
        .open_in_place(nonce, Aad::from(bound), &mut bytes)
        .ok()?
        .len();
    bytes.truncate(length);
    Some(bytes)
}

fn key(bytes: &[u8; KEY_LEN]) -> Option<LessSafeKey> {
    let key = UnboundKey::new(&AES_256_GCM, bytes).ok()?;
    Some(LessSafeKey::new(key))
}

/// The id of a master key: the beginning of a digest of it.
fn id_of(bytes: &[u8; KEY_LEN]) -> Arc<str> {
    let digest = Digest::of(&[ID, bytes].concat()).to_string();
    digest.chars().take(ID_LEN).collect::<String>().into()
}

fn damaged(place: &SecretPlace) -> SecretError {
    SecretError::Damaged {
        place: place.clone(),
    }
}

/// So many random bytes.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], SecretError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| SecretError::Random(error.into()))?;
    Ok(bytes)
}

const KEY_LEN: usize = 32;
/// The form of the encrypted bytes: this, a nonce, the encrypted key, a nonce, the encrypted secret.
const FORM: u8 = 1;
const SECRET: &str = "jackfield secret";
const DATA_KEY: &str = "jackfield data key";
const ID: &[u8] = b"jackfield master key\0";
/// The length of an id, in hexadecimal digits.
const ID_LEN: usize = 16;
/// The maximum number of master keys.
const MAX_KEYS: usize = 16;
