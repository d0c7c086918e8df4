//! The form of changes to the directory, and of meters.

use std::sync::Arc;

use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{
    ChangeAction, ClientKey, DirectoryChange, DirectoryEntry, EntryName, KeySecret, OwnEndpoint,
    OwnServer, ProviderKey, ServerOwner, SignIn, Team, User,
};
use jackfield_domain::price::Money;
use jackfield_domain::quota::{Amount, Meter, MeterHold, MeterReservation, PeriodTotal, Quota};
use jackfield_domain::time::WallTime;

use super::stored::{Invalid, Stored};

stored_struct! { DirectoryChange as DirectoryChangeForm {
    action: ChangeAction,
    at: WallTime,
    by: Arc<str>,
    entry: DirectoryEntry,
    revision: u64
} }

stored_enum! { DirectoryEntry as DirectoryEntryForm {
    Key(key: ClientKey),
    ProviderKey(key: ProviderKey),
    Server(server: OwnServer),
    SignIn(sign_in: SignIn),
    Team(team: Team),
    User(user: User),
} }

stored_enum! { ChangeAction as ChangeActionForm {
    Changed,
    Created,
    Disabled,
    Enabled,
    Removed,
    Revoked,
    Rotated,
} }

stored_struct! { User as UserForm {
    name: EntryName;
    maybe quota: Quota, team: EntryName;
    flag is_disabled
} }

stored_struct! { Team as TeamForm { name: EntryName; maybe quota: Quota } }

stored_struct! { ClientKey as ClientKeyForm {
    id: EntryName,
    label: Arc<str>,
    user: EntryName;
    maybe
        expires: WallTime,
        models: Vec<Arc<str>>,
        quota: Quota,
        revoked: WallTime,
        tools: Vec<Arc<str>>;
    many secrets: KeySecret;
    flag has_no_approvals, is_admin
} }

stored_struct! { ProviderKey as ProviderKeyForm {
    hint: Arc<str>,
    provider: Arc<str>,
    user: EntryName;
    flag is_removed
} }

stored_struct! { OwnServer as OwnServerForm {
    endpoint: OwnEndpoint,
    name: Arc<str>,
    owner: ServerOwner;
    many secrets: Arc<str>;
    flag is_disabled, is_removed
} }

stored_struct! { SignIn as SignInForm {
    identity: Digest,
    owner: ServerOwner,
    server: Arc<str>,
    user: EntryName;
    flag is_pending, is_removed
} }

stored_enum! { OwnEndpoint as OwnEndpointForm { Http(url: Arc<str>), Program(program: Arc<str>) } }

stored_enum! { ServerOwner as ServerOwnerForm { Team(name: EntryName), User(name: EntryName) } }

stored_struct! { KeySecret as KeySecretForm { digest: Digest; maybe until: WallTime } }

stored_struct! { Quota as QuotaForm {
    ; maybe
        cost_per_day: Money,
        cost_per_month: Money,
        parallel: u32,
        requests_per_minute: u32,
        tokens_per_day: u64,
        tokens_per_minute: u64,
        tokens_per_month: u64;
    flag unpriced
} }

stored_struct! { Meter as MeterForm {
    next_request: i64;
    maybe
        day: PeriodTotal,
        minute: PeriodTotal,
        minute_before: PeriodTotal,
        month: PeriodTotal;
    many holds: MeterHold, reservations: MeterReservation
} }

stored_struct! { PeriodTotal as PeriodTotalForm { period: i64, spent: Amount } }

stored_struct! { MeterReservation as MeterReservationForm {
    amount: Amount,
    at: WallTime,
    id: Arc<str>
} }

stored_struct! { Amount as AmountForm { cost: Money, tokens: u64 } }

stored_struct! { MeterHold as MeterHoldForm { id: Arc<str>, until: WallTime } }

impl Stored for EntryName {
    type Form = String;

    fn form(&self) -> String {
        self.as_str().to_owned()
    }

    fn of(form: String) -> Result<Self, Invalid> {
        Ok(Self::parse(&form)?)
    }
}
