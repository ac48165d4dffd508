const int m_row = warp_row + lane / 4, m_k = lane % 4;
const auto m_first = shared_address(&tiles[0].M[m_row / LINE][m_k][(m_row % LINE / 4 ^ m_k) * 4 + m_row % 4]);
