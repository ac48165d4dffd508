const int m_row = warp_row + lane / 4;
const auto m_first = shared_address(&tiles[0].M[m_row]) ^ m_row / 2 % 4 * 16;  // where the first chunk of the row lies  //@ first_row for M[m_row]  //@ first_chunk for m_row / 2 % 4 * 16  //@ of_first for the first chunk of the row
const unsigned int select = lane % 4 + 0x4440;  // the bytes of this lane's weights  //@ select  //@ only selects
