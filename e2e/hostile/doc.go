// Package hostile feeds plans of strangers to the commands that only read: they execute nothing,
// read nothing outside the plan's folder, take little memory, and name the mistake. It also runs a plan over a list
// with hostile items.
package hostile
