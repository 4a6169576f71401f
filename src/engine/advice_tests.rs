use super::*;

const MANY: HashThreads = HashThreads::Many;
const SINGLE: HashThreads = HashThreads::Single;
const PLAIN: &str = "GLIBC_TUNABLES=glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=8589934592";
const ARENA: &str =
    "GLIBC_TUNABLES=glibc.malloc.arena_max=1:glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=8589934592";

fn facts() -> PageFacts {
    PageFacts {
        libc: Libc::Glibc(2, 36),
        thp: Some(Thp::Madvise),
        threads: SINGLE,
        memory: Bytes(46 << 20),
        fresh: true,
        tax: Share(0.3),
        huge: Some(Share(0.25)),
    }
}

fn codes(facts: &PageFacts) -> Vec<&'static str> {
    advise(facts).iter().map(|a| a.code).collect()
}

#[test]
fn which_advice_applies() {
    let rows: [(Libc, Option<Thp>, &[&str]); 10] = [
        (
            Libc::Glibc(2, 36),
            Some(Thp::Madvise),
            &["hugetlb", "hugetlb-keep", "keep"],
        ),
        (
            Libc::Glibc(2, 35),
            Some(Thp::Madvise),
            &["hugetlb", "hugetlb-keep", "keep"],
        ),
        (
            Libc::Glibc(3, 0),
            Some(Thp::Madvise),
            &["hugetlb", "hugetlb-keep", "keep"],
        ),
        (Libc::Glibc(2, 34), Some(Thp::Madvise), &["keep"]),
        (Libc::Glibc(2, 36), Some(Thp::Never), &["thp-madvise", "keep"]),
        (Libc::Glibc(2, 31), Some(Thp::Never), &["keep"]),
        (Libc::Glibc(2, 36), Some(Thp::Always), &["keep"]),
        (Libc::Glibc(2, 36), None, &["keep"]),
        (Libc::Musl, Some(Thp::Madvise), &["jemalloc", "glibc-image"]),
        (Libc::Other, Some(Thp::Madvise), &["jemalloc"]),
    ];
    for (libc, thp, want) in rows {
        assert_eq!(codes(&PageFacts { libc, thp, ..facts() }), want, "{libc:?} {thp:?}");
    }
}

#[test]
fn nothing_is_advised_for_kept_memory_or_a_small_share() {
    assert!(
        codes(&PageFacts {
            fresh: false,
            ..facts()
        })
        .is_empty()
    );
    let small = |tax, huge| PageFacts {
        tax: Share(tax),
        huge,
        ..facts()
    };
    assert!(codes(&small(0.05, None)).is_empty());
    assert!(codes(&small(0.0, Some(Share(0.05)))).is_empty());
    assert_eq!(codes(&small(0.051, None)).len(), 3);
    assert_eq!(codes(&small(0.0, Some(Share(0.06)))).len(), 3);
}

#[test]
fn the_line_that_keeps_memory_depends_on_size_and_threads() {
    let rows = [
        (SINGLE, 46, PLAIN),
        (SINGLE, 512, PLAIN),
        (MANY, 46, PLAIN),
        (MANY, 63, PLAIN),
        (MANY, 64, ARENA),
        (MANY, 100, ARENA),
        (HashThreads::Unknown, 46, ARENA),
    ];
    for (threads, mib, want) in rows {
        let memory = Bytes(mib << 20);
        let advice = advise(&PageFacts {
            threads,
            memory,
            ..facts()
        });
        assert_eq!(advice[2].set, want, "{threads:?} {mib}");
        let both = if threads == SINGLE { PLAIN } else { ARENA };
        let both = both.replacen('=', "=glibc.malloc.hugetlb=1:", 1);
        assert_eq!(advice[1].set, both, "{threads:?} {mib}");
    }
    let old = PageFacts {
        libc: Libc::Glibc(2, 24),
        ..facts()
    };
    assert_eq!(
        advise(&old)[0].set,
        "MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=8589934592"
    );
}

#[test]
fn the_price_and_the_gain_are_stated() {
    let advice = advise(&facts());
    assert!(!advice[0].price.contains("resident"), "{}", advice[0]);
    assert!(
        advice[2].price.starts_with("46 MiB stay resident in each worker"),
        "{}",
        advice[2]
    );
    assert_eq!(advice[0].saves, Some(Share(0.25)));
    assert_eq!(advice[1].saves, Some(Share(0.3)));
    assert_eq!(advice[2].saves, Some(Share(0.3)));
    let musl = advise(&PageFacts {
        libc: Libc::Musl,
        ..facts()
    });
    assert_eq!(musl[0].saves, None);
}

#[test]
fn texts_of_the_system_are_read() {
    assert_eq!("always [madvise] never\n".parse(), Ok(Thp::Madvise));
    assert_eq!("[always] madvise never".parse(), Ok(Thp::Always));
    assert_eq!("always madvise [never]".parse(), Ok(Thp::Never));
    assert!("always madvise never".parse::<Thp>().is_err());
    assert_eq!(Libc::from_glibc_version("2.36"), Libc::Glibc(2, 36));
    assert_eq!(Libc::from_glibc_version("2.36-9+deb12u14"), Libc::Glibc(2, 36));
    assert_eq!(Libc::from_glibc_version("musl"), Libc::Other);
}
