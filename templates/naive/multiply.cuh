for (index_t i = 0; i < k; ++i)  //@ first_k  //@ end_of_k for k
    Pvalue += M[Row * ld_m + i] * N[i * ld_n + Col];  //@ m_read for M[Row * ld_m + i]  //@ n_read for N[i * ld_n + Col]  //@ only not complex
    //@| add_product(Pvalue, M[Row * ld_m + i], N[i * ld_n + Col]);  //@ m_read for M[Row * ld_m + i]  //@ n_read for N[i * ld_n + Col]  //@ only complex
