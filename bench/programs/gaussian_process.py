#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Gaussian process in f64, in PyTorch: the posterior of 2000 points from 6000 observations in 37 dimensions, with a Cholesky factor."""
import torch

import harness

chosen = harness.options(__doc__)
device = "cpu" if chosen.tiny else "cuda"
OBSERVED, ASKED, DIMENSIONS = (40, 9, 5) if chosen.tiny else (6000, 2000, 37)


class Posterior:
    def __init__(self):
        self.x, self.at = (torch.rand(rows, DIMENSIONS, device=device) for rows in (OBSERVED, ASKED))
        self.y = torch.sin(self.x.sum(1, keepdim=True))

    def covariance(self, a, b):
        squares = a.square().sum(1, keepdim=True) + b.square().sum(1) - 2 * a @ b.T
        return torch.exp(squares.clamp_min(0) * (-2.0 / DIMENSIONS))

    def step(self):
        own = self.covariance(self.x, self.x)
        own.diagonal().add_(1e-2)
        factor = torch.linalg.cholesky_ex(own).L
        half = torch.linalg.solve_triangular(factor, self.covariance(self.x, self.at), upper=False)
        self.mean = half.T @ torch.linalg.solve_triangular(factor, self.y, upper=False)
        self.spread = self.covariance(self.at, self.at) - half.T @ half

    def look(self):
        return {"means": self.mean, "covariances": self.spread}


def main():
    torch.manual_seed(0)
    with harness.made_on(device, torch.float64):
        posterior = Posterior()
    harness.run(harness.torch_clock(chosen.tiny), [
        harness.Case("Gaussian process, f64", f"posterior of {ASKED} points", posterior.step, posterior.look,
                     {"means": 1e-9, "covariances": 1e-9}, graph=False)], chosen.tiny)


if __name__ == "__main__":
    main()
