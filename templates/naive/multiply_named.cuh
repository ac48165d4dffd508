for (index_t i = 0; i < k; ++i) {  //@ first_k  //@ end_of_k for k
    const sum_t m = M[Row * ld_m + i];  //@ m_read for M[Row * ld_m + i]
    const sum_t n = N[i * ld_n + Col];  //@ n_read for N[i * ld_n + Col]
    Pvalue += m * n;
}
