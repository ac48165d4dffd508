//@| #include "mma/store_weights.cuh"  //@ m_store_weights
//@| #include "mma/store_weights.cuh"  //@ n_store_weights  //@ with n for m, N for M
