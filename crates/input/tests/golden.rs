//! Files that others wrote, and what others read in them.

use plimsoll_graph::{ElementType, Shape, TensorType};
use plimsoll_input::{
    Account, Elements, FieldKind, Found, Missing, PixelRange, Pixels, Prefetched, Reading, Samples, Settings,
    Source, Tokens, Want, open,
};
use plimsoll_trace::Bytes;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn find(path: &Path) -> (Found, Arc<Account>) {
    let account = Account::new(Bytes::mib(16));
    (open(path, &Settings::default(), &account).unwrap(), account)
}

fn input(name: &str, shape: &[usize]) -> Want {
    let tensor = TensorType::new(ElementType::F32, Shape::new(shape));
    Want { kind: FieldKind::Input, name: name.to_string(), tensor, below: 0, optional: false }
}

fn class(below: usize) -> Want {
    let tensor = TensorType::new(ElementType::I32, Shape::scalar());
    Want { kind: FieldKind::Target, name: "class".to_string(), tensor, below, optional: false }
}

/// All samples, field by field: numbers, or integers as numbers.
fn read(source: Arc<dyn Source>, wants: &[Want], range: PixelRange) -> Vec<Vec<Vec<f32>>> {
    let account = Account::new(Bytes::mib(16));
    let reading = Reading::new(source, wants, &Settings::default(), &Pixels::new(range)).unwrap();
    let samples = Prefetched::new(Arc::new(reading), &account, 1, 2).unwrap();
    samples.announce(None, 0..samples.count() as u64);
    let read = (0..samples.count()).map(|sample| {
        samples.ready(sample as u64, &[sample]).unwrap();
        let field = |(field, want): (usize, &Want)| {
            let elements = want.tensor.shape.elements();
            let mut numbers = vec![f32::NAN; elements];
            match want.tensor.element {
                ElementType::I32 => {
                    let mut integers = vec![-1; elements];
                    samples.write(field, sample, Elements::I32(&mut integers));
                    numbers.iter_mut().zip(integers).for_each(|(number, integer)| *number = integer as f32);
                }
                _ => samples.write(field, sample, Elements::F32(&mut numbers)),
            }
            numbers
        };
        wants.iter().enumerate().map(field).collect()
    });
    read.collect()
}

#[test]
fn images_are_what_pillow_makes_of_them() {
    let expected = golden("expected.npz");
    let (found, _) = find(&golden("images"));
    assert_eq!(found.classes().unwrap(), ["a", "b", "c"]);
    let files: Vec<String> = (0..found.train.count()).map(|sample| found.train.place(sample)).collect();
    for channels in [1, 3] {
        let samples =
            read(found.train.clone(), &[input("image", &[10, 12, channels]), class(3)], PixelRange::Bytes);
        for (file, sample) in files.iter().zip(samples) {
            let name = file.split("images/").nth(1).unwrap();
            let key = format!("{}:{channels}", name.replace('/', "-"));
            let wanted = array(&expected, &key);
            assert_eq!(sample[1], [f32::from(name.as_bytes()[0] - b'a')], "{name}");
            let difference = |(one, other): (&f32, &f32)| (one - other).abs();
            let worst = sample[0].iter().zip(&wanted).map(difference).fold(0.0, f32::max);
            let mean = sample[0].iter().zip(&wanted).map(difference).sum::<f32>() / wanted.len() as f32;
            // Decoders of JPEG round otherwise and may smooth colours otherwise; those of PNG agree, and grey of
            // colours that were resized is not the same as colours that were made grey.
            let (most, usual) = if name.ends_with(".jpg") { (6.0, 1.0) } else { (1.0, 0.51) };
            assert!(worst <= most && mean <= usual, "{key}: {worst} at most, {mean} in the mean");
        }
    }
}

