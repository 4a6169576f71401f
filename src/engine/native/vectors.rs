//! Published vectors, through the code that is measured.

use super::*;
use crate::setting::{Argon2id, Digest, Pbkdf2, Scrypt};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

type ScryptVector = (&'static [u8], &'static [u8], u64, u32, u32, &'static str);
type Pbkdf2Vector = (Digest, &'static [u8], &'static [u8], u32, &'static str);

const FRESH: Behaviour = Behaviour {
    kept: false,
    huge: false,
};

/// The RFC's vector has a secret and associated data, which no login service uses: this checks the crate.
#[test]
fn argon2id_rfc_9106_section_5_3() {
    let params = argon2::ParamsBuilder::new()
        .m_cost(32)
        .t_cost(3)
        .p_cost(4)
        .data(argon2::AssociatedData::new(&[4; 12]).unwrap())
        .build()
        .unwrap();
    let argon =
        argon2::Argon2::new_with_secret(&[3; 8], argon2::Algorithm::Argon2id, argon2::Version::V0x13, params).unwrap();
    let mut out = [0; 32];
    let mut memory = crate::engine::memory::Mapping::new(32, false).unwrap();
    lanes::Lanes::new(4)
        .unwrap()
        .run(|| argon.hash_password_into_with_memory(&[1; 32], &[2; 16], &mut out, memory.blocks()))
        .unwrap();
    assert_eq!(
        hex(&out),
        "0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659"
    );
}

/// The reference implementation's `src/test.c`, version 0x13, Argon2id. With every page behaviour, twice each: kept
/// memory must not carry over.
#[test]
fn argon2id_reference_vectors() {
    let vectors = [
        (
            65536,
            2,
            1,
            "09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7",
        ),
        (
            256,
            2,
            1,
            "9dfeb910e80bad0311fee20f9c0e2b12c17987b4cac90c2ef54d5b3021c68bfe",
        ),
        (
            256,
            2,
            2,
            "6d093c501fd5999645e0ea3bf620d7b8be7fd2db59c20d9fff9539da2bf57037",
        ),
        (
            65536,
            1,
            1,
            "f6a5adc1ba723dddef9b5ac1d464e180fcd9dffc9d1cbf76cca2fed795d9ca98",
        ),
    ];
    for (m, t, p, want) in vectors {
        let setting = Argon2id::new(m, t, p).unwrap();
        for pages in Pages::ALL {
            let behaviour = Native::new(pages).behaviour(Bytes::from_kib(m.into()));
            let mut kernel = match ArgonKernel::new(setting, behaviour) {
                Err(EngineError::Pages { .. }) => continue, // a kernel without huge pages
                other => other.unwrap(),
            };
            for _ in 0..2 {
                let mut out = [0; 32];
                kernel.derive(b"password", b"somesalt", &mut out).unwrap();
                assert_eq!(hex(&out), want, "{m} {t} {p} {pages}");
            }
        }
    }
}

#[test]
fn argon2id_other_inputs_of_the_reference() {
    let setting = Argon2id::new(65536, 2, 1).unwrap();
    let mut kernel = ArgonKernel::new(setting, FRESH).unwrap();
    let vectors: [(&[u8], &[u8], &str); 2] = [
        (
            b"differentpassword",
            b"somesalt",
            "0b84d652cf6b0c4beaef0dfe278ba6a80df6696281d7e0d2891b817d8c458fde",
        ),
        (
            b"password",
            b"diffsalt",
            "bdf32b05ccc42eb15d58fd19b1f856b113da1e9a5874fdcc544308565aa8141c",
        ),
    ];
    for (password, salt, want) in vectors {
        let mut out = [0; 32];
        kernel.derive(password, salt, &mut out).unwrap();
        assert_eq!(hex(&out), want);
    }
}

/// OpenBSD's base64: the same digits in another order, without padding.
fn bcrypt_base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let (mut bits, mut count, mut out) = (0_u32, 0, Vec::new());
    for c in text.bytes() {
        let digit = DIGITS.iter().position(|d| *d == c).unwrap();
        bits = bits << 6 | u32::try_from(digit).unwrap();
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xff).unwrap());
        }
    }
    out
}

