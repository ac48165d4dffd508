if (step == 0) {
    if (phase + STAGES - 1 < phases) {
        copy(tiles[free], phase + STAGES - 1, 0);  //@ , checks_phases, spreads_copies
    } else {
        #include "parts/dependents.cuh"  //@ late_dependents
    }
    commit_copies();
}
