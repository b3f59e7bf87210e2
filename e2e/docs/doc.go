// Package docs runs every command in the documentation, each in a small project of its own, with
// the rehearsal agent in place of claude.
package docs
