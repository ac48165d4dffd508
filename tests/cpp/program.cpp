/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * A program of C++ on the emulator, by tilejit.hpp alone: products, plans, streams, packs, errors and moves. The sanitizers look
 * for what a handle leaves or frees twice.
 */
#include <cmath>
#include <cstdio>
#include <cstring>

#include <tilejit/reference.h>
#include <tilejit/tilejit.hpp>

using tilejit::matrix_view;

static int failures;

static void expect(bool holds, const char *what, int line)
{
    if (!holds) {
        std::fprintf(stderr, "program.cpp:%d: %s\n", line, what);
        failures++;
    }
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)

/** Expect an error with that status, whose message holds that text. */
template <class Function> static void refuse(int line, tj_status status, const char *text, Function &&function)
{
    try {
        function();
        expect(false, "it was not refused", line);
    } catch (const tilejit::error &error) {
        expect(error.status() == status, tj_status_name(error.status()), line);
        expect(std::strstr(error.what(), text) != nullptr, error.what(), line);
    }
}
#define REFUSE(status, text, ...) refuse(__LINE__, status, text, [&] { __VA_ARGS__; })

template <class T>
constexpr bool is_a_handle = !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T> &&
                             std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>;
static_assert(is_a_handle<tilejit::context> && is_a_handle<tilejit::plan> && is_a_handle<tilejit::stream> &&
              is_a_handle<tilejit::buffer<float>> && is_a_handle<tilejit::pack>);
/* A handle is as large as the pointers that it holds. */
static_assert(sizeof(tilejit::context) == sizeof(void *) && sizeof(tilejit::plan) == sizeof(void *));
static_assert(tilejit::type_of<const __half> == TJ_F16 && tilejit::type_of<__nv_bfloat16> == TJ_BF16);
static_assert(tilejit::type_of<__nv_fp8_e4m3> == TJ_E4M3 && tilejit::type_of<tilejit::s4x2> == TJ_S4);

struct of_the_application {
    float value;
};
/* clang-format off */
template <> struct tilejit::element<of_the_application> : tilejit::element_of<TJ_F32> {};
/* clang-format on */

/** Small whole numbers, so that every sum is exact in every type. */
static std::vector<float> numbers(std::size_t count, unsigned seed)
{
    std::vector<float> made(count);
    for (float &number : made)
        number = static_cast<float>(static_cast<int>((seed = seed * 1664525u + 1013904223u) >> 29) - 4);
    return made;
}

enum { J = 21, K = 19, L = 34 };

static float sum(const std::vector<float> &m, const std::vector<float> &n, int j, int l)
{
    float sum = 0;
    for (int k = 0; k < K; k++)
        sum += m[static_cast<std::size_t>(j * K + k)] * n[static_cast<std::size_t>(k * L + l)];
    return sum;
}

/** Expect P[j][l] to be what wanted(j, l) returns. */
template <class Function> static void compare(int line, const std::vector<float> &p, int cols, Function &&wanted)
{
    for (int j = 0; j < J; j++)
        for (int l = 0; l < cols; l++)
            if (std::fabs(p[static_cast<std::size_t>(j * cols + l)] - wanted(j, l)) > 1e-4f)
                return expect(false, "the product is wrong", line);
}

