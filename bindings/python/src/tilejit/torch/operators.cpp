/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operators.cpp: the operators of torch.ops.tilejit: their schemas, kernels, gradients and autocasting. Each is dispatched and
 * differentiated here, without Python. _fake.py says what shapes they return, for torch.compile.
 *
 * A gradient is made of the same operators, so it can be differentiated again, traced by torch.compile and transformed by torch.func.
 */
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/threshold_backward.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/library.h>

#include "product.h"

namespace tilejit
{
namespace
{

using at::IntArrayRef;
using c10::DispatchKeySet;
using std::optional;
using std::string;
using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

/* ---- the operators as they call each other ----------------------------------------------------------------------------- */

template <class Signature> c10::TypedOperatorHandle<Signature> find(const char *name)
{
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

using LinearSignature = Tensor(const Tensor &, const Tensor &, const optional<Tensor> &, const optional<Tensor> &,
                               const optional<Tensor> &, c10::string_view, bool, bool);
using SavingSignature = std::tuple<Tensor, Tensor, Tensor>(const Tensor &, const Tensor &, const optional<Tensor> &,
                                                           const optional<Tensor> &, const optional<Tensor> &, c10::string_view,
                                                           bool);
using MatmulSignature = Tensor(const Tensor &, const Tensor &, bool);
using GroupedSignature = Tensor(const Tensor &, const Tensor &, const Tensor &);
using QuantizedSignature = Tensor(const Tensor &, const Tensor &, const Tensor &, const optional<Tensor> &,
                                  const optional<Tensor> &, const optional<Tensor> &, c10::string_view, int64_t, bool);

const auto &linear_op()
{
    static const auto op = find<LinearSignature>("tilejit::linear");
    return op;
}

const auto &saving_op()
{
    static const auto op = find<SavingSignature>("tilejit::_linear_saving");
    return op;
}

const auto &matmul_op()
{
    static const auto op = find<MatmulSignature>("tilejit::matmul");
    return op;
}

const auto &grouped_op()
{
    static const auto op = find<GroupedSignature>("tilejit::grouped");
    return op;
}

const auto &along_k_op()
{
    static const auto op = find<GroupedSignature>("tilejit::along_k");
    return op;
}

const auto &quantized_op()
{
    static const auto op = find<QuantizedSignature>("tilejit::quantized_linear");
    return op;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------------- */

/* As torch.backends.cuda.matmul.allow_tf32 says; all other types have sums of f32, or f64. */
void set_compute(Product &product)
{
    if (product.problem.m.type == TJ_F32 && product.problem.n.type == TJ_F32 && at::globalContext().allowTF32CuBLAS())
        product.problem.compute = TJ_COMPUTE_TF32;
}

Tensor as_rows(const Tensor &tensor)
{
    return tensor.dim() == 2 ? tensor : tensor.dim() == 1 ? tensor.unsqueeze(0) : tensor.flatten(0, -2);
}

int64_t rows_of(const Tensor &tensor)
{
    return c10::multiply_integers(tensor.sizes().slice(0, static_cast<size_t>(tensor.dim()) - 1));
}

std::vector<int64_t> with_last(const Tensor &like, int64_t last)
{
    std::vector<int64_t> sizes = like.sizes().vec();
    sizes.back() = last;
    return sizes;
}

bool halves_meet_f32(const Tensor &halves, const Tensor &other)
{
    return halves.element_size() == 2 && halves.is_floating_point() && other.scalar_type() == at::kFloat;
}

void check_floats(const char *name, const Tensor &a, const Tensor &b)
{
    TORCH_CHECK_TYPE(a.is_floating_point() && a.element_size() > 1, name, ": a tensor of ", a.scalar_type(),
                     " is not multiplied: pass float32, float16, bfloat16 or float64, or the operator of quantised weights");
    TORCH_CHECK_TYPE(a.scalar_type() == b.scalar_type() || halves_meet_f32(a, b) || halves_meet_f32(b, a), name,
                     ": tensors of ", a.scalar_type(), " and ", b.scalar_type(), " are not multiplied: convert one of them");
}

/* float32 for a tensor of 16 bits and one of float32; else the type of both. */
at::TensorOptions options_of(const Tensor &a, const Tensor &b)
{
    return a.options().dtype(at::promote_types(a.scalar_type(), b.scalar_type()));
}

bool is_activation(c10::string_view name)
{
    return name == "relu" || name == "gelu" || name == "gelu_tanh" || name == "silu";
}

/* A tensor of some type as a word of an expression: "bias:bf16[col]". */
string word(const char *name, at::ScalarType type, const char *index)
{
    return string(name) + ":" + library.tj_type_name(type_of(type)) + index;
}

string word(const char *name, const Tensor &tensor, const char *index)
{
    return word(name, tensor.scalar_type(), index);
}

/* The arguments of linear, checked. Weights lie as those of nn.Linear: (out, in), with groups (groups, out, in). */
struct Linear {
    const Tensor &input, &weight;
    const optional<Tensor> &bias, &residual, &offsets;
    string activation;
    bool gated;

    int64_t out() const
    {
        return weight.size(-2) / (gated ? 2 : 1);
    }

    void check() const
    {
        check_floats("linear", input, weight);
        TORCH_CHECK_VALUE(input.dim() >= 1 && weight.dim() == (offsets ? 3 : 2) && input.size(-1) == weight.size(-1),
                          "linear: input is ", input.sizes(), " and weight is ", weight.sizes(),
                          ": pass (..., in) and (out, in), with offsets (groups, out, in)");
        TORCH_CHECK_VALUE(activation.empty() || is_activation(activation), "linear: activation is '", activation,
                          "': it is relu, gelu, gelu_tanh, silu, or empty; use linear_epilogue for any other expression");
        TORCH_CHECK_VALUE(!gated || (!activation.empty() && weight.size(-2) % 2 == 0),
                          "linear: a gate takes an activation and pairs of rows of weight, which has ", weight.size(-2));
        TORCH_CHECK_VALUE(!offsets || (!bias && !residual && input.dim() == 2),
                          "linear: with offsets, input has two dimensions, and there is neither bias nor residual");
        TORCH_CHECK_VALUE(!bias || (bias->dim() == 1 && bias->size(0) == weight.size(-2)), "linear: bias is ",
                          bias ? bias->sizes() : IntArrayRef(), " and weight is ", weight.sizes(),
                          ": pass an element for each row of weight");
        TORCH_CHECK_VALUE(!residual || residual->sizes() == IntArrayRef(with_last(input, out())), "linear: residual is ",
                          residual ? residual->sizes() : IntArrayRef(), ": it has the shape of the result, ",
                          with_last(input, out()));
    }

    /* The expression; with_pre: it also stores what the activation is applied to. Both halves of a pair have a bias of their own. */
    string expression(bool with_pre) const
    {
        const string left = gated ? "acc[2*col]" : "acc", right = "acc[2*col+1]";
        const string first = bias ? left + " + " + (gated ? word("even", *bias, "[col]") : word("bias", *bias, "[col]")) : left;
        const string second = bias ? right + " + " + word("odd", *bias, "[col]") : right;
        const at::ScalarType type = c10::typeMetaToScalarType(options_of(input, weight).dtype());
        string value = activation.empty() ? first : activation + "(" + first + ")";

        if (gated)
            value += " * (" + second + ")";
        if (residual)
            value += " + " + word("residual", *residual, "[row, col]");
        if (with_pre && gated)
            value = word("other", type, "[row, col] = ") + second + "; " + value;
        if (with_pre)
            value = word("pre", type, "[row, col] = ") + first + "; " + value;
        return value;
    }

    Tensor empty() const
    {
        /* Rows that belong to no group are not written: they are zeros. */
        const at::TensorOptions options = options_of(input, weight);
        return offsets ? at::zeros(with_last(input, out()), options) : at::empty(with_last(input, out()), options);
    }

    /* pre, other: NULL, or where to store what the activation is applied to. false: if_faster, and PyTorch's own product is. */
    template <class Theirs>
    bool run(const Tensor &result, const Tensor *pre, const Tensor *other, bool if_faster, const Theirs &theirs) const
    {
        if (result.numel() == 0)
            return true;
        Product product(input, rows_of(input), input.size(-1), weight.size(-2));
        product.factor(TJ_MATRIX_M, as_rows(input));
        product.factor(TJ_MATRIX_N, weight.transpose(-2, -1));
        product.result(result);
        set_compute(product);
        if (offsets)
            product.groups(TJ_ROWS_IN_GROUPS, weight.size(0), *offsets);
        if (bias || residual || !activation.empty())
            product.epilogue(expression(pre != nullptr));
        if (bias && gated) {
            const Tensor pairs = bias->reshape({-1, 2}).t().contiguous();
            product.with("even", pairs.select(0, 0));
            product.with("odd", pairs.select(0, 1));
        } else if (bias) {
            product.with("bias", bias->contiguous());
        }
        if (residual)
            product.with("residual", residual->contiguous());
        if (pre)
            product.with("pre", *pre, true);
        if (other && gated)
            product.with("other", *other, true);
        if (if_faster)
            return product.launch_if_faster(theirs);
        product.launch();
        return true;
    }
};

Tensor activate(const Tensor &value, const string &activation)
{
    return activation == "relu"        ? at::relu(value)
           : activation == "silu"      ? at::silu(value)
           : activation == "gelu"      ? at::gelu(value)
           : activation == "gelu_tanh" ? at::gelu(value, "tanh")
                                       : value;
}

Tensor activation_backward(const Tensor &gradient, const Tensor &value, const string &activation)
{
    if (activation == "relu")
        return at::threshold_backward(gradient, value, 0);
    if (activation != "silu")
        return at::gelu_backward(gradient, value, activation == "gelu" ? "none" : "tanh");
    if (!at::GradMode::is_enabled())
        return at::silu_backward(gradient, value); /* which has no gradient of its own */
    const Tensor share = at::sigmoid(value);
    return gradient * share * (1 + value * (1 - share));
}

Tensor linear(const Tensor &input, const Tensor &weight, const optional<Tensor> &bias, const optional<Tensor> &residual,
              const optional<Tensor> &offsets, c10::string_view activation, bool gated, bool if_faster)
{
    const Linear call{input, weight, bias, residual, offsets, string(activation), gated};
    call.check();
    TORCH_CHECK_VALUE(!if_faster || (!gated && !offsets),
                      "linear: if_faster goes with a product that PyTorch has, without gate and offsets");
    const auto theirs = [&] {
        const at::TensorOptions to = options_of(input, weight);
        const optional<Tensor> added = bias ? optional<Tensor>(bias->to(to)) : bias;
        const Tensor value = activate(at::linear(input.to(to), weight.to(to), added), call.activation);
        return residual ? value + *residual : value;
    };
    const Tensor result = call.empty();
    return call.run(result, nullptr, nullptr, if_faster, theirs) ? result : theirs();
}

std::tuple<Tensor, Tensor, Tensor> linear_saving(const Tensor &input, const Tensor &weight, const optional<Tensor> &bias,
                                                 const optional<Tensor> &residual, const optional<Tensor> &offsets,
                                                 c10::string_view activation, bool gated)
{
    const Linear call{input, weight, bias, residual, offsets, string(activation), gated};
    call.check();
    const Tensor result = call.empty(), pre = call.empty(), other = gated ? call.empty() : at::empty({0}, result.options());
    call.run(result, &pre, &other, false, [] {});
    return {result, pre, other};
}

Tensor matmul(const Tensor &a, const Tensor &b, bool if_faster)
{
    check_floats("matmul", a, b);
    TORCH_CHECK_VALUE(a.dim() == b.dim() && (a.dim() == 2 || (a.dim() == 3 && a.size(0) == b.size(0))) &&
                          a.size(-1) == b.size(-2),
                      "matmul: a is ", a.sizes(), " and b is ", b.sizes(), ": pass two matrices, or as many of both");
    const at::TensorOptions options = options_of(a, b);
    const auto theirs = [&] {
        return a.dim() == 2 ? at::mm(a.to(options), b.to(options)) : at::bmm(a.to(options), b.to(options));
    };
    std::vector<int64_t> sizes = a.sizes().vec();
    sizes.back() = b.size(-1);
    const Tensor result = at::empty(sizes, options);
    if (result.numel() == 0)
        return result;
    Product product(a, a.size(-2), a.size(-1), b.size(-1));
    product.factor(TJ_MATRIX_M, a);
    product.factor(TJ_MATRIX_N, b);
    product.result(result);
    set_compute(product);
    if (a.dim() == 3)
        product.batch(a.size(0));
    if (!if_faster)
        product.launch();
    else if (!product.launch_if_faster(theirs))
        return theirs();
    return result;
}

Tensor grouped(const Tensor &a, const Tensor &b, const Tensor &offsets)
{
    check_floats("grouped", a, b);
    TORCH_CHECK_VALUE(a.dim() == 2 && b.dim() == 3 && a.size(1) == b.size(1), "grouped: a is ", a.sizes(), " and b is ",
                      b.sizes(), ": pass (rows, k) and (groups, k, l)");
    const Tensor result = at::zeros({a.size(0), b.size(2)}, options_of(a, b));
    if (result.numel() == 0)
        return result;
    Product product(a, a.size(0), a.size(1), b.size(2));
    product.factor(TJ_MATRIX_M, a.stride(1) == 1 ? a : a.contiguous());
    product.factor(TJ_MATRIX_N, b);
    product.result(result);
    set_compute(product);
    product.groups(TJ_ROWS_IN_GROUPS, b.size(0), offsets);
    product.launch();
    return result;
}

/* a^T . b of the rows of each group: (groups, columns of a, columns of b). */
Tensor along_k(const Tensor &a, const Tensor &b, const Tensor &offsets)
{
    check_floats("along_k", a, b);
    TORCH_CHECK_VALUE(a.dim() == 2 && b.dim() == 2 && a.size(0) == b.size(0) && offsets.dim() == 1 && offsets.size(0) > 1,
                      "along_k: a is ", a.sizes(), ", b is ", b.sizes(), " and offsets are ", offsets.sizes(),
                      ": pass (rows, j), (rows, l) and (groups + 1)");
    const int64_t groups = offsets.size(0) - 1;
    const Tensor result = at::empty({groups, a.size(1), b.size(1)}, options_of(a, b));
    if (result.numel() == 0 || a.size(0) == 0)
        return result.zero_();
    Product product(a, a.size(1), a.size(0), b.size(1));
    product.factor(TJ_MATRIX_M, a.t());
    product.factor(TJ_MATRIX_N, b);
    product.result(result);
    set_compute(product);
    product.groups(TJ_ROWS_ALONG_K, groups, offsets);
    product.batch(groups);
    if (groups > 1)
        product.problem.m.stride = product.problem.n.stride = TJ_BROADCAST;
    product.launch();
    return result;
}

Tensor linear_epilogue(const Tensor &input, const Tensor &weight, c10::string_view expression, const c10::List<string> &names,
                       const std::vector<Tensor> &arrays, const std::vector<double> &numbers)
{
    check_floats("linear_epilogue", input, weight);
    TORCH_CHECK_VALUE(input.dim() >= 1 && weight.dim() == 2 && input.size(-1) == weight.size(1), "linear_epilogue: input is ",
                      input.sizes(), " and weight is ", weight.sizes(), ": pass (..., in) and (out, in)");
    TORCH_CHECK_VALUE(names.size() == arrays.size() + numbers.size(), "linear_epilogue: there are ", names.size(),
                      " names for ", arrays.size(), " arrays and ", numbers.size(), " numbers");
    Product product(input, rows_of(input), input.size(-1), weight.size(0));
    product.epilogue(string(expression));
    const tj_epilogue &epilogue = product.problem.epilogue;
    const bool is_pair = [&] {
        for (int i = 0; i < epilogue.expression.nodes; i++)
            if (epilogue.expression.node[i].op == TJ_OP_ACC_EVEN || epilogue.expression.node[i].op == TJ_OP_ACC_ODD)
                return true;
        return false;
    }();
    const int64_t out = weight.size(0) / (is_pair ? 2 : 1), rows = product.problem.j.extent;
    const Tensor result = at::empty(with_last(input, out), options_of(input, weight));
    TORCH_CHECK_VALUE(!epilogue.has_alpha && !epilogue.has_beta,
                      "linear_epilogue: the expression has alpha, beta or c: use other names");
    for (int i = 0; i < epilogue.expression.operands; i++) {
        const tj_epilogue_operand &operand = epilogue.expression.operand[i];
        TORCH_CHECK_VALUE(!operand.is_output, "linear_epilogue: the expression writes ", operand.name,
                          ", and returns one tensor: use tilejit.matmul");
        size_t at = 0;
        while (at < names.size() && names.get(at) != operand.name)
            at++;
        TORCH_CHECK_VALUE(at < names.size(), "linear_epilogue: the expression has an operand ", operand.name,
                          ", which is missing");
        if (operand.indexed == TJ_BY_NOTHING) {
            TORCH_CHECK_VALUE(at >= arrays.size(), "linear_epilogue: ", operand.name,
                              " is a number in the expression, and an array was passed");
            product.with(operand.name, numbers[at - arrays.size()]);
            continue;
        }
        TORCH_CHECK_VALUE(at < arrays.size(), "linear_epilogue: ", operand.name,
                          " is an array in the expression, and a number was passed");
        const int64_t wanted = operand.indexed == TJ_BY_COL ? out : operand.indexed == TJ_BY_ROW ? rows : rows * out;
        TORCH_CHECK_VALUE(arrays[at].numel() == wanted, "linear_epilogue: ", operand.name, " is ", arrays[at].sizes(),
                          ": pass ", wanted, " elements");
        product.with_type_of(i, arrays[at].contiguous());
    }
    if (result.numel() == 0)
        return result;
    product.factor(TJ_MATRIX_M, as_rows(input));
    product.factor(TJ_MATRIX_N, weight.t());
    product.result(result);
    set_compute(product);
    product.launch();
    return result;
}

/* Scales of (blocks of rows, parts of k): `block` rows and `part` elements of k have one; 0: all. */
void set_scale(Product &product, tj_which which, const Tensor &scale, int64_t block, int64_t part)
{
    product.problem.scale[which].type =
        static_cast<int8_t>(scale.scalar_type() == at::kByte ? TJ_E8M0 : type_of(scale.scalar_type()));
    product.problem.scale[which].layout =
        part ? TJ_SCALES_ROW_BY_ROW : TJ_SCALES_PART_BY_PART; /* scales of all of k are a vector */
    product.problem.scale[which].rows = static_cast<int32_t>(block);
    product.problem.scale[which].k = static_cast<int32_t>(part);
    product.bind(product.operands.scale[which], scale);
}

int64_t parts_of(int64_t extent, int64_t each)
{
    return (extent + each - 1) / each;
}

void set_fp8_scale(Product &product, tj_which which, const Tensor &scale, int64_t rows, int64_t k)
{
    const char *const name = which == TJ_MATRIX_M ? "scale_input" : "scale_weight";
    const bool is_micro = scale.scalar_type() == at::kByte || scale.scalar_type() == at::kFloat8_e8m0fnu;
    const int64_t part = is_micro ? 32 : 128, parts = parts_of(k, part);

    TORCH_CHECK_TYPE(is_micro || scale.scalar_type() == at::kFloat, "scaled_linear: ", name, " is of ", scale.scalar_type(),
                     ": scales are float32, or float8_e8m0fnu for each 32 elements");
    if (!is_micro && scale.numel() == 1)
        set_scale(product, which, scale, 0, 0);
    else if (!is_micro && scale.numel() == rows && scale.dim() <= 2 && (scale.dim() == 1 || scale.size(1) == 1))
        set_scale(product, which, scale.contiguous(), 1, 0);
    else if (scale.dim() == 2 && scale.size(0) == rows && scale.size(1) == parts)
        set_scale(product, which, scale.contiguous(), 1, part);
    else if (!is_micro && scale.dim() == 2 && scale.size(0) == parts_of(rows, 128) && scale.size(1) == parts)
        set_scale(product, which, scale.contiguous(), 128, part);
    else
        TORCH_CHECK_VALUE(false, "scaled_linear: ", name, " is ", scale.sizes(), " for ", rows, " rows of ", k,
                          " elements: pass one number, (rows), (rows, parts of ", part,
                          " elements) or, in float32, one for each 128 x 128");
}

Tensor scaled_linear(const Tensor &input, const Tensor &weight, const Tensor &scale_input, const Tensor &scale_weight,
                     const optional<Tensor> &bias, at::ScalarType dtype)
{
    const auto is_fp8 = [](const Tensor &tensor) {
        return tensor.scalar_type() == at::kFloat8_e4m3fn || tensor.scalar_type() == at::kFloat8_e5m2;
    };
    TORCH_CHECK_TYPE(is_fp8(input) && is_fp8(weight), "scaled_linear: input is of ", input.scalar_type(), " and weight of ",
                     weight.scalar_type(), ": pass float8_e4m3fn or float8_e5m2");
    TORCH_CHECK_VALUE(input.dim() >= 1 && weight.dim() == 2 && input.size(-1) == weight.size(1), "scaled_linear: input is ",
                      input.sizes(), " and weight is ", weight.sizes(), ": pass (..., in) and (out, in)");
    TORCH_CHECK_VALUE(!bias || (bias->dim() == 1 && bias->size(0) == weight.size(0)),
                      "scaled_linear: bias has an element for each row of weight");
    const int64_t k = input.size(-1), rows = rows_of(input);
    const Tensor result = at::empty(with_last(input, weight.size(0)), input.options().dtype(dtype));
    if (result.numel() == 0)
        return result;
    Product product(input, rows, k, weight.size(0));
    product.factor(TJ_MATRIX_M, as_rows(input));
    product.factor(TJ_MATRIX_N, weight.t());
    product.result(result);
    product.problem.compute = TJ_COMPUTE_F32_FP8;
    set_fp8_scale(product, TJ_MATRIX_M, scale_input, rows, k);
    set_fp8_scale(product, TJ_MATRIX_N, scale_weight, weight.size(0), k);
    if (bias) {
        product.epilogue("acc + " + word("bias", *bias, "[col]"));
        product.with("bias", bias->contiguous());
    }
    product.launch();
    return result;
}

/* The type of quantised weights, and the elements of k that a stored row has. */
tj_type type_of_weights(c10::string_view name, const Tensor &weight)
{
    tj_type type = TJ_TYPE_DEFAULT;
    tj_error error{};

    check(library.tj_type_parse(string(name).c_str(), &type, &error), error);
    const bool is_pairs = type == TJ_S4 || type == TJ_U4 || type == TJ_E2M1;
    TORCH_CHECK_TYPE(is_pairs ? weight.scalar_type() == at::kByte : type_of(weight.scalar_type()) == type,
                     "quantized_linear: weight is of ", weight.scalar_type(), ", and its type '", string(name),
                     "': types of 4 bits are two in a uint8, others have their own dtype");
    return type;
}

struct Quantized {
    const Tensor &input, &weight, &scale;
    const optional<Tensor> &zero, &whole, &bias;
    tj_type type;
    int64_t group;
    bool repacked;

    bool is_pairs() const
    {
        return type == TJ_S4 || type == TJ_U4 || type == TJ_E2M1;
    }

    void check() const
    {
        const int64_t k = input.size(-1), parts = group ? parts_of(k, group) : 1, out = weight.size(0);

        TORCH_CHECK_TYPE(input.is_floating_point() && (input.element_size() == 2 || input.scalar_type() == at::kFloat),
                         "quantized_linear: input is of ", input.scalar_type(),
                         ": pass bfloat16, float16 or float32; scaled_linear multiplies two tensors of 8-bit floats");
        TORCH_CHECK_VALUE(input.dim() >= 1 && weight.dim() == 2 && weight.size(1) == (is_pairs() ? parts_of(k, 2) : k),
                          "quantized_linear: input is ", input.sizes(), " and weight is ", weight.sizes(),
                          ": pass (..., in) and (out, in), with 4 bits (out, in / 2)");
        TORCH_CHECK_TYPE(!repacked || is_pairs(), "quantized_linear: weight is of ", weight.scalar_type(),
                         ", and only weights of 4 bits are repacked: leave out repacked=True");
        TORCH_CHECK_VALUE(!repacked || k % TJ_REPACKED_BLOCK == 0, "quantized_linear: input is ", input.sizes(),
                          ", and weights are repacked in blocks of ", int(TJ_REPACKED_BLOCK),
                          ": pad input and weight with zeros to a multiple");
        TORCH_CHECK_VALUE(group >= 0 && scale.numel() == out * parts && scale.is_contiguous(), "quantized_linear: scale is ",
                          scale.sizes(), ": pass contiguous (", out, ", ", parts, "), one for each row and ", group,
                          " elements (0: all)");
        TORCH_CHECK_VALUE(!zero || zero->is_contiguous(),
                          "quantized_linear: zero must be contiguous, (out, parts), with u4 two in a byte");
        TORCH_CHECK_VALUE(
            !zero || zero->numel() == out * (type == TJ_U4 && zero->scalar_type() == at::kByte ? parts_of(parts, 2) : parts),
            "quantized_linear: zero is ", zero ? zero->sizes() : IntArrayRef(), ": pass (out, parts), with u4 two in a byte");
        TORCH_CHECK_VALUE(!bias || (bias->dim() == 1 && bias->size(0) == out),
                          "quantized_linear: bias has an element for each row of weight");
    }

    Tensor run() const
    {
        const int64_t k = input.size(-1), rows = rows_of(input);
        const Tensor result = at::empty(with_last(input, weight.size(0)), input.options());

        if (result.numel() == 0)
            return result;
        Product product(input, rows, k, weight.size(0));
        product.factor(TJ_MATRIX_M, as_rows(input));
        product.factor(TJ_MATRIX_N, weight.t(), type);
        product.problem.n.order = repacked ? TJ_ORDER_REPACKED : TJ_ORDER_NATURAL;
        product.result(result);
        set_scale(product, TJ_MATRIX_N, scale, 1, group);
        if (zero) {
            product.problem.scale[TJ_MATRIX_N].zero =
                static_cast<int8_t>(type == TJ_U4 && zero->scalar_type() == at::kByte ? TJ_U4 : type_of(zero->scalar_type()));
            product.bind(product.operands.zero[TJ_MATRIX_N], *zero);
        }
        if (whole) {
            product.problem.scale[TJ_MATRIX_N].whole = 1;
            product.bind(product.operands.whole[TJ_MATRIX_N], *whole);
        }
        if (bias) {
            product.epilogue("acc + " + word("bias", *bias, "[col]"));
            product.with("bias", bias->contiguous());
        }
        product.launch();
        return result;
    }

    static Tensor halves(const Tensor &bytes, int64_t count)
    {
        return at::stack({bytes.bitwise_and(15), bytes.bitwise_right_shift(4)}, -1).flatten(-2).narrow(-1, 0, count);
    }

    /* The weights as they are multiplied, (out, in) of f32, for the gradient of input. */
    Tensor dequantize() const
    {
        const int64_t k = input.size(-1), parts = group ? parts_of(k, group) : 1, out = weight.size(0);
        const auto spread = [&](const Tensor &each) {
            const Tensor columns = each.to(at::kFloat).reshape({out, parts});
            return parts > 1 ? columns.repeat_interleave(group, 1).narrow(1, 0, k) : columns;
        };
        Tensor value = is_pairs() ? halves(weight, k) : weight;
        if (repacked)
            value = value.reshape({out, k / TJ_REPACKED_BLOCK, 8, 4}).transpose(2, 3).reshape({out, k});
        if (type == TJ_E2M1) {
            const Tensor numbers = at::tensor({0., .5, 1., 1.5, 2., 3., 4., 6., -0., -.5, -1., -1.5, -2., -3., -4., -6.},
                                              input.options().dtype(at::kFloat));
            value = numbers.index({value.to(at::kLong)});
        } else {
            value = value.to(at::kFloat);
            if (type == TJ_S4)
                value = value - (value > 7).to(at::kFloat) * 16;
        }
        if (zero)
            value = value -
                    spread(type == TJ_U4 && zero->scalar_type() == at::kByte ? halves(zero->reshape({out, -1}), parts) : *zero);
        value = value * spread(scale.scalar_type() == at::kByte ? scale.view(at::kFloat8_e8m0fnu) : scale);
        return whole ? value * *whole : value;
    }
};

Tensor quantized_linear(const Tensor &input, const Tensor &weight, const Tensor &scale, const optional<Tensor> &zero,
                        const optional<Tensor> &whole, const optional<Tensor> &bias, c10::string_view type, int64_t group,
                        bool repacked)
{
    const Quantized call{input, weight, scale, zero, whole, bias, type_of_weights(type, weight), group, repacked};
    call.check();
    return call.run();
}

/* The weights of quantized_linear, (out, in), of f32. */
Tensor dequantize(const Tensor &input, const Tensor &weight, const Tensor &scale, const optional<Tensor> &zero,
                  const optional<Tensor> &whole, c10::string_view type, int64_t group, bool repacked)
{
    const optional<Tensor> none;
    const Quantized call{input, weight, scale, zero, whole, none, type_of_weights(type, weight), group, repacked};
    call.check();
    return call.dequantize();
}

/* ---- gradients --------------------------------------------------------------------------------------------------------- */

using torch::autograd::Node;
using NodePointer =
    decltype(torch::autograd::Edge::function); /* a std::shared_ptr, from PyTorch 2.12 on a c10::intrusive_ptr */

template <class T> auto make_node()
{
    if constexpr (std::is_same_v<NodePointer, std::shared_ptr<Node>>)
        return std::shared_ptr<T>(new T, [](T *node) { deleteNode(node); }); /* destroys long chains without recursion */
    else
        return c10::make_intrusive<T>();
}

optional<Tensor> given(const SavedVariable &saved)
{
    Tensor tensor = saved.unpack();
    return tensor.defined() ? optional<Tensor>(std::move(tensor)) : std::nullopt;
}

template <class... Tensors> void refuse_forward_mode(const char *name, const Tensors &...tensors)
{
    TORCH_CHECK_NOT_IMPLEMENTED((!torch::autograd::isFwGradDefined(tensors) && ...), name,
                                " has no gradient in forward mode: use reverse mode, or torch's own operators");
}

/* The gradients of a product of two tensors: matmul, grouped, along_k. */
struct ProductBackward : public Node {
    using Formula = std::pair<Tensor, Tensor> (*)(const ProductBackward &, const Tensor &gradient, const Tensor &a,
                                                  const Tensor &b, const Tensor &offsets);
    SavedVariable a, b, offsets;
    Formula formula = nullptr;
    bool if_faster = false;

    bool needs(size_t input) const
    {
        return const_cast<ProductBackward *>(this)->task_should_compute_output(input);
    }

    variable_list apply(variable_list &&gradients) override
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!gradients[0].defined())
            return {Tensor(), Tensor()};
        const auto [to_a, to_b] = formula(*this, gradients[0], a.unpack(), b.unpack(), offsets.unpack());
        return {to_a, to_b};
    }

    void release_variables() override
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        a.reset_data();
        b.reset_data();
        offsets.reset_data();
    }

