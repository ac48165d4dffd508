/* SPDX-License-Identifier: Apache-2.0 */
/* The same in C++: describes one product, and reads the error of another. It needs neither NVRTC nor GPU. */
#include <cstdio>

#include <tilejit/tilejit.hpp>

int main()
try {
    const tilejit::context context;
    const tilejit::matrix_view<float> m(nullptr, 512, 300), n(nullptr, 300, 700), p(nullptr, 512, 700);

    std::puts(tilejit::to_string(tilejit::product(m, n, p).problem).c_str());
    tilejit::product(m, p, n);
    return 1;
} catch (const tilejit::error &error) {
    return error.status() == TJ_ERR_INVALID_ARGUMENT ? 0 : 1;
}