static void products(const tilejit::context &context)
{
    const tilejit::stream stream(context);
    const std::vector<float> M = numbers(J * K, 1), N = numbers(K * L, 2), bias = numbers(L, 3), C = numbers(J * L, 4);
    const tilejit::buffer<float> m = tilejit::upload(context, M), n = tilejit::upload(context, N),
                                 b = tilejit::upload(context, bias);
    const tilejit::buffer<float> c = tilejit::upload(context, C);
    tilejit::buffer<float> p(context, stream, J * L);

    context.matmul(m.view(J, K), n.view(K, L), p.view(J, L), stream);
    stream.synchronize();
    compare(__LINE__, p.read(), L, [&](int j, int l) { return sum(M, N, j, l); });

    /* an epilogue, by a plan that is prepared */
    tilejit::product layer(matrix_view<const float>(m.view(J, K)), n.view(K, L), p.view(J, L), "relu(slope * acc + bias[col])");
    layer.set("bias", b.data()).set("slope", 0.5);
    const tilejit::plan plan = context.prepare(layer);
    p.fill(0);
    plan.launch(layer, stream);
    context.synchronize(stream);
    compare(__LINE__, p.read(), L,
            [&](int j, int l) { return std::fmax(0.0f, sum(M, N, j, l) / 2 + bias[static_cast<std::size_t>(l)]); });
    EXPECT(plan.chosen_by() != 0);
    EXPECT(plan.workspace_bytes() == tj_plan_workspace_bytes(plan.get()));

    /* alpha, beta and C, by a config that is named */
    tilejit::product gemm(m.view(J, K), n.view(K, L), p.view(J, L), "alpha * acc + beta * c");
    gemm.add(c.view(J, L));
    gemm.operands.alpha = 2;
    gemm.operands.beta = -1;
    tilejit::config config("tiled");
    config.set("tile_width", "8");
    const tilejit::plan named = context.prepare(gemm, &config);
    EXPECT(named.chosen_by() == 0);
    named.launch(gemm, stream);
    stream.synchronize();
    compare(__LINE__, p.read(), L, [&](int j, int l) { return 2 * sum(M, N, j, l) - C[static_cast<std::size_t>(j * L + l)]; });

    /* the transpose of what is stored */
    context.matmul(m.view(K, J).transposed(), n.view(K, L), p.view(J, L));
    context.synchronize();
    compare(__LINE__, p.read(), L, [&](int j, int l) {
        float wanted = 0;
        for (int k = 0; k < K; k++)
            wanted += M[static_cast<std::size_t>(k * J + j)] * N[static_cast<std::size_t>(k * L + l)];
        return wanted;
    });

    /* pairs of columns halve P */
    tilejit::buffer<float> half(context, J * L / 2);
    context.matmul(tilejit::product(m.view(J, K), n.view(K, L), half.view(J, L / 2), "acc[2*col] - acc[2*col+1]"));
    context.synchronize();
    compare(__LINE__, half.read(), L / 2, [&](int j, int l) { return sum(M, N, j, 2 * l) - sum(M, N, j, 2 * l + 1); });

    /* a batch that shares N */
    tilejit::buffer<float> two(context, 2 * J * L), twice(context, 2 * J * K);
    twice.write(M.data(), M.size());
    twice.write(M.data(), M.size(), M.size());
    tilejit::product batched(matrix_view<float>(twice.data(), J, K), n.view(K, L).strided(TJ_BROADCAST),
                             matrix_view<float>(two.data(), J, L));
    context.matmul(batched.batch(2));
    context.synchronize();
    std::vector<float> second(J * L);
    two.read(second.data(), second.size(), J * L);
    compare(__LINE__, second, L, [&](int j, int l) { return sum(M, N, j, l); });

    /* numbers of 16 bits without CUDA's headers, and a scale */
    std::vector<tilejit::bf16> narrow(J * K), other(K * L);
    const auto to_bf16 = [](float number) {
        std::uint32_t bits;
        std::memcpy(&bits, &number, sizeof bits);
        return static_cast<tilejit::bf16>(bits >> 16);
    };
    for (std::size_t i = 0; i < narrow.size(); i++)
        narrow[i] = to_bf16(M[i]);
    for (std::size_t i = 0; i < other.size(); i++)
        other[i] = to_bf16(N[i]);
    const auto m16 = tilejit::upload(context, narrow), n16 = tilejit::upload(context, other);
    const auto scale = tilejit::upload(context, std::vector<float>{0.25f});
    tilejit::product scaled(m16.view(J, K), n16.view(K, L), p.view(J, L));
    context.matmul(scaled.scale(TJ_MATRIX_M, scale.data(), 0, 0), stream);
    stream.synchronize();
    compare(__LINE__, p.read(), L, [&](int j, int l) { return sum(M, N, j, l) / 4; });
    EXPECT(tilejit::to_string(scaled.problem).find("bf16") != std::string::npos);
}