/// One array of an archive, as it is.
fn array(path: &Path, name: &str) -> Vec<f32> {
    let account = Account::new(Bytes::mib(16));
    let archive = std::fs::File::open(path).unwrap();
    let mut archive = zip::ZipArchive::new(archive).unwrap();
    let mut file = archive.by_name(&format!("{name}.npy")).unwrap();
    let mut bytes = Vec::new();
    std::io::copy(&mut file, &mut bytes).unwrap();
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    drop(account);
    bytes[start..].chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
}

fn ramp(count: usize, modulus: usize) -> Vec<f32> {
    (0..count).map(|number| (number % modulus) as f32).collect()
}

#[test]
fn arrays_of_numpy_are_read() {
    let labels = [0.0, 1.0, 2.0, 2.0, 1.0, 0.0];
    for (name, has_test) in [("stored.npz", true), ("packed.npz", false)] {
        let (found, account) = find(&golden(name));
        assert_eq!((found.train.count(), found.test.is_some()), (6, has_test), "{name}");
        assert_eq!(account.in_use() > Bytes::ZERO, !has_test, "{name}: only what is packed takes memory");
        let samples = read(found.train.clone(), &[input("x", &[4, 3]), class(3)], PixelRange::Bytes);
        let pixels: Vec<f32> = samples.iter().flat_map(|sample| sample[0].clone()).collect();
        assert_eq!(pixels, ramp(72, 251), "{name}");
        assert_eq!(samples.iter().map(|sample| sample[1][0]).collect::<Vec<_>>(), labels);
        let unit = read(found.train.clone(), &[input("x", &[12])], PixelRange::Unit);
        assert!((unit[1][0][0] - 12.0 / 255.0).abs() < 1e-7);
    }
}

#[test]
fn numbers_of_all_kinds_are_read() {
    let mut seen = 0;
    for entry in std::fs::read_dir(golden("kinds")).unwrap() {
        let path = entry.unwrap().path();
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(&path, folder.path().join("x.npy")).unwrap();
        let (found, _) = find(folder.path());
        let samples = read(found.train.clone(), &[input("x", &[4])], PixelRange::Bytes);
        let numbers: Vec<f32> = samples.iter().flat_map(|sample| sample[0].clone()).collect();
        let is_bool = path.file_stem().unwrap() == "bool";
        let wanted = ramp(20, 100).into_iter().map(|number| if is_bool { number.min(1.0) } else { number });
        assert_eq!(numbers, wanted.collect::<Vec<_>>(), "{}", path.display());
        seen += 1;
    }
    assert_eq!(seen, 15);
}

#[test]
fn files_like_those_of_mnist_are_read() {
    let (found, _) = find(&golden("idx"));
    let test = found.test.clone().unwrap();
    assert_eq!((found.kind, found.train.count(), test.count()), ("IDX", 9, 4));
    assert_eq!(found.input_shape(), Some(vec![4, 4]));
    for source in [found.train.clone(), test] {
        let samples = read(source.clone(), &[input("image", &[4, 4, 1]), class(3)], PixelRange::Bytes);
        let pixels: Vec<f32> = samples.iter().flat_map(|sample| sample[0].clone()).collect();
        assert_eq!(pixels, ramp(16 * source.count(), 256));
        assert!(samples.iter().enumerate().all(|(number, sample)| sample[1][0] == (number % 3) as f32));
    }
}

#[test]
fn records_of_tensorflow_are_read() {
    let (found, _) = find(&golden("records"));
    assert_eq!((found.kind, found.train.count()), ("TFRecord", 6));
    let ids = Want { below: 1 << 30, ..input("ids", &[3]) };
    let ids = Want { tensor: TensorType::new(ElementType::I32, Shape::new([3])), ..ids };
    let samples = read(found.train.clone(), &[input("x", &[2]), ids, class(2)], PixelRange::Bytes);
    for (number, sample) in samples.iter().enumerate() {
        let number = number as f32;
        assert_eq!(sample[0], [number + 0.5, -number]);
        assert_eq!(sample[1], [number, (1 << 20) as f32, 7.0]);
        assert_eq!(sample[2], [number % 2.0]);
    }
    let (found, _) = find(&golden("pictures.tfrecord"));
    let samples = read(found.train.clone(), &[input("image", &[16, 20, 3]), class(2)], PixelRange::Unit);
    assert_eq!(samples[1][1], [1.0]);
    assert!(samples.iter().flat_map(|sample| &sample[0]).all(|pixel| (0.0..=1.0).contains(pixel)));
}

