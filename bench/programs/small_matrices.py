#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Batches of small products in CuPy: 100 000 Kalman filters of 9 states and 3 measurements in f32, and the stiffness matrices of 40 000 finite
elements (hexahedra of 24 degrees of freedom, 8 points) in f64.

With --tiny NumPy takes CuPy's place.
"""
import numpy

import harness

chosen = harness.options(__doc__)
if chosen.tiny:
    xp = numpy
else:
    import cupy as xp
FILTERS, STATES, MEASURED = (7 if chosen.tiny else 100_000), 9, 3
ELEMENTS, POINTS, STRAINS, FREEDOMS = (5 if chosen.tiny else 40_000), 8, 6, 24


class Kalman:
    """A prediction and an update of each filter, from the same start each time, so that all steps compute the same."""

    def __init__(self, random):
        def draw(*shape):
            return xp.asarray(random.standard_normal(shape), "f4")

        self.motion = xp.eye(STATES, dtype="f4") + 0.05 * draw(FILTERS, STATES, STATES)
        self.sensor, self.noise = draw(FILTERS, MEASURED, STATES), 0.1 * xp.eye(MEASURED, dtype="f4")
        self.drift = 0.01 * xp.eye(STATES, dtype="f4")
        self.state, self.seen = draw(FILTERS, STATES, 1), draw(FILTERS, MEASURED, 1)
        root = draw(FILTERS, STATES, STATES)
        self.covariance = root @ root.transpose(0, 2, 1) / STATES + self.drift

    def step(self):
        state = self.motion @ self.state
        covariance = self.motion @ self.covariance @ self.motion.transpose(0, 2, 1) + self.drift
        crossed = covariance @ self.sensor.transpose(0, 2, 1)
        gain = xp.linalg.solve(self.sensor @ crossed + self.noise, crossed.transpose(0, 2, 1)).transpose(0, 2, 1)
        self.new_state = state + gain @ (self.seen - self.sensor @ state)
        self.new_covariance = covariance - gain @ (self.sensor @ covariance)

    def look(self):
        return {"states": self.new_state, "covariances": self.new_covariance}


class Elements:
    """K = sum of B^T D B over the points of each element."""

    def __init__(self, random):
        self.strain = xp.asarray(random.standard_normal((ELEMENTS, POINTS * STRAINS, FREEDOMS)))
        root = random.standard_normal((STRAINS, STRAINS))
        self.material = xp.asarray(root @ root.T)

    def step(self):
        stress = self.material @ self.strain.reshape(ELEMENTS, POINTS, STRAINS, FREEDOMS)
        self.stiffness = self.strain.transpose(0, 2, 1) @ stress.reshape(ELEMENTS, POINTS * STRAINS, FREEDOMS)

    def look(self):
        return {"stiffness": self.stiffness}


def main():
    random = numpy.random.default_rng(0)
    kalman, elements = Kalman(random), Elements(random)
    harness.run(harness.Wall() if chosen.tiny else harness.CupyEvents(), [
        harness.Case("CuPy", f"{FILTERS} Kalman filters, f32", kalman.step, kalman.look, {"states": 1e-4, "covariances": 1e-4},
                     harness.SHORT),
        harness.Case("CuPy", f"{ELEMENTS} finite elements, f64", elements.step, elements.look, {"stiffness": 1e-12}, harness.SHORT),
    ], chosen.tiny)


if __name__ == "__main__":
    main()