static void errors(tilejit::context &context)
{
    float *m = nullptr;
    of_the_application *own = nullptr;
    tilejit::buffer<float> small(context, 12);
    const tj_problem wrong = TJ_PROBLEM_INIT(-3, 4, 5, TJ_F32);

    REFUSE(TJ_ERR_INVALID_ARGUMENT, "M is 3x4, N is 5x6 and P is 3x6",
           tilejit::product(matrix_view(m, 3, 4), matrix_view(m, 5, 6), matrix_view(m, 3, 6)));
    REFUSE(TJ_ERR_INVALID_ARGUMENT, "P be 3x3",
           tilejit::product(matrix_view(m, 3, 4), matrix_view(m, 4, 6), matrix_view(m, 3, 6), "acc[2*col] * acc[2*col+1]"));
    REFUSE(TJ_ERR_INVALID_ARGUMENT, "^", tilejit::parse_epilogue("gelu(acc"));
    tilejit::product layer(matrix_view(own, 3, 4), matrix_view(m, 4, 6), matrix_view(m, 3, 6),
                           "sum[row, col] = acc; acc + bias:bf16[col]");
    REFUSE(TJ_ERR_INVALID_ARGUMENT, "the epilogue declares bf16: write bias:f32", layer.set("bias", m));
    EXPECT(!layer.operands.with[tj_epilogue_find(&layer.problem.epilogue, "bias")].address);
    REFUSE(TJ_ERR_INVALID_ARGUMENT, "gain", layer.set("gain", m));
    REFUSE(TJ_ERR_INVALID_ARGUMENT, "const", layer.set("sum", static_cast<const float *>(m)));
    REFUSE(TJ_ERR_INVALID_ARGUMENT, "C is 6x3", layer.add(matrix_view(m, 6, 3)));
    REFUSE(TJ_ERR_INVALID_ARGUMENT, "has no scales", layer.scale(TJ_MATRIX_C, m, 0, 0));
    REFUSE(TJ_ERR_INVALID_ARGUMENT, "j is -3", tilejit::check(wrong));
    REFUSE(TJ_ERR_INVALID_ARGUMENT, "j is -3", tilejit::to_string(wrong));
    REFUSE(TJ_ERR_NOT_FOUND, "swift", tilejit::config("swift"));
    REFUSE(TJ_ERR_INVALID_ARGUMENT, "f99", tilejit::parse_type("f99"));
    REFUSE(TJ_ERR_INVALID_ARGUMENT, "f99", tilejit::parse_compute("f99"));
    REFUSE(TJ_ERR_INVALID_ARGUMENT, "12 elements", small.view(3, 5));
    REFUSE(TJ_ERR_INVALID_ARGUMENT, "leading dimension 3", small.view(3, 4, 3));
    REFUSE(TJ_ERR_INVALID_ARGUMENT, "elements", tilejit::buffer<double>(context, SIZE_MAX / 4));
    REFUSE(TJ_ERR_INVALID_ARGUMENT, "device", context.device(1000));
    REFUSE(TJ_ERR_INVALID_ARGUMENT, "", tilejit::list_pack("not a pack", 10, [](const tj_pack_entry &) {}));
    /* the address is missing: the launch says so */
    REFUSE(TJ_ERR_INVALID_ARGUMENT, "M",
           context.matmul(tilejit::product(matrix_view(m, 3, 4), matrix_view(m, 4, 6), matrix_view(m, 3, 6))));
}

