//! What control groups allow, in both versions. A group's limit holds for all groups inside it, so the tightest one
//! between the process's own group and the root of the hierarchy counts.
//!
//! In: `/proc/self/cgroup` (which group), `/proc/self/mountinfo` (where hierarchies are mounted), and the groups' own
//! files.

use plimsoll_trace::Bytes;

/// The memory of a group that limits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cgroup {
    /// What the group may have.
    pub limit: Bytes,
    /// What it may still take; file caches that the system would drop count as free.
    pub left: Bytes,
}

/// The file names of a version.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Version {
    limit: &'static str,
    used: &'static str,
    /// The field of `memory.stat` with file caches that nobody looked at lately.
    cache: &'static str,
}

const V1: Version =
    Version { limit: "memory.limit_in_bytes", used: "memory.usage_in_bytes", cache: "total_inactive_file" };
const V2: Version = Version { limit: "memory.max", used: "memory.current", cache: "inactive_file" };

/// Version 1 writes "no limit" as the largest number of pages; no machine has an exbibyte.
const NO_LIMIT: u64 = 1 << 60;

/// The group with the least left of all that this process is in; `read` gives the text of a file.
pub(crate) fn tightest(read: &dyn Fn(&str) -> Option<String>) -> Option<Cgroup> {
    let (groups, mounts) = (read("/proc/self/cgroup")?, read("/proc/self/mountinfo")?);
    let folders = [V1, V2].into_iter().flat_map(|version| {
        let folders = folders(version, &groups, &mounts);
        folders.into_iter().map(move |folder| (version, folder))
    });
    let limited: Vec<Cgroup> = folders
        .filter_map(|(version, folder)| group(version, &|name| read(&format!("{folder}/{name}"))))
        .collect();
    let limit = limited.iter().map(|group| group.limit).min()?;
    let left = limited.iter().map(|group| group.left).min()?;
    Some(Cgroup { limit, left })
}

/// The folders of the process's group and of all groups around it, the innermost first.
fn folders(version: Version, groups: &str, mounts: &str) -> Vec<String> {
    let (Some(path), Some((root, point))) = (own_path(version, groups), mount(version, mounts)) else {
        return Vec::new();
    };
    // A container may see a part of the hierarchy only: what lies above its root cannot be read.
    let inside =
        path.strip_prefix(root.trim_end_matches('/')).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let inside = inside.filter(|rest| !rest.contains("/..")).unwrap_or("").trim_end_matches('/');
    let cuts = inside.match_indices('/').map(|(at, _)| at).chain([inside.len()]);
    let mut folders: Vec<String> = cuts.map(|end| format!("{point}{}", &inside[..end])).collect();
    folders.reverse();
    folders
}

/// The path of the process's own group: the line without controllers in version 2, the line of the memory controller in
/// version 1.
fn own_path(version: Version, groups: &str) -> Option<&str> {
    groups.lines().find_map(|line| {
        let (number, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let found = match version == V2 {
            true => number == "0" && controllers.is_empty(),
            false => controllers.split(',').any(|controller| controller == "memory"),
        };
        found.then_some(path)
    })
}

/// The root of the hierarchy as it is mounted, and where.
fn mount(version: Version, mounts: &str) -> Option<(&str, &str)> {
    mounts.lines().find_map(|line| {
        let (place, system) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, point) = (place.next()?, place.next()?);
        let mut system = system.split(' ');
        let (kind, options) = (system.next()?, system.nth(1)?);
        let found = match version == V2 {
            true => kind == "cgroup2",
            false => kind == "cgroup" && options.split(',').any(|option| option == "memory"),
        };
        found.then_some((root, point))
    })
}

