//! What would help, each with the figure that says whether it is enough.

use super::building::{self, Building};
use super::code::{self, Ask, Code};
use super::findings::{Finding, Reason};
use super::surplus::surplus;
use super::{Balance, pieces, refusals};
use crate::size::print;
use plimsoll_import::oomlog::{Dump, RefusedBy, Source};
use plimsoll_trace::Bytes;

/// Something that can be done.
#[derive(Clone, Debug, PartialEq)]
pub struct Remedy {
    /// As a key, such as `one_region`.
    pub key: &'static str,
    /// In a few words.
    pub title: String,
    /// Whether the request would be met then; none where the report does not tell.
    pub enough: Option<bool>,
    /// The largest block that could be had then, where that is what counts.
    pub largest_block: Option<u64>,
    /// Why, with figures.
    pub text: String,
    /// What to write.
    pub code: Code,
}

/// Everything that could be done, what is enough first.
pub(crate) fn find(dump: &Dump, balance: &Balance, findings: &[Finding], reason: Reason) -> Vec<Remedy> {
    if dump.refused_by != RefusedBy::Pool {
        return refusals::remedies(dump);
    }
    let building = Building::of(findings);
    let found = [
        building.and_then(|building| building::elsewhere(dump, building)),
        building.and_then(|building| building::lighter(dump, building)),
        others(dump, findings),
        leak(dump, reason),
        one_region(dump, balance),
        own_pages(dump, balance),
        splitting(dump, balance),
        planned(dump, balance, building),
        less(balance, dump).filter(|_| building.is_none()),
        smaller_batch(dump, balance, reason).filter(|_| building.is_none()),
        higher_limit(dump, balance, building),
        compaction(balance),
    ];
    let mut remedies: Vec<Remedy> = found.into_iter().flatten().collect();
    remedies.sort_by_key(|remedy| match remedy.enough {
        Some(true) => 0,
        None => 1,
        Some(false) => 2,
    });
    remedies
}

/// A remedy whose figure is the largest block that could be had.
fn by_block(key: &'static str, title: &str, request: u64, block: u64, why: String, code: String) -> Remedy {
    let enough = block >= request;
    let verdict = match enough {
        true => format!("enough for this request, {} to spare", print(block - request)),
        false => format!("not enough, {} short", print(request - block)),
    };
    let text = format!("{why}: {} in one block, {verdict}", print(block));
    Remedy {
        key,
        title: title.to_string(),
        enough: Some(enough),
        largest_block: Some(block),
        text,
        code: code.into(),
    }
}

fn compaction(balance: &Balance) -> Option<Remedy> {
    let why = "if everything in use lay side by side".to_string();
    let code = "# no framework moves live tensors; a fresh process that loads a checkpoint starts compact"
        .to_string();
    Some(by_block("compaction", "full compaction", balance.request?, balance.reachable?, why, code))
}

fn one_region(dump: &Dump, balance: &Balance) -> Option<Remedy> {
    let borders = dump.regions.len() > 1 || balance.unreserved > 0 && !dump.regions.is_empty();
    if !borders || dump.source != Source::TensorFlow {
        return None;
    }
    let joined = pieces::largest_joined(dump, balance.unreserved);
    let why = "the same chunks without borders between regions".to_string();
    let code = code::one_region(dump.limit.map(|limit| limit.bytes));
    let remedy = by_block("one_region", "one region instead of growth", balance.request?, joined, why, code);
    Some(at_best(remedy, dump, balance))
}

/// Elsewhere chunks would lie otherwise and be split otherwise, so what is not enough as they lie may still be; only a
/// replay of the run could tell.
fn at_best(mut remedy: Remedy, dump: &Dump, balance: &Balance) -> Remedy {
    let unasked = dump.limit.zip(dump.requested_in_use).map(|(limit, asked)| limit.minus(asked).bytes);
    let best = unasked.max(balance.reachable).unwrap_or(0);
    if remedy.enough == Some(false) && balance.request.is_some_and(|request| request <= best) {
        remedy.enough = None;
        remedy.text +=
            &format!("; at best {}, where chunks come to lie side by side and have no surplus", print(best));
    }
    remedy
}

