/* SPDX-License-Identifier: Apache-2.0 */
/*
 * product.h: one product of tensors: the problem that they state, their addresses, and the launch on their device's current stream.
 */
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <dlfcn.h>

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "library.h"

namespace tilejit
{

using at::Tensor;

inline void check(tj_status status, const tj_error &error)
{
    TORCH_CHECK_VALUE(status != TJ_ERR_INVALID_ARGUMENT, error.message);
    TORCH_CHECK(status == TJ_OK, error.message);
}

inline tj_type type_of(at::ScalarType type)
{
    switch (type) {
    case at::kFloat:
        return TJ_F32;
    case at::kDouble:
        return TJ_F64;
    case at::kHalf:
        return TJ_F16;
    case at::kBFloat16:
        return TJ_BF16;
    case at::kFloat8_e4m3fn:
        return TJ_E4M3;
    case at::kFloat8_e5m2:
        return TJ_E5M2;
    case at::kFloat8_e8m0fnu:
        return TJ_E8M0;
    case at::kChar:
        return TJ_S8;
    case at::kByte:
        return TJ_U8;
    case at::kInt:
        return TJ_S32;
    default:
        TORCH_CHECK_TYPE(false, "TileJIT multiplies no tensor of ", type, ": convert it to float32, float16 or bfloat16");
    }
}

/* An expression is parsed once in a process. */
inline const tj_epilogue &epilogue_of(const std::string &text)
{
    static std::mutex mutex;
    static std::unordered_map<std::string, tj_epilogue> parsed;
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = parsed.find(text);

    if (found != parsed.end())
        return found->second;
    tj_epilogue epilogue{};
    tj_error error{};
    check(library.tj_epilogue_parse(text.c_str(), &epilogue, &error), error);
    return parsed.emplace(text, epilogue).first->second;
}

/* CUDA's headers are not needed to build the extension, nor its libraries to load it: two functions are asked for by name. */
template <class Function> Function find_function(const char *file, const char *name)
{
    void *const opened = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
    return opened ? reinterpret_cast<Function>(dlsym(opened, name)) : nullptr;
}

inline CUstream_st *current_stream(c10::DeviceIndex device)
{
    static const auto get = find_function<int (*)(int32_t, void **)>("libtorch_cuda.so", "aoti_torch_get_current_cuda_stream");
    void *stream = nullptr;

    TORCH_CHECK(get && get(device, &stream) == 0, "this PyTorch does not say what its current CUDA stream is");
    return static_cast<CUstream_st *>(stream);
}

inline bool is_capturing(CUstream_st *stream)
{
    static const auto ask = find_function<int (*)(CUstream_st *, int *)>("libcuda.so.1", "cuStreamIsCapturing");
    int status = 0;

    return ask && (ask(stream, &status) != 0 || status != 0);
}

class Product
{
  public:
    Product(const Tensor &like, int64_t j, int64_t k, int64_t l) : device_(like.device())
    {
        problem.struct_size = sizeof problem;
        problem.j.extent = j;
        problem.k.extent = k;
        problem.l.extent = l;
        operands.struct_size = sizeof operands;
        operands.alpha = 1;
    }

    /* M or N: the last two dimensions of a tensor, whose first one of three is the batch. Neither contiguous: it is copied. */
    void factor(tj_which which, Tensor tensor, tj_type type = TJ_TYPE_DEFAULT)
    {
        tj_matrix &matrix = which == TJ_MATRIX_M ? problem.m : problem.n;
        const bool is_pairs = type == TJ_S4 || type == TJ_U4 || type == TJ_E2M1;

        TORCH_CHECK_VALUE(!is_pairs || is_col_major(tensor), "weights of 4 bits must be contiguous: pass a contiguous copy");
        if (!is_row_major(tensor) && !is_col_major(tensor))
            tensor = tensor.contiguous();
        const int64_t d = tensor.dim(), rows = tensor.size(d - 2), cols = tensor.size(d - 1);
        const bool by_rows = !is_pairs && is_row_major(tensor); /* pairs are along k, in a single row of weights too */
        matrix.type = type == TJ_TYPE_DEFAULT ? type_of(tensor.scalar_type()) : type;
        matrix.layout = by_rows ? TJ_ROW_MAJOR : TJ_COL_MAJOR;
        matrix.ld = by_rows ? (rows > 1 ? tensor.stride(d - 2) : cols) : (cols > 1 ? tensor.stride(d - 1) : rows);
        if (d == 3 && tensor.size(0) > 1)
            matrix.stride = tensor.stride(0) == 0 ? static_cast<int64_t>(TJ_BROADCAST) : tensor.stride(0);
        bind(which == TJ_MATRIX_M ? operands.m : operands.n, tensor);
    }

