// Where this column is stored: the VEC elements that a lane reads at once are those that it has of 8 * VEC columns.
const int n_lane = n_col / COL_RUN % 8;
const int n_place = n_col / (8 * VEC) * (8 * VEC) + n_lane * VEC + n_col % (8 * VEC) / (8 * COL_RUN) * COL_RUN + n_col % COL_RUN;