    string name() const override
    {
        return "TileJITProductBackward";
    }
};

template <class Run>
Tensor differentiate(const char *name, const Tensor &a, const Tensor &b, const optional<Tensor> &offsets,
                     ProductBackward::Formula formula, bool if_faster, const Run &run)
{
    refuse_forward_mode(name, a, b);
    if (!torch::autograd::compute_requires_grad(a, b)) {
        const at::AutoDispatchBelowADInplaceOrView guard;
        return run();
    }
    const auto node = make_node<ProductBackward>();
    node->set_next_edges(torch::autograd::collect_next_edges(a, b));
    node->a = SavedVariable(a, false);
    node->b = SavedVariable(b, false);
    node->offsets = SavedVariable(offsets, false);
    node->formula = formula;
    node->if_faster = if_faster;
    Tensor result = [&] {
        const at::AutoDispatchBelowADInplaceOrView guard;
        return run();
    }();
    torch::autograd::set_history(result, node);
    return result;
}

Tensor matmul_autograd(DispatchKeySet keys, const Tensor &a, const Tensor &b, bool if_faster)
{
    const auto formula = [](const ProductBackward &node, const Tensor &gradient, const Tensor &a, const Tensor &b,
                            const Tensor &) {
        return std::make_pair(node.needs(0) ? matmul_op().call(gradient, b.transpose(-2, -1), node.if_faster) : Tensor(),
                              node.needs(1) ? matmul_op().call(a.transpose(-2, -1), gradient, node.if_faster) : Tensor());
    };
    return differentiate("tilejit::matmul", a, b, std::nullopt, formula, if_faster,
                         [&] { return matmul_op().redispatch(keys & c10::after_autograd_keyset, a, b, if_faster); });
}

Tensor grouped_autograd(DispatchKeySet keys, const Tensor &a, const Tensor &b, const Tensor &offsets)
{
    const auto formula = [](const ProductBackward &node, const Tensor &gradient, const Tensor &a, const Tensor &b,
                            const Tensor &offsets) {
        return std::make_pair(node.needs(0) ? grouped_op().call(gradient, b.transpose(-2, -1), offsets) : Tensor(),
                              node.needs(1) ? along_k_op().call(a, gradient, offsets) : Tensor());
    };
    return differentiate("tilejit::grouped", a, b, offsets, formula, false,
                         [&] { return grouped_op().redispatch(keys & c10::after_autograd_keyset, a, b, offsets); });
}

Tensor along_k_autograd(DispatchKeySet keys, const Tensor &a, const Tensor &b, const Tensor &offsets)
{
    const auto formula = [](const ProductBackward &node, const Tensor &gradient, const Tensor &a, const Tensor &b,
                            const Tensor &offsets) {
        return std::make_pair(node.needs(0) ? grouped_op().call(b, gradient.transpose(-2, -1), offsets) : Tensor(),
                              node.needs(1) ? grouped_op().call(a, gradient, offsets) : Tensor());
    };
    return differentiate("tilejit::along_k", a, b, offsets, formula, false,
                         [&] { return along_k_op().redispatch(keys & c10::after_autograd_keyset, a, b, offsets); });
}

struct LinearBackward : public Node {
    enum { INPUT, WEIGHT, BIAS, RESIDUAL };
    SavedVariable input, weight, bias, offsets, pre, other;
    string activation;
    bool gated = false, if_faster = false;