    /* P, which is contiguous. */
    void result(const Tensor &tensor)
    {
        problem.p.type = type_of(tensor.scalar_type());
        bind(operands.p, tensor, true);
    }

    void batch(int64_t count)
    {
        problem.batch = count > 1 ? count : 0;
    }

    void groups(int8_t kind, int64_t count, const Tensor &offsets)
    {
        TORCH_CHECK_TYPE(offsets.scalar_type() == at::kInt || offsets.scalar_type() == at::kLong, "offsets are of ",
                         offsets.scalar_type(), ": they are of int32 or int64");
        TORCH_CHECK_VALUE(offsets.dim() == 1 && offsets.size(0) == count + 1 && offsets.is_contiguous(), "offsets are ",
                          offsets.sizes(), ": pass ", count + 1,
                          " contiguous numbers, where each group begins and where the last one ends");
        problem.rows.kind = kind;
        problem.rows.groups = static_cast<int32_t>(count);
        problem.rows.offset_bytes = static_cast<int8_t>(offsets.element_size());
        remember(&operands.offsets, offsets, false);
    }

    void epilogue(const std::string &text)
    {
        expression_ = &epilogue_of(text);
        problem.epilogue = *expression_;
    }

    /* An array of the expression; with two dimensions or more it is a contiguous matrix like P. */
    void with(const char *name, const Tensor &tensor, bool is_output = false)
    {
        const int index = library.tj_epilogue_find(&problem.epilogue, name);

        TORCH_CHECK_VALUE(index >= 0, "the expression has no operand ", name);
        bind(operands.with[index], tensor, is_output);
    }

    /* An array whose type the expression leaves out. */
    void with_type_of(int index, const Tensor &tensor)
    {
        problem.epilogue.expression.operand[index].type = static_cast<uint8_t>(type_of(tensor.scalar_type()));
        types_ = types_ * 16 + problem.epilogue.expression.operand[index].type;
        bind(operands.with[index], tensor);
    }

    void with(const char *name, double number)
    {
        const int index = library.tj_epilogue_find(&problem.epilogue, name);

        TORCH_CHECK_VALUE(index >= 0, "the expression has no operand ", name);
        operands.number[index] = number;
    }

    void bind(tj_operand &operand, const Tensor &tensor, bool is_output = false)
    {
        remember(&operand.address, tensor, is_output);
    }

    /* Queue the product on the current stream of the tensors' device. Those in host memory are copied to the device and back. */
    void launch()
    {
        if (device_.is_cpu()) {
            check(launch_copies(), error_);
            return;
        }
        const c10::DeviceGuard guard(device_);
        CUstream_st *const stream = current_stream(device_.index());
        check(launch_in_place(stream, look_up(stream)), error_);
    }

    /*
     * The same, unless PyTorch's own product, which `theirs` queues, is faster: then nothing is queued, and false is returned. The
     * first call of a product outside captures takes the times of both. In host memory PyTorch's own always is.
     */
    template <class Theirs> bool launch_if_faster(const Theirs &theirs)
    {
        if (device_.is_cpu())
            return false;
        const c10::DeviceGuard guard(device_);
        CUstream_st *const stream = current_stream(device_.index());
        Known known = look_up(stream);
        if (known.choice == UNJUDGED && !is_capturing(stream)) {
            const tj_status status = launch_in_place(stream, known);
            if (status != TJ_OK) {
                TORCH_WARN_ONCE("PyTorch computes a product that TileJIT cannot: ", error_.message);
            }
            known.choice = status == TJ_OK && is_faster(stream, known, theirs) ? OURS : THEIRS;
            keep(key(), known);
        }
        /* A product that is captured before it was judged is ours if its kernel is there. */
        return known.choice != THEIRS && launch_in_place(stream, known) == TJ_OK;
    }

    tj_problem problem{};
    tj_operands operands{};

  private:
    struct Bound {
        const void **address;
        Tensor tensor;
        bool is_output;
    };

