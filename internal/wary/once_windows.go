package wary

// atOnce is nothing here: no pipe has a place among files.
const atOnce = 0

// noLink is nothing here: making a link takes a privilege.
const noLink = 0