    variable_list apply(variable_list &&gradients) override
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        variable_list to(4);
        Tensor gradient = std::move(gradients[0]);
        if (!gradient.defined())
            return to;
        if (task_should_compute_output(RESIDUAL))
            to[RESIDUAL] = gradient;
        if (!task_should_compute_output({{INPUT, RESIDUAL}}))
            return to;
        const Tensor x = input.unpack(), w = weight.unpack();
        const optional<Tensor> groups = given(offsets);
        gradient = as_rows(gradient);
        if (!activation.empty())
            gradient = before_activation(gradient, as_rows(x), w, groups);
        if (task_should_compute_output(INPUT)) {
            to[INPUT] = groups ? grouped_op().call(gradient, w, *groups) : matmul_op().call(gradient, w, if_faster);
            if (x.dim() != 2)
                to[INPUT] = to[INPUT].view_symint(x.sym_sizes());
        }
        if (task_should_compute_output(WEIGHT))
            to[WEIGHT] = of_weight(gradient, as_rows(x), w, groups);
        if (task_should_compute_output(BIAS))
            to[BIAS] = gradient.sum(0);
        return to;
    }

    /* Stored as the weight is: of a transposed view, whose own gradient is then the transpose of this, without a copy. */
    Tensor of_weight(const Tensor &gradient, const Tensor &x, const Tensor &w, const optional<Tensor> &groups) const
    {
        if (groups)
            return along_k_op().call(gradient, x, *groups);
        return w.is_contiguous() ? matmul_op().call(gradient.t(), x, if_faster)
                                 : matmul_op().call(x.t(), gradient, if_faster).t();
    }

