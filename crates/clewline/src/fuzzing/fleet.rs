//! Fuzz body of the messages between members of a fleet.
//!
//! Owns what holds for any bytes: reading them ends, and what was read is packed and read back as it
//! was. Refuses to know where they come from.

use clewline_core::key::Keyer;

use crate::fleet::{Delta, pack_mail, read_mail};

/// A delta or mail.
pub fn messages(data: &[u8]) {
    let keyer = Keyer::new(3, &[]);
    if let Ok(delta) = Delta::read(data, &keyer) {
        let again = Delta::read(&delta.pack(), &keyer).expect("what was packed can be read");
        assert_eq!(again.queued.len(), delta.queued.len());
        assert_eq!(again.known.len(), delta.known.len());
        assert_eq!(again.settled.len(), delta.settled.len());
        assert_eq!(again.lanes, delta.lanes);
    }
    if let Ok(mail) = read_mail(data, &keyer) {
        let again = read_mail(&pack_mail(mail.iter()), &keyer);
        let again = again.expect("what was packed can be read");
        assert_eq!(again.len(), mail.len());
    }
}
