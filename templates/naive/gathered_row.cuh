const long long from = gathered(m_index, Row, j, m_rows);  // the row of M
const index_t terms = from >= 0 && Col < l ? k : 0;  // none where there is no such row  //@ gathers_m && reduces_at_edge
