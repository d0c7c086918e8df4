//! The versioned JSON form of facts and deliveries.
