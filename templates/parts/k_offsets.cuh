// GROUPS products share M and N: product g is of the elements of k from offsets[g] on and before offsets[g + 1]. Whatever the offsets
// are, no element lies outside of M and N: an offset that is too small or too large counts as the first or the last that there can be,
// and a product that ends before it begins has no elements.
constexpr int GROUPS = 8;
using offset_t = int;
struct offsets_t {  //@ only offsets_by_value
    offset_t row[GROUPS + 1];
};

__device__ __forceinline__ index_t k_at(const offset_t *offsets, int i, index_t all_k)
{
    const offset_t at = offsets[i];
    return at < 0 ? 0 : at > all_k ? all_k : static_cast<index_t>(at);
}

