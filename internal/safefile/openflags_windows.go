package safefile

// nonBlocking has no effect here: named pipes are not in folders.
const nonBlocking = 0

// noFollow has no effect here: making a link requires a privilege.
const noFollow = 0
