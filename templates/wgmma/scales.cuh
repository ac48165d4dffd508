// The scales of a phase, for the rows and columns of a tile of P. A part has so many, for rows, or columns, so far apart.
constexpr int PARTS = BK / PART;
constexpr int M_SCALES = 128;
constexpr int M_STEP = 1;
constexpr int N_SCALES = 1;
constexpr int N_STEP = 128;
struct scales_t {
    float M[PARTS][M_SCALES];
    float N[PARTS][N_SCALES];
};
