package convert

// This file knows which commands of foreign prose may become checks: those that test or read and then end. A plan of
// another tool also quotes commands that serve, install, delete or deploy, which its author did not ask to run.

import (
	"slices"
	"strings"

	"wavex/internal/textfmt"
)

// checkPrograms are programs that only test or read; their arguments are free.
var checkPrograms = strings.Fields("pytest tsc jest vitest eslint ruff mypy flake8 pylint rspec phpunit ctest " +
	"test grep egrep rg diff jq")

// checkSubcommands lists, by program, the words after it that only test, build or read.
var checkSubcommands = map[string][]string{
	"go":        {"test", "vet", "build"},
	"cargo":     {"test", "check", "clippy", "build", "nextest"},
	"dotnet":    {"test", "build"},
	"mvn":       {"test", "verify"},
	"gradle":    {"test", "check", "build"},
	"./gradlew": {"test", "check", "build"},
	"deno":      {"test", "check", "lint"},
	"bun":       {"test"},
	"swift":     {"test", "build"},
	"flutter":   {"test", "analyze"},
	"dart":      {"test", "analyze"},
	"bundle":    {"exec rspec", "exec rubocop"},
	"poetry":    {"run pytest", "run mypy", "run ruff"},
	"uv":        {"run pytest", "run mypy", "run ruff"},
	"python":    {"-m pytest", "-m unittest", "-m mypy"},
	"python3":   {"-m pytest", "-m unittest", "-m mypy"},
	"node":      {"--test"},
	"terraform": {"validate", "fmt -check"},
	"npx":       {"tsc", "jest", "vitest run", "eslint", "playwright test", "tsx --test"},
	"npm":       {"test", "t"},
	"pnpm":      {"test"},
	"yarn":      {"test"},
}

// These patterns find the scripts and targets that only test, and the parts of commands that may do more.
var (
	checkTarget = textfmt.Pattern(`^(?:run )?(?:test|tests|lint|check|build|typecheck|type-check|types|unit|verify|ci)` +
		`(?:[:_-](?:\w|-)+)*(?: |$)`)
	testsFile = textfmt.Pattern(`^(?:! )?-[a-z] \S+$|^\S+ (?:=|!=|-eq|-ne) \S+$`)
	mayDoMore = textfmt.Pattern("[;|>$`]|(?:^|[^&])&(?:[^&]|$)|(?:^|\\s)--?(?:w|watch|watchAll|fix|serve|ui)(?:\\s|=|$)|" +
		"[:_-](?:watch|dev|fix|deploy)\\b")
)

// destroys matches the commands that delete, undo or deploy, which are never checks.
var destroys = textfmt.Pattern(`\b(?:rm\s+-|docker\s+\S+\s+prune\b|make\s+destroy\b|` +
	`git\s+(?:reset|clean|checkout|restore|stash|push|commit)\b|` +
	`terraform\s+(?:apply|destroy)\b|kubectl\s+(?:apply|delete)\b|migrate[: ](?:fresh|reset)\b|` +
	`docker\s+(?:run|compose)\b|dd\s+if=|mkfs|` +
	`(?:npm|pnpm|yarn|bun)\s+(?:i|install|ci|add|publish)\b|pip\s+install\b)`)

// endless matches the commands that go on running.
var endless = textfmt.Pattern(`^(?:\S+\s+){1,2}?(?:start|serve|dev|watch|preview|up|push|deploy|publish)(?:[\s:]|$)|` +
	`\s(?:--watch\w*|http\.server|logs -f)\b|^cargo run\b|^npx vite$`)

// isCheckCommand reports whether a command only tests or reads, in each of its parts.
func isCheckCommand(command string) bool {
	if mayDoMore().MatchString(command) {
		return false
	}
	for part := range strings.SplitSeq(command, "&&") {
		program, rest, _ := strings.Cut(strings.TrimSpace(part), " ")
		rest = strings.TrimSpace(rest)
		begins := func(words string) bool { return rest == words || strings.HasPrefix(rest, words+" ") }
		switch {
		case program == "test" && !testsFile().MatchString(rest):
			return false
		case slices.Contains(checkPrograms, program) && (rest != "" || !slices.Contains(checkPrograms[11:], program)):
		case slices.ContainsFunc(checkSubcommands[program], begins):
		case slices.Contains([]string{"npm", "pnpm", "yarn", "bun", "make"}, program) && checkTarget().MatchString(rest):
		default:
			return false
		}
	}
	return true
}
