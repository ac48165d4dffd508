copy_box(&tile.M, M_map, kk, block_row, full[stage]);  //@ m_product for full
