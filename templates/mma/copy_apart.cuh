// copy: the tiles of a phase. Those of the operand that is constant need not wait for the kernel ahead, so each has a copy of its own.
#include "mma/copy_operand.cuh"
#include "mma/copy_operand.cuh"  //@ with n for m, N for M
const auto copy = [&](phase_t &into, index_t phase, int piece) {  //@ , checks_phases, spreads_copies
    copy_m(into, phase);  //@ , checks_phases
    copy_n(into, phase);  //@ , checks_phases
};
