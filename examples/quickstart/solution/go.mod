module tally

go 1.24
