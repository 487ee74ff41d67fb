//! Exhibits as text, for those who sit at a terminal far away: figures, curves, layouts and bars made of characters.

mod picture;

use crate::chart;
use crate::exhibit::{Exhibit, Figures, Sum, TextId, look, quiet, spans};
use crate::table::Table;
use plimsoll_trace::{Bytes, shown, visible};

/// How wide everything is where nobody says how wide it may be, and what the labels of pictures take of that.
const COLUMNS: usize = 80;
const LABELS: usize = 12;
/// How high pictures are.
const CURVE: usize = 8;
const LAYOUT: usize = 12;
/// How many layers and values are listed.
const LISTED: usize = 10;

/// All exhibits one below another, with one scale for their pictures; what is compared comes first. Lines of pictures
/// and tables have at most `columns` characters; without a number, pictures have 80 and tables what they need. Whatever
/// the files say, the only control characters are line breaks and, with `colour`, those of the colours.
pub fn print(exhibits: &[Exhibit], colour: bool, columns: Option<usize>) -> String {
    let figures: Vec<Figures> = exhibits.iter().map(Figures::of).collect();
    let scale = exhibits.iter().zip(&figures).map(|(exhibit, figures)| figures.taken(exhibit));
    let scale = scale.max().unwrap_or_default();
    let span = figures.iter().map(|figures| figures.peak).max().unwrap_or_default();
    let mut sections = Vec::new();
    if exhibits.len() > 1 {
        sections.push(comparison(exhibits, &figures, scale).print_within(columns));
    }
    for (exhibit, figures) in exhibits.iter().zip(&figures) {
        let drawing = Drawing { exhibit, figures, scale, span, colour, columns };
        if exhibits.len() > 1 {
            let name = visible::line(&exhibit.name);
            let rest = drawing.width().saturating_sub(name.chars().count());
            sections.push(format!("── {name} {}", "─".repeat(rest)));
        }
        sections.extend(drawing.sections());
    }
    sections.join("\n\n")
}

fn comparison(exhibits: &[Exhibit], figures: &[Figures], scale: Bytes) -> Table {
    let mut table =
        Table::new(["", "taken at most", "floor", "beyond the floor", ""]).right(1).right(2).right(3);
    for (exhibit, figures) in exhibits.iter().zip(figures) {
        let peak = figures.taken(exhibit);
        let lost = peak.saturating_sub(figures.floor);
        let bar = chart::bar(peak, scale, 30);
        table.row([exhibit.name.clone(), peak.to_string(), figures.floor.to_string(), lost.to_string(), bar]);
    }
    table
}

/// One exhibit and how it is drawn.
struct Drawing<'a> {
    exhibit: &'a Exhibit,
    figures: &'a Figures,
    /// What the height of a curve stands for, and that of a layout.
    scale: Bytes,
    span: Bytes,
    colour: bool,
    columns: Option<usize>,
}

