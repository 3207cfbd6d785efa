//! What a link weighs in ranking, from its three attributes.
//!
//! ```text
//! weight = visibility × position × (1 + distance) / 2
//! ```
//!
//! Visibility counts 1 to 3 (bold, italic), position 1 to 3 (last to first third of the page) and distance 1 to 5 (same
//! host to another domain): a link that its author made prominent says more, and so does one that leads to somebody else's page
//! rather than to the next page of the same site. Distance enters as (1 + distance) / 2, 1 to 3, so that each of the three can
//! change a weight threefold and none outweighs the others. Weights only matter in proportion to those of the same page.

use lycosa_types::LinkAttributes;

/// How links are weighed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weighting {
    /// By visibility, position and distance.
    #[default]
    Attributes,
    /// Every link alike.
    Plain,
}

impl Weighting {
    /// The weight of a link with these packed attributes: never zero.
    pub fn of(self, attributes: u8) -> f32 {
        match self {
            Self::Plain => 1.0,
            Self::Attributes => WEIGHTS[usize::from(attributes)],
        }
    }
}

const WEIGHTS: [f32; 256] = {
    let mut weights = [1.0; 256];
    let mut packed = 0;
    while packed < 256 {
        weights[packed] = halves(packed as u8) as f32 / 2.0;
        packed += 1;
    }
    weights
};

/// Twice the weight, which is a whole number. Attributes out of range count as the nearest in range.
const fn halves(packed: u8) -> u32 {
    let (visibility, position, distance) = (packed >> 5, (packed >> 3) & 3, packed & 7);
    clamp(visibility, 3) * clamp(position, 3) * (1 + clamp(distance, 5))
}

const fn clamp(value: u8, most: u32) -> u32 {
    let value = value as u32;
    if value < 1 {
        1
    } else if value > most {
        most
    } else {
        value
    }
}

/// Twice the weight of attributes, for those who count in whole numbers.
pub fn half_units(attributes: LinkAttributes) -> u32 {
    halves(attributes.pack())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_attribute_can_change_a_weight_threefold() {
        let weight = |visibility, position, distance| {
            Weighting::Attributes.of(LinkAttributes { visibility, position, distance }.pack())
        };
        assert_eq!(weight(1, 1, 1), 1.0);
        assert_eq!(weight(3, 1, 1), 3.0);
        assert_eq!(weight(1, 3, 1), 3.0);
        assert_eq!(weight(1, 1, 5), 3.0);
        assert_eq!(weight(1, 1, 2), 1.5);
        assert_eq!(weight(3, 3, 5), 27.0);
        assert_eq!(half_units(LinkAttributes { visibility: 3, position: 3, distance: 5 }), 54);
    }

    #[test]
    fn no_link_is_without_weight() {
        assert!((0..=255).all(|packed| (1.0..=27.0).contains(&Weighting::Attributes.of(packed))));
        assert!((0..=255).all(|packed| Weighting::Plain.of(packed) == 1.0));
    }
}
