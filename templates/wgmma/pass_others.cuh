// The phases of the others.
//@ if divides_k
//@| for (int other = 1; other < MULTIPLIERS; ++other)
//@|     pass(span_of(tile + other * gridDim.x).phases);
//@ else
pass(static_cast<long long>(MULTIPLIERS - 1) * phases);
//@ end
