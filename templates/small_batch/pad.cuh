// The last steps of k, up to a multiple of VEC, add nothing.
for (int e = thread; e < j * (K_PADDED - k); e += TEAM)
    own.M[e / (K_PADDED - k)][k + e % (K_PADDED - k)] = 0;  //@ m_padding for own.M[e / (K_PADDED - k)][k + e % (K_PADDED - k)]
for (int e = thread; e < l * (K_PADDED - k); e += TEAM)
    own.N[k + e / l][e % l] = 0;  //@ n_padding for own.N[k + e / l][e % l]
