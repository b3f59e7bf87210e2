package statement

import "slices"

// Oldest returns the oldest tested version: the last one that npm installs on Node 18.
func Oldest() string { return versions[0] }

// Newest returns the newest tested version.
func Newest() string { return versions[len(versions)-1] }

// publishedSizes are the sizes in bytes of the programs of the tested versions, by operating system and
// architecture, as npm has them in @anthropic-ai/claude-code-OS-ARCH. On other platforms the
// program is probed.
var publishedSizes = map[string][len(versions)]int64{
	"linux/amd64": {245517112, 381121040},
}

// PublishedSize returns the size in bytes of the program of a tested version on a platform such as
// "linux/amd64", or -1 if it is unknown. A file of another size is a wrapper, or was altered.
func PublishedSize(version, platform string) int64 {
	sizes, known := publishedSizes[platform]
	if i := slices.Index(versions[:], version); known && i >= 0 {
		return sizes[i]
	}
	return -1
}

// Tested returns the built-in verdicts on a version, such as "2.1.330", and false for a version
// that was not tested.
func Tested(version string) (SupportSet, bool) {
	for i, v := range versions {
		if v != version {
			continue
		}
		out := SupportSet{}
		for _, s := range All() {
			out[s.ID] = s.tested[i]
		}
		return out, true
	}
	return nil, false
}

// StandIn returns the support of the rehearsal agent, which behaves like the oldest
// tested version.
func StandIn() SupportSet {
	v, _ := Tested(Oldest())
	return v
}
