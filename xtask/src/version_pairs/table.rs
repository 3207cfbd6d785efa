//! The figures as a document.

use std::fmt::Write;

use super::{Figures, Row};

pub fn write(date: &str, figures: &Figures) -> String {
    let (rows, near) = (&figures.packages, &figures.near_duplicates);
    let mut text = format!(
        "# Two versions of real documentation, {date}\n\n\
         `cargo xtask version-pairs`: pages of two versions of a package, paired by path and judged as two visits, the\n\
         host's template learnt over all of its pairs. What really changed is said by html5ever's tree: the lines of text, the\n\
         title with them. A banner is what is left when version numbers and dates are masked, or the very same exchange of lines\n\
         on most changed pages.\n\n\
         | package | versions | pairs | bytes equal | only markup, of these called text | only a banner, of these called text \
         | text changed | found | recall |\n\
         | --- | --- | --: | --: | --: | --: | --: | --: | --: |\n"
    );
    let mut all = Row { host: "all".to_owned(), ..Row::default() };
    for row in rows {
        line(&mut text, row, &format!("{} → {}", row.old_version, row.new_version));
        all.pairs += row.pairs;
        all.same += row.same;
        all.markup_only += row.markup_only;
        all.markup_called_text += row.markup_called_text;
        all.banner_only += row.banner_only;
        all.banner_called_text += row.banner_called_text;
        all.text += row.text;
        all.text_found += row.text_found;
    }
    line(&mut text, &all, "");
    text.push_str("\nVerdicts:\n\n| package | verdicts |\n| --- | --- |\n");
    for row in rows {
        let verdicts: Vec<String> = row.verdicts.iter().map(|(name, n)| format!("{name} {n}")).collect();
        let _ = writeln!(text, "| {} | {} |", row.host, verdicts.join(", "));
    }
    let _ = write!(
        text,
        "\nNear-duplicates: the two versions of each of the {} pages whose text changed, against {} pairs of pages of one\n\
         package. Mean resemblance {:.3} and {:.3}; area under the ROC curve {:.4} by winnowing, {:.4} by keyword counts.\n",
        near.pairs,
        near.unrelated,
        near.mean_resemblance,
        near.mean_resemblance_of_unrelated,
        near.area_winnowing,
        near.area_keywords,
    );
    text
}

fn line(text: &mut String, row: &Row, versions: &str) {
    let recall = if row.text == 0 { 1.0 } else { row.text_found as f64 / row.text as f64 };
    let _ = writeln!(
        text,
        "| {} | {versions} | {} | {} | {}, {} | {}, {} | {} | {} | {recall:.4} |",
        row.host,
        row.pairs,
        row.same,
        row.markup_only,
        row.markup_called_text,
        row.banner_only,
        row.banner_called_text,
        row.text,
        row.text_found,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_recall() {
        let row = |text: usize, text_found: usize| Row { text, text_found, pairs: 5, ..Row::default() };
        let figures = Figures { packages: vec![row(3, 3), row(1, 0)], ..Figures::default() };
        let table = write("today", &figures);
        assert!(table.contains("| all |  | 10 | 0 | 0, 0 | 0, 0 | 4 | 3 | 0.7500 |"), "{table}");
    }
}
