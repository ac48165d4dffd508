/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expression: each node's value in long double, with a bound on the error of a kernel's.
 *
 * An error has two parts. The errors of the arguments are propagated: by the slope of the function where that is bounded (a
 * sum, relu, gelu), by the function's values at both ends where it is monotone (exp, log, tanh), by the product rule. Then the
 * operation's own error is added: half a unit of a rounded result, or the units that CUDA states for its functions (CUDA C++
 * Programming Guide, mathematical functions). If two branches are so close that a kernel may take the other one, both values
 * are within the bound. If nothing can be said, as of a quotient whose divisor may be 0, the error is infinite.
 */
#include "expression.h"

#include <math.h>

#include "canonical.h"
#include "compare.h"
#include "error.h"
#include "number.h"
#include "scalar.h"
#include "operand_table.h"
#include "tree.h"

/* ---- operands ----------------------------------------------------------------------------------------------------- */

tj_status tj_evaluation_prepare(const tj_problem *problem, const tj_host_operands *operands, tj_evaluation *v, tj_error *err)
{
    const tj_type type = tj_scalar_type(problem);
    const tj_number_limits *limits = tj_number_limits_of(type);
    const tj_expression *e = &problem->epilogue.expression;
    const tj_operand_row p = tj_operand_row_of(problem, TJ_MATRIX_P);
    const tj_extents extents = tj_extents_of(problem);
    const bool by_rows = problem->p.layout == TJ_ROW_MAJOR;
    const int64_t width = tj_extent_at(p.width, &extents), rows = tj_extent_at(p.rows, &extents);

    *v = (tj_evaluation){.problem = problem,
                         .alpha = operands->alpha,
                         .beta = operands->beta,
                         .is_coarse = tj_expression_is_coarse(problem),
                         .allowed = tj_allowed_error(problem, 1),
                         .unit_roundoff = limits->unit_roundoff,
                         .smallest = limits->smallest_subnormal,
                         .overflow = limits->overflow};
    for (int i = 0; i < e->operands; i++) {
        const tj_host_operand *given = &operands->with[i];
        const uint8_t indexed = e->operand[i].indexed;
        const int64_t ld = given->ld ? given->ld : width;

        v->operand[i].type = tj_operand_type(problem, i);
        if (indexed == TJ_BY_NOTHING) {
            if (type == TJ_F32 && tj_scalar_check(e->operand[i].name, operands->number[i], err) != TJ_OK)
                return TJ_ERR_INVALID_ARGUMENT;
            v->operand[i].number = type == TJ_F32 ? (long double)(float)operands->number[i] : (long double)operands->number[i];
            continue;
        }
        if (!given->address && !e->operand[i].is_output)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "operand %s is NULL: the reference needs it in host memory",
                           e->operand[i].name);
        if (indexed == TJ_BY_BOTH && ld < width)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                           "the ld of operand %s is %lld, and a stored line of P has %lld elements: it must be at least that",
                           e->operand[i].name, (long long)ld, (long long)width);
        v->operand[i].address = given->address;
        v->operand[i].row_step = indexed == TJ_BY_ROW ? 1 : indexed != TJ_BY_BOTH ? 0 : by_rows ? ld : 1;
        v->operand[i].col_step = indexed == TJ_BY_COL ? 1 : indexed != TJ_BY_BOTH ? 0 : by_rows ? 1 : ld;
        v->operand[i].stride = given->stride == TJ_BROADCAST ? 0
                               : given->stride               ? given->stride
                               : indexed == TJ_BY_BOTH       ? ld * rows
                                                             : tj_operand_elements(problem, TJ_WITH + i);
    }
    return TJ_OK;
}

/* ---- functions ---------------------------------------------------------------------------------------------------- */

static long double sigmoid(long double x)
{
    return 1.0L / (1.0L + expl(-x));
}

static long double gelu(long double x)
{
    return 0.5L * x * (1.0L + erfl(x * 0.70710678118654752440L));
}

static long double gelu_tanh(long double x)
{
    return x * sigmoid(1.59576912160573071176L * (x + 0.044715L * x * x * x));
}

static long double silu(long double x)
{
    return x * sigmoid(x);
}

static long double rsqrt_of(long double x)
{
    return 1.0L / sqrtl(x);
}

static long double relu(long double x)
{
    return x < 0.0L ? 0.0L : x;
}

