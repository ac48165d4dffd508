const int next = current + 1 < STAGES ? current + 1 : 0;
