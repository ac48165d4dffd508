if (Row < own_row)
    continue;
