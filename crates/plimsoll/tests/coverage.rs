//! The losses and optimizers of Keras in `docs/keras-coverage.md`: a file that was compiled with one is trained by it,
//! or says why not. That what is taken is equal is what `heads.rs` and `optimizers.rs` say.

#[path = "../../import/tests/keras/table.rs"]
mod table;

use flate2::read::GzDecoder;
use plimsoll::import::keras::{self, Keras};
use plimsoll::imported;
use table::{check_part, entries, packed};

/// In one test, since all of it is one file.
#[test]
fn the_table_says_which_losses_and_optimizers_are_taken() {
    let taken = |file: Vec<u8>| {
        let keras = opened(file)?;
        imported::objective(&keras.compiled, &keras.model)?.map(drop).ok_or("it was not compiled".to_string())
    };
    check_part("keras.losses", &entries(GzDecoder::new(packed()), "losses", taken));
    let taken = |file: Vec<u8>| {
        let optimizer = opened(file)?.compiled.optimizer.ok_or("it was not compiled")?;
        imported::optimizer(&optimizer).map(drop)
    };
    check_part("keras.optimizers", &entries(GzDecoder::new(packed()), "optimizers", taken));
}

fn opened(file: Vec<u8>) -> Result<Keras, String> {
    keras::from_bytes(file, None).map_err(|error| error.to_string())
}
