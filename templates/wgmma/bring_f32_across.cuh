#pragma unroll
for (int block = 0; block < BM * 4 / M_LINE; ++block)
    copy_box(&tiles[stage].M[block], M_map, block_row + block * (M_LINE / 4), kk, full[stage]);  //@ m_product for full  //@ m_copy for copy_box
