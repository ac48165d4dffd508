//@ lines scale_ahead
