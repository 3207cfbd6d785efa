//! Ports that belong to other services than the web's.
//!
//! A link can name any port, and a request to a mail server's could be taken for mail. Browsers refuse these ports; so do we,
//! unless the user opens one.

/// The bad ports of the WHATWG Fetch standard, in order.
const REFUSED: [u16; 83] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103,
    104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514,
    515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723,
    2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
];

/// Whether this port is no port of the web.
pub(crate) fn is_refused(port: u16) -> bool {
    REFUSED.binary_search(&port).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mail_is_refused_and_the_web_is_not() {
        assert!(REFUSED.is_sorted());
        assert!([22, 25, 53, 6667, 10080].into_iter().all(is_refused));
        assert!(![80, 443, 8080, 8443, 3000, 6001].into_iter().any(is_refused));
    }
}
