//! Predictions against TensorFlow: what the README promises about them, held on everything that was measured.

mod measured;
mod models;
mod saved;

use measured::Row;
use plimsoll_tensorflow::{COVERAGE, ELSEWHERE};

/// How far a prediction is off, in per cent of what was measured; negative if it is too low.
fn errors(rows: &[Row]) -> Vec<f64> {
    let error = |row: &Row| {
        let (measured, predicted) = (row.number("t_req_peak") as f64, row.predict().live_peak().0 as f64);
        (predicted / measured - 1.0) * 100.0
    };
    rows.iter().map(error).collect()
}

/// The error that so large a share of the rows does not exceed.
fn quantile(errors: &[f64], share: f64) -> f64 {
    let mut sizes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    sizes[((sizes.len() as f64 * share).ceil() as usize).clamp(1, sizes.len()) - 1]
}

/// What the documentation says, on one line.
fn documented() -> String {
    include_str!("../../../../docs/tensorflow.md").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The documentation has this sentence, whose figures were computed just now.
fn expect_documented(sentence: &str) {
    assert!(documented().contains(sentence), "docs/tensorflow.md does not say: {sentence}");
}

/// The smallest and the largest error, each as a size.
fn worst(errors: &[f64]) -> (f64, f64) {
    let extreme = |sign: f64| errors.iter().map(|error| error * sign).fold(0.0, f64::max);
    (extreme(-1.0), extreme(1.0))
}

/// What predictions must hold: the median error, that of nine in ten, and how much too low they may be, in per cent.
struct Goal {
    median: f64,
    nine_of_ten: f64,
    too_low: f64,
}

fn hold(goal: &Goal, names: &[String], errors: &[f64]) {
    for (name, error) in names.iter().zip(errors) {
        assert!(*error >= -goal.too_low, "{name} is {error:.1} % off");
    }
    assert!(quantile(errors, 0.5) <= goal.median, "median {:.1} %", quantile(errors, 0.5));
    assert!(quantile(errors, 0.9) <= goal.nine_of_ten, "nine of ten {:.1} %", quantile(errors, 0.9));
}

fn names(rows: &[Row]) -> Vec<String> {
    rows.iter().map(Row::name).collect()
}

#[test]
fn float32_in_graphs() {
    let rows: Vec<Row> = measured::table().into_iter().filter(Row::is_plain).collect();
    assert!(rows.len() >= 74, "the table has lost rows");
    let errors = errors(&rows);
    hold(&Goal { median: 1.5, nine_of_ten: 5.0, too_low: 5.0 }, &names(&rows), &errors);
    let (low, high) = worst(&errors);
    expect_documented(&format!(
        "On the {} measured float32 configurations in graph mode and `model.fit` the predicted live peak has a median \
         error of {:.1} %; nine of ten are within {:.1} %, the worst are {low:.1} % too low and {high:.1} % too high.",
        rows.len(),
        quantile(&errors, 0.5),
        quantile(&errors, 0.9),
    ));
}

#[test]
fn other_modes_and_precisions() {
    let rows: Vec<Row> = measured::table().into_iter().filter(|row| !row.is_plain()).collect();
    assert!(rows.len() >= 25, "the table has lost rows");
    let errors = errors(&rows);
    hold(&Goal { median: 3.0, nine_of_ten: 15.0, too_low: 10.0 }, &names(&rows), &errors);
    let (low, high) = worst(&errors);
    expect_documented(&format!(
        "Eager mode, mixed precision and accumulated gradients ({} rows): median {:.1} %, from {low:.1} % too low to \
         {high:.1} % too high.",
        rows.len(),
        quantile(&errors, 0.5),
    ));
}

#[test]
fn smallest_limits() {
    let error = |row: &Row| {
        let limit = row.predict().smallest_limit(true).expect("some limit is enough").0 as f64;
        let measured = (row.number("threshold_mb") << 20) as f64;
        (limit / measured - 1.0) * 100.0
    };
    let rows = measured::thresholds();
    let errors: Vec<f64> = rows.iter().map(error).collect();
    hold(&Goal { median: 10.0, nine_of_ten: 10.0, too_low: 5.0 }, &names(&rows), &errors);
    let (low, high) = worst(&errors);
    assert!(low.max(high) <= 10.0);
    expect_documented(&format!(
        "Smallest limits are at most {low:.1} % too low and {high:.1} % too high on the {} that were measured.",
        ["none", "one", "two", "three", "four", "five", "six", "seven", "eight"][errors.len()],
    ));
}

/// By how much steps with other settings took less and more than the same steps as they are predicted, in whole per
/// cent, rounded away from nothing.
fn spread(rows: &[Row], is: impl Fn(&Row) -> bool) -> (u32, u32, u32) {
    let plain = |row: &&Row| row.number("threads") == 1;
    let changes: Vec<f64> = rows
        .iter()
        .filter(|row| is(row))
        .map(|row| {
            let same =
                |other: &&Row| ["model", "size", "batch"].iter().all(|one| row.text(one) == other.text(one));
            let base = rows.iter().filter(plain).find(same).expect("each was measured as predicted, too");
            (row.number("t_req_peak") as f64 / base.number("t_req_peak") as f64 - 1.0) * 100.0
        })
        .collect();
    let (less, more) = worst(&changes);
    (less.ceil() as u32, more.ceil() as u32, changes.len() as u32)
}

#[test]
fn other_settings_are_off_as_it_is_said() {
    let rows =
        measured::rows(include_str!("../../../../bench/peers/tensorflow_memory/settings_measured.csv"));
    let [usual, compiled] = ELSEWHERE;
    let figures = |one: plimsoll_tensorflow::Elsewhere| (one.less_percent, one.more_percent, one.steps);
    assert_eq!(figures(usual), spread(&rows, |row| row.number("threads") == 0 && row.number("jit") == 0));
    assert_eq!(figures(compiled), spread(&rows, |row| row.number("jit") == 1));
    // A plan keeps at least 10 % in hand, which is enough for those who set nothing.
    assert!(usual.more_percent < 10);
    for one in ELSEWHERE {
        expect_documented(&format!("from {} % less to {} % more", one.less_percent, one.more_percent));
    }
}

/// What parts that are computed again save depends on the order of gradients, so the dearest is predicted.
#[test]
fn parts_that_are_computed_again_are_not_predicted_too_low() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/peers/tensorflow_memory/models");
    saved::FURTHER.get_or_init(|| folder.into());
    let table = include_str!("../../../../bench/peers/tensorflow_memory/recompute_measured.csv");
    let rows: Vec<Row> =
        measured::rows(table).into_iter().filter(|row| row.number("recompute") > 0).collect();
    assert!(rows.len() >= 16, "the table has lost rows");
    let (low, _) = worst(&errors(&rows));
    assert!(low <= 5.0, "{low:.1} % too low");
}