#[test]
fn tables_are_read_by_their_columns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    let text =
        "id,\"height, m\",class,weight\r\n1,1.5,\"big \"\"one\"\"\",\r\n\r\n2,-2e3,small,7\r\n3,0.25,small,8";
    std::fs::write(&path, text).unwrap();
    let account = Account::new(Bytes::mib(16));
    let refused = open(&path, &Settings::default(), &account).err().unwrap();
    assert!(refused.to_string().contains("`weight` has no value in 1 rows, the first is row 1"), "{refused}");
    let settings = Settings {
        columns: Some(vec!["height, m".to_string(), "weight".to_string()]),
        missing: Missing::Is(-1.0),
        ..Settings::default()
    };
    let found = open(&path, &settings, &account).unwrap();
    assert_eq!(found.classes().unwrap(), ["big \"one\"", "small"]);
    let samples = read(found.train.clone(), &[input("x", &[2]), class(2)], PixelRange::Bytes);
    assert_eq!(
        samples,
        [[vec![1.5, -1.0], vec![0.0]], [vec![-2000.0, 7.0], vec![1.0]], [vec![0.25, 8.0], vec![1.0]]]
    );
}

fn tokens(length: usize, below: usize) -> Want {
    let tensor = TensorType::new(ElementType::I32, Shape::new([length]));
    Want { tensor, below, ..input("text", &[]) }
}

#[test]
fn words_have_the_numbers_that_keras_gives_them() {
    let expected = golden("texts.npz");
    for most in [20, 1000] {
        let account = Account::new(Bytes::mib(16));
        let settings = Settings { tokens: Tokens::Words, vocabulary: most, ..Settings::default() };
        let found = open(&golden("texts"), &settings, &account).unwrap();
        assert_eq!((found.kind, found.train.count(), found.classes().unwrap().len()), ("texts", 24, 2));
        let below = array(&expected, &format!("below{most}"))[0] as usize;
        let samples = read(found.train.clone(), &[tokens(10, below), class(2)], PixelRange::Bytes);
        let wanted = array(&expected, &format!("words{most}"));
        for (number, (sample, wanted)) in samples.iter().zip(wanted.chunks_exact(10)).enumerate() {
            assert_eq!(sample[0], wanted, "{}", found.train.place(number));
            assert_eq!(sample[1], [(number / 12) as f32]);
        }
        // A model that knows one word less cannot read them.
        let wants = [tokens(10, below - 1)];
        let bound = Reading::new(found.train.clone(), &wants, &settings, &Pixels::new(PixelRange::Bytes));
        let error = bound.err().unwrap();
        assert!(error.to_string().contains(&format!("tokens from 0 to {}", below - 1)), "{error}");
        assert_eq!(
            error.hint().unwrap(),
            format!("vocabulary = {} in a data.toml leaves out rare words", below - 1)
        );
    }
}

#[test]
fn texts_are_bytes_where_nobody_says_otherwise() {
    let (found, _) = find(&golden("texts"));
    let samples = read(found.train.clone(), &[tokens(7, 256), class(2)], PixelRange::Bytes);
    for (number, sample) in samples.iter().enumerate() {
        let mut bytes = std::fs::read(found.train.place(number)).unwrap();
        bytes.resize(7, 0);
        assert!(sample[0].iter().eq(bytes.iter().map(|byte| f32::from(*byte)).collect::<Vec<_>>().iter()));
    }
}

