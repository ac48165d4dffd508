unsigned int m_less[PARTS][M_SCALES], m_less_next[PARTS][M_SCALES] = {};  // what makes weights of stored bits, less whole zero points: twice
float m_rest[PARTS][M_SCALES], m_rest_next[PARTS][M_SCALES] = {};         // of the zero points