fn own_pages(dump: &Dump, balance: &Balance) -> Option<Remedy> {
    match dump.source {
        Source::TensorFlow if !dump.regions.is_empty() => {
            let block = pieces::free_pages(dump).saturating_add(balance.unreserved);
            let why = "CUDA's pool puts free pages of 2 MiB together, wherever they lie".to_string();
            let code = code::cuda_malloc_async();
            let remedy =
                by_block("cuda_malloc_async", "cuda_malloc_async", balance.request?, block, why, code);
            Some(at_best(remedy, dump, balance))
        }
        Source::PyTorch => {
            let why = "segments that can grow put free pages together, wherever they lie".to_string();
            let block = balance.reachable?;
            Some(by_block(
                "expandable_segments",
                "expandable segments",
                balance.request?,
                block,
                why,
                code::expandable_segments(),
            ))
        }
        _ => None,
    }
}

fn splitting(dump: &Dump, balance: &Balance) -> Option<Remedy> {
    let surplus = surplus(dump)
        .filter(|surplus| surplus.bytes >= 1 << 20 || surplus.bytes >= balance.short().unwrap_or(0).max(1))?;
    if dump.source != Source::TensorFlow {
        return None;
    }
    let block = balance.reachable?.saturating_add(surplus.bytes);
    let enough = block >= balance.request?;
    let text = format!(
        "without the {} that chunks have beyond their requests, {} would not be in use; {}",
        print(surplus.bytes),
        print(block),
        if enough { "enough, where it can be had in one block" } else { "not enough" }
    );
    let enough = if enough { None } else { Some(false) };
    let title = "split chunks closer to the request".to_string();
    Some(Remedy {
        key: "split_chunks",
        title,
        enough,
        largest_block: None,
        text,
        code: code::splitting().into(),
    })
}

/// A plan needs what is live, without gaps and surplus. That is a sentence about the moment of the report: what comes
/// after it is not there, so the rest of a step is never promised.
fn planned(dump: &Dump, balance: &Balance, building: Option<Building>) -> Option<Remedy> {
    let live = dump.requested_in_use.or(dump.in_use)?.bytes;
    let (request, limit) = (balance.request?, available(dump, balance)?);
    let needed = live.saturating_add(request);
    let enough = needed <= limit;
    let rest = match building {
        Some(_) => "; no step has begun: gradients, the optimizer's state and activations are still to come",
        None => "; whether the rest of the step fits is not in the report, only the model tells",
    };
    let verdict = match enough {
        true => format!("{} to spare at this moment{rest}", print(limit - needed)),
        false => format!("{} too much, before a plan shares storage or recomputes", print(needed - limit)),
    };
    let text = format!(
        "every tensor at its own offset, no gaps and no surplus: {} live and {} asked for make {} of {}, {verdict}",
        print(live),
        print(request),
        print(needed),
        print(limit)
    );
    let title = "a planned layout".to_string();
    Some(Remedy {
        key: "planned_layout",
        title,
        // While weights are built the request is the least of what is to come.
        enough: Some(enough).filter(|enough| building.is_none() || !enough),
        largest_block: None,
        text,
        code: Code::Ask(Ask::Train { memory: Bytes(limit) }),
    })
}

/// What the program can have: the limit, or less where others hold some of the device.
fn available(dump: &Dump, balance: &Balance) -> Option<u64> {
    let limit = dump.limit.map(|limit| limit.bytes);
    match (dump.device_free, dump.pool.or(dump.in_use)) {
        (Some(_), Some(pool)) => {
            Some(limit.unwrap_or(u64::MAX).min(pool.bytes.saturating_add(balance.unreserved)))
        }
        _ => limit,
    }
}

fn less(balance: &Balance, dump: &Dump) -> Option<Remedy> {
    let (request, largest) = (balance.request?, dump.largest_free.map(|largest| largest.bytes));
    let short = balance.short()?;
    let as_it_lies = largest.map(|largest| request.saturating_sub(largest.max(balance.unreserved)));
    let text = match (short, as_it_lies) {
        (0, None) => return None,
        (0, Some(less)) => format!("a request smaller by {} would fit as the pool lies", print(less)),
        (short, Some(less)) if less > short => {
            format!(
                "{} less in use would do after compaction, a request smaller by {} as the pool lies",
                print(short),
                print(less)
            )
        }
        (short, _) => format!("{} less in use would do", print(short)),
    };
    let title = match short {
        0 => format!("a request smaller by {}", print(as_it_lies?)),
        short => format!("{} less in use", print(short)),
    };
    Some(Remedy {
        key: "less",
        title,
        enough: Some(true),
        largest_block: None,
        text,
        code: match dump.source {
            Source::Plimsoll => Code::Ask(Ask::Shrink),
            source => code::less(source).into(),
        },
    })
}

