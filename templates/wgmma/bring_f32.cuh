#pragma unroll
for (int block = 0; block < BK * 4 / M_LINE; ++block)
    copy_box(&tiles[stage].M[block], M_map, kk + block * (M_LINE / 4), block_row, full[stage]);  //@ m_product for full  //@ m_copy for copy_box
