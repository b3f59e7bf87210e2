package wary

// atOnce is nothing here: no pipe has a place among files.
const atOnce = 0
