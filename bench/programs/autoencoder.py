#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""JAX: a training step of a variational autoencoder, with the layers of JAX's own example (784-512-512-10), f32, 1024 images, under jit.

XLA may also compile products itself (Triton); cuBLAS gets those that its autotuning gives to it. Times are the host's, with a wait after each
step, because JAX shows no events.
"""
import jax
import jax.numpy as jnp
from jax.example_libraries import optimizers, stax

import harness

chosen = harness.options(__doc__)
if chosen.tiny:
    jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_default_matmul_precision", "highest")
IMAGES, PIXELS, HIDDEN, CODE = (8, 49, 32, 5) if chosen.tiny else (1024, 784, 512, 10)

encoder = stax.serial(stax.Dense(HIDDEN), stax.Relu, stax.Dense(HIDDEN), stax.Relu, stax.FanOut(2),
                      stax.parallel(stax.Dense(CODE), stax.serial(stax.Dense(CODE), stax.Softplus)))
decoder = stax.serial(stax.Dense(HIDDEN), stax.Relu, stax.Dense(HIDDEN), stax.Relu, stax.Dense(PIXELS))


def loss(parameters, images, noise):
    mean, spread = encoder[1](parameters[0], images)
    logits = decoder[1](parameters[1], mean + jnp.sqrt(spread) * noise)
    likelihood = -jnp.sum(jnp.logaddexp(0.0, jnp.where(images > 0.5, -1.0, 1.0) * logits))
    divergence = -0.5 * jnp.sum(1.0 + jnp.log(spread + 1e-6) - mean**2 - spread)
    return (divergence - likelihood) / IMAGES


class Training:
    def __init__(self):
        keys = jax.random.split(jax.random.PRNGKey(0), 4)
        _, first = encoder[0](keys[0], (IMAGES, PIXELS))
        _, second = decoder[0](keys[1], (IMAGES, CODE))
        start, update, parameters = optimizers.adam(1e-3)
        self.state, self.losses = start((first, second)), []
        self.images = jax.random.bernoulli(keys[2], 0.3, (IMAGES, PIXELS)).astype("float32")
        self.noise = jax.random.normal(keys[3], (IMAGES, CODE))

        @jax.jit
        def train(i, state, images, noise):
            value, gradients = jax.value_and_grad(loss)(parameters(state), images, noise)
            return value, update(i, gradients, state)

        self.train = train

    def step(self):
        value, self.state = self.train(len(self.losses), self.state, self.images, self.noise)
        self.losses.append(value)

    def wait(self):
        jax.block_until_ready(self.state)

    def look(self):
        return {"losses": jnp.stack(self.losses[:40])}


def main():
    training = Training()
    clock = harness.Wall(training.wait, jax.devices()[0].device_kind)
    harness.run(clock, [harness.Case("JAX autoencoder, f32", f"training step, {IMAGES} images", training.step, training.look,
                                     {"losses": 1e-3}, harness.SHORT)], chosen.tiny)


if __name__ == "__main__":
    main()