    /* The gradient of what the activation was applied to. If it is to be differentiated itself, that value is computed again, since
       the saved one is not tied to the inputs. */
    Tensor before_activation(const Tensor &gradient, const Tensor &x, const Tensor &w, const optional<Tensor> &groups) const
    {
        Tensor first, second;
        if (at::GradMode::is_enabled()) {
            Tensor both = groups ? grouped_op().call(x, w.transpose(-2, -1), *groups) : matmul_op().call(x, w.t(), if_faster);
            if (const optional<Tensor> added = given(bias))
                both = both + *added;
            first = gated ? both.slice(-1, 0, std::nullopt, 2) : both;
            second = gated ? both.slice(-1, 1, std::nullopt, 2) : both;
        } else {
            first = as_rows(pre.unpack());
            second = gated ? as_rows(other.unpack()) : first;
        }
        if (!gated)
            return activation_backward(gradient, first, activation);
        return at::stack({activation_backward(gradient * second, first, activation), gradient * activate(first, activation)},
                         -1)
            .flatten(-2);
    }

    void release_variables() override
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (SavedVariable *saved : {&input, &weight, &bias, &offsets, &pre, &other})
            saved->reset_data();
    }

    string name() const override
    {
        return "TileJITLinearBackward";
    }
};

Tensor linear_autograd(DispatchKeySet keys, const Tensor &input, const Tensor &weight, const optional<Tensor> &bias,
                       const optional<Tensor> &residual, const optional<Tensor> &offsets, c10::string_view activation,
                       bool gated, bool if_faster)
{
    const auto below = keys & c10::after_autograd_keyset;

    refuse_forward_mode("tilejit::linear", input, weight, bias, residual);
    if (!torch::autograd::compute_requires_grad(input, weight, bias, residual)) {
        const at::AutoDispatchBelowADInplaceOrView guard;
        return linear_op().redispatch(below, input, weight, bias, residual, offsets, activation, gated, if_faster);
    }
    const auto node = make_node<LinearBackward>();
    node->set_next_edges(torch::autograd::collect_next_edges(input, weight, bias, residual));
    node->input = SavedVariable(input, false);
    node->weight = SavedVariable(weight, false);
    node->offsets = SavedVariable(offsets, false);
    node->activation = string(activation);
    node->gated = gated;
    node->if_faster = if_faster;
    Tensor result, pre, other;
    {
        const at::AutoDispatchBelowADInplaceOrView guard;
        if (activation.empty())
            result = linear_op().redispatch(below, input, weight, bias, residual, offsets, activation, gated, if_faster);
        else
            std::tie(result, pre, other) =
                saving_op().redispatch(below, input, weight, bias, residual, offsets, activation, gated);
    }
    if (!activation.empty()) {
        node->bias = SavedVariable(bias, false);
        node->pre = SavedVariable(pre, false);
        node->other = SavedVariable(other, false);
    }
    torch::autograd::set_history(result, node);
    return result;
}

