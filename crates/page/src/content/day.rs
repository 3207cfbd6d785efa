//! Dates as people and programs write them, made ISO 8601.

/// Bytes of a date that are looked at.
const MAX_DATE: usize = 64;
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Reads `2019-11-20T10:00:00Z`, `20191120`, `Wed, 20 Nov 2019 10:00:00 GMT`, `November 20, 2019`, `20.11.2019`. What
/// follows an ISO day is kept if it is a time.
pub(super) fn read(value: &str) -> Option<String> {
    let value = value.trim();
    let value = value.get(..value.floor_char_boundary(MAX_DATE))?;
    iso(value).or_else(|| compact(value)).or_else(|| in_words(value))
}

/// The day in an address: `/2019/11/20/`, `/2019-11-20-`, `/20191120/`.
pub(super) fn in_url(url: &str) -> Option<String> {
    let path = url.split(['?', '#']).next()?.splitn(4, '/').nth(3)?;
    let parts: Vec<&str> = path.split(['/', '-', '_']).take(64).collect();
    let slashed = parts.windows(3).find_map(|w| match *w {
        [y, m, d] if y.len() == 4 && matches!(m.len(), 1 | 2) && matches!(d.len(), 1 | 2) => {
            day(y.parse().ok()?, m.parse().ok()?, d.parse().ok()?)
        }
        _ => None,
    });
    slashed.or_else(|| parts.iter().find_map(|p| if p.len() == 8 { compact(p) } else { None }))
}

fn day(year: u32, month: u32, date: u32) -> Option<String> {
    let sound = (1900..2200).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&date);
    sound.then(|| format!("{year:04}-{month:02}-{date:02}"))
}

fn iso(value: &str) -> Option<String> {
    let (head, tail) = value.split_at_checked(10)?;
    let mut parts = head.split(['-', '/', '.']);
    let mut number = || parts.next().and_then(|p| p.parse::<u32>().ok());
    let (a, b, c) = (number()?, number()?, number()?);
    // 20.11.2019 and 11/20/2019: the larger number is the day; if both fit, dots mean day first.
    let found = match (a, c) {
        (1900.., _) => day(a, b, c)?,
        (_, 1900..) if a > 12 || head.contains('.') => day(c, b, a)?,
        (_, 1900..) => day(c, a, b)?,
        _ => return None,
    };
    let time = tail.trim_start_matches(['T', ' ']);
    let clock = time.len() >= 5 && time.as_bytes().get(2) == Some(&b':') && a >= 1900;
    let plain = time.bytes().all(|b| b.is_ascii_digit() || matches!(b, b':' | b'.' | b'+' | b'-' | b'Z'));
    Some(if clock && plain { format!("{found}T{time}") } else { found })
}

fn compact(value: &str) -> Option<String> {
    let digits = value.get(..8).filter(|d| d.bytes().all(|b| b.is_ascii_digit()))?;
    day(digits.get(..4)?.parse().ok()?, digits.get(4..6)?.parse().ok()?, digits.get(6..8)?.parse().ok()?)
}

fn in_words(value: &str) -> Option<String> {
    let (mut year, mut month, mut date) = (None, None, None);
    for word in value.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()) {
        let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        if let Ok(number) = digits.parse::<u32>() {
            match number {
                1900..2200 if year.is_none() => year = Some(number),
                1..=31 if date.is_none() => date = Some(number),
                _ => {}
            }
        } else if month.is_none()
            && let Some(short) = word.get(..3)
        {
            month = MONTHS.iter().position(|m| short.eq_ignore_ascii_case(m)).map(|m| m as u32 + 1);
        }
    }
    day(year?, month?, date?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read() {
        let cases = [
            ("2019-11-20T10:00:00Z", "2019-11-20T10:00:00Z"),
            ("2019-11-20 10:00:00+01:00", "2019-11-20T10:00:00+01:00"),
            ("2019-11-20", "2019-11-20"),
            ("20191120", "2019-11-20"),
            ("Wed, 20 Nov 2019 10:00:00 GMT", "2019-11-20"),
            ("November 3rd, 2019", "2019-11-03"),
            ("20.11.2019", "2019-11-20"),
            ("11/20/2019", "2019-11-20"),
        ];
        for (written, expected) in cases {
            assert_eq!(read(written).as_deref(), Some(expected), "{written}");
        }
        for bad in ["", "soon", "2019-13-40", "éééééééééé", "99999999"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn addresses_hold_days() {
        assert_eq!(in_url("https://a.b/2019/11/20/x").as_deref(), Some("2019-11-20"));
        assert_eq!(in_url("https://a.b/news/2019-11-20-x").as_deref(), Some("2019-11-20"));
        assert_eq!(in_url("https://a.b/story-20191120.html"), None);
        assert_eq!(in_url("https://a.b/20191120/x").as_deref(), Some("2019-11-20"));
        assert_eq!(in_url("https://a.b/10/20/30"), None);
    }
}
