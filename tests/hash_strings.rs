//! Stored hashes of many frameworks against what is known about them (tests/hashes/hashes.jsonl).

use hashtune::hash_string::{Cost, HashError, Note, Stored, parse};
use hashtune::setting::Setting;
use proptest::prelude::*;
use serde_json::Value;

fn lines() -> Vec<Value> {
    include_str!("hashes/hashes.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The keys of the truth, as the parsed hash tells them.
fn told(stored: &Stored) -> Value {
    let mut told = serde_json::json!({
        "algorithm": stored.kdf.name(), "variant": stored.variant, "memory_kib": null, "time_cost": null, "lanes": null,
        "cost": null, "n": null, "r": null, "p": null, "iterations": null, "salt_len": stored.salt_len,
        "output_len": stored.output_len, "prehash": stored.prehash.map(|p| p.name()),
    });
    match stored.cost {
        Cost::Argon2 {
            memory_kib,
            time_cost,
            lanes,
        } => {
            told["memory_kib"] = memory_kib.into();
            told["time_cost"] = time_cost.into();
            told["lanes"] = lanes.into();
        }
        Cost::Scrypt { n, r, p } => {
            told["n"] = n.into();
            told["r"] = r.into();
            told["p"] = p.into();
        }
        Cost::Bcrypt(cost) => told["cost"] = cost.into(),
        Cost::Iterations(iterations) => told["iterations"] = iterations.into(),
        Cost::Phpass(cost) => {
            told["cost"] = cost.into();
            told["iterations"] = (1u32 << cost).into();
        }
        Cost::None => {}
    }
    told
}

#[test]
fn every_stored_hash_is_told_right() {
    let lines = lines();
    assert_eq!(lines.len(), 120);
    let mut faults = Vec::new();
    for truth in &lines {
        let id = truth["id"].as_str().unwrap();
        let result = parse(truth["hash"].as_str().unwrap());
        if truth["algorithm"] == "malformed" {
            if let Ok(stored) = result {
                faults.push(format!("{id}: accepted as {stored:?}"));
            }
            continue;
        }
        let told = match result {
            Ok(stored) => told(&stored),
            Err(error) => {
                faults.push(format!("{id}: {error}"));
                continue;
            }
        };
        for (key, value) in told.as_object().unwrap() {
            // A pepper leaves no trace in the text: such a hash looks like plain bcrypt.
            if id == "devise-pepper" && key == "prehash" {
                continue;
            }
            if truth[key] != *value {
                faults.push(format!("{id}: {key} is {value}, should be {}", truth[key]));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn malformed_hashes_are_refused_by_their_family_without_repeating_them() {
    for truth in lines().iter().filter(|l| l["algorithm"] == "malformed") {
        let hash = truth["hash"].as_str().unwrap();
        let variant = truth["variant"].as_str().unwrap();
        match parse(hash).unwrap_err() {
            HashError::Malformed { family, reason } => {
                let expected = variant.starts_with(family) || family == "keycloak";
                assert!(expected, "{}: {family} {reason}", truth["id"]);
                let fields = hash
                    .split(['$', ':', '"', '\\'])
                    .filter(|f| f.len() >= 12 && family != "keycloak");
                for field in fields.filter(|f| !f.contains('=') && f.chars().any(|c| c.is_ascii_uppercase())) {
                    assert!(!reason.contains(&field[..12]), "{}: {reason}", truth["id"]);
                }
            }
            HashError::Unknown { reason } => panic!("{}: {reason}", truth["id"]),
        }
    }
}

/// The reason named for a few damaged hashes.
#[test]
fn refusals_name_the_fault() {
    let lines = lines();
    for (id, words) in [
        ("bad-argon2-padded", "padding"),
        ("bad-argon2-mem7", "m is 7, below the minimum 8 p = 8"),
        ("bad-argon2-t0", "t is 0"),
        ("bad-argon2-huge-m", "does not fit 32 bits"),
        ("bad-argon2-leading-zero", "leading zero"),
        ("bad-argon2-missing-p", "p is missing"),
        ("bad-argon2-unknown-v", "unknown version 20"),
        ("bad-argon2-shortsalt", "4 bytes where 8"),
        ("bad-argon2-nohash", "hash is missing"),
        ("bad-argon2-varchar64", "cut off"),
        ("bad-bcrypt-short", "52 characters instead of 53"),
        ("bad-bcrypt-cost3", "below the minimum 4"),
        ("bad-bcrypt-2z", "unknown version"),
        ("bad-bcrypt-shell", "shell"),
        ("bad-aspnet-trunc", "promises 16 bytes of salt, 7"),
        ("bad-aspnet-prf9", "digest number 9"),
        ("bad-aspnet-marker2", "marker"),
        ("bad-pg-scram-noiter", "iterations is 0"),
        ("bad-keycloak-nomemory", "additionalParameters.memory"),
    ] {
        let line = lines.iter().find(|l| l["id"] == id).unwrap();
        let error = parse(line["hash"].as_str().unwrap()).unwrap_err().to_string();
        assert!(error.contains(words), "{id}: {error}");
    }
}

fn by_id(id: &str) -> Stored {
    let lines = lines();
    let line = lines.iter().find(|l| l["id"] == id).unwrap();
    parse(line["hash"].as_str().unwrap()).unwrap()
}

#[test]
fn traps_are_noted() {
    let noted = |id: &str, note: Note| assert!(by_id(id).notes.contains(&note), "{id}: {:?}", by_id(id).notes);
    noted(
        "node-argon2-045-default",
        Note::NonPortableOrder { order: "m,p,t".into() },
    );
    noted("adonis-old-order", Note::NonPortableOrder { order: "t,m,p".into() });
    noted("node-argon2-045-data", Note::AssociatedData);
    noted("argon2-v10-implicit", Note::ImplicitVersion);
    noted("argon2-cli-v10", Note::OldVersion);
    noted("argon2-cli-odd", Note::UnfilledMemory { effective_kib: 65_532 });
    noted("bcrypt-2x", Note::SignExtensionBug);
    noted("kratos-scrypt", Note::LiteralN);
    noted("openldap-ssha", Note::FastDigest);
    noted("django-unusable", Note::Unusable);
    noted("laravel-argon", Note::Argon2i);
    let implied = by_id("spring-pbkdf2-58").notes;
    assert!(implied.iter().any(|n| matches!(n, Note::Implied { .. })), "{implied:?}");
    assert!(by_id("argon2cffi-default").notes.is_empty());
}

#[test]
fn a_setting_stands_only_for_what_can_be_measured() {
    for (id, setting) in [
        ("django-argon2-default", Some("argon2id:m=102400,t=2,p=8")),
        ("django-bcrypt-sha256", Some("bcrypt:12")),
        ("django-scrypt-default", Some("scrypt:n=16384,r=8,p=5")),
        ("postgres-scram-default", Some("pbkdf2-sha256:4096")),
        ("keycloak-pbkdf2-sha512", Some("pbkdf2-sha512:210000")),
        ("laravel-argon", None),
        ("argon2-cli-v10", None),
        ("django-pbkdf2-sha1", None),
        ("crypt-yescrypt-11", None),
        ("django-md5", None),
    ] {
        assert_eq!(by_id(id).setting.map(|s| s.to_string()).as_deref(), setting, "{id}");
    }
    let huge = "$argon2id$v=19$m=4294967295,t=2,p=1$AfcmhE6wqs4wQbQ44kC3cg$67E8dvJHkuslWuyDJUm+T7YHQMYf9IN/hSA9wISG5XE";
    let stored = parse(huge).unwrap();
    assert_eq!((stored.setting, stored.notes), (None, vec![Note::OutOfBounds]));
}

#[test]
fn a_users_name_may_come_first() {
    for (text, kdf) in [
        ("alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=", "sha1"),
        ("alice:$apr1$ZKObnR1.$qagmS9KLF6.HPQrQYM7rJ/", "apr1-md5"),
        (
            "root:$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/:19000:0:99999:7:::",
            "md5-crypt",
        ),
        ("daemon:*:19000:0:99999:7:::", ""),
    ] {
        assert_eq!(parse(text).map_or("", |s| s.kdf.name()), kdf, "{text}");
    }
}

#[test]
fn texts_that_are_no_hashes_are_unknown() {
    for text in [
        "",
        "password",
        "correct horse battery staple",
        "5f4dcc3b5aa765d61d8327deb882cf99",
        "{noop}secret",
        "$",
        "$$",
        "$unknown$x$y",
        "{",
        "{}",
        "::",
        "a:b",
        "3|x",
        "AAAA",
    ] {
        assert!(
            matches!(parse(text), Err(HashError::Unknown { .. })),
            "{text}: {:?}",
            parse(text)
        );
    }
}

/// A text that starts like a hash.
fn damaged() -> impl Strategy<Value = String> {
    (0..120usize, any::<prop::sample::Index>(), "\\PC{0,6}", any::<bool>()).prop_map(|(line, at, insert, cut)| {
        let hash = lines()[line]["hash"].as_str().unwrap().to_owned();
        let places: Vec<usize> = hash.char_indices().map(|(i, _)| i).collect();
        let at = places[at.index(places.len())];
        let tail = if cut { "" } else { &hash[at..] };
        format!("{}{insert}{tail}", &hash[..at])
    })
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn text_of_hash_characters_never_panics(text in "[$:|{}!.,=/+0-9a-zA-Z]{0,120}") {
        let _ = parse(&text);
    }

    #[test]
    fn damaged_hashes_never_panic(text in damaged()) {
        let _ = parse(&text);
    }

    #[test]
    fn encoded_settings_read_back(m in 1024u32..4_000_000, t in 1u32..100, p in 1u32..64, log_n in 6u32..25, r in 1u32..32, cost in 4u32..32, n in 1u32..2_000_000) {
        let tail = "$c2FsdHNhbHRzYWx0c2FsdA$QKHrg5tayLGcN+Y0HVPNaBqykOVLUxlMkZycXE1uWRM";
        let bcrypt = "ffEENR8BUIVmQ1KOv1ykpez9Gb6aC14vQvNzuJ3lyLxDPXcCw3hY2";
        let settings = [
            (format!("argon2id:m={m},t={t},p={p}"), tail),
            (format!("scrypt:n={},r={r},p={p}", 1u64 << log_n), tail),
            (format!("bcrypt:{cost}"), bcrypt),
            (format!("pbkdf2-sha256:{n}"), tail),
            (format!("pbkdf2-sha512:{n}"), tail),
        ];
        for (text, tail) in settings {
            let setting: Setting = text.parse().unwrap();
            let stored = parse(&format!("{}{tail}", setting.encoded())).unwrap();
            prop_assert_eq!(stored.setting, Some(setting));
        }
    }
}