/* Below a gradient that is itself transformed (torch.func) this operator is differentiated as the parts that it fuses. */
std::tuple<Tensor, Tensor, Tensor> linear_saving_autograd(DispatchKeySet keys, const Tensor &input, const Tensor &weight,
                                                          const optional<Tensor> &bias, const optional<Tensor> &residual,
                                                          const optional<Tensor> &offsets, c10::string_view activation,
                                                          bool gated)
{
    refuse_forward_mode("tilejit::linear", input, weight, bias, residual);
    if (!torch::autograd::compute_requires_grad(input, weight, bias, residual)) {
        const at::AutoDispatchBelowADInplaceOrView guard;
        return saving_op().redispatch(keys & c10::after_autograd_keyset, input, weight, bias, residual, offsets, activation,
                                      gated);
    }
    const Tensor both = linear_op().call(input, weight, bias, std::nullopt, offsets, "", false, false);
    const Tensor pre = gated ? both.slice(-1, 0, std::nullopt, 2) : both;
    const Tensor other = gated ? both.slice(-1, 1, std::nullopt, 2) : at::empty({0}, both.options());
    Tensor result = activate(pre, string(activation));
    result = gated ? result * other : result;
    return {residual ? result + *residual : result, pre, other};
}

/* Quantised weights are constants: there is a gradient of input, and of bias. */
struct QuantizedBackward : public Node {
    SavedVariable input, weight, scale, zero, whole;
    string type;
    int64_t group = 0;
    bool repacked = false;

