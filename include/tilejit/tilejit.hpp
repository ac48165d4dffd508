/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit.hpp: TileJIT for C++17 and newer: handles that free what they own, errors as exceptions, matrices with a type.
 *
 *     tilejit::context context;
 *     tilejit::matrix_view m(M, 512, 300), n(N, 300, 700), p(P, 512, 700); // device addresses: const float *, float *
 *     tilejit::product product(m, n, p, "gelu(acc + bias[col])");
 *     product.set("bias", bias);
 *     context.matmul(product, stream);
 *
 * Each function calls one C function and checks its status. Its comment names the C function, whose header states the promises.
 * This header has no state and defines no macro.
 *
 * Rules that hold for all of it:
 *   - A context, plan, stream, buffer or pack owns one object of the library. It can be moved, but not copied. get() returns
 *     the object for a call of a C function, and keeps ownership. A moved-from object owns nothing: it may be destroyed or
 *     assigned to, and any other use throws TJ_ERR_INVALID_ARGUMENT.
 *   - A context must outlive all objects that were made with it, so declare it first. Moving the context does not affect them.
 *   - A product, a view and a config own nothing: they are values that hold addresses of the caller.
 *   - A function that is not noexcept throws tilejit::error, or std::bad_alloc where it returns text or a vector. It has then
 *     changed nothing, unless the comment of the C function states otherwise. A program without exceptions calls the C
 *     functions.
 *   - Threads: as for the C function. Several threads may call const member functions at once. While an object is moved,
 *     assigned or destroyed, no other thread may use it.
 *   - A stream is a CUstream or cudaStream_t, which are one type, or a tilejit::stream. nullptr is the legacy default stream.
 *   - An exception thrown by a function object of the caller, which the library calls, ends the call and propagates to the
 *     caller.
 *
 * Call C functions that own nothing and cannot fail directly: tj_type_name, tj_problem_span, tj_epilogue_find,
 * tj_expression_apply. For functions of <tilejit/tools.h> there is tilejit::call.
 */
#ifndef TILEJIT_TILEJIT_HPP
#define TILEJIT_TILEJIT_HPP

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tilejit/shape.h>
#include <tilejit/tilejit.h>

/* As CUDA declares them (cuda_fp16.h, cuda_bf16.h, cuda_fp8.h, cuda_fp4.h): views of them need no CUDA header. */
struct __half;
struct __nv_bfloat16;
struct __nv_fp8_e4m3;
struct __nv_fp8_e5m2;
struct __nv_fp8_e8m0;
struct __nv_fp4x2_e2m1;

namespace tilejit
{

/* ---- errors -------------------------------------------------------------------------------------------------------- */

/** A call failed. what() is tj_error.message, which names the value and the remedy. */
class error : public std::runtime_error
{
  public:
    error(tj_status status, const std::string &message) : std::runtime_error(message), status_(status)
    {
    }
    /** Throw the error that a call reported. A function of its own, so that compilers keep the path of the call short. */
    [[noreturn]] static void raise(tj_status status, const tj_error &err)
    {
        throw error(status, err.message);
    }
    tj_status status() const noexcept
    {
        return status_;
    }