#[test]
fn windows_of_a_text_are_followed_by_the_next_token() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("story.txt");
    std::fs::write(&path, "one two three two one two, three!").unwrap();
    let account = Account::new(Bytes::mib(16));
    let refused = open(&path, &Settings::default(), &account).err().unwrap();
    assert!(refused.hint().unwrap().contains("window = 128"), "{refused}");
    let next = |length: usize, below: usize| Want {
        kind: FieldKind::Target,
        name: "next".to_string(),
        ..tokens(length, below)
    };
    let settings = Settings { window: Some(8), ..Settings::default() };
    let found = open(&path, &settings, &account).unwrap();
    assert_eq!((found.kind, found.train.count(), found.input_shape()), ("text", 4, Some(vec![8])));
    let samples = read(found.train.clone(), &[tokens(8, 256), next(8, 256)], PixelRange::Bytes);
    let text = std::fs::read(&path).unwrap();
    for (number, sample) in samples.iter().enumerate() {
        let bytes =
            |start: usize| text[start..start + 8].iter().map(|byte| f32::from(*byte)).collect::<Vec<_>>();
        assert_eq!((sample[0].clone(), sample[1].clone()), (bytes(8 * number), bytes(8 * number + 1)));
    }
    let settings = Settings { window: Some(3), tokens: Tokens::Words, ..Settings::default() };
    let found = open(&path, &settings, &account).unwrap();
    // Of `one`, `two` and `three`, `two` comes most often, then those later in the alphabet first.
    let samples = read(found.train.clone(), &[tokens(3, 5), next(3, 5)], PixelRange::Bytes);
    assert_eq!(
        samples,
        [[vec![4.0, 2.0, 3.0], vec![2.0, 3.0, 2.0]], [vec![2.0, 4.0, 2.0], vec![4.0, 2.0, 3.0]]]
    );
    assert_eq!(found.notes, Vec::<String>::new());
    let wants = [tokens(4, 5)];
    let bound = Reading::new(found.train.clone(), &wants, &settings, &Pixels::new(PixelRange::Bytes));
    assert!(bound.err().unwrap().hint().unwrap().contains("window = 4"));
}

#[test]
fn a_table_may_list_images() {
    let folder = tempfile::tempdir().unwrap();
    let images = golden("images");
    let names = ["a/baseline.jpg", "c/colour.png", "b/turn6.jpg"];
    for name in names {
        std::fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
        std::fs::copy(images.join(name), folder.path().join(name)).unwrap();
    }
    let path = folder.path().join("list.csv");
    let expected = golden("expected.npz");
    for text in [
        "file,width,label\na/baseline.jpg,3,x\nc/colour.png,4,y\nb/turn6.jpg,5,x\n",
        "kind,file\nx,a/baseline.jpg\ny,c/colour.png\nx,b/turn6.jpg\n",
    ] {
        std::fs::write(&path, text).unwrap();
        let (found, _) = find(&path);
        assert_eq!(
            (found.kind, found.classes().unwrap()),
            ("list of images", &["x".to_string(), "y".to_string()][..])
        );
        let samples = read(found.train.clone(), &[input("image", &[10, 12, 3]), class(2)], PixelRange::Bytes);
        for (name, sample) in names.iter().zip(&samples) {
            let wanted = array(&expected, &format!("{}:3", name.replace('/', "-")));
            let worst = sample[0].iter().zip(&wanted).map(|(one, two)| (one - two).abs()).fold(0.0, f32::max);
            assert!(worst <= 6.0, "{name}: {worst}");
        }
        assert_eq!(samples.iter().map(|sample| sample[1][0]).collect::<Vec<_>>(), [0.0, 1.0, 0.0]);
    }
    std::fs::remove_file(folder.path().join("c/colour.png")).unwrap();
    let error = open(&path, &Settings::default(), &Account::new(Bytes::mib(16))).err().unwrap();
    assert!(error.to_string().contains("c/colour.png"), "{error}");
}