/*
 * The error of a function. units: of roundoff, relative to the result; of_argument: relative to |x|, where terms cancel. slope:
 * the steepest; 0: the function is monotone, and its values at both ends are used. of_both: units relative to the result and to
 * |x|, for an x that is rounded before it becomes a power.
 */
typedef struct function {
    long double (*of)(long double);
    long double units, of_argument, slope, of_both;
} function;

static const function functions[TJ_OPS] = {
    [TJ_OP_ABS] = {fabsl, 0, 0, 1},
    [TJ_OP_EXP] = {expl, 5, 0, 0},
    [TJ_OP_LOG] = {logl, 3, 0, 0},
    [TJ_OP_SQRT] = {sqrtl, 2, 0, 0},
    [TJ_OP_RSQRT] = {rsqrt_of, 5, 0, 0},
    [TJ_OP_TANH] = {tanhl, 5, 0, 0},
    [TJ_OP_ERF] = {erfl, 5, 0, 0},
    [TJ_OP_SIGMOID] = {sigmoid, 12, 0, 0, 3},
    [TJ_OP_RELU] = {relu, 0, 0, 1},
    [TJ_OP_GELU] = {gelu, 12, 8, 1.13L},
    [TJ_OP_GELU_TANH] = {gelu_tanh, 20, 8, 1.13L},
    [TJ_OP_SILU] = {silu, 14, 0, 1.10L, 3},
};

/* ---- nodes -------------------------------------------------------------------------------------------------------- */

/* Round a result with an error of `units` half units, plus the propagated error. */
static tj_bounded rounded(const tj_evaluation *v, long double value, long double brought, long double units)
{
    const long double size = fabsl(value);
    tj_bounded x = {value, brought};

    if (!isfinite(value))
        return (tj_bounded){value, isfinite(brought) ? 0.0L : INFINITY};
    if (!isfinite(brought))
        return (tj_bounded){value, INFINITY};
    if (units > 0)
        x.error += units * (v->unit_roundoff * (size + brought) + v->smallest);
    if (size + x.error >= v->overflow) /* some kernels overflow and others do not */
        x.error = INFINITY;
    return x;
}

static tj_bounded apply_function(const tj_evaluation *v, int op, tj_bounded x)
{
    const function *f = &functions[op];
    const long double value = f->of(x.value);
    const long double size = isfinite(x.value) ? fabsl(x.value) + (isfinite(x.error) ? x.error : 0.0L) : 0.0L;
    long double brought = x.error * f->slope;

    if (x.error > 0 && f->slope == 0) {
        const long double above = f->of(x.value + x.error), below = f->of(x.value - x.error);

        brought = fmaxl(fabsl(above - value), fabsl(below - value));
        brought = isnan(above) || isnan(below) ? (long double)INFINITY : brought;
    }
    if (isfinite(x.value))
        brought += (op == TJ_OP_GELU_TANH && v->is_coarse ? 0x1p-12L / v->unit_roundoff + 16 : f->of_argument) *
                   v->unit_roundoff * (fabsl(x.value) + x.error);
    if (op == TJ_OP_SILU || op == TJ_OP_SIGMOID || op == TJ_OP_GELU_TANH) /* 1 / (1 + exp(-x)) may become 0 below 2^-126 */
        brought += v->unit_roundoff > 0x1p-30L ? 0x1p-125L * (1.0L + fabsl(isfinite(x.value) ? x.value : 0.0L)) : 0.0L;
    return rounded(v, value, brought, f->units + f->of_both * size);
}

static tj_bounded multiply(const tj_evaluation *v, tj_bounded a, tj_bounded b)
{
    const long double value = a.value * b.value;
    const long double brought =
        isfinite(a.value) && isfinite(b.value)
            ? (b.error > 0 ? fabsl(a.value) * b.error : 0) + (a.error > 0 ? fabsl(b.value) * a.error : 0) +
                  (a.error > 0 && b.error > 0 ? a.error * b.error : 0)
        : (a.error > 0 && fabsl(a.value) <= a.error) || (b.error > 0 && fabsl(b.value) <= b.error) ? (long double)INFINITY
                                                                                                   : 0;

    return rounded(v, value, brought, 1);
}