    variable_list apply(variable_list &&gradients) override
    {
        static const auto dequantize_op =
            find<Tensor(const Tensor &, const Tensor &, const Tensor &, const optional<Tensor> &, const optional<Tensor> &,
                        c10::string_view, int64_t, bool)>("tilejit::_dequantize");
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!gradients[0].defined())
            return {Tensor(), Tensor()};
        const Tensor x = input.unpack(), gradient = as_rows(gradients[0]);
        Tensor to_input;
        if (task_should_compute_output(0)) {
            const Tensor weights =
                dequantize_op.call(x, weight.unpack(), scale.unpack(), given(zero), given(whole), type, group, repacked);
            to_input = matmul_op().call(gradient, weights.to(gradient.scalar_type()), false);
            if (x.dim() != 2)
                to_input = to_input.view_symint(x.sym_sizes());
        }
        return {to_input, task_should_compute_output(1) ? gradient.sum(0) : Tensor()};
    }

    void release_variables() override
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (SavedVariable *saved : {&input, &weight, &scale, &zero, &whole})
            saved->reset_data();
    }

    string name() const override
    {
        return "TileJITQuantizedBackward";
    }
};

Tensor quantized_autograd(DispatchKeySet keys, const Tensor &input, const Tensor &weight, const Tensor &scale,
                          const optional<Tensor> &zero, const optional<Tensor> &whole, const optional<Tensor> &bias,
                          c10::string_view type, int64_t group, bool repacked)
{
    refuse_forward_mode("tilejit::quantized_linear", input, bias);
    TORCH_CHECK(!torch::autograd::compute_requires_grad(weight, scale, zero, whole),
                "quantized_linear: quantised weights and their scales have no gradient: detach them");
    const auto run = [&] {
        const at::AutoDispatchBelowADInplaceOrView guard;
        return quantized_op().redispatch(keys & c10::after_autograd_keyset, input, weight, scale, zero, whole, bias, type,
                                         group, repacked);
    };
    if (!torch::autograd::compute_requires_grad(input, bias))
        return run();
    const auto node = make_node<QuantizedBackward>();
    node->set_next_edges(torch::autograd::collect_next_edges(input, bias));
    node->input = SavedVariable(input, false);
    node->weight = SavedVariable(weight, false);
    node->scale = SavedVariable(scale, false);
    node->zero = SavedVariable(zero, false);
    node->whole = SavedVariable(whole, false);
    node->type = string(type);
    node->group = group;
    node->repacked = repacked;
    Tensor result = run();
    torch::autograd::set_history(result, node);
    return result;
}

