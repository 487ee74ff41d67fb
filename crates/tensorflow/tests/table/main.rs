//! Predictions against TensorFlow: what the README promises about them, held on everything that was measured.

mod measured;
mod models;

use measured::Row;

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

#[test]
fn float32_in_graph_mode() {
    let rows: Vec<Row> = measured::table().into_iter().filter(Row::is_plain).collect();
    assert!(rows.len() >= 40, "the table has lost rows");
    let errors = errors(&rows);
    let (median, nine_tenths) = (quantile(&errors, 0.5), quantile(&errors, 0.9));
    assert!(median <= 3.0, "median {median:.1} %");
    assert!(nine_tenths <= 8.0, "9 of 10 within {nine_tenths:.1} %");
    for (row, error) in rows.iter().zip(&errors) {
        assert!(*error >= -5.0, "{} is {error:.1} % off", row.name());
    }
}

#[test]
fn other_modes_and_precisions() {
    let rows: Vec<Row> = measured::table().into_iter().filter(|row| !row.is_plain()).collect();
    assert!(rows.len() >= 20, "the table has lost rows");
    let median = quantile(&errors(&rows), 0.5);
    assert!(median <= 6.0, "median {median:.1} %");
}

#[test]
fn smallest_limits() {
    for row in measured::thresholds() {
        let limit = row.predict().smallest_limit(true).expect("some limit is enough").0 as f64;
        let measured = (row.number("threshold_mb") << 20) as f64;
        let error = (limit / measured - 1.0) * 100.0;
        assert!(error.abs() <= 10.0, "{} needs {error:.1} % more", row.name());
    }
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