/// Everything that was measured, also what is kept in `bench/peers/tensorflow_memory`.
fn all() -> Vec<Row> {
    let further = [
        include_str!("../../../../bench/peers/tensorflow_memory/held_out_measured.csv"),
        include_str!("../../../../bench/peers/tensorflow_memory/unseen_measured.csv"),
        include_str!("../../../../bench/peers/tensorflow_memory/last_measured.csv"),
    ];
    measured::table().into_iter().chain(further.into_iter().flat_map(measured::rows)).collect()
}

#[test]
fn bands_hold_what_was_measured() {
    let rows = all();
    let outside: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let (measured, band) = (row.number("t_req_peak"), row.predict().band);
            let inside = (band.low.0..=band.high.0).contains(&measured);
            (!inside)
                .then(|| format!("{}: {measured} is not in {} to {}", row.name(), band.low.0, band.high.0))
        })
        .collect();
    let share = 100 - (outside.len() * 100).div_ceil(rows.len());
    assert!(share >= COVERAGE as usize, "{share} % are inside:\n{}", outside.join("\n"));
}

/// A step of a small network in full: the order of figures is what makes a prediction useful.
#[test]
fn figures_agree_with_each_other() {
    for row in measured::table().iter().filter(|row| row.text("model") == "lenet") {
        let prediction = row.predict();
        let live = prediction.live_peak();
        let limit = prediction.smallest_limit(true).expect("some limit is enough");
        assert!(live <= prediction.reported_peak(true), "{}", row.name());
        assert!(live <= limit, "{}", row.name());
        let by_role: u64 = prediction.by_role().values().map(|bytes| bytes.0).sum();
        let by_layer: u64 = prediction.by_layer().iter().map(|(_, bytes)| bytes.0).sum();
        assert_eq!((by_role, by_layer), (live.0, live.0), "{}", row.name());
    }
}
