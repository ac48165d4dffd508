unsigned int signs = 0;
#include "mma/find_m_signs.cuh"  //@ m_find_signs
#include "mma/find_m_signs.cuh"  //@ n_find_signs  //@ with n for m, N for M
has_signs = __any_sync(0xffffffffu, signs & 0x80808080u);
