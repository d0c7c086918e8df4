//! A private key that was made for these tests and opens nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};

/// The key as in the file of a service account.
pub(super) fn pem() -> String {
    format!("-----BEGIN {NAME}-----\n{DER}\n-----END {NAME}-----\n")
}

/// Whether the key has signed this text.
pub(super) fn has_signed(text: &str, signature: &[u8]) -> bool {
    let pair = RsaKeyPair::from_pkcs8(&STANDARD.decode(DER).unwrap()).unwrap();
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public_key().as_ref());
    public.verify(text.as_bytes(), signature).is_ok()
}

const NAME: &str = concat!("PRIVATE", " KEY");
const DER: &str = "\
    MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQCv+ZRAPN/L4hc3XtR2aPVULTYOEhRRdgRkMuSpbkuuZbzi\
    4BCXDVniWg1fDlQkDzZWGRE/Ged7lpmr0XhZ+bqL4/5rpqTDKupIoSHrYKEa+t1ZBS75B17Shw0xcjBVc8skQ7W9XCKYfC7s\
    5neFG1+jprdJP6p+YfQdFJ3wprlSc1oq6A+sarvnQplhm6+oo7PC1tR2KiSZkyc/aI57KKBm/aDrVxQCj/DsxJbGX6Eb+TH1\
    BJHcpdhpg0U2rPn9XErbcFOIyW4uaV7KRpcEpOSPQ99Cgxg4P0NzKfHBYofJZCzmHUK86JtbElUCZukY7OXUeMRT5x/QKAVn\
    Q2IOdKoBAgMBAAECggEABSCEUKclYxM5ghq7Hcm65MKzdDn+dGLNR8kRefFAIbrjmQhBBib0reBZ9YwdPfa2f9As/TW+lY53\
    +DZQZ24GoMbvVZ4Y508eXSgwAjkCFfSQqI8QL7URWW4SCj/YMikp65V7G6MDUVuEN3vofWI53rKqXOc5YFjEwWh6yIqRqYSt\
    Tus+dsRM9QUHZJ/6Y/NIKIedEovkoIkqPrVp7CZzYyyEJpGuJ0CZJSPfadTFAeC8e1C+z9NlLEB4/gp0M+EQopXAtV6iFaDD\
    hI+fZ2s/VgfwWPwVAhn1ckrMUncq9SfmshSV+dDYkbw1Xna/9mh2itxjLizQyz3GeeSWGD1G5QKBgQDdsQCehNWoywbmZh4E\
    4Qg4eaJ4KaJWXzwpfJdEAsDTmz6MUQyUOASQ/wAlOTDBU+lilqHXAenVhMh3EjRo5aRaz3mov1ZXqPWAvU5uYy+etXuf+vgO\
    z1ViFAD6tYBgJQiZcRXmMdBx8dhGE6HHoPUw3gZ9HkuHe44S9nz1PwR6/QKBgQDLNV/6Q7aVxteXoiNESn6nEx1Uwh3Xwa4i\
    WJ9DqzPO8lmOLCxZB+1RMYy6tJCObKuCXArfg4D2uqJCdaizGjUoy4uuyBAjNkULoA+6A/KNN9Skjx0ZLvQ+ASGe0zHK/9M+\
    jBAI/vTwQHcO9yft+Y77DN5EliyIC1JP44WAjbFkVQKBgDF1VLsIzZX7vY1XSOkzvx7CXDHMsA/u7UAgMKsWpihPYTPyvQiw\
    OqySh1jGmo73BoFdM7wBDEb7ebG+2PxyBynPUcgI791cr3DKSx4reKtCt9LoLcE4FkdsSQ+lwH8yo+l/pjAV+vgAyYxQwu4D\
    hdAiKHZvdNBEC11FqnkYVwqNAoGAWV4R5ahd5iTar88Yn3H7nVKktZ/hK//7qxM6h7IFSOAATqxSnJ0F241lDL9YS6qzCtOb\
    3Iyi7N9LeNrx5EKEWnqZ5bYKktHNL72m7PHLfBuvoudlrqudsp8gwA61eUdlCb7jVnF6GybetXAw2VHFdddE8PjygKop+wRe\
    tBiciTkCgYBp6Kay6qhGGc/ufmCaxQAvZKdg2ELRJ+0JkVZBzAHMX113Y5t/Sv4trGp7t6YxXb+eVWCqY6BTD4qok5bZ2JIZ\
    5Fk92irA21a6PrRLCX2Z7UElvz+adkjQ4l6S3mlAvKY649m78EVRv8OLvges4Jh+KKTeusFU//CsdEEvna+Bjg==";
