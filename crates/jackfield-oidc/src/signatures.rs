//! The cryptography of `jsonwebtoken`, by ring: signatures with public keys are checked, and nothing is signed.

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::signature::{Error, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};

/// The algorithms that a proof may be signed with: those with public keys that ring has.
pub(crate) const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
];

/// Makes this the cryptography of `jsonwebtoken` in this process, unless there is another one.
pub(crate) fn install() {
    let _present = BY_RING.install_default().is_err();
}

static BY_RING: CryptoProvider = CryptoProvider {
    signer_factory: no_signer,
    verifier_factory: verifier,
    // They are for keys that are turned into documents.
    key_utils: KeyUtils::new_unimplemented(),
};

fn no_signer(_: &Algorithm, _: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    Err(ErrorKind::UnsupportedAlgorithm.into())
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    if key.family() != algorithm.family() {
        return Err(ErrorKind::InvalidKeyFormat.into());
    }
    let (algorithm, key) = (*algorithm, key.clone());
    Ok(Box::new(RingVerifier { algorithm, key }))
}

struct RingVerifier {
    algorithm: Algorithm,
    key: DecodingKey,
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        let verified = match (self.key.kind(), form(self.algorithm)) {
            (DecodingKeyKind::RsaModulusExponent { n, e }, Some(Form::Rsa(parameters))) => {
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
            }
            (DecodingKeyKind::SecretOrDer(key), Some(Form::Point(algorithm))) => {
                UnparsedPublicKey::new(algorithm, key).verify(message, signature)
            }
            (
                DecodingKeyKind::RsaModulusExponent { .. } | DecodingKeyKind::SecretOrDer(_),
                Some(_) | None,
            ) => return Err(Error::new()),
        };
        verified.map_err(|_| Error::new())
    }
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

/// How ring checks signatures of an algorithm.
enum Form {
    Point(&'static dyn VerificationAlgorithm),
    Rsa(&'static RsaParameters),
}

fn form(algorithm: Algorithm) -> Option<Form> {
    Some(match algorithm {
        Algorithm::ES256 => Form::Point(&ECDSA_P256_SHA256_FIXED),
        Algorithm::ES384 => Form::Point(&ECDSA_P384_SHA384_FIXED),
        Algorithm::EdDSA => Form::Point(&ED25519),
        Algorithm::PS256 => Form::Rsa(&RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => Form::Rsa(&RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => Form::Rsa(&RSA_PSS_2048_8192_SHA512),
        Algorithm::RS256 => Form::Rsa(&RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => Form::Rsa(&RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => Form::Rsa(&RSA_PKCS1_2048_8192_SHA512),
        Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512 | _ => return None,
    })
}