  private:
    tj_status status_;
};

/**
 * Call a C function whose last parameter is a tj_error, without that argument, and throw if it fails:
 *
 *     tilejit::call<tj_reference_check>(&problem, &host, P, 0, 0, &report);
 */
template <auto Function, class... Arguments> void call(Arguments &&...arguments)
{
    tj_error err;
    const tj_status status = Function(std::forward<Arguments>(arguments)..., &err);
    if (status != TJ_OK)
        error::raise(status, err);
}

/* ---- element types ------------------------------------------------------------------------------------------------- */

/** Element types as they are stored, for programs that hold elements as bytes and include no CUDA header. */
enum class f16 : std::uint16_t {};
enum class bf16 : std::uint16_t {};
enum class e4m3 : std::uint8_t {};
enum class e5m2 : std::uint8_t {};
enum class e8m0 : std::uint8_t {};
enum class s4x2 : std::uint8_t {}; /**< two numbers in a byte, as for TJ_S4; extents count numbers */
enum class u4x2 : std::uint8_t {};
enum class e2m1x2 : std::uint8_t {};

/** The tj_type of the elements of a C++ type. Specialise it for a type of your own with the same storage. */
template <class T> struct element;
/* clang-format off */
template <tj_type Type> using element_of = std::integral_constant<tj_type, Type>;
template <> struct element<float> : element_of<TJ_F32> {};
template <> struct element<double> : element_of<TJ_F64> {};
template <> struct element<std::int8_t> : element_of<TJ_S8> {};
template <> struct element<std::uint8_t> : element_of<TJ_U8> {};
template <> struct element<std::int32_t> : element_of<TJ_S32> {};
template <> struct element<f16> : element_of<TJ_F16> {};
template <> struct element<bf16> : element_of<TJ_BF16> {};
template <> struct element<e4m3> : element_of<TJ_E4M3> {};
template <> struct element<e5m2> : element_of<TJ_E5M2> {};
template <> struct element<e8m0> : element_of<TJ_E8M0> {};
template <> struct element<s4x2> : element_of<TJ_S4> {};
template <> struct element<u4x2> : element_of<TJ_U4> {};
template <> struct element<e2m1x2> : element_of<TJ_E2M1> {};
template <> struct element<::__half> : element_of<TJ_F16> {};
template <> struct element<::__nv_bfloat16> : element_of<TJ_BF16> {};
template <> struct element<::__nv_fp8_e4m3> : element_of<TJ_E4M3> {};
template <> struct element<::__nv_fp8_e5m2> : element_of<TJ_E5M2> {};
template <> struct element<::__nv_fp8_e8m0> : element_of<TJ_E8M0> {};
template <> struct element<::__nv_fp4x2_e2m1> : element_of<TJ_E2M1> {};
template <class T> struct element<const T> : element<T> {};
/* clang-format on */

/** The tj_type of T. */
template <class T> inline constexpr tj_type type_of = element<T>::value;

/* ---- matrices ------------------------------------------------------------------------------------------------------ */

/** A matrix, or each matrix of a batch, in device memory. The template argument may be const if the matrix is only read. */
template <class T> struct matrix_view {
    T *data;
    std::int64_t rows, cols;        /**< numbers, not bytes */
    std::int64_t ld;                /**< elements from one stored row (column) to the next; 0: tight */
    tj_layout layout;               /**< TJ_ROW_MAJOR unless the view is transposed */
    std::int64_t stride = TJ_TIGHT; /**< elements from one matrix of a batch to the next; TJ_BROADCAST: all products read it */

    constexpr matrix_view(T *address, std::int64_t row_count, std::int64_t col_count, std::int64_t leading_dimension = TJ_TIGHT,
                          tj_layout stored = TJ_ROW_MAJOR) noexcept
        : data(address), rows(row_count), cols(col_count), ld(leading_dimension), layout(stored)
    {
    }
    /** Convert to a view of a matrix that is only read. */
    template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
    constexpr matrix_view(const matrix_view<U> &other) noexcept
        : data(other.data), rows(other.rows), cols(other.cols), ld(other.ld), layout(other.layout), stride(other.stride)
    {
    }
    /** Return the transpose of the same memory. */
    constexpr matrix_view transposed() const noexcept
    {
        matrix_view other(data, cols, rows, ld, layout == TJ_ROW_MAJOR ? TJ_COL_MAJOR : TJ_ROW_MAJOR);
        other.stride = stride;
        return other;
    }
    /** Return a view of a batch of such matrices: that number of elements from each to the next, or TJ_BROADCAST. */
    constexpr matrix_view strided(std::int64_t elements) const noexcept
    {
        matrix_view other = *this;
        other.stride = elements;
        return other;
    }
};

/* ---- products --------------------------------------------------------------------------------------------------- */

/**
 * A product of matrices: the problem and the operands of its launch, both public. Member functions set the common fields; for
 * all others write to the structures: compute, groups of rows, extents that are arguments, the workspace. A product may be
 * launched any number of times, also with other addresses (operands.p.address = ...).
 */
struct product {
    tj_problem problem;
    tj_operands operands;

