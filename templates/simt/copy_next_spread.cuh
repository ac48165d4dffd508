if (step % 2 == 0 && step / 2 < PIECES && phase + STAGES - 1 < phases)
    copy(tiles[free], phase + STAGES - 1, step / 2);  //@ , checks_phases,
if (step == 2 * (PIECES - 1))
    commit_copies();
