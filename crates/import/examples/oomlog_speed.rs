//! How fast logs are read, and in how much memory: a log of the given size (MiB, default 1024), made on the fly, of
//! training output with a dump now and then, or of nothing but chunks.
//!
//! `cargo run --release -p plimsoll-import --example oomlog_speed -- 1024`

use plimsoll_import::oomlog;
use std::io::Read;
use std::time::Instant;

/// A block of text over and over, until so many bytes are read.
struct Repeated {
    text: Vec<u8>,
    at: usize,
    left: u64,
}

impl Read for Repeated {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count =
            buffer.len().min(self.text.len() - self.at).min(usize::try_from(self.left).unwrap_or(usize::MAX));
        buffer[..count].copy_from_slice(&self.text[self.at..self.at + count]);
        self.at = (self.at + count) % self.text.len();
        self.left -= count as u64;
        Ok(count)
    }
}

fn main() {
    let mib: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1024);
    let training: String = (0..20_000)
        .map(|step| format!("2026-11-15 20:01:{:02}.123456: epoch 3 step {step}/90000 [=====>......] - ETA: 2:11 - loss: 0.3{step} - accuracy: 0.9{step}\n", step % 60))
        .collect();
    let chunks: String = (0..5_000)
        .map(|number| format!("I0000 00:00:1794770573.112365   21772 bfc_allocator.cc:1105] {} at {:x} of size 4096 next {number}\n", if number % 3 == 0 { "Free " } else { "InUse" }, 0x7fef_df5f_c000_u64 + 4096 * number))
        .collect();
    let head = "W0000 00:00:1794770573.112103   21772 bfc_allocator.cc:502] Allocator (GPU_0_bfc) ran out of memory trying to allocate 9.00MiB (rounded to 9437184)requested by op conv\n";
    let region =
        "I0000 00:00:1794770573.112360   21772 bfc_allocator.cc:1085] Next region of size 20480000\n";
    let cases = [
        ("training output, a dump every 2 MiB", format!("{training}{head}{region}{chunks}")),
        ("dumps only, 5000 chunks each", format!("{head}{region}{chunks}")),
        ("one dump without end", chunks),
    ];
    for (name, text) in cases {
        let input = Repeated { text: text.into_bytes(), at: 0, left: mib << 20 };
        let start = Instant::now();
        let log = oomlog::read(input).expect("nothing breaks");
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{name}: {mib} MiB in {seconds:.2} s, {:.0} MiB/s, {} reports",
            mib as f64 / seconds,
            log.dumps.len() as u64 + log.skipped
        );
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!(
        "{}",
        status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("peak memory is not known here")
    );
}