    /**
     * P = M . N, or with an epilogue ("gelu(acc + bias[col])", "alpha * acc + beta * c"): tj_epilogue_parse. Alpha is 1 and
     * beta is 0 unless operands.alpha and operands.beta are set. Throws also if the three shapes do not match. If the epilogue
     * takes pairs of columns, P has half of them.
     */
    template <class M, class N, class P>
    product(matrix_view<M> m, matrix_view<N> n, matrix_view<P> p, const char *epilogue = nullptr)
        : problem TJ_PROBLEM_INIT(m.rows, m.cols, n.cols, type_of<M>), operands TJ_OPERANDS(m.data, n.data, p.data)
    {
        static_assert(!std::is_const_v<P>, "P is written: its view cannot be one of const elements");
        if (epilogue)
            call<tj_epilogue_parse>(epilogue, &problem.epilogue);
        if (n.rows != m.cols || p.rows != m.rows || p.cols != cols_of_p())
            throw error(TJ_ERR_INVALID_ARGUMENT, "M is " + shape(m) + ", N is " + shape(n) + " and P is " + shape(p) +
                                                     ": N must have a row for each column of M, and P be " +
                                                     std::to_string(m.rows) + "x" + std::to_string(cols_of_p()));
        problem.m = matrix(m);
        problem.n = matrix(n);
        problem.p = matrix(p);
    }

    /** Make the product a batch: the stride of each view is the distance between its matrices. */
    product &batch(std::int64_t products) noexcept
    {
        problem.batch = products;
        return *this;
    }
    /** Set the matrix that an epilogue reads as c; it has the storage of P, and may be P. */
    template <class T> product &add(matrix_view<T> c)
    {
        if (c.rows != problem.j.extent || c.cols != cols_of_p() || c.layout != problem.p.layout)
            throw error(TJ_ERR_INVALID_ARGUMENT, "C is " + shape(c) + ": it must have the shape and the layout of P");
        problem.c = matrix(c);
        operands.c.address = c.data;
        return *this;
    }
    /**
     * Set an operand or output of the epilogue by its name: tj_operands_set. Throws also if the expression declares elements of
     * another type. In a loop, write operands.with[tj_epilogue_find(...)].address.
     */
    template <class T> product &set(const char *name, T *address)
    {
        tj_operand_shape declared = TJ_OPERAND_SHAPE_INIT;
        const int number = tj_epilogue_find(&problem.epilogue, name);
        if (number >= 0)
            call<tj_operand_get_shape>(&problem, TJ_OPERAND_WITH + number, &declared);
        if (declared.is_taken && declared.type != type_of<T>)
            throw error(TJ_ERR_INVALID_ARGUMENT, std::string(name) + " has elements of " + tj_type_name(type_of<T>) +
                                                     " and the epilogue declares " +
                                                     tj_type_name(static_cast<tj_type>(declared.type)) + ": write " + name +
                                                     ":" + tj_type_name(type_of<T>));
        if (declared.is_written && std::is_const_v<T>)
            throw error(TJ_ERR_INVALID_ARGUMENT, std::string(name) + " is an output, and its elements are const");
        call<tj_operands_set>(&operands, &problem, name, static_cast<const void *>(address));
        return *this;
    }
    /** Set an operand that is a number: tj_operands_set_number. */
    product &set(const char *name, double number)
    {
        call<tj_operands_set_number>(&operands, &problem, name, number);
        return *this;
    }
    /**
     * Set the scales of M, N or P: one for each block of `rows` rows (columns of N) by `k` elements of k; 0: all (tj_scale).
     */
    template <class T>
    product &scale(tj_which which, T *scales, std::int32_t rows, std::int32_t k,
                   tj_scale_layout layout = TJ_SCALES_PART_BY_PART)
    {
        if (which < TJ_MATRIX_M || which >= TJ_SCALED)
            throw error(TJ_ERR_INVALID_ARGUMENT,
                        "matrix " + std::to_string(which) + " has no scales: M, N and P may have them");
        problem.scale[which] = TJ_SCALE_INIT(static_cast<std::int8_t>(type_of<T>), rows, k);
        problem.scale[which].layout = static_cast<std::int8_t>(layout);
        operands.scale[which].address = scales;
        return *this;
    }

