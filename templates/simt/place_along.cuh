constexpr int M_SKEW = 16;
constexpr auto m_place = [](int kk, int row) { return kk * BM + row + kk / M_WIDTH * M_SKEW; };
