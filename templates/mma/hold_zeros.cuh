unsigned int m_less[PARTS][M_SCALES], m_less_next[PARTS][M_SCALES] = {};  // what makes weights of stored bits, less zero points: twice