/// From OpenBSD's and jBCrypt's test vectors.
#[test]
fn bcrypt_published_vectors() {
    let vectors = [
        ("", "$2a$06$DCq7YPn5Rq63x1Lad4cll.TV4S6ytwfsfvkgY8jIucDrjc8deX1s."),
        ("a", "$2a$08$cfcvVd2aQ8CMvoMpP2EBfeodLEkkFJ9umNEfPD18.hUF62qqlC/V."),
        ("abc", "$2a$06$If6bvum7DFjUnE9p2uDeDu0YHzrHM6tf.iqN8.yx.jNN1ILEf7h0i"),
        (
            "abcdefghijklmnopqrstuvwxyz",
            "$2a$10$fVH8e28OQRj9tqiDXs1e1uxpsjN0c7II7YPKXua2NAKYvM6iQk7dq",
        ),
    ];
    for (password, stored) in vectors {
        let (salt, hash) = stored[7..].split_at(22);
        let salt = bcrypt_base64(salt);
        let want = bcrypt_base64(hash);
        let mut kernel = BcryptKernel(Bcrypt::new(stored[4..6].parse().unwrap()).unwrap());
        let mut out = [0; 24];
        kernel.derive(password.as_bytes(), &salt[..16], &mut out).unwrap();
        assert_eq!(hex(&out[..23]), hex(&want[..23]), "{password}");
    }
}

#[test]
fn bcrypt_refuses_what_it_would_cut_off() {
    let mut kernel = BcryptKernel(Bcrypt::new(4).unwrap());
    assert!(kernel.derive(&[b'x'; 71], &[0; 16], &mut [0; 24]).is_ok());
    assert!(kernel.derive(&[b'x'; 72], &[0; 16], &mut [0; 24]).is_err());
    assert!(kernel.derive(b"x", &[0; 8], &mut [0; 24]).is_err());
}

#[test]
fn scrypt_rfc_7914_section_12() {
    let vectors: [ScryptVector; 3] = [
        (
            b"",
            b"",
            16,
            1,
            1,
            "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442\
             fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906",
        ),
        (
            b"password",
            b"NaCl",
            1024,
            8,
            16,
            "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162\
             2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640",
        ),
        (
            b"pleaseletmein",
            b"SodiumChloride",
            16384,
            8,
            1,
            "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2\
             d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887",
        ),
    ];
    for (password, salt, n, r, p, want) in vectors {
        let mut kernel = ScryptKernel::new(Scrypt::new(n, r, p).unwrap(), false).unwrap();
        let mut out = [0; 64];
        kernel.derive(password, salt, &mut out).unwrap();
        assert_eq!(hex(&out), want);
    }
}

/// The RFC's largest vector: 1 GiB and some seconds.
#[test]
fn scrypt_rfc_7914_section_12_with_a_gibibyte() {
    let mut kernel = match ScryptKernel::new(Scrypt::new(1 << 20, 8, 1).unwrap(), false) {
        Err(EngineError::Memory { .. }) => return, // a machine too small for it
        other => other.unwrap(),
    };
    let mut out = [0; 64];
    kernel.derive(b"pleaseletmein", b"SodiumChloride", &mut out).unwrap();
    assert_eq!(
        hex(&out),
        "2101cb9b6a511aaeaddbbe09cf70f881ec568d574a2ffd4dabe5ee9820adaa47\
         8e56fd8f4ba5d09ffa1c6d927c40f4c337304049e8a952fbcbf45c6fa77a41a4"
    );
}