Tensor linear_epilogue_autograd(DispatchKeySet keys, const Tensor &input, const Tensor &weight, c10::string_view expression,
                                const c10::List<string> &names, const std::vector<Tensor> &arrays,
                                const std::vector<double> &numbers)
{
    static const auto op = find<decltype(linear_epilogue)>("tilejit::linear_epilogue");
    bool needs = torch::autograd::compute_requires_grad(input, weight);
    for (const Tensor &each : arrays)
        needs = needs || torch::autograd::compute_requires_grad(each);
    TORCH_CHECK_NOT_IMPLEMENTED(!needs, "linear_epilogue: the expression ", expression,
                                " has no gradient: use activation=, bias and residual, which have one, or torch.no_grad()");
    const at::AutoDispatchBelowADInplaceOrView guard;
    return op.redispatch(keys & c10::after_autograd_keyset, input, weight, expression, names, arrays, numbers);
}

Tensor scaled_linear_autograd(DispatchKeySet keys, const Tensor &input, const Tensor &weight, const Tensor &scale_input,
                              const Tensor &scale_weight, const optional<Tensor> &bias, at::ScalarType dtype)
{
    static const auto op = find<decltype(scaled_linear)>("tilejit::scaled_linear");
    TORCH_CHECK_NOT_IMPLEMENTED(!torch::autograd::compute_requires_grad(input, weight, scale_input, scale_weight, bias),
                                "scaled_linear: quantised operands have no gradient: detach them, or use torch.no_grad()");
    const at::AutoDispatchBelowADInplaceOrView guard;
    return op.redispatch(keys & c10::after_autograd_keyset, input, weight, scale_input, scale_weight, bias, dtype);
}