  private:
    std::int64_t cols_of_p() const noexcept
    {
        return tj_epilogue_pairs(&problem.epilogue) ? problem.l.extent / 2 : problem.l.extent;
    }
    template <class T> static std::string shape(const matrix_view<T> &view)
    {
        return std::to_string(view.rows) + "x" + std::to_string(view.cols);
    }
    template <class T> static tj_matrix matrix(const matrix_view<T> &view) noexcept
    {
        tj_matrix made = TJ_MATRIX_INIT(type_of<T>);
        made.layout = static_cast<std::int8_t>(view.layout);
        made.ld = view.ld;
        made.stride = view.stride;
        return made;
    }
};

/** A tj_config. */
struct config : tj_config {
    /** Read the one-line form, "mma:bm=128,bn=64": tj_config_parse. */
    explicit config(const char *text) : tj_config(TJ_CONFIG_INIT)
    {
        call<tj_config_parse>(text, this);
    }
    /** tj_config_set */
    config &set(const char *name, const char *text)
    {
        call<tj_config_set>(this, name, text);
        return *this;
    }
};

/** Throw if the problem cannot be computed: tj_problem_check. */
inline void check(const tj_problem &problem)
{
    call<tj_problem_check>(&problem);
}

/** Throw if these are not valid offsets or counts for a launch of a problem with groups: tj_groups_check. */
inline void check_groups(const tj_problem &problem, std::int64_t j, const void *offsets)
{
    call<tj_groups_check>(&problem, j, offsets);
}

/** Write weights of 4 bits in host memory in another order: tj_repack_host. */
inline void repack_host(void *to, const void *from, std::int64_t bytes, tj_order order = TJ_ORDER_REPACKED)
{
    call<tj_repack_host>(to, from, bytes, order);
}

/** Parse an epilogue: tj_epilogue_parse. */
inline tj_epilogue parse_epilogue(const char *text)
{
    tj_epilogue made = {};
    call<tj_epilogue_parse>(text, &made);
    return made;
}

/** Return the epilogue that stores a node of an expression in P: tj_epilogue_finish. */
inline tj_epilogue finish_epilogue(const tj_expression &expression, int value)
{
    tj_epilogue made = {};
    call<tj_epilogue_finish>(&expression, value, &made);
    return made;
}

/** Return the type with this name: tj_type_parse. */
inline tj_type parse_type(const char *name)
{
    tj_type type = TJ_TYPE_DEFAULT;
    call<tj_type_parse>(name, &type);
    return type;
}

/** Return the way to compute with this name: tj_compute_parse. */
inline tj_compute parse_compute(const char *name)
{
    tj_compute compute = TJ_COMPUTE_DEFAULT;
    call<tj_compute_parse>(name, &compute);
    return compute;
}

/** Return the line that describes a problem: tj_problem_print. Checks the problem first, unlike that. */
inline std::string to_string(const tj_problem &problem)
{
    char text[TJ_PROBLEM_TEXT_BYTES];
    check(problem);
    tj_problem_print(&problem, text);
    return text;
}

/** tj_config_print */
inline std::string to_string(const tj_config &config)
{
    char text[TJ_CONFIG_TEXT_BYTES];
    tj_config_print(&config, text);
    return text;
}

/** tj_epilogue_print */
inline std::string to_string(const tj_epilogue &epilogue)
{
    char text[TJ_EPILOGUE_TEXT_BYTES];
    tj_epilogue_print(&epilogue, text);
    return text;
}

/* ---- implementation of what follows: not for applications ------------------------------------------------------------ */

namespace detail
{

template <auto Free> struct deleter {
    template <class T> void operator()(T *object) const noexcept
    {
        Free(object);
    }
};

template <class T, auto Free> using owned = std::unique_ptr<T, deleter<Free>>;

/** A function object of the caller, which the library calls, and the exception that it threw. */
template <class Function, class Argument> struct guarded {
    Function &function;
    std::exception_ptr thrown = nullptr;

    static int run(const Argument *argument, void *payload) noexcept
    {
        guarded &self = *static_cast<guarded *>(payload);
        try {
            if constexpr (std::is_void_v<std::invoke_result_t<Function &, const Argument &>>)
                return self.function(*argument), 0;
            else
                return self.function(*argument) ? 0 : 1;
        } catch (...) {
            self.thrown = std::current_exception();
            return 1;
        }
    }
    /** Throw the exception of the caller's function, or else the error of the call. */
    void finish(tj_status status, const tj_error &err) const
    {
        if (thrown)
            std::rethrow_exception(thrown);
        if (status != TJ_OK)
            error::raise(status, err);
    }
};

} // namespace detail

/* ---- handles ------------------------------------------------------------------------------------------------------- */

/** A plan, ready to launch: tj_plan. Any thread may launch it. context::prepare makes plans. */
class plan
{
  public:
    /** Queue the launches of the plan: tj_plan_launch. */
    void launch(const tj_operands &operands, CUstream_st *stream = nullptr) const
    {
        call<tj_plan_launch>(get(), &operands, stream);
    }
    void launch(const product &product, CUstream_st *stream = nullptr) const
    {
        launch(product.operands, stream);
    }
    /** tj_plan_workspace_bytes */
    std::size_t workspace_bytes() const noexcept
    {
        return tj_plan_workspace_bytes(get());
    }
    /** tj_plan_chosen_by */
    tj_chosen_by chosen_by() const noexcept
    {
        return tj_plan_chosen_by(get());
    }
    const tj_plan *get() const noexcept
    {
        return plan_.get();
    }

