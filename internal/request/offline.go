package request

// This file scores a request without a model, by words and patterns. It is a heuristic, and the
// score says so. It detects whether a request mentions a dimension and how exactly, not whether the
// request makes sense.

import (
	"regexp"
	"strings"

	"wavex/internal/textfmt"
)

type pattern struct {
	points int
	reason string
	re     func() *regexp.Regexp
}

func patterns(dimension int) []pattern {
	list := [...][]pattern{
		{
			{2, "a number to reach", ignoreCase(`(?:[<>≤≥]=?\s*\d|\b(?:below|under|over|above|within|at least|at most|less than|more than|from \d\S* to|by)\s+\d|\b\d+(?:\.\d+)?\s*(?:%|ms|s\b|seconds?|minutes?|x\b|kb|mb|gb|times|requests|lines|coverage))`)},
			{2, "an exact result", ignoreCase(`\b(?:returns?|prints?|exits? with|responds? with|answers? with|rejects?|accepts?|shows?|outputs?|yields?|equals?|becomes?|so that|redirects?|logs|replaces?)\b.{0,60}(?:\d|` + "`" + `|"|\b(?:error|list|table|json|csv|401|404|200|empty|null|true|false|message|line|file)\b)`)},
			{1, "an aim in words", ignoreCase(`\b(?:add|implement|create|build|write|fix|debug|improve|speed up|reduce|increase|remove|delete|rename|move|refactor|migrate|replace|support|extract|split|document|upgrade|convert|validate|cache|parse|render|export|import|clean up|reorgani[sz]e|simplify|enable|disable|allow|prevent|stop|make .{2,40} (?:faster|smaller|configurable|optional|idempotent|thread-safe))\b`)},
		},
		{
			{2, "an exact place", ignoreCase(`(?:[\w.-]+/[\w./*-]+|\b[\w-]+\.(?:go|ts|tsx|js|jsx|py|rs|java|rb|c|h|cpp|md|sql|ya?ml|json|toml|sh|css|html|proto|tf)\b|\b\w+\(\)|\b(?:function|method|class|struct|type|table|endpoint|package|command|flag|module|job|component|file)\s+` + "`?" + `[A-Za-z_][\w.-]*` + "`?" + `|` + "`[^`\n]{2,}`" + `)`)},
			{1, "a part by name", ignoreCase(`\b(?:auth(?:entication|entication)?|log-?in|parser|api|cli|cache|database|schema|queue|scheduler|logging|logger|search|checkout|payment|billing|users?|session|config(?:uration)?|tests?|docs?|documentation|readme|build|pipeline|ci|dashboard|form|page|report|export|import|import(?:er)?|upload|download|email|notification|permissions?|router|middleware|client|server|worker|module|package|service|sync|webhooks?|migration|index|pagination|validation|error handling|retry|installer)\b`)},
		},
		{
			{2, "limits that can be checked", ignoreCase(`(?:[<≤]\s*\d+\s*(?:loc|lines)|\b(?:no|without|zero) (?:new |any |additional |extra |external |third[- ]party )*(?:deps?|dependenc(?:y|ies)|libraries|packages|breaking changes?|api changes?|schema changes?)|\bat most \d+|\bmust not\b|\bstandard library only\b|\bonly the standard library\b|\bkeep (?:the )?(?:public |existing |current )*(?:api|interface|signature|behaviou?r|format|tests)\b|\b(?:api|interface|signature|behaviou?r|format|schema|output) (?:stays?|remains?) (?:as (?:it|they) (?:is|are)|unchanged|the same)\b)`)},
			{1, "a limit in words", ignoreCase(`\b(?:use (?:the )?(?:existing|current|same)|existing|compatible|compatibility|without|only|do not|don't|must|never|keep|unchanged|stays?|remains?|in (?:go|rust|python|typescript|java)|with (?:go|rust|python|typescript|java)|no )\b`)},
		},
		{
			{2, "checks that can be run", ignoreCase(
				"(?:`(?:go|npm|npx|yarn|pnpm|make|pytest|cargo|mvn|gradle|bash|sh|curl|docker|python|node|just|tox|ruff|eslint|mypy)\\b[^`]*`|" + `\ball (?:the |existing )*tests\b.{0,30}(?:\b(?:pass|green|succeed)|\+ ?\w)|\btests?\b.{0,60}\b(?:and|plus|\+)\b.{0,40}\b(?:lint|vet|qa|benchmark|review|coverage|smoke|e2e|integration|manual|type ?check|build)|\bcovered by (?:a |an )?(?:new )?(?:unit |integration |regression )?tests?\b.{0,80}\b(?:and|plus)\b|\bcoverage\b.{0,20}\d|\b(?:script|command)\b.{0,30}\b(?:prints|exits|succeeds|passes)\b)`)},
			{1, "a check in words", ignoreCase(`\b(?:tests?|tested|verify|verified|verifiable|check|checked|benchmark(?:s|ed)?|lint|assert|proven|reproduc(?:e|es|ible)|golden|measure[ds]?|demo)\b`)},
		},
		{
			{2, "an end that can be seen", ignoreCase(`\b(?:done when|finished when|complete when|definition of done|accepted when|merged|pull request|pr (?:is )?(?:opened|open|merged)|released|deployed|tagged|committed|published|ships? (?:in|as)|signed off|when (?:all |the )*(?:checks?|tests?|ci|pipeline) (?:pass(?:es)?|succeeds?|(?:is|are) green))\b`)},
			{1, "an end in words", ignoreCase(`\b(?:when it works|when|until|once|as soon as|so that|by the end)\b`)},
		},
	}
	return list[dimension]
}

func ignoreCase(s string) func() *regexp.Regexp { return textfmt.Pattern(`(?i)` + s) }

// vagueAims matches requests without a specific object: verbs like "improve" do not count then.
var vagueAims = ignoreCase(`\b(?:make|get|do|improve|fix|clean up|optimi[sz]e|update|change|refactor|handle|finish|polish)\s+(?:it|this|that|things?|stuff|everything|all|the (?:app|application|code|codebase|code ?base|project|program|system|site|website|thing|repo|repository|bugs?|issues?|problems?|performance))\b(?:\s+(?:better|faster|nicer|work|properly|up|somehow|good|again|please|now))*`)

// vagueWords matches words that state an aim without a measure.
var vagueWords = ignoreCase(`\b(?:better|nicer|properly|somehow|modern|good|as needed|where appropriate|etc)\b`)

// offlineScore scores a request by its words. Its Source is fromHeuristic.
func offlineScore(request string) Score {
	s := Score{Source: fromHeuristic}
	text := strings.Join(strings.Fields(request), " ")
	for d, m := range s.ratings() {
		m.Reason = "nothing in the request speaks of it"
		for _, c := range patterns(d) {
			if found := c.re().FindString(text); found != "" {
				m.Points, m.Reason = c.points, c.reason+": "+textfmt.Shorten(strings.TrimSpace(found), 60)
				break
			}
		}
	}
	rest := strings.TrimSpace(vagueAims().ReplaceAllString(text, " "))
	if rest != text && s.Outcome.Points == 1 && !patterns(0)[2].re().MatchString(rest) {
		s.Outcome = Rating{Reason: "no aim that could be reached: " + textfmt.Shorten(vagueAims().FindString(text), 60)}
	}
	if vagueWords().MatchString(text) && s.Outcome.Points == 1 && len(strings.Fields(text)) < 6 {
		s.Outcome = Rating{Reason: "no aim that could be reached: " + textfmt.Shorten(text, 60)}
	}
	return s
}
