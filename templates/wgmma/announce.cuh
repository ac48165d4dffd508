arrive_and_expect(full[stage], sizeof(phase_t));  //@ came for full
