constexpr auto m_place = [](int kk, int row) { return kk * BM + row; };
