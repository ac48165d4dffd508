/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 08_cpp: a layer of a network in C++, by <tilejit/tilejit.hpp>: a product with its bias and activation in one kernel, made
 * ready before the first request and launched on a stream.
 * Exit code: 0 done, 77 nothing to run it on, 1 anything else.
 */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include <tilejit/tilejit.hpp>

constexpr int tokens = 32, inputs = 96, outputs = 160;

int main()
try {
    const tilejit::context context; /* before all that is made with it: it goes last */
    const tilejit::stream stream(context);

    /* A program with the CUDA runtime has device memory, and makes views of that: tilejit::matrix_view(address, rows, cols). */
    const std::vector<float> weights(inputs * outputs, 0.25f), bias(outputs, -1.5f), ones(tokens * inputs, 1.0f);
    const tilejit::buffer<float> w = tilejit::upload(context, weights), b = tilejit::upload(context, bias);
    tilejit::buffer<float> x(context, stream, ones.size()), y(context, stream, tokens * outputs);

    /* The weights are stored by rows of outputs, as most frameworks store them: N is their transpose. */
    tilejit::product layer(x.view(tokens, inputs), w.view(outputs, inputs).transposed(), y.view(tokens, outputs),
                           "relu(acc + bias[col])");
    layer.set("bias", b.data());
    const tilejit::plan ready = context.prepare(layer);

    for (float request : {0.0f, 0.5f, 1.0f}) {
        std::vector<float> tokens_of_it(ones);
        for (float &value : tokens_of_it)
            value *= request;
        x.write(tokens_of_it.data(), tokens_of_it.size());
        ready.launch(layer, stream);
        stream.synchronize();

        const std::vector<float> answer = y.read();
        const float wanted = std::max(0.0f, request * inputs * 0.25f - 1.5f);
        std::printf("%g: %g\n", static_cast<double>(request), static_cast<double>(answer[0]));
        for (float value : answer)
            if (std::fabs(value - wanted) > 1e-4f) {
                std::fprintf(stderr, "08_cpp: %g, and should be %g\n", static_cast<double>(value), static_cast<double>(wanted));
                return 1;
            }
    }
    return 0;
} catch (const tilejit::error &error) {
    std::fprintf(stderr, "08_cpp: %s\n", error.what());
    return error.status() == TJ_ERR_NO_DRIVER || error.status() == TJ_ERR_NO_COMPILER ? 77 : 1;
}
