// The last phase goes on to load what it began with, which nobody multiplies: a branch around that would take longer.
const int next = phase + 1 == phases ? current : current + 1 < STAGES ? current + 1 : 0;
