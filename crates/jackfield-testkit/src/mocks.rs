//! Mocks of the ports: for the fact of a call, never for behaviour.
