"""Makes diagnostics.json: chains with what ArviZ 0.23 says of them. Run: pip install "arviz<1"; python3 diagnostics.py"""

import json
import warnings

import numpy as np

warnings.filterwarnings("ignore")
import arviz  # noqa: E402

rng = np.random.default_rng(7)
n = 101  # odd, so that splitting drops a draw


def autoregressive(rho, shift=0.0):
    chains = []
    for c in range(4):
        x = [rng.normal()]
        for _ in range(n - 1):
            x.append(rho * x[-1] + np.sqrt(1 - rho**2) * rng.normal())
        chains.append(np.array(x) + shift * c)
    return np.array(chains)


cases = {
    "independent": rng.normal(size=(4, n)),
    "slow": autoregressive(0.9),
    "alternating": autoregressive(-0.6),
    "apart": autoregressive(0.5, shift=1.0),
    "heavy tails": rng.standard_cauchy(size=(4, n)),
    "different spreads": rng.normal(size=(4, n)) * np.array([[1.0], [1.0], [3.0], [1.0]]),
    "ties": rng.integers(0, 4, size=(4, n)).astype(float),
    "one chain": autoregressive(0.7)[:1],
}
out = []
for name, chains in cases.items():
    chains = np.round(chains, 4)
    out.append(
        {
            "name": name,
            "chains": chains.tolist(),
            # ArviZ has none for a single chain; ours compares its halves.
            "r_hat": float(arviz.rhat(chains, method="rank")) if len(chains) > 1 else None,
            "bulk_ess": float(arviz.ess(chains, method="bulk")),
            "tail_ess": float(arviz.ess(chains, method="tail")),
            "mcse": float(arviz.mcse(chains, method="mean")),
        }
    )
with open("diagnostics.json", "w") as file:
    json.dump(out, file)