static tj_bounded divide(const tj_evaluation *v, tj_bounded a, tj_bounded b)
{
    const long double value = a.value / b.value, least = fabsl(b.value) - b.error;
    long double brought = 0;

    if (b.error > 0 && !(least > 0))
        brought = INFINITY; /* the divisor may be 0, or of the other sign */
    else if (isfinite(a.value) && isfinite(b.value) && (a.error > 0 || b.error > 0))
        brought = (a.error + fabsl(value) * b.error) / (b.error > 0 ? least : fabsl(b.value));
    return rounded(v, value, brought, 3);
}

/* The kernel may take either branch: widen the bound to include both values. */
static tj_bounded either(tj_bounded taken, tj_bounded other)
{
    const long double apart = fabsl(taken.value - other.value) + other.error;

    if (isnan(apart))
        return (tj_bounded){taken.value, INFINITY};
    return (tj_bounded){taken.value, fmaxl(taken.error, apart)};
}

/* A condition is 1 or 0; its error is 1 if a kernel may decide otherwise. */
static tj_bounded compare(int op, tj_bounded a, tj_bounded b)
{
    const bool holds = op == TJ_OP_LESS         ? a.value < b.value
                       : op == TJ_OP_LESS_EQUAL ? a.value <= b.value
                       : op == TJ_OP_EQUAL      ? a.value == b.value
                                                : a.value != b.value;
    const long double error = a.error + b.error;

    return (tj_bounded){holds, error > 0 && !(fabsl(a.value - b.value) > error) ? 1.0L : 0.0L};
}

static tj_bounded convert(const tj_evaluation *v, int type, tj_bounded x)
{
    const tj_number_limits *to = tj_number_limits_of((tj_type)type);
    const bool is_integer = tj_facts_of(type)->is_integer;
    const long double value = isnan(x.value) && is_integer ? 0.0L : tj_saturate((tj_type)type, x.value);
    const long double size = fabsl(value);

    if (type == (int)tj_scalar_type(v->problem))
        return x;
    if (!isfinite(value) || !isfinite(x.error))
        return (tj_bounded){value, x.error > 0 ? INFINITY : 0};
    if (!isfinite(x.value)) /* exactly a limit of the type */
        return (tj_bounded){value, 0};
    if (size + x.error >= to->overflow)
        return (tj_bounded){value, INFINITY};
    return (tj_bounded){value, x.error + to->unit_roundoff * (size + x.error) + (is_integer ? 0.5L : to->smallest_subnormal)};
}

static tj_bounded read_operand(const tj_evaluation *v, int i, int64_t batch, int64_t row, int64_t col)
{
    if (!v->operand[i].address)
        return (tj_bounded){v->operand[i].number, 0};
    return (tj_bounded){
        tj_read_number(v->operand[i].type, v->operand[i].address,
                       batch * v->operand[i].stride + row * v->operand[i].row_step + col * v->operand[i].col_step),
        0};
}

/* Exact up to 2^24 in f32. */
static tj_bounded place(const tj_evaluation *v, int64_t at)
{
    return rounded(v, (long double)at, 0, (long double)at * v->unit_roundoff > 1.0L ? 1 : 0);
}

double tj_read_stored(const tj_evaluation *v, int output, int64_t batch, int64_t row, int64_t col)
{
    return (double)read_operand(v, output, batch, row, col).value;
}

void tj_store(const tj_evaluation *v, int output, int64_t batch, int64_t row, int64_t col, long double value)
{
    tj_write_number(v->operand[output].type, (void *)(uintptr_t)v->operand[output].address,
                    batch * v->operand[output].stride + row * v->operand[output].row_step + col * v->operand[output].col_step,
                    value);
}

double tj_judge_stored(tj_bounded x, tj_type type, int again, double p)
{
    const tj_number_limits *limits = tj_number_limits_of(type);
    const bool is_integer = tj_facts_of((int32_t)type)->is_integer;
    const long double value = tj_saturate(type, x.value), size = fabsl(value);
    const long double bound = x.error + (long double)again * (limits->unit_roundoff * (size + x.error) +
                                                              (is_integer ? 0.5L : limits->smallest_subnormal));
    const bool same_infinity = isinf(p) && !signbit(p) == !signbit(value);

    if (isinf(x.error))
        return 0.0;
    if (isnan(value))
        return isnan(p) || (p == 0.0 && is_integer) ? 0.0 : INFINITY;
    if (isinf(value))
        return (long double)p == value ? 0.0 : INFINITY;
    if (size - bound >= limits->overflow)
        return same_infinity ? 0.0 : INFINITY;
    if (size + bound >= limits->overflow && same_infinity)
        return 0.0;
    return isfinite(p) ? (double)(fabsl((long double)p - value) / bound) : INFINITY;
}

