//! Forms of messages.

use jackfield_domain::block::Block;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::opaque::OpaqueState;

stored_struct! { Message as MessageForm { role: Role; many blocks: Block, opaque: OpaqueState } }

stored_enum! { Role as RoleForm { Assistant, System, Tool, User } }
