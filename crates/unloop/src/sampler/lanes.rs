//! Arithmetic on several chains side by side.
//!
//! Arrays over options hold one value for each chain, next to each other, and inner loops run over the chains: the compiler turns
//! them into vector instructions. The standard library's exp and ln are calls that it cannot; these are polynomials without branches,
//! right to a few units in the last place on the ranges that log preferences and sums of them have. [`dispatch`] compiles a loop
//! for the widest vectors that the machine has.

/// Chains or particles side by side: one 256-bit vector.
pub const LANES: usize = 4;

/// One value for each chain.
pub(crate) type Lanes = [f64; LANES];

/// A loop to be compiled for the machine's widest vectors. `run` must be marked `#[inline(always)]`: what is compiled apart, as a
/// closure's body may be, gets the narrow vectors that every machine has.
pub(crate) trait Kernel {
    type Output;
    fn run(self) -> Self::Output;
}

/// Runs a loop with the machine's widest vectors.
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    struct Dispatched<K>(K);
    impl<K: Kernel> pulp::WithSimd for Dispatched<K> {
        type Output = K::Output;
        #[inline(always)]
        fn with_simd<S: pulp::Simd>(self, _: S) -> K::Output {
            self.0.run()
        }
    }
    pulp::Arch::new().dispatch(Dispatched(kernel))
}

/// eˣ for each lane, for |x| < 700; beyond, the value at 700 or −700.
#[inline(always)]
pub(crate) fn exp(x: Lanes) -> Lanes {
    // Adding 1.5·2⁵² leaves the nearest integer in the low bits.
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    // 1/13!, 1/12!, …, 1/2!.
    const TERMS: [f64; 12] = [
        1.605_904_383_682_161_3e-10,
        2.087_675_698_786_81e-9,
        2.505_210_838_544_172e-8,
        2.755_731_922_398_589e-7,
        2.755_731_922_398_589_3e-6,
        2.480_158_730_158_73e-5,
        1.984_126_984_126_984e-4,
        1.388_888_888_888_889e-3,
        8.333_333_333_333_333e-3,
        4.166_666_666_666_666_4e-2,
        0.166_666_666_666_666_66,
        0.5,
    ];
    let mut out = [0.0; LANES];
    for lane in 0..LANES {
        let x = x[lane].clamp(-700.0, 700.0);
        let shifted = x * std::f64::consts::LOG2_E + MAGIC;
        let k = shifted - MAGIC;
        let r = x - k * LN_2_HIGH - k * LN_2_LOW;
        let mut sum = TERMS[0];
        for term in &TERMS[1..] {
            sum = sum * r + term;
        }
        let value = sum * r * r + r + 1.0;
        let scale = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1_023 << 52));
        out[lane] = value * scale;
    }
    out
}

/// ln x for each lane, for positive normal x.
#[inline(always)]
pub(crate) fn ln(x: Lanes) -> Lanes {
    const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    // √½ as bits: x = m·2ᵏ with m in [√½, √2).
    const HALF_ROOT: u64 = 0x3FE6_A09E_667F_3BCD;
    const TWO_52: u64 = 0x4330_0000_0000_0000;
    let mut out = [0.0; LANES];
    for lane in 0..LANES {
        let offset = x[lane].to_bits().wrapping_sub(HALF_ROOT).wrapping_add(1_023 << 52);
        let exponent = offset >> 52;
        let m = f64::from_bits((offset & 0x000F_FFFF_FFFF_FFFF).wrapping_add(HALF_ROOT));
        let k = f64::from_bits(exponent | TWO_52) - (4_503_599_627_370_496.0 + 1_023.0);
        let s = (m - 1.0) / (m + 1.0);
        let square = s * s;
        // atanh(s)/s − 1 = s²/3 + s⁴/5 + …
        let mut sum = 1.0 / 21.0;
        for odd in [19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0] {
            sum = sum * square + 1.0 / odd;
        }
        out[lane] = k * LN_2_HIGH + (2.0 * s + (2.0 * s * square * sum + k * LN_2_LOW));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_and_logarithms_are_right_to_rounding() {
        // Units in the last place, relative.
        const TOLERANCE: f64 = 1e-15;
        for i in -6_999..7_000 {
            let x = f64::from(i) * 0.1 + 0.012_34;
            let value = exp([x; LANES])[1];
            assert!((value / x.exp() - 1.0).abs() < TOLERANCE, "exp {x}");
            let y = (f64::from(i) * 0.0713).exp() * 1.000_7;
            let value = ln([y; LANES])[2];
            assert!((value - y.ln()).abs() <= TOLERANCE * y.ln().abs().max(1.0), "ln {y}: {value} {}", y.ln());
        }
        assert_eq!(ln([1.0; LANES]), [0.0; LANES]);
        assert_eq!(exp([0.0; LANES]), [1.0; LANES]);
    }
}