/// SHA-256: RFC 7914, section 11. Both: the widely published counterparts of RFC 6070's vectors, but for the one with 16,777,216 iterations.
#[test]
fn pbkdf2_vectors() {
    const LONG: (&[u8], &[u8]) = (b"passwordPASSWORDpassword", b"saltSALTsaltSALTsaltSALTsaltSALTsalt");
    let vectors: [Pbkdf2Vector; 11] = [
        (
            Digest::Sha256,
            b"password",
            b"salt",
            1,
            "120fb6cffcf8b32c43e7225256c4f837a86548c92ccc35480805987cb70be17b",
        ),
        (
            Digest::Sha256,
            b"password",
            b"salt",
            2,
            "ae4d0c95af6b46d32d0adff928f06dd02a303f8ef3c251dfd6e2d85a95474c43",
        ),
        (
            Digest::Sha256,
            b"password",
            b"salt",
            4096,
            "c5e478d59288c841aa530db6845c4c8d962893a001ce4e11a4963873aa98134a",
        ),
        (
            Digest::Sha256,
            LONG.0,
            LONG.1,
            4096,
            "348c89dbcbd32b2f32d814b8116e84cf2b17347ebc1800181c4e2a1fb8dd53e1c635518c7dac47e9",
        ),
        (
            Digest::Sha256,
            b"pass\0word",
            b"sa\0lt",
            4096,
            "89b69d0516f829893c696226650a8687",
        ),
        (
            Digest::Sha512,
            LONG.0,
            LONG.1,
            4096,
            "8c0511f4c6e597c6ac6315d8f0362e225f3c501495ba23b868c005174dc4ee71\
             115b59f9e60cd9532fa33e0f75aefe30225c583a186cd82bd4daea9724a3d3b8",
        ),
        (
            Digest::Sha256,
            b"passwd",
            b"salt",
            1,
            "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc\
             49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783",
        ),
        (
            Digest::Sha256,
            b"Password",
            b"NaCl",
            80000,
            "4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56\
             a1d425a1225833549adb841b51c9b3176a272bdebba1d078478f62b397f33c8d",
        ),
        (
            Digest::Sha512,
            b"password",
            b"salt",
            1,
            "867f70cf1ade02cff3752599a3a53dc4af34c7a669815ae5d513554e1c8cf252\
             c02d470a285a0501bad999bfe943c08f050235d7d68b1da55e63f73b60a57fce",
        ),
        (
            Digest::Sha512,
            b"password",
            b"salt",
            2,
            "e1d9c16aa681708a45f5c7c4e215ceb66e011a2e9f0040713f18aefdb866d53c\
             f76cab2868a39b9f7840edce4fef5a82be67335c77a6068e04112754f27ccf4e",
        ),
        (
            Digest::Sha512,
            b"password",
            b"salt",
            4096,
            "d197b1b33db0143e018b12f3d1d1479e6cdebdcc97c5c0f87f6902e072f457b5\
             143f30602641b3d55cd335988cb36b84376060ecd532e039b742a239434af2d5",
        ),
    ];
    for (digest, password, salt, iterations, want) in vectors {
        let mut out = vec![0; want.len() / 2];
        Pbkdf2Kernel(Pbkdf2::new(digest, iterations).unwrap())
            .derive(password, salt, &mut out)
            .unwrap();
        assert_eq!(hex(&out), want);
    }
}

#[test]
fn every_family_hashes_what_it_makes_up() {
    let engine = Native::new(Pages::Reused);
    for text in [
        "argon2id:m=64,t=1,p=1",
        "argon2id:m=64,t=1,p=2",
        "scrypt:n=16,r=8,p=1",
        "bcrypt:4",
        "pbkdf2-sha256:10",
        "pbkdf2-sha512:10",
    ] {
        let setting: Setting = text.parse().unwrap();
        let mut slot = engine.slot(&setting).unwrap();
        slot.hash().unwrap();
        slot.hash().unwrap();
        assert_eq!(slot.lanes_cpu_s() > 0.0, setting.lanes() > 1, "{text}");
    }
}

#[test]
fn too_much_memory_is_an_error_for_every_family_that_uses_any() {
    // 64 GiB and 32 GiB x 32: beyond what an overcommitting kernel grants on a small machine, so this may succeed on a
    // large one; it must never abort.
    for text in ["argon2id:m=67108864,t=1,p=1", "scrypt:n=33554432,r=1024,p=1"] {
        let setting: Setting = text.parse().unwrap();
        match Native::new(Pages::Fresh).slot(&setting) {
            Ok(_) => {} // fresh pages are only asked for by the hash
            Err(error) => assert!(matches!(error, EngineError::Memory { .. }), "{error}"),
        }
    }
}
