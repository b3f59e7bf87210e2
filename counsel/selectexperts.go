// This file chooses the experts: a pure function of the case and the roster. It makes no calls.

package counsel

import "slices"

// The number of experts of a diagnosis.
const (
	panelSize    = 2
	thoroughSize = 3
)

// Points for features that an expert and a case share. A feature that an expert chosen earlier
// covers counts a quarter, because a panel of equal views is wasted money.
const (
	pointsKind   = 8
	pointsAspect = 12
	pointsFile   = 6
	pointsAny    = 3
	coveredShare = 4
)

// SelectExperts returns the experts for a case: 2, or 3 for Thorough, fewer if the roster is smaller. They
// are the best fit with distinct views, best first; the same case and roster give the same
// choice. After the same error twice, experts already consulted come last, the longest ago first.
// A thorough panel has at least one expert that was not consulted yet, if there is one.
func SelectExperts(r *Roster, c Case) []Expert {
	size := panelSize
	if c.Thorough {
		size = thoroughSize
	}
	pool := r.Experts()
	tags := caseTags(c)
	consulted := func(e Expert) int { return slices.Index(c.Consulted, e.Name) } // -1 means never

	var picked []Expert
	if c.SameError {
		fresh := slices.DeleteFunc(slices.Clone(pool), func(e Expert) bool { return consulted(e) >= 0 })
		picked = selectGreedy(nil, fresh, tags, size, c.Consulted)
		// There are not enough new views. Add the experts asked before, the longest ago first.
		for _, name := range c.Consulted {
			i := slices.IndexFunc(pool, func(e Expert) bool { return e.Name == name })
			if i >= 0 && len(picked) < size && !containsExpert(picked, name) {
				picked = append(picked, pool[i])
			}
		}
		return picked
	}

	picked = selectGreedy(nil, pool, tags, size, c.Consulted)
	if c.Thorough && len(picked) > 0 && !slices.ContainsFunc(picked, func(e Expert) bool { return consulted(e) < 0 }) {
		fresh := slices.DeleteFunc(slices.Clone(pool), func(e Expert) bool { return consulted(e) >= 0 })
		kept := picked[:len(picked)-1]
		if with := selectGreedy(kept, fresh, tags, len(kept)+1, nil); len(with) > len(kept) {
			picked = with
		}
	}
	return picked
}

// selectGreedy appends experts from pool, which is sorted by name, to picked, each time the one with the highest gain,
// until there are size. Ties go to experts that were not consulted, then to the lower name.
func selectGreedy(picked, pool []Expert, tags map[string]int, size int, consulted []string) []Expert {
	picked = slices.Clone(picked)
	for len(picked) < size {
		best, bestGain := -1, -1
		for i, e := range pool {
			if containsExpert(picked, e.Name) {
				continue
			}
			g := gain(e, picked, tags)
			if g > bestGain || g == bestGain &&
				slices.Contains(consulted, pool[best].Name) && !slices.Contains(consulted, e.Name) {
				best, bestGain = i, g
			}
		}
		if best < 0 {
			break
		}
		picked = append(picked, pool[best])
	}
	return picked
}

// gain returns the points that e adds to those of picked.
func gain(e Expert, picked []Expert, tags map[string]int) int {
	sum := 0
	for tag := range expertTags(e) {
		points := tags[tag]
		if slices.ContainsFunc(picked, func(p Expert) bool { return expertTags(p)[tag] }) {
			points /= coveredShare
		}
		sum += points
	}
	return sum
}

// caseTags returns the features of the case with their points.
func caseTags(c Case) map[string]int {
	tags := workTags(c.Aspects, c.Files)
	for _, k := range ClassifyFailure(c) {
		tags["kind "+k] = pointsKind
	}
	return tags
}

// workTags returns the features of any work with their points.
func workTags(aspects, files []string) map[string]int {
	tags := map[string]int{"kind " + anyFailure: pointsAny}
	for _, a := range normalise(aspects) {
		tags["aspect "+a] = pointsAspect
	}
	for _, f := range fileKinds(files) {
		tags["file "+f] = pointsFile
	}
	return tags
}

func expertTags(e Expert) map[string]bool {
	tags := map[string]bool{}
	for _, k := range e.Failures {
		tags["kind "+k] = true
	}
	for _, a := range e.Aspects {
		tags["aspect "+a] = true
	}
	for _, f := range e.Files {
		tags["file "+f] = true
	}
	return tags
}

func containsExpert(experts []Expert, name string) bool {
	return slices.ContainsFunc(experts, func(e Expert) bool { return e.Name == name })
}
