//! Checks what `jackfield serve` does not start without.

use jackfield_assembly::{Config, Environment};
use jackfield_server::{chain, read_certificate};

use crate::doctor_check::{Area, DoctorCheck, TroubleshootingSection};
use crate::fault::CommandError;

/// Checks the tokens, the sign-in to the page, and the certificate.
pub(super) fn all(config: &Config, environment: &Environment) -> Vec<DoctorCheck> {
    let mut checks = tokens(config, environment);
    checks.extend(sign_in(config, environment));
    checks.extend(certificate(config));
    checks
}

/// Checks the gateway tokens: `serve` does not start if one is missing.
fn tokens(config: &Config, environment: &Environment) -> Vec<DoctorCheck> {
    let tokens = config.serve.digests(environment).into_iter();
    let checks = tokens.map(|(name, digest)| match digest {
        Ok(_) => DoctorCheck::passed(Area::Configuration, format!("the token `{name}` is there")),
        Err(problem) => {
            let says = format!("`jackfield serve` does not start: {problem}");
            let help = problem.help.unwrap_or_default();
            DoctorCheck::failed(Area::Configuration, says, help)
                .with_page(TroubleshootingSection::Gateway)
        }
    });
    checks.collect()
}

/// Checks the sign-in to the page, if there is one: `serve` does not start without its secret.
fn sign_in(config: &Config, environment: &Environment) -> Option<DoctorCheck> {
    let serve = &config.serve;
    let issuer = &serve.oidc.as_ref()?.issuer;
    let check = match config.identity_provider(environment) {
        Err(error) => {
            let fault = CommandError::from(error);
            let why = [fault.messages, fault.causes].concat().join(": ");
            let says = format!("`jackfield serve` does not start: {why}");
            let help = fault.help.join("; ");
            DoctorCheck::failed(Area::Configuration, says, help)
        }
        Ok(_) if !serve.bind.ip().is_loopback() && serve.public_url.is_none() => {
            let says = format!("people cannot sign in at {issuer} from another machine");
            let help =
                "set `public_url` under [serve] to the address by which browsers reach the gateway";
            DoctorCheck::warning(Area::Configuration, says, help)
        }
        Ok(_) => {
            let says = format!("people sign in to the page at {issuer}");
            return Some(DoctorCheck::passed(Area::Configuration, says));
        }
    };
    Some(check.with_page(TroubleshootingSection::Gateway))
}

/// Checks the certificate of the gateway, if it has one: `serve` does not start if it cannot be used.
fn certificate(config: &Config) -> Option<DoctorCheck> {
    let read = read_certificate(config.serve.tls.as_ref()?);
    Some(match read {
        Ok(_) => DoctorCheck::passed(
            Area::Configuration,
            "the certificate of [serve.tls] is there",
        ),
        Err(error) => {
            let says = format!("`jackfield serve` does not start: {}", chain(&error));
            let help = "`certificate` is a PEM file with the certificate first, `key` one with its private key";
            DoctorCheck::failed(Area::Configuration, says, help)
                .with_page(TroubleshootingSection::Gateway)
        }
    })
}
