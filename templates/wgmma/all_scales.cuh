//@ lines all_of_groups
