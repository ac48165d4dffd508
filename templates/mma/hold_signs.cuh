bool has_signs = false;  // is a scale of this phase negative, in the warp's tile?
