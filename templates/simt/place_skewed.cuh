constexpr int M_LINE = BM + BM / (8 * VEC) * VEC;
constexpr auto m_place = [](int kk, int row) { return kk * M_LINE + row + row / (8 * VEC) * VEC; };
