sum_t Pvalue = 0;  //@ total_t for sum_t
for (index_t part = 0; part * SCALE_K < k; ++part) {  //@ terms for k
    const index_t part_end = min((part + 1) * SCALE_K, k_index);  //@ k_index for k_index
    sum_t partial = 0;
    #include "naive/multiply.cuh"  //@ multiply  //@ with partial for Pvalue

    // Each part of k has scales of its own, which multiply its sum.
    //@ lines scaled_part
}