static void moves(tilejit::context &&given)
{
    const tilejit::context context = std::move(given);
    const std::vector<float> ones(16, 1.0f);
    tilejit::stream stream(context), other(context);
    tilejit::buffer<float> from = tilejit::upload(context, ones), to(context, 16);
    tilejit::plan plan = context.prepare(tilejit::product(from.view(4, 4), from.view(4, 4), to.view(4, 4)));
    tilejit::plan moved = std::move(plan);

    REFUSE(TJ_ERR_INVALID_ARGUMENT, "context", given.device_count());
    EXPECT(!plan.get() && plan.workspace_bytes() == 0);
    REFUSE(TJ_ERR_INVALID_ARGUMENT, "plan", plan.launch(tj_operands TJ_OPERANDS_INIT));
    stream = std::move(other); /* destroys the first */
    from = tilejit::buffer<float>(std::move(from));
    EXPECT(from.size() == 16 && from.data());
    moved.launch(tilejit::product(from.view(4, 4), from.view(4, 4), to.view(4, 4)), stream);
    stream.synchronize();
    EXPECT(to.read() == std::vector<float>(16, 4.0f));
}

static void packs_and_plans(const tilejit::context &context)
{
    const tj_problem problems[] = {TJ_PROBLEM_INIT(4, 4, 4, TJ_F32), TJ_PROBLEM_INIT(5, 4, 4, TJ_F32)};
    std::size_t steps = 0, items = 0;
    struct stop {
    };

    EXPECT(context.warm_up(
               problems, 2, [&](const tj_warm_up_step &step) { steps += step.status == TJ_OK; }, 1) == 2 &&
           steps == 2);
    EXPECT(context.warm_up(problems, 2) == 2);
    REFUSE(TJ_ERR_CANCELLED, "",
           context.warm_up(
               problems, 2, [](const tj_warm_up_step &) { return false; }, 1));
    try {
        context.warm_up(problems, 2, [](const tj_warm_up_step &) { throw stop(); });
        expect(false, "the exception was lost", __LINE__);
    } catch (const stop &) {
    }
    EXPECT(context.stats().plans >= 2);
    context.trim();
    EXPECT(context.device_count() >= 1 && context.device().cc_major == context.device(0).cc_major &&
           context.memory().total > 0);

    tilejit::pack pack(context);
    pack.set_form(TJ_PACK_ALIGNED);
    pack.add(problems[0], "compute_90");
    const std::vector<unsigned char> bytes = pack.bytes();
    tilejit::list_pack(bytes.data(), bytes.size(), [&](const tj_pack_entry &entry) { items += !entry.damage; });
    EXPECT(items > 0);
    try {
        tilejit::list_pack(bytes.data(), bytes.size(), [](const tj_pack_entry &) { throw stop(); });
        expect(false, "the exception was lost", __LINE__);
    } catch (const stop &) {
    }

    const tj_pack_bytes in_memory[] = {{bytes.data(), bytes.size()}, {nullptr, 0}};
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    options.pack_bytes = in_memory;
    options.cache_dir = "";
    const tilejit::context shipped(options);
    shipped.warm_up(problems, 1);
    EXPECT(shipped.packs().size() >= 1 && shipped.packs()[0].hits >= 1 && shipped.stats().compiles == 0);
}

int main()
try {
    tilejit::context context;
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    const float ones[] = {1, 1, 1, 1}, twos[] = {2, 2, 2, 2};
    const tj_problem problem = TJ_PROBLEM_INIT(2, 2, 2, TJ_F32);
    const tj_host_operands host = TJ_HOST_OPERANDS(ones, ones);

    tilejit::call<tj_reference_check>(&problem, &host, twos, 0, 0, &report); /* of tools.h */
    EXPECT(report.passed);
    errors(context);
    products(context);
    packs_and_plans(context);
    moves(std::move(context));
    return failures ? 1 : 0;
} catch (const tilejit::error &error) {
    std::fprintf(stderr, "program.cpp: %s\n", error.what());
    return error.status() == TJ_ERR_NO_COMPILER || error.status() == TJ_ERR_NO_DRIVER ? 77 : 1;
}