/// The largest batch whose request would fit as the pool lies, if the first extent is the batch.
fn smaller_batch(dump: &Dump, balance: &Balance, reason: Reason) -> Option<Remedy> {
    let batch = *dump.shape.first().filter(|_| dump.shape.len() > 1)?;
    let weight =
        matches!(reason, Reason::Weights | Reason::Optimizer) || is_weight(&dump.shape, dump.op.as_deref());
    let request = balance.request?;
    let room = dump.largest_free?.bytes.max(balance.unreserved);
    let fitting = (u128::from(batch) * u128::from(room) / u128::from(request.max(1))) as u64;
    if weight || batch < 4 || fitting == 0 || fitting >= batch {
        return None;
    }
    let text = format!(
        "if the first extent of {:?} is the batch: this tensor would fit with a batch of {fitting}; tensors in use would shrink, too",
        dump.shape
    );
    let title = format!("a batch of {fitting} instead of {batch}");
    Some(Remedy {
        key: "smaller_batch",
        title,
        enough: None,
        largest_block: Some(room),
        text,
        code: code::smaller_batch(batch, fitting).into(),
    })
}

/// Whether a tensor looks like a weight or its gradient: `[3, 3, 512, 512]`, or `[4096, 4096]` for an op that makes or
/// updates weights.
fn is_weight(shape: &[u64], op: Option<&str>) -> bool {
    let op = op.unwrap_or_default();
    let updates = ["adam", "sgd", "rmsprop", "BackpropFilter", "MatMul_1", "Random", "AddV2", "Mul", "Fill"];
    match shape {
        [height, width, _, _] => height == width && *height <= 11,
        [_, _] => updates.iter().any(|name| op.contains(name)),
        _ => false,
    }
}

fn higher_limit(dump: &Dump, balance: &Balance, building: Option<Building>) -> Option<Remedy> {
    let (request, limit) = (balance.request?, dump.limit?.bytes);
    if dump.source == Source::PyTorch || dump.source == Source::Xla {
        return None;
    }
    // A new region has to have room for the whole request.
    let more = request.saturating_sub(balance.unreserved);
    let text = format!(
        "a limit of {} lets the pool reserve a region of {} beside what it has, as it lies here; {}",
        print(limit.saturating_add(more)),
        print(request),
        match building {
            Some(_) => "the steps that follow need more",
            None => "another run may lie otherwise",
        }
    );
    let title = format!("a limit higher by {}", print(more));
    Some(Remedy {
        key: "higher_limit",
        title,
        enough: None,
        largest_block: Some(request),
        text,
        code: match dump.source {
            Source::Plimsoll => Code::Ask(Ask::Train { memory: Bytes(limit.saturating_add(more)) }),
            _ => code::limit(limit.saturating_add(more)).into(),
        },
    })
}

fn others(dump: &Dump, findings: &[Finding]) -> Option<Remedy> {
    let finding = findings.iter().find(|finding| finding.reason == Reason::Others)?;
    let text =
        format!("end the others, or share the device by limits: {} would come free", print(finding.bytes));
    let title = "the memory that others hold".to_string();
    let code = code::others(dump.source).into();
    Some(Remedy { key: "others", title, enough: Some(finding.decisive), largest_block: None, text, code })
}

fn leak(dump: &Dump, reason: Reason) -> Option<Remedy> {
    if reason != Reason::Leak {
        return None;
    }
    let text = "find what keeps tensors from step to step: losses added up as tensors, lists of outputs, functions traced again for every shape".to_string();
    let title = "stop the leak".to_string();
    Some(Remedy {
        key: "leak",
        title,
        enough: None,
        largest_block: None,
        text,
        code: code::leak(dump.source).into(),
    })
}
