//! Places, files and damage: what is read back is what was written, or nothing.

use super::*;

const KEY: [u8; 18] = *b"a partition's key.";

fn file_with(bytes: &[u8]) -> (tempfile::TempDir, Arc<File>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("00000001");
    std::fs::write(&path, bytes).unwrap();
    (dir, Arc::new(File::open(path).unwrap()))
}

/// Values as they lie in a file, one behind the other.
fn written(values: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    values.iter().for_each(|value| append(&KEY, value, &mut bytes));
    bytes
}

#[test]
fn a_place_ends_behind_its_head_and_value() {
    let place = Place { file: 7, at: 1000, len: 200 };
    assert_eq!((place.stored_bytes(), place.end()), (226, 1226));
    let last = Place { file: 7, at: u32::MAX, len: u32::MAX };
    assert_eq!((last.stored_bytes(), last.end()), (u32::MAX, 2 * u64::from(u32::MAX)));
    let row = place.to_row();
    assert_eq!(row, [0, 0, 0, 0, 7, 0, 0, 3, 0xE8, 0, 0, 0, 200]);
    assert_eq!(Held::read(&row), Held::There(place));
    for other in [&row[..12], &[&row[..], &[0]].concat(), &[&[1], &row[1..]].concat(), b""] {
        assert_eq!(Held::read(other), Held::Here(other));
    }
}

#[test]
fn long_values_are_for_the_heap_and_so_is_what_looks_like_a_place() {
    let place = Place { file: 0, at: 0, len: 0 }.to_row();
    for (bytes, expected) in
        [(0, false), (12, false), (127, false), (128, true), (64 << 20, true), ((64 << 20) + 1, false)]
    {
        assert_eq!(is_for_heap(&KEY, &vec![1; bytes]), expected, "{bytes}");
    }
    assert!(is_for_heap(&KEY, &place));
    assert!(!is_for_heap(&KEY[1..], &place) && !is_for_heap(&KEY[1..], &[1; 200]));
}

#[test]
fn values_are_walked_in_order_and_each_is_found_by_its_place() {
    let values: Vec<Vec<u8>> = (0..5).map(|n| vec![n; 128 + usize::from(n) * 100]).collect();
    let bytes = written(&values);
    let (_dir, file) = file_with(&bytes);
    let mut walk = Walk::new(1, Arc::clone(&file), 0, bytes.len() as u32);
    let mut at = 0;
    for value in &values {
        let record = walk.next().unwrap().unwrap();
        assert_eq!((record.key, record.value.as_ref()), (KEY, Some(value)));
        assert_eq!(record.place, Place { file: 1, at, len: value.len() as u32 });
        assert_eq!(read_value(&file, &KEY, record.place).unwrap().as_ref(), Some(value));
        at += 26 + value.len() as u32;
    }
    assert!(walk.next().unwrap().is_none());
    assert_eq!((u64::from(walk.at), walk.is_lost), (bytes.len() as u64, false));
    // From the middle, and up to the end that is known: what lies behind it is not read.
    let mut walk = Walk::new(1, file, 154, 154 + 254);
    assert_eq!(walk.next().unwrap().unwrap().value.as_ref(), Some(&values[1]));
    assert!(walk.next().unwrap().is_none() && !walk.is_lost);
}

#[test]
fn every_damaged_byte_is_noticed() {
    let values = [vec![3; 128], vec![4; 150]];
    let bytes = written(&values);
    let place = Place { file: 1, at: 0, len: 128 };
    for at in 0..154 {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        let (_dir, file) = file_with(&damaged);
        assert_eq!(read_value(&file, &KEY, place).unwrap(), None, "byte {at}");
        let mut walk = Walk::new(1, file, 0, bytes.len() as u32);
        let first = walk.next().unwrap();
        assert!(first.as_ref().is_none_or(|record| record.value.is_none() || record.key != KEY), "byte {at}");
        // Lost where the length is damaged; behind other damage the way goes on.
        if at >= 4 {
            assert_eq!(first.unwrap().value, None, "byte {at}");
            assert_eq!(walk.next().unwrap().unwrap().value.as_ref(), Some(&values[1]), "byte {at}");
        }
    }
    let (_dir, file) = file_with(&bytes);
    for wrong in [
        Place { len: 127, ..place },
        Place { len: 129, ..place },
        Place { at: 1, ..place },
        Place { at: 1 << 20, ..place },
    ] {
        assert_eq!(read_value(&file, &KEY, wrong).unwrap(), None, "{wrong:?}");
    }
    assert_eq!(read_value(&file, &[0; 18], place).unwrap(), None, "another key");
    assert_eq!(read_value(&file, &KEY, Place { len: u32::MAX, ..place }).unwrap(), None);
}

#[test]
fn a_way_is_lost_at_a_length_that_cannot_be_and_ends_where_the_file_does() {
    let bytes = written(&[vec![3; 128], vec![4; 150]]);
    for length in [0u32, 12, 14, 127, (64 << 20) + 1, 200_000] {
        let mut damaged = bytes.clone();
        damaged[..4].copy_from_slice(&length.to_le_bytes());
        let (_dir, file) = file_with(&damaged);
        let mut walk = Walk::new(1, file, 0, bytes.len() as u32);
        assert!(walk.next().unwrap().is_none() && walk.is_lost, "{length}");
        assert!(walk.next().unwrap().is_none() && walk.at == 0, "{length}");
    }
    // Torn in the second head: the first value is there, and the rest is nothing. Torn in its value: damaged.
    let (_dir, file) = file_with(&bytes[..170]);
    let mut walk = Walk::new(1, file, 0, bytes.len() as u32);
    assert!(walk.next().unwrap().unwrap().value.is_some());
    assert!(walk.next().unwrap().is_none() && !walk.is_lost);
    assert_eq!(walk.at as usize, bytes.len());
    let (_dir, file) = file_with(&bytes[..200]);
    let mut walk = Walk::new(1, file, 154, bytes.len() as u32);
    assert_eq!(walk.next().unwrap().unwrap().value, None);
}

/// A disk that fails is not an empty one.
#[test]
fn an_error_of_the_disk_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("00000001");
    std::fs::write(&path, written(&[vec![3; 128]])).unwrap();
    let unreadable = Arc::new(File::options().write(true).open(&path).unwrap());
    let place = Place { file: 1, at: 0, len: 128 };
    assert!(read_value(&unreadable, &KEY, place).is_err());
    assert!(Walk::new(1, unreadable, 0, 154).next().is_err());
    assert!(numbers(&path).is_err(), "a file is no directory of files");
    assert_eq!(numbers(&dir.path().join("missing")).unwrap(), Vec::<u32>::new());
}

#[test]
fn only_files_with_a_number_belong_to_the_heap() {
    let dir = tempfile::tempdir().unwrap();
    for entry in ["00000003", "3", "0000003", "x", "00000004.tmp", "123456789", "+0000005"] {
        std::fs::write(dir.path().join(entry), b"").unwrap();
    }
    let mut found = numbers(dir.path()).unwrap();
    found.sort_unstable();
    assert_eq!(found, [3, 123_456_789]);
    assert_eq!(path(dir.path(), 7), dir.path().join("00000007"));
}
