// Package hostile feeds plans of strangers to the commands that only read: they execute nothing,
// read nothing outside the plan's folder, take little memory, and name the mistake.
package hostile
