package wary

// atOnce has no effect here: named pipes are not in folders.
const atOnce = 0

// noLink has no effect here: making a link requires a privilege.
const noLink = 0
