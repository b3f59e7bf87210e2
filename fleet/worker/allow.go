package worker

import (
	"errors"
	"slices"
	"strings"
)

// This file decides for which git remotes a worker works.

// CheckPrefix returns an error unless prefix is an absolute path or a prefix of git remotes with a host, as in
// https://HOST/TEAM/ or git@HOST:TEAM/. The error completes a sentence that begins with the name of a flag.
func CheckPrefix(prefix string) error {
	host := ""
	if scheme, rest, is := strings.Cut(prefix, "://"); is {
		if host, _, is = strings.Cut(rest, "/"); !is {
			host = "" // https://host would also allow https://host.example
		}
		if scheme == "file" {
			host = strings.TrimPrefix(rest, "/")
		}
		if scheme == "" {
			host = ""
		}
	} else if user, _, is := strings.Cut(prefix, ":"); is && !strings.Contains(user, "/") {
		host = user[strings.LastIndex(user, "@")+1:]
	} else if strings.HasPrefix(prefix, "/") {
		host = strings.Trim(prefix, "/")
	}
	if host == "" || strings.HasPrefix(prefix, "-") || climbs(prefix) {
		return errors.New("takes the beginning of git remotes with the host, like git@HOST:TEAM/ or https://HOST/TEAM/")
	}
	return nil
}

// allows reports whether prefix is the git remote repo, or names a directory above it.
func allows(prefix, repo string) bool {
	rest, is := strings.CutPrefix(repo, prefix)
	return is && !climbs(repo) &&
		(rest == "" || strings.HasPrefix(rest, "/") || strings.HasSuffix(prefix, "/") || strings.HasSuffix(prefix, ":"))
}

// escapes has the characters of ".." and around it as a URL may have them: git and servers decode these.
var escapes = strings.NewReplacer("%2e", ".", "%2E", ".", "%2f", "/", "%2F", "/", "%5c", "/", "%5C", "/")

// climbs reports whether a git remote has a part "..", with which it would leave the directory of its beginning.
func climbs(repo string) bool {
	parts := strings.FieldsFunc(escapes.Replace(repo), func(r rune) bool { return r == '/' || r == ':' || r == '\\' })
	return slices.Contains(parts, "..")
}