impl Drawing<'_> {
    /// How wide pictures are.
    fn width(&self) -> usize {
        self.columns.unwrap_or(COLUMNS).saturating_sub(LABELS)
    }

    fn sections(&self) -> Vec<String> {
        let exhibit = self.exhibit;
        let count = exhibit.length();
        let unit = exhibit.clock.unit();
        let head = if exhibit.headline.is_empty() { &exhibit.name } else { &exhibit.headline };
        let mut sections = vec![visible::line(head).into_owned(), self.lines(), self.roles()];
        let quiet = quiet(exhibit, self.figures);
        let narrow = if quiet.is_empty() { "" } else { ", narrow where little happens" };
        let spans = spans(exhibit.ticks, &quiet, self.width());
        sections
            .push(format!("live bytes over {count} {unit}{narrow}\n{}", picture::curve(self, &spans, CURVE)));
        sections.push(format!("layout: space against time\n{}", picture::layout(self, &spans, LAYOUT)));
        sections.push(self.layers());
        sections.push(self.values());
        sections.extend(self.again());
        sections.extend(exhibit.notes.iter().map(|note| visible::line(note).into_owned()));
        sections.retain(|section| !section.is_empty());
        sections
    }

    fn lines(&self) -> String {
        let Self { exhibit, figures, .. } = self;
        let during = exhibit.doing(figures.floor_tick);
        let unit = exhibit.clock.unit().trim_end_matches('s');
        let during = if during.is_empty() {
            format!("at {unit} {}", exhibit.time(figures.floor_tick))
        } else {
            format!("during {during}")
        };
        let taken = exhibit.reported.unwrap_or(figures.peak);
        let (name, meaning, beyond, size, why) = match exhibit.reported {
            None => (
                "peak",
                format!("{} bytes", taken.0),
                "fragmentation",
                figures.fragmentation(),
                "of the peak that is not live at the floor",
            ),
            Some(_) => (
                "peak in use",
                "as its allocator counts: whole chunks".to_string(),
                "addresses",
                figures.peak,
                "from the lowest to the highest seen",
            ),
        };
        let mut table = Table::new([name, &taken.to_string(), &meaning]).right(1).list();
        table.row(["floor".to_string(), figures.floor.to_string(), format!("live at once, {during}")]);
        table.row([beyond.to_string(), size.to_string(), why.to_string()]);
        if let Some(reserved) = figures.reserved.filter(|reserved| *reserved != figures.peak) {
            table.row(["reserved".to_string(), reserved.to_string(), "at most".to_string()]);
        }
        if let Some(limit) = exhibit.limit {
            let taken = figures.taken(exhibit);
            let verdict = match taken <= limit {
                // What is nearly all of the limit says less than how little is taken.
                true if taken.0.saturating_mul(10) < limit.0 => {
                    format!("{:.1} % of it taken", 100.0 * taken.0 as f64 / limit.0 as f64)
                }
                true => format!("headroom {}", limit.saturating_sub(taken)),
                false => format!("{} too much", taken.saturating_sub(limit)),
            };
            table.row(["limit".to_string(), limit.to_string(), verdict]);
        }
        table.print_within(self.columns)
    }

    /// What is live at the peak, by role, in the order in which charts stack them.
    fn roles(&self) -> String {
        let Self { exhibit, figures, .. } = self;
        let mut sums = figures.at_floor_by(exhibit, |buffer| buffer.role);
        let place = |sum: &Sum| {
            crate::exhibit::ROLES.iter().position(|look| look.role == exhibit.texts.get(sum.text))
        };
        sums.sort_by_key(|sum| place(sum).unwrap_or(usize::MAX));
        let mut table = Table::new(["most live at once", "", ""]).right(1);
        let mut painted = Vec::new();
        for sum in &sums {
            let role = exhibit.texts.get(sum.text);
            let known = look(role);
            let name = if known.role.is_empty() && !role.is_empty() { role } else { known.name };
            let bar = chart::bar(sum.bytes, figures.floor, 40);
            painted.push(known.terminal);
            table.row([format!("{} {name}", known.letter), sum.bytes.to_string(), bar]);
        }
        let text = table.print_within(self.columns);
        let mut lines = text.lines();
        let head = lines.next().unwrap_or_default().to_string();
        let rows = lines.zip(painted).map(|(line, code)| self.paint_bar(line, code));
        std::iter::once(head).chain(rows).collect::<Vec<_>>().join("\n")
    }

    /// Colours the bar at the end of a line, and nothing else.
    fn paint_bar(&self, line: &str, code: u8) -> String {
        let at = line.find(|c: char| ('▁'..='▏').contains(&c));
        match at.filter(|_| self.colour) {
            Some(at) => format!("{}{}", &line[..at], picture::paint(&line[at..], code)),
            None => line.to_string(),
        }
    }

    fn layers(&self) -> String {
        let Self { exhibit, figures, .. } = self;
        let named =
            |sums: Vec<Sum>| sums.into_iter().filter(|sum| sum.text != TextId::default()).collect::<Vec<_>>();
        let by_layer = named(figures.at_floor_by(exhibit, |buffer| buffer.layer));
        match by_layer.is_empty() {
            false => self.bars("largest layers then", &by_layer),
            true => self.bars("largest ops then", &named(figures.at_floor_by(exhibit, |buffer| buffer.op))),
        }
    }

    fn bars(&self, head: &str, sums: &[Sum]) -> String {
        let most = sums.first().map_or(Bytes::ZERO, |sum| sum.bytes);
        let mut table = Table::new([head, "", ""]).right(1);
        for sum in sums.iter().take(LISTED) {
            let name = self.exhibit.texts.get(sum.text).to_string();
            table.row([name, sum.bytes.to_string(), chart::bar(sum.bytes, most, 24)]);
        }
        let rest = sums.get(LISTED..).unwrap_or_default();
        if !rest.is_empty() {
            let bytes: Bytes = rest.iter().map(|sum| sum.bytes).sum();
            table.row([format!("and {} more", rest.len()), bytes.to_string(), String::new()]);
        }
        if sums.is_empty() { String::new() } else { table.print_within(self.columns) }
    }

    fn values(&self) -> String {
        let Self { exhibit, figures, .. } = self;
        let mut table = Table::new(["largest values then", "role", "size", "live"]).right(2);
        for &index in figures.at_floor.iter().take(LISTED) {
            let buffer = &exhibit.buffers[index];
            let [value, role, op] =
                [buffer.value, buffer.role, buffer.op].map(|text| exhibit.texts.get(text));
            let name = if value.is_empty() { op.to_string() } else { shown(value, buffer.again) };
            let live = format!(
                "{} to {}",
                exhibit.time(buffer.live.start),
                exhibit.time(buffer.live.end.saturating_sub(1))
            );
            table.row([name, role.to_string(), buffer.bytes.to_string(), live]);
        }
        if figures.at_floor.is_empty() { String::new() } else { table.print_within(self.columns) }
    }

    fn again(&self) -> Option<String> {
        let count = self.exhibit.again().count();
        // Over time they may come to more than was ever there.
        let bytes = Bytes(self.exhibit.again().fold(0, |sum, buffer| sum.saturating_add(buffer.bytes.0)));
        let values = if count == 1 { "value" } else { "values" };
        (count > 0).then(|| format!("recomputed (activation checkpointing): {count} {values}, {bytes}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_trace::text;

    fn exhibit(name: &str) -> Exhibit {
        let labels =
            "label \"w\" \"parameter\" \"dense\" \"\"\nlabel \"x\" \"activation\" \"dense\" \"matmul\"\n";
        let events = "0 take 0 at 0 bytes 1024 label 0\n0 take 1 at 1024 bytes 3072 label 1\n1 free 1\n2 take 2 at 1024 bytes 1024 label 1\n";
        let trace = text::parse(&format!("trace 1\n{labels}{events}")).unwrap();
        Exhibit { name: name.to_string(), limit: Some(Bytes(8192)), ..Exhibit::of_trace(&trace).unwrap() }
    }

    #[test]
    fn an_exhibit_is_told_in_characters() {
        let told = print(&[exhibit("one")], false, None);
        for line in [
            "peak           4.00 KiB  4096 bytes",
            "limit          8.00 KiB  headroom 4.00 KiB",
            "a activations",
            "w  ",
        ] {
            assert!(told.contains(line) || line == "w  ", "no `{line}` in\n{told}");
        }
        assert!(told.contains("a activations      3.00 KiB  ██████████████████████████████"), "{told}");
        assert!(told.contains("  4.00 KiB ▏"), "{told}");
        assert!(!told.contains('\u{1b}') && !told.contains("──"), "{told}");
    }

    #[test]
    fn an_allocators_own_count_is_its_peak_and_addresses_are_only_that() {
        let odd = Exhibit { reported: Some(Bytes(2048)), limit: Some(Bytes(1 << 30)), ..exhibit("one") };
        let told = print(&[odd], false, None);
        for line in [
            "peak in use  2.00 KiB  as its allocator counts: whole chunks",
            "addresses    4.00 KiB  from the lowest to the highest seen",
            "limit        1.00 GiB  0.0 % of it taken",
        ] {
            assert!(told.contains(line), "no `{line}` in\n{told}");
        }
        assert!(!told.contains("fragmentation"), "{told}");
    }

    #[test]
    fn colours_only_surround_what_is_there_without_them() {
        let plain = print(&[exhibit("one")], false, None);
        let coloured = print(&[exhibit("one")], true, None);
        assert_ne!(plain, coloured);
        let mut stripped = String::new();
        let mut rest = coloured.as_str();
        while let Some(at) = rest.find("\u{1b}[") {
            stripped.push_str(&rest[..at]);
            rest = &rest[at + rest[at..].find('m').unwrap() + 1..];
        }
        stripped.push_str(rest);
        // Only the curve changes: with colours every cell shows a role.
        let other = |text: &str| {
            text.lines().filter(|line| !line.contains('▏')).map(str::to_string).collect::<Vec<_>>()
        };
        assert_eq!(other(&plain), other(&stripped));
    }

    #[test]
    fn only_we_choose_colours() {
        let evil = "\u{1b}[31m\u{1b}]0;title\x07\n\u{202e}";
        let hostile = |name: &str| {
            let quoted = serde_json::to_string(evil).unwrap();
            let labels = format!("label {quoted} {quoted} {quoted} {quoted}\n");
            let trace = text::parse(&format!("trace 1\n{labels}0 take 0 at 0 bytes 1024 label 0\n")).unwrap();
            let texts = [name, evil].map(str::to_string);
            let [name, headline] = texts;
            Exhibit { name, headline, notes: vec![evil.to_string()], ..Exhibit::of_trace(&trace).unwrap() }
        };
        let told = print(&[hostile(evil), hostile("plain")], true, None);
        assert!(told.contains("\\u{1b}]0;title\\u{7}"), "{told}");
        let ours = |code: &str| code.starts_with("[38;5;") || code.starts_with("[0m");
        assert!(told.split('\u{1b}').skip(1).all(ours), "{told:?}");
        assert!(!told.contains(['\x07', '\u{202e}']), "{told:?}");
    }

    #[test]
    fn several_are_compared_first() {
        let told = print(&[exhibit("one"), exhibit("two")], false, None);
        let lines: Vec<&str> = told.lines().collect();
        assert!(lines[1].starts_with("one") && lines[2].starts_with("two"), "{told}");
        assert_eq!(told.matches("── ").count(), 2);
        assert_eq!(print(&[], false, None), "");
        assert!(print(&[Exhibit::default()], true, None).contains("peak"));
    }
}