    static bool is_line(int64_t neighbours, int64_t between, int64_t length, int64_t lines)
    {
        return (neighbours == 1 || length == 1) && (between >= length || lines == 1);
    }

    static bool is_row_major(const Tensor &tensor)
    {
        const int64_t d = tensor.dim();
        return is_line(tensor.stride(d - 1), tensor.stride(d - 2), tensor.size(d - 1), tensor.size(d - 2));
    }

    static bool is_col_major(const Tensor &tensor)
    {
        const int64_t d = tensor.dim();
        return is_line(tensor.stride(d - 2), tensor.stride(d - 1), tensor.size(d - 2), tensor.size(d - 1));
    }

    void remember(const void **address, const Tensor &tensor, bool is_output)
    {
        TORCH_CHECK_VALUE(tensor.device() == device_, "tensors of one product are on ", device_, " and ", tensor.device(),
                          ": move them to one device");
        *address = tensor.const_data_ptr();
        bound_.push_back({address, tensor, is_output});
    }

    /* Facts found about a product, kept by everything that its kernel depends on. */
    enum Choice { UNJUDGED, OURS, THEIRS };
    struct Known {
        Choice choice = UNJUDGED;
        size_t workspace_bytes = 0;
    };
    static_assert(offsetof(tj_problem, epilogue) % sizeof(uint64_t) == 0);
    struct Key {
        std::array<uint64_t, offsetof(tj_problem, epilogue) / sizeof(uint64_t)> problem;
        const tj_epilogue *expression;
        uint64_t types;
        int64_t device;

        bool operator==(const Key &other) const
        {
            return problem == other.problem && expression == other.expression && types == other.types && device == other.device;
        }
    };
    struct Hash {
        size_t operator()(const Key &key) const
        {
            uint64_t hash =
                reinterpret_cast<uintptr_t>(key.expression) ^ key.types * 31 ^ static_cast<uint64_t>(key.device) << 56;
            for (const uint64_t each : key.problem)
                hash = (hash ^ each) * UINT64_C(0x9e3779b97f4a7c15), hash ^= hash >> 29;
            return hash;
        }
    };
    enum { MOST_KNOWN = 16384 };
    struct Table {
        std::mutex mutex;
        std::unordered_map<Key, Known, Hash> known;
    };

    static Table &table()
    {
        static Table *const kept = new Table; /* threads may still multiply while the process ends */
        return *kept;
    }

    Key key() const
    {
        Key key{{}, expression_, types_, device_.index()};
        std::memcpy(key.problem.data(), &problem, sizeof key.problem);
        return key;
    }

    static void keep(const Key &key, const Known &known)
    {
        const std::lock_guard<std::mutex> lock(table().mutex);
        if (table().known.size() >= MOST_KNOWN)
            table().known.clear();
        table().known[key] = known;
    }

    tj_context *context() const
    {
        static std::atomic<tj_context *> known[2]; /* of the device, of host memory */
        const bool is_on_host = device_.is_cpu();
        tj_context *context = known[is_on_host].load(std::memory_order_acquire);

        TORCH_CHECK(is_on_host || device_.is_cuda(), "TileJIT takes tensors on CUDA devices and in host memory, not on ",
                    device_);
        if (!context)
            known[is_on_host].store(context = get_context(is_on_host), std::memory_order_release);
        TORCH_CHECK(context, "TileJIT has no device for these tensors; the message before this one says why");
        return context;
    }

    /* The plan of a product that is not known is made here, for its workspace. In a capture it must be there already. */
    Known look_up(CUstream_st *stream)
    {
        const Key key = this->key();
        const tj_plan *plan = nullptr;
        Known known;

        {
            const std::lock_guard<std::mutex> lock(table().mutex);
            const auto found = table().known.find(key);
            if (found != table().known.end())
                return found->second;
        }
        if (is_capturing(stream) || library.tj_plan_prepare(context(), &problem, nullptr, &plan, &error_) != TJ_OK)
            return known; /* the launch says what is wrong */
        known.workspace_bytes = library.tj_plan_workspace_bytes(plan);
        library.tj_plan_release(plan);
        keep(key, known);
        return known;
    }

