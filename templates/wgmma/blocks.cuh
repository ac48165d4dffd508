constexpr int M_BLOCKS = 1, M_LINES = BM;  // one block, whose lines are rows of M  //@ m_edge for BM  //@ m_blocks for 1  //@ m_each_block for one block  //@ only m_along_k
//@| constexpr int M_BLOCKS = (BM + LINE - 1) / LINE, M_LINES = BK;  // a block for every LINE rows  //@ m_edge for BM  //@ only not m_along_k
