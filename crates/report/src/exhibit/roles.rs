//! How each role is called and coloured, on pages and in terminals.
//!
//! The colours are Okabe and Ito's, which people with any kind of colour vision can tell apart; they are the same in
//! light and dark.

/// The look of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoleLook {
    /// The role as labels name it.
    pub role: &'static str,
    /// What people read.
    pub name: &'static str,
    /// One letter, for pictures made of characters.
    pub letter: char,
    /// Its colour on a page.
    pub colour: &'static str,
    /// The nearest of a terminal's 256 colours.
    pub terminal: u8,
}

/// The roles in the order in which charts stack them, from below.
pub const ROLES: [RoleLook; 8] = [
    RoleLook { role: "parameter", name: "parameters", letter: 'p', colour: "#0072b2", terminal: 25 },
    RoleLook {
        role: "optimizer_state",
        name: "optimizer state",
        letter: 'o',
        colour: "#56b4e9",
        terminal: 75,
    },
    RoleLook { role: "accumulator", name: "accumulators", letter: 'c', colour: "#d55e00", terminal: 166 },
    RoleLook { role: "statistic", name: "statistics", letter: 's', colour: "#f0e442", terminal: 227 },
    RoleLook { role: "input", name: "input", letter: 'i', colour: "#8b93a0", terminal: 246 },
    RoleLook { role: "activation", name: "activations", letter: 'a', colour: "#009e73", terminal: 36 },
    RoleLook { role: "gradient", name: "gradients", letter: 'g', colour: "#e69f00", terminal: 214 },
    RoleLook { role: "workspace", name: "workspace", letter: 'w', colour: "#cc79a7", terminal: 175 },
];

/// The roles of what lives across steps.
pub(crate) const ACROSS_STEPS: [&str; 4] = ["parameter", "statistic", "optimizer_state", "accumulator"];

/// What other programs call their blocks.
const FOREIGN: RoleLook =
    RoleLook { role: "", name: "role unknown", letter: '#', colour: "#9aa0a8", terminal: 252 };

/// The look of a role; that of no role where it is not one of ours.
pub fn look(role: &str) -> RoleLook {
    ROLES.into_iter().find(|look| look.role == role).unwrap_or(FOREIGN)
}