  private:
    friend class context;
    explicit plan(const tj_plan *made) noexcept : plan_(made)
    {
    }
    detail::owned<const tj_plan, tj_plan_release> plan_;
};

/** One instance of TileJIT: tj_context. All threads may share it. */
class context
{
  public:
    /** tj_context_create; options start from TJ_CONTEXT_OPTIONS_INIT. */
    explicit context(const tj_context_options &options = TJ_CONTEXT_OPTIONS_INIT)
    {
        tj_context *made = nullptr;
        call<tj_context_create>(&options, &made);
        context_.reset(made);
    }
    tj_context *get() const noexcept
    {
        return context_.get();
    }

    /** Queue a product on a stream, and return before it has run: tj_matmul. */
    void matmul(const tj_problem &problem, const tj_operands &operands, CUstream_st *stream = nullptr) const
    {
        call<tj_matmul>(get(), &problem, &operands, stream);
    }
    void matmul(const product &product, CUstream_st *stream = nullptr) const
    {
        matmul(product.problem, product.operands, stream);
    }
    template <class M, class N, class P>
    void matmul(matrix_view<M> m, matrix_view<N> n, matrix_view<P> p, CUstream_st *stream = nullptr) const
    {
        matmul(product(m, n, p), stream);
    }

    /** Find the plan of a problem, or build it: tj_plan_prepare. config: nullptr lets the library choose. */
    plan prepare(const tj_problem &problem, const tj_config *config = nullptr) const
    {
        const tj_plan *made = nullptr;
        call<tj_plan_prepare>(get(), &problem, config, &made);
        return plan(made);
    }
    plan prepare(const product &product, const tj_config *config = nullptr) const
    {
        return prepare(product.problem, config);
    }

    /**
     * Build many plans on several threads (0: one for each processor) and return their number: tj_warm_up. on_step is called
     * with a const tj_warm_up_step &, by one thread at a time, and may return a bool: false stops.
     */
    template <class Function>
    std::size_t warm_up(const tj_problem *problems, std::size_t count, Function &&on_step, std::int32_t threads = 0) const
    {
        detail::guarded<std::remove_reference_t<Function>, tj_warm_up_step> guarded{on_step};
        tj_warm_up_options options = TJ_WARM_UP_OPTIONS_INIT;
        std::size_t made = 0;
        tj_error err;
        options.threads = threads;
        options.on_step = guarded.run;
        options.payload = &guarded;
        guarded.finish(tj_warm_up(get(), problems, count, &options, &made, &err), err);
        return made;
    }
    std::size_t warm_up(const tj_problem *problems, std::size_t count) const
    {
        return warm_up(problems, count, [](const tj_warm_up_step &) {});
    }

    /** Write weights of 4 bits in device memory in another order, once: tj_repack. */
    void repack(void *to, const void *from, std::int64_t bytes, tj_order order = TJ_ORDER_REPACKED,
                CUstream_st *stream = nullptr) const
    {
        call<tj_repack>(get(), to, from, bytes, order, stream);
    }

