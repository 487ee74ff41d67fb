//! `plimsoll place --page-size`: the buffers of a layout problem in pages of a limited size, for people.

use crate::table::Table;
use plimsoll::reports::PagesReport;

/// The pages, and whether fewer would do.
pub(super) fn as_text(report: &PagesReport) -> String {
    let (pages, rules) = (&report.pages, report.rules);
    let mut table =
        Table::new(["page", "buffers", "used", "of the page"]).right(0).right(1).right(2).right(3);
    for (page, used) in pages.used.iter().enumerate() {
        let buffers = pages.spots.iter().filter(|spot| spot.page == page).count();
        let share = 100.0 * used.0 as f64 / rules.size.0.max(1) as f64;
        table.row([page.to_string(), buffers.to_string(), used.to_string(), format!("{share:.1} %")]);
    }
    let (count, fewest) = (pages.used.len(), pages.fewest);
    let noun = if count == 1 { "page" } else { "pages" };
    let bound = match count <= fewest {
        true => "fewer cannot hold what is live at once".to_string(),
        false => format!("what is live at once needs at least {fewest}"),
    };
    format!("{}\n\n{} in {count} {noun} of {}: {bound}", table.print(), report.total_bytes, rules.size)
}
