//! How Keras names layers in files: after their class, with a number from the second on.

use std::collections::HashMap;

/// The names given so far in one list of layers.
#[derive(Default)]
pub(super) struct Names {
    given: HashMap<String, usize>,
}

impl Names {
    /// The name of the next layer of a class.
    pub(super) fn next(&mut self, class: &str) -> String {
        let name = snake_case(own_name(class));
        let earlier = self.given.entry(name.clone()).or_insert(0);
        *earlier += 1;
        if *earlier == 1 { name } else { format!("{name}_{}", *earlier - 1) }
    }
}

/// What a class is called where it is written, if files know it by another name.
fn own_name(class: &str) -> &str {
    match class {
        "GroupQueryAttention" => "GroupedQueryAttention",
        _ => class,
    }
}

/// `MaxPooling2D` as `max_pooling2d`, `ReLU` as `re_lu`: the rule of `keras.src.utils.naming.to_snake_case`.
fn snake_case(class: &str) -> String {
    let letters: Vec<char> = class.chars().filter(|c| c.is_alphanumeric() || *c == '_').collect();
    let mut name = String::new();
    for (position, &letter) in letters.iter().enumerate() {
        let before = position.checked_sub(1).map(|before| letters[before]);
        let after = letters.get(position + 1);
        let begins_word = letter.is_ascii_uppercase() && after.is_some_and(char::is_ascii_lowercase);
        let ends_word =
            letter.is_ascii_uppercase() && before.is_some_and(|before| before.is_ascii_lowercase());
        if before.is_some() && (begins_word || ends_word) {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_become_names_as_in_keras() {
        let cases = [
            ("MaxPooling2D", "max_pooling2d"),
            ("ReLU", "re_lu"),
            ("PReLU", "p_re_lu"),
            ("LeakyReLU", "leaky_re_lu"),
            ("ELU", "elu"),
            ("LSTM", "lstm"),
            ("SimpleRNN", "simple_rnn"),
            ("GlobalAveragePooling2D", "global_average_pooling2d"),
            ("Conv2DTranspose", "conv2d_transpose"),
            ("DepthwiseConv2D", "depthwise_conv2d"),
            ("CustomScaleLayer", "custom_scale_layer"),
        ];
        for (class, name) in cases {
            assert_eq!(snake_case(class), name);
        }
        let mut names = Names::default();
        assert_eq!(["Dense", "ReLU", "Dense"].map(|class| names.next(class)), ["dense", "re_lu", "dense_1"]);
    }
}