    tj_status launch_in_place(CUstream_st *stream, const Known &known)
    {
        Tensor workspace;

        /* PyTorch allocates it, so that a graph may keep it, and later work of the stream may reuse it. */
        if (known.workspace_bytes > 0) {
            workspace = at::empty({static_cast<int64_t>(known.workspace_bytes)}, at::TensorOptions(device_).dtype(at::kByte));
            operands.workspace = workspace.mutable_data_ptr();
            operands.workspace_bytes = known.workspace_bytes;
        }
        return library.tj_matmul(context(), &problem, &operands, stream, &error_);
    }

    static size_t span_bytes(const Tensor &tensor)
    {
        int64_t last = 0;

        for (int64_t i = 0; i < tensor.dim(); i++)
            last += (tensor.size(i) - 1) * tensor.stride(i);
        return tensor.numel() == 0 ? 0 : static_cast<size_t>(last + 1) * tensor.element_size();
    }

    tj_status launch_copies()
    {
        tj_context *const context = this->context();
        const auto release = [this](tj_buffer *buffer) { library.tj_buffer_free(buffer); };
        std::vector<std::unique_ptr<tj_buffer, decltype(release)>> copies;
        tj_status status = TJ_OK;

        for (const Bound &each : bound_) {
            tj_buffer *buffer = nullptr;
            const size_t bytes = span_bytes(each.tensor);
            if (status == TJ_OK)
                status = library.tj_buffer_create(context, bytes ? bytes : 1, &buffer, &error_);
            copies.emplace_back(buffer, release);
            if (status == TJ_OK && bytes)
                status = library.tj_buffer_write(buffer, 0, each.tensor.const_data_ptr(), bytes, &error_);
            if (status == TJ_OK)
                *each.address = library.tj_buffer_address(buffer);
        }
        if (status == TJ_OK)
            status = library.tj_matmul(context, &problem, &operands, nullptr, &error_);
        for (size_t i = 0; i < bound_.size() && status == TJ_OK; i++)
            if (bound_[i].is_output)
                status = library.tj_buffer_read(copies[i].get(), 0, bound_[i].tensor.mutable_data_ptr(),
                                                span_bytes(bound_[i].tensor), &error_);
        return status;
    }

    /*
     * The median of seven times of each in turn; ours must be faster by 3 %, as in `tilejit with`. Two calls before each keep the device
     * busy, so that the host's time counts only where it is longer than the kernel's, as it does in a program.
     */
    template <class Theirs> bool is_faster(CUstream_st *stream, const Known &known, const Theirs &theirs)
    {
        const c10::Stream current = c10::impl::VirtualGuardImpl(device_.type()).getStream(device_);
        c10::Event begin(device_.type(), c10::EventFlag::BACKEND_DEFAULT), end(device_.type(), c10::EventFlag::BACKEND_DEFAULT);
        std::vector<double> ms[2];

        try {
            theirs();
        } catch (const c10::OutOfMemoryError &) {
            return true; /* two results do not fit in memory */
        }
        for (int i = 0; i < 42; i++) {
            const bool is_ours = i / 3 % 2, is_timed = i % 3 == 2;
            if (is_timed)
                begin.record(current);
            if (!is_ours)
                theirs();
            else if (launch_in_place(stream, known) != TJ_OK)
                return false;
            if (!is_timed)
                continue;
            end.record(current);
            end.synchronize();
            ms[is_ours].push_back(begin.elapsedTime(end));
        }
        for (auto &each : ms)
            std::nth_element(each.begin(), each.begin() + 3, each.end());
        const bool is_ours = ms[1][3] < 0.97 * ms[0][3];
        say(1000 * ms[0][3], 1000 * ms[1][3], is_ours);
        return is_ours;
    }

    /* A line for each decision, where TILEJIT_LOG asks for such lines. */
    void say(double theirs_us, double ours_us, bool is_ours) const
    {
        const char *const level = std::getenv("TILEJIT_LOG");
        char text[TJ_PROBLEM_TEXT_BYTES];

        if (!level || (*level != 'i' && *level != 'd'))
            return;
        library.tj_problem_print(&problem, text);
        std::fprintf(stderr, "tilejit info: %s: PyTorch %.1f us, TileJIT %.1f us: %s\n", text, theirs_us, ours_us,
                     is_ours ? "TileJIT" : "PyTorch");
    }

    c10::Device device_;
    c10::SmallVector<Bound, 8> bound_;
    const tj_epilogue *expression_ = nullptr;
    uint64_t types_ = 0; /* of the expression's arrays, where it does not say them */
    tj_error error_;     /* written where a call fails, and only then read */
};

} // namespace tilejit