    /** Wait until the work of a stream is done, and throw if a kernel failed: tj_synchronize. */
    void synchronize(CUstream_st *stream = nullptr) const
    {
        call<tj_synchronize>(get(), stream);
    }
    /** tj_device_count */
    int device_count() const
    {
        int count = 0;
        call<tj_device_count>(get(), &count);
        return count;
    }
    /** tj_device_get */
    tj_device_facts device(int ordinal) const
    {
        tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
        call<tj_device_get>(get(), ordinal, &facts);
        return facts;
    }
    /** Return the facts of the device on which a call would run now: tj_device_current. */
    tj_device_facts device() const
    {
        tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
        call<tj_device_current>(get(), &facts);
        return facts;
    }
    struct memory_sizes {
        std::size_t free, total; /**< bytes */
    };
    /** tj_device_memory */
    memory_sizes memory() const
    {
        memory_sizes sizes{};
        call<tj_device_memory>(get(), &sizes.free, &sizes.total);
        return sizes;
    }

    /** tj_context_get_stats */
    tj_context_stats stats() const noexcept
    {
        tj_context_stats stats = TJ_CONTEXT_STATS_INIT;
        tj_context_get_stats(get(), &stats);
        return stats;
    }
    /** Evict plans: tj_context_trim. */
    void trim(std::int64_t plans = 0, std::int64_t bytes = 0) const noexcept
    {
        tj_context_trim(get(), plans, bytes);
    }
    struct pack_use {
        std::string name;
        std::uint64_t hits;
    };
    /** Return the packs of the context in the order of the search: tj_context_pack_name, tj_context_pack_hits. */
    std::vector<pack_use> packs() const
    {
        std::vector<pack_use> uses;
        for (std::size_t i = 0; const char *name = tj_context_pack_name(get(), i); i++)
            uses.push_back({name, tj_context_pack_hits(get(), i)});
        return uses;
    }
    /** Put the items of a pack into the context's own store, and return their number: tj_pack_unpack. */
    std::int64_t unpack(const void *bytes, std::size_t size) const
    {
        std::int64_t unpacked = 0;
        call<tj_pack_unpack>(get(), bytes, size, &unpacked);
        return unpacked;
    }

  private:
    detail::owned<tj_context, tj_context_free> context_;
};

/** A stream that the object owns: tj_stream_create. Every function that takes a stream accepts it. */
class stream
{
  public:
    explicit stream(const context &where) : stream_(nullptr, deleter{where.get()})
    {
        CUstream_st *made = nullptr;
        call<tj_stream_create>(where.get(), &made);
        stream_.reset(made);
    }
    /** Wait until its work is done, and throw if a kernel failed. */
    void synchronize() const
    {
        call<tj_synchronize>(stream_.get_deleter().context, get());
    }
    CUstream_st *get() const noexcept
    {
        return stream_.get();
    }
    operator CUstream_st *() const noexcept
    {
        return get();
    }

