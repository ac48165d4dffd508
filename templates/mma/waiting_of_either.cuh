//@| #include "mma/waiting.cuh"  //@ m_waiting
//@| #include "mma/waiting.cuh"  //@ n_waiting  //@ with n for m, N for M
