// Package docs carries out every command that the documentation shows, each in a small
// project of its own, with the rehearsal agent in the place of claude.
package docs