  private:
    struct deleter {
        tj_context *context;
        void operator()(CUstream_st *stream) const noexcept
        {
            tj_stream_destroy(context, stream);
        }
    };
    std::unique_ptr<CUstream_st, deleter> stream_;
};

/**
 * Device memory for elements of one type, for programs without a CUDA runtime: tj_buffer. Launches that use it must have
 * completed when it is destroyed.
 */
template <class T> class buffer
{
    static_assert(!std::is_const_v<T>, "a buffer is written: its elements cannot be const");

  public:
    /** Allocate, without setting the elements: tj_buffer_create. */
    buffer(const context &where, std::size_t count) : count_(count)
    {
        tj_buffer *made = nullptr;
        call<tj_buffer_create>(where.get(), bytes(count), &made);
        buffer_.reset(made);
    }
    /** The same, but copies use a stream and wait for it alone: tj_buffer_create_in. The stream outlives the buffer. */
    buffer(const context &where, CUstream_st *through, std::size_t count) : count_(count)
    {
        tj_buffer *made = nullptr;
        call<tj_buffer_create_in>(where.get(), through, bytes(count), &made);
        buffer_.reset(made);
    }

    /** Return its device address: tj_buffer_address. */
    T *data() const noexcept
    {
        return static_cast<T *>(tj_buffer_address(get()));
    }
    std::size_t size() const noexcept
    {
        return count_;
    }
    /** View the buffer as a matrix. Throws if it does not fit. */
    matrix_view<T> view(std::int64_t rows, std::int64_t cols, std::int64_t ld = TJ_TIGHT, tj_layout layout = TJ_ROW_MAJOR) const
    {
        const std::int64_t numbers = tj_type_get_facts(type_of<T>)->numbers;
        const std::int64_t lines = layout == TJ_ROW_MAJOR ? rows : cols;
        const std::int64_t width = ((layout == TJ_ROW_MAJOR ? cols : rows) + numbers - 1) / numbers;
        const std::int64_t step = ld ? ld : width;
        const auto most = static_cast<std::int64_t>(count_);
        if (rows < 0 || cols < 0 || step < width ||
            (lines > 0 && (width > most || (lines - 1 > (most - width) / (step > 0 ? step : 1)))))
            throw error(TJ_ERR_INVALID_ARGUMENT, "a buffer of " + std::to_string(count_) +
                                                     " elements does not hold a matrix of " + std::to_string(rows) + "x" +
                                                     std::to_string(cols) + " with leading dimension " + std::to_string(step));
        return matrix_view<T>(data(), rows, cols, ld, layout);
    }
    /** Copy elements from host memory to the buffer, from offset on: tj_buffer_write. */
    void write(const T *host, std::size_t count, std::size_t offset = 0)
    {
        call<tj_buffer_write>(get(), bytes(offset), host, bytes(count));
    }
    /** Copy elements of the buffer, from offset on, to host memory: tj_buffer_read, which does not wait for other streams. */
    void read(T *host, std::size_t count, std::size_t offset = 0) const
    {
        call<tj_buffer_read>(get(), bytes(offset), host, bytes(count));
    }
    /** Copy all elements to host memory. */
    std::vector<T> read() const
    {
        std::vector<T> host(count_);
        read(host.data(), count_);
        return host;
    }
    /** Set every byte: tj_buffer_fill. */
    void fill(int byte)
    {
        call<tj_buffer_fill>(get(), byte);
    }
    tj_buffer *get() const noexcept
    {
        return buffer_.get();
    }

  private:
    static std::size_t bytes(std::size_t count)
    {
        if (count > SIZE_MAX / sizeof(T))
            throw error(TJ_ERR_INVALID_ARGUMENT, std::to_string(count) + " elements have more bytes than a size_t counts");
        return count * sizeof(T);
    }
    detail::owned<tj_buffer, tj_buffer_free> buffer_;
    std::size_t count_;
};

/** Copy a std::vector, std::array, std::span or array of host memory to a buffer of its size. */
template <class Range> auto upload(const context &where, const Range &host)
{
    using T = std::remove_cv_t<std::remove_pointer_t<decltype(std::data(host))>>;
    buffer<T> made(where, std::size(host));
    made.write(std::data(host), std::size(host));
    return made;
}

/** A pack under construction: tj_pack. */
class pack
{
  public:
    /** tj_pack_create; records: nullptr takes those of the context's store. */
    explicit pack(const context &where, const tj_records *records = nullptr)
    {
        tj_pack *made = nullptr;
        call<tj_pack_create>(where.get(), records, &made);
        pack_.reset(made);
    }
    /** tj_pack_set_form: a sum of TJ_PACK_STRIP, TJ_PACK_ALIGNED and TJ_PACK_COMPRESS. */
    void set_form(std::int32_t form)
    {
        call<tj_pack_set_form>(get(), form);
    }
    /** Add the kernels of a problem for a target such as "sm_90": tj_pack_add. Several threads may add at once. */
    void add(const tj_problem &problem, const char *target, const tj_config *config = nullptr) const
    {
        call<tj_pack_add>(get(), &problem, config, target);
    }
    /** Return the current bytes of the pack: tj_pack_print. */
    std::vector<unsigned char> bytes() const
    {
        void *printed = nullptr;
        std::size_t size = 0;
        call<tj_pack_print>(get(), &printed, &size);
        const detail::owned<void, std::free> owner(printed);
        const auto *first = static_cast<const unsigned char *>(printed);
        return std::vector<unsigned char>(first, first + size);
    }
    tj_pack *get() const noexcept
    {
        return pack_.get();
    }

  private:
    detail::owned<tj_pack, tj_pack_free> pack_;
};

/** Visit every item of a pack: tj_pack_list. visit takes a const tj_pack_entry &, and may return a bool: false stops. */
template <class Function> void list_pack(const void *bytes, std::size_t size, Function &&visit)
{
    detail::guarded<std::remove_reference_t<Function>, tj_pack_entry> guarded{visit};
    tj_error err;
    guarded.finish(tj_pack_list(bytes, size, guarded.run, &guarded, &err), err);
}

} // namespace tilejit

#endif
