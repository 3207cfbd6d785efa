//! Generated pages: a site of any number of pages with words that follow from a seed, every one of which can be reached.

use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::dice::Dice;

const LINKS: u64 = 30;
/// Of these links, so many lead to pages of its own in a tree, so that every page can be reached.
const CHILDREN: u64 = 10;
const MIN_BYTES: u64 = 2_000;
const MAX_BYTES: u64 = 20_000;
const PER_DIR: u64 = 500;

/// Other numbers are other pages.
#[derive(Clone, Copy, Debug)]
pub struct Generated {
    pub pages: u64,
    pub seed: u64,
}

impl Generated {
    pub fn about(&self) -> String {
        format!("{} generated pages of {MIN_BYTES} to {MAX_BYTES} bytes with {LINKS} links each", self.pages)
    }

    /// Writes them and an index.html to start from; the directory is made.
    pub fn write(&self, root: &Path) -> Result<()> {
        fs::create_dir_all(root)?;
        eprintln!("generating {} pages", self.pages);
        for page in 0..self.pages {
            if page % PER_DIR == 0 {
                fs::create_dir(root.join((page / PER_DIR).to_string()))?;
            }
            fs::write(root.join(&path(page)[1..]), self.page(page))?;
        }
        fs::write(
            root.join("index.html"),
            "<!doctype html><title>Start</title><a href=\"/0/0.html\">start</a>\n",
        )?;
        Ok(())
    }

    /// Puts a paragraph into every so many of the pages that were written.
    pub fn change(&self, root: &Path, every: usize) -> Result<()> {
        for page in (0..self.pages).step_by(every) {
            let mut dice = Dice(!self.seed ^ page);
            let mut paragraph = String::from("</h1>\n<p>");
            for _ in 0..20 {
                word(&mut dice, &mut paragraph);
                paragraph.push(' ');
            }
            paragraph.push_str("</p>");
            fs::write(root.join(&path(page)[1..]), self.page(page).replace("</h1>", &paragraph))?;
        }
        Ok(())
    }

    fn page(&self, page: u64) -> String {
        let mut dice = Dice(self.seed ^ page.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let size = (MIN_BYTES + dice.roll(MAX_BYTES - MIN_BYTES)) as usize;
        let mut text = String::with_capacity(size + 1024);
        text.push_str("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
        word(&mut dice, &mut text);
        text.push_str(&format!(" {page}</title></head>\n<body><h1>Page {page}</h1>\n"));
        let share = size / LINKS as usize;
        for link in 0..LINKS {
            let child = page * CHILDREN + 1 + link;
            let target = if link < CHILDREN && child < self.pages { child } else { dice.roll(self.pages) };
            text.push_str(&format!("<p><a href=\"{}\">", path(target)));
            word(&mut dice, &mut text);
            text.push_str("</a>");
            while text.len() < (link as usize + 1) * share {
                text.push(' ');
                word(&mut dice, &mut text);
            }
            text.push_str("</p>\n");
        }
        text.push_str("</body></html>\n");
        text
    }
}

fn path(page: u64) -> String {
    format!("/{}/{page}.html", page / PER_DIR)
}

fn word(dice: &mut Dice, text: &mut String) {
    const SYLLABLES: [&str; 16] =
        ["an", "be", "cor", "de", "el", "fi", "gan", "ho", "in", "ka", "lo", "mer", "no", "ra", "ser", "tu"];
    for _ in 0..=dice.roll(3) {
        text.push_str(SYLLABLES[dice.roll(16) as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: Generated = Generated { pages: 5_000, seed: 7 };

    #[test]
    fn pages_are_repeatable_and_have_their_size_and_links() {
        for page in [0, 1, 499, SOME.pages - 1] {
            let text = SOME.page(page);
            assert_eq!(text, SOME.page(page));
            assert_eq!(text.matches("<a href=").count() as u64, LINKS);
            assert!((MIN_BYTES as usize..=MAX_BYTES as usize + 512).contains(&text.len()), "{}", text.len());
        }
        assert_ne!(SOME.page(1), SOME.page(2));
        assert_ne!(SOME.page(1), Generated { seed: 8, ..SOME }.page(1));
    }

    #[test]
    fn every_page_is_some_pages_child() {
        for page in [1, 10, 11, 777, SOME.pages - 1] {
            let parent = (page - 1) / CHILDREN;
            assert!(SOME.page(parent).contains(&format!("\"{}\"", path(page))), "{page}");
        }
    }

    #[test]
    fn those_that_change_get_longer_and_the_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let few = Generated { pages: 3, seed: 7 };
        few.write(dir.path()).unwrap();
        few.change(dir.path(), 2).unwrap();
        let now = |page: u64| fs::read_to_string(dir.path().join(&path(page)[1..])).unwrap();
        assert!(now(0).len() > few.page(0).len() && now(2).len() > few.page(2).len());
        assert_eq!(now(1), few.page(1));
    }
}