/* ---- autocasting: the products of floats are computed in autocast's type, as torch's own are ----------------------------- */

template <c10::DeviceType DEVICE> struct Autocast {
    /* Nothing below is cast again. */
    const c10::impl::ExcludeDispatchKeyGuard guard{
        c10::DispatchKeySet(DEVICE == c10::DeviceType::CUDA ? c10::DispatchKey::AutocastCUDA : c10::DispatchKey::AutocastCPU)};
    const at::ScalarType type = at::autocast::get_autocast_dtype(DEVICE);

    Tensor cast(const Tensor &tensor) const
    {
        return at::autocast::cached_cast(type, tensor, DEVICE);
    }
    optional<Tensor> cast(const optional<Tensor> &tensor) const
    {
        return tensor ? optional<Tensor>(cast(*tensor)) : tensor;
    }
};

template <c10::DeviceType DEVICE>
Tensor linear_autocast(const Tensor &input, const Tensor &weight, const optional<Tensor> &bias,
                       const optional<Tensor> &residual, const optional<Tensor> &offsets, c10::string_view activation,
                       bool gated, bool if_faster)
{
    const Autocast<DEVICE> to;
    return linear_op().call(to.cast(input), to.cast(weight), to.cast(bias), to.cast(residual), offsets, activation, gated,
                            if_faster);
}

template <c10::DeviceType DEVICE> Tensor matmul_autocast(const Tensor &a, const Tensor &b, bool if_faster)
{
    const Autocast<DEVICE> to;
    return matmul_op().call(to.cast(a), to.cast(b), if_faster);
}

template <c10::DeviceType DEVICE> Tensor grouped_autocast(const Tensor &a, const Tensor &b, const Tensor &offsets)
{
    const Autocast<DEVICE> to;
    return grouped_op().call(to.cast(a), to.cast(b), offsets);
}

template <c10::DeviceType DEVICE> void register_autocast(torch::Library &operators)
{
    operators.impl("linear", linear_autocast<DEVICE>);
    operators.impl("matmul", matmul_autocast<DEVICE>);
    operators.impl("grouped", grouped_autocast<DEVICE>);
}

void register_kernels(torch::Library &operators)
{
    operators.impl("linear", linear);
    operators.impl("_linear_saving", linear_saving);
    operators.impl("matmul", matmul);
    operators.impl("grouped", grouped);
    operators.impl("along_k", along_k);
    operators.impl("linear_epilogue", linear_epilogue);
    operators.impl("scaled_linear", scaled_linear);
    operators.impl("quantized_linear", quantized_linear);
    operators.impl("_dequantize", dequantize);
}

} // namespace

TORCH_LIBRARY(tilejit, operators)
{
    operators.def("linear(Tensor input, Tensor weight, Tensor? bias=None, Tensor? residual=None, Tensor? offsets=None, *, "
                  "str activation='', bool gated=False, bool if_faster=False) -> Tensor");
    operators.def(
        "_linear_saving(Tensor input, Tensor weight, Tensor? bias, Tensor? residual, Tensor? offsets, *, str activation, "
        "bool gated) -> (Tensor, Tensor, Tensor)");
    operators.def("matmul(Tensor a, Tensor b, *, bool if_faster=False) -> Tensor");
    operators.def("grouped(Tensor a, Tensor b, Tensor offsets) -> Tensor");
    operators.def("along_k(Tensor a, Tensor b, Tensor offsets) -> Tensor");
    operators.def("linear_epilogue(Tensor input, Tensor weight, str expression, str[] names, Tensor[] arrays, float[] numbers) "
                  "-> Tensor");
    operators.def("scaled_linear(Tensor input, Tensor weight, Tensor scale_input, Tensor scale_weight, Tensor? bias=None, *, "
                  "ScalarType dtype) -> Tensor");
    operators.def("quantized_linear(Tensor input, Tensor weight, Tensor scale, Tensor? zero=None, Tensor? whole=None, Tensor? "
                  "bias=None, *, str type, int group=0, bool repacked=False) -> Tensor");
    operators.def("_dequantize(Tensor input, Tensor weight, Tensor scale, Tensor? zero, Tensor? whole, *, str type, int group, "
                  "bool repacked) -> Tensor");
}

TORCH_LIBRARY_IMPL(tilejit, CUDA, operators)
{
    register_kernels(operators);
}
TORCH_LIBRARY_IMPL(tilejit, CPU, operators)
{
    register_kernels(operators);
}
TORCH_LIBRARY_IMPL(tilejit, AutocastCUDA, operators)
{
    register_autocast<c10::DeviceType::CUDA>(operators);
}
TORCH_LIBRARY_IMPL(tilejit, AutocastCPU, operators)
{
    register_autocast<c10::DeviceType::CPU>(operators);
}

TORCH_LIBRARY_IMPL(tilejit, Autograd, operators)
{
    operators.impl("linear", linear_autograd);
    operators.impl("_linear_saving", linear_saving_autograd);
    operators.impl("_dequantize", torch::CppFunction::makeFallthrough()); /* of constants */
    operators.impl("matmul", matmul_autograd);
    operators.impl("grouped", grouped_autograd);
    operators.impl("along_k", along_k_autograd);
    operators.impl("linear_epilogue", linear_epilogue_autograd);
    operators.impl("scaled_linear", scaled_linear_autograd);
    operators.impl("quantized_linear", quantized_autograd);
}

} // namespace tilejit

/* ---- binding: called once, when the extension is loaded ------------------------------------------------------------------ */

/* The names of the functions that tilejit_torch_bind wants the addresses of, in order; NULL ends them. */
extern "C" __attribute__((visibility("default"))) const char *const *tilejit_torch_functions()
{
#define TILEJIT_TORCH_NAME(name) #name,
    static const char *const names[] = {TILEJIT_TORCH_FUNCTIONS(TILEJIT_TORCH_NAME) nullptr};
    return names;
}

extern "C" __attribute__((visibility("default"))) void tilejit_torch_bind(void *const *addresses,
                                                                          tj_context *(*get_context)(int))
{
#define TILEJIT_TORCH_BIND(name) tilejit::library.name = reinterpret_cast<decltype(&::name)>(*addresses++);
    TILEJIT_TORCH_FUNCTIONS(TILEJIT_TORCH_BIND)
    tilejit::get_context = get_context;
}