void tj_evaluate(const tj_evaluation *v, int64_t batch, int64_t row, int64_t col, const tj_bounded acc[2], double c,
                 tj_bounded x[TJ_VALUES])
{
    const tj_expression *e = &v->problem->epilogue.expression;

    for (int at = 0; at < e->nodes; at++) {
        const tj_node *node = &e->node[at];
        const tj_bounded a = x[node->a < at ? node->a : 0], b = x[node->b < at ? node->b : 0],
                         d = x[node->c < at ? node->c : 0];

        switch (node->op) {
        case TJ_OP_ACC:
        case TJ_OP_ACC_EVEN:
        case TJ_OP_ACC_ODD:
            x[at] = acc[node->op == TJ_OP_ACC_ODD];
            break;
        case TJ_OP_ROW:
        case TJ_OP_COL:
            x[at] = place(v, node->op == TJ_OP_ROW ? row : col);
            break;
        case TJ_OP_ALPHA:
        case TJ_OP_BETA:
            x[at] = (tj_bounded){node->op == TJ_OP_ALPHA ? v->alpha : v->beta, 0};
            break;
        case TJ_OP_C:
            x[at] = (tj_bounded){c, 0};
            break;
        case TJ_OP_CONSTANT:
            x[at] = (tj_bounded){tj_scalar_type(v->problem) == TJ_F32 ? (long double)(float)e->constant[node->a]
                                                                      : (long double)e->constant[node->a],
                                 0};
            break;
        case TJ_OP_OPERAND:
            x[at] = read_operand(v, node->a, batch, row, col);
            break;
        case TJ_OP_NEGATE:
            x[at] = (tj_bounded){-a.value, a.error};
            break;
        case TJ_OP_NOT:
            x[at] = (tj_bounded){a.value == 0.0L, a.error};
            break;
        case TJ_OP_CONVERT:
            x[at] = convert(v, node->b, a);
            break;
        case TJ_OP_ADD:
            x[at] = rounded(v, a.value + b.value, a.error + b.error, 1);
            break;
        case TJ_OP_SUBTRACT:
            x[at] = rounded(v, a.value - b.value, a.error + b.error, 1);
            break;
        case TJ_OP_MULTIPLY:
            x[at] = multiply(v, a, b);
            break;
        case TJ_OP_DIVIDE:
            x[at] = divide(v, a, b);
            break;
        case TJ_OP_MIN:
        case TJ_OP_MAX:
            x[at] = (tj_bounded){node->op == TJ_OP_MIN ? fminl(a.value, b.value) : fmaxl(a.value, b.value),
                                 fmaxl(a.error, b.error)};
            break;
        case TJ_OP_LESS:
        case TJ_OP_LESS_EQUAL:
        case TJ_OP_EQUAL:
        case TJ_OP_NOT_EQUAL:
            x[at] = compare(node->op, a, b);
            break;
        case TJ_OP_AND:
            x[at] = (tj_bounded){a.value != 0.0L && b.value != 0.0L, fmaxl(a.error, b.error)};
            break;
        case TJ_OP_OR:
            x[at] = (tj_bounded){a.value != 0.0L || b.value != 0.0L, fmaxl(a.error, b.error)};
            break;
        case TJ_OP_SELECT:
            x[at] = a.value != 0.0L ? b : d;
            if (a.error > 0)
                x[at] = either(x[at], a.value != 0.0L ? d : b);
            break;
        default:
            x[at] = apply_function(v, node->op, a);
        }
    }
    x[TJ_VALUE_OF_P] = x[e->value];
}

void tj_evaluate_again(const tj_evaluation *v, int64_t product, int64_t row, int64_t col, const double sum[2], double c,
                       tj_bounded value[TJ_VALUES])
{
    tj_bounded acc[2];

    for (int i = 0; i < 2; i++)
        acc[i] = (tj_bounded){sum[i], isfinite(sum[i]) ? v->allowed + 4 * fabs(sum[i]) * (double)v->unit_roundoff : 0};
    tj_evaluate(v, product, row, col, acc, c, value);
}