/// The limit of one group, if it has one; `read` gives the text of one of its files.
fn group(version: Version, read: &dyn Fn(&str) -> Option<String>) -> Option<Cgroup> {
    // "max" is no number, and so no limit.
    let limit = read(version.limit)?.trim().parse().ok().filter(|limit| *limit < NO_LIMIT)?;
    let used: u64 = read(version.used).and_then(|text| text.trim().parse().ok()).unwrap_or(0);
    let statistics = read("memory.stat").unwrap_or_default();
    let cache = statistics.lines().find_map(|line| line.strip_prefix(version.cache)?.strip_prefix(' '));
    let cache: u64 = cache.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
    Some(Cgroup { limit: Bytes(limit), left: Bytes(limit.saturating_sub(used.saturating_sub(cache))) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2_MOUNT: &str =
        "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot";
    const V1_MOUNTS: &str = "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
        35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw";
    const DOCKER_V1: &str =
        "35 31 0:32 /docker/ab12 /sys/fs/cgroup/memory ro master:9 - cgroup cgroup rw,memory";

    fn tightest_of(files: &[(&str, &str)]) -> Option<(u64, u64)> {
        let read =
            |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| text.to_string());
        tightest(&read).map(|group| (group.limit.0, group.left.0))
    }

    #[test]
    fn the_tightest_of_nested_groups_counts() {
        let files = [
            ("/proc/self/cgroup", "0::/user.slice/user-1000.slice/job.scope\n"),
            ("/proc/self/mountinfo", V2_MOUNT),
            ("/sys/fs/cgroup/user.slice/user-1000.slice/job.scope/memory.max", "max\n"),
            ("/sys/fs/cgroup/user.slice/user-1000.slice/memory.max", "1000000\n"),
            ("/sys/fs/cgroup/user.slice/user-1000.slice/memory.current", "700000\n"),
            (
                "/sys/fs/cgroup/user.slice/user-1000.slice/memory.stat",
                "anon 5\ninactive_file 100000\nactive_file 7\n",
            ),
            ("/sys/fs/cgroup/user.slice/memory.max", "5000000\n"),
            ("/sys/fs/cgroup/user.slice/memory.current", "4900000\n"),
        ];
        assert_eq!(tightest_of(&files), Some((1_000_000, 100_000)));
        assert_eq!(tightest_of(&files[..3]), None, "`max` is no limit");
        assert_eq!(tightest_of(&files[..6]), Some((1_000_000, 400_000)), "caches can be dropped");
    }

    #[test]
    fn version_1_in_a_container_and_on_a_hybrid_system() {
        let container = [
            ("/proc/self/cgroup", "9:cpu,cpuacct:/docker/ab12\n4:hugetlb,memory:/docker/ab12\n0::/\n"),
            ("/proc/self/mountinfo", DOCKER_V1),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n"),
            ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "36870912\n"),
        ];
        assert_eq!(tightest_of(&container), Some((536_870_912, 500_000_000)));
        let unlimited = [
            ("/proc/self/cgroup", "4:memory:/a/b\n0::/\n"),
            ("/proc/self/mountinfo", V1_MOUNTS),
            ("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ];
        assert_eq!(tightest_of(&unlimited), None);
    }

    #[test]
    fn folders_go_from_the_own_group_to_the_root() {
        let cases = [
            ("0::/", vec!["/sys/fs/cgroup"]),
            ("0::/a/b", vec!["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"]),
            ("0::/../outside", vec!["/sys/fs/cgroup"]),
            ("4:memory:/a", vec![]),
            ("nonsense", vec![]),
        ];
        for (groups, expected) in cases {
            assert_eq!(folders(V2, groups, V2_MOUNT), expected, "{groups}");
        }
        let elsewhere = folders(V1, "4:memory:/docker/ab12345", DOCKER_V1);
        assert_eq!(elsewhere, ["/sys/fs/cgroup/memory"], "`ab12345` is not inside `ab12`");
        assert_eq!(folders(V2, "0::/a", "garbage\n1 2 3 -"), [""; 0]);
    }

    #[test]
    fn a_group_that_uses_more_than_its_limit_has_nothing_left() {
        let files = [
            ("/proc/self/cgroup", "0::/\n"),
            ("/proc/self/mountinfo", V2_MOUNT),
            ("/sys/fs/cgroup/memory.max", "1000\n"),
            ("/sys/fs/cgroup/memory.current", "2000\n"),
        ];
        assert_eq!(tightest_of(&files), Some((1000, 0)));
    }
}
