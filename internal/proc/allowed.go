package proc

// allowed lists the variables that pass from the parent's environment, by reason. It is a list of
// words; Environ applies it. Some are missing on purpose: PWD would name another directory; the
// job server of MAKEFLAGS is not open in a child; npm_lifecycle_* and npm_package_* describe the
// script that may have started wavex.
var allowed = []string{
	// User, place, language and terminal.
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "HOSTNAME",
	"LANG", "LANGUAGE", "LC_*", "TZ", "TZDIR",
	"TERM", "TERMINFO", "TERMINFO_DIRS", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE",
	"TMPDIR", "TEMP", "TMP", "XDG_*", "SSH_AUTH_SOCK",
	"CI", // tools turn their watch modes and spinners off

	// Network access: proxies and certificates.
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "FTP_PROXY",
	"http_proxy", "https_proxy", "all_proxy", "no_proxy", "ftp_proxy",
	"SSL_CERT_*", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_*", "CURL_HOME",

	// The agent: its login, its provider, its own settings.
	"ANTHROPIC_*", "API_TIMEOUT_MS", "IS_SANDBOX", "DISABLE_*",
	"CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_API_KEY_HELPER_TTL_MS",
	"CLAUDE_CODE_USE_*", "CLAUDE_CODE_SKIP_*", "CLAUDE_CODE_MAX_*", "CLAUDE_CODE_DISABLE_*",
	"CLAUDE_CODE_ENABLE_*", "CLAUDE_CODE_CLIENT_*", "CLAUDE_CODE_SUBAGENT_MODEL", "CLAUDE_CODE_EFFORT_LEVEL",
	"CLAUDE_CODE_CERT_STORE", "CLAUDE_CODE_EXTRA_BODY", "CLAUDE_CODE_AUTO_COMPACT_WINDOW",
	"CLAUDE_CODE_SHELL", "CLAUDE_CODE_SHELL_PREFIX", "CLAUDE_CODE_TMPDIR", "CLAUDE_CODE_GIT_BASH_PATH",
	"CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR",
	"BASH_DEFAULT_TIMEOUT_MS", "BASH_MAX_*", "MAX_THINKING_TOKENS", "MAX_MCP_OUTPUT_TOKENS",
	"MCP_TIMEOUT", "MCP_TOOL_TIMEOUT", "USE_BUILTIN_RIPGREP", "ENABLE_TOOL_SEARCH", "OTEL_*",
	"AWS_*", "GOOGLE_*", "GCLOUD_PROJECT", "CLOUDSDK_*", "CLOUD_ML_REGION", "VERTEX_*", "AZURE_*",

	// Toolchains of the checks.
	"GO*", "CGO_*", "CC", "CXX", "CPP", "LD", "AR", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS",
	"PKG_CONFIG*", "CMAKE_*", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "DYLD_*", "SDKROOT", "DEVELOPER_DIR",
	"CARGO_*", "RUSTUP_*", "RUST_BACKTRACE", "RUSTFLAGS", "SCCACHE_*", "CCACHE_*",
	"JAVA_HOME", "JDK_HOME", "JAVA_TOOL_OPTIONS", "MAVEN_*", "M2_HOME", "GRADLE_*", "ANDROID_*", "SDKMAN_DIR",
	"PYENV_*", "PYTHON*", "VIRTUAL_ENV", "CONDA_*", "PIPX_*", "PIP_*", "UV_*", "POETRY_HOME",
	"NVM_*", "FNM_*", "VOLTA_HOME", "PNPM_HOME", "BUN_INSTALL", "DENO_DIR", "COREPACK_*", "npm_config_*", "NPM_CONFIG_*",
	"YARN_*", "RBENV_*", "GEM_HOME", "GEM_PATH", "BUNDLE_*", "RUBY*", "ASDF_*", "MISE_*", "NIX_*",
	"DOTNET_*", "NUGET_*", "COMPOSER_HOME", "MIX_*", "HEX_HOME", "HOMEBREW_PREFIX", "HOMEBREW_CELLAR",
	"HOMEBREW_REPOSITORY",
	"PLAYWRIGHT_BROWSERS_PATH", "PUPPETEER_*", "CHROME_BIN",

	// Containers, and git except for the names of a repository (GIT_DIR and GIT_INDEX_FILE of a
	// hook would redirect every commit).
	"DOCKER_*", "COMPOSE_*", "BUILDKIT_*", "BUILDX_*", "TESTCONTAINERS_*", "KUBECONFIG",
	"GIT_SSH", "GIT_SSH_COMMAND", "GIT_AUTHOR_*", "GIT_COMMITTER_*", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
	"GIT_CONFIG_NOSYSTEM", "GIT_TERMINAL_PROMPT", "GIT_EXEC_PATH", "GNUPGHOME",

	// Windows cannot start programs without these.
	"SystemRoot", "SystemDrive", "windir", "ComSpec", "PATHEXT", "OS", "APPDATA", "LOCALAPPDATA", "ProgramData",
	"ALLUSERSPROFILE",
	"ProgramFiles*", "CommonProgram*", "USERPROFILE", "USERNAME", "USERDOMAIN", "HOMEDRIVE", "HOMEPATH", "PUBLIC",
	"COMPUTERNAME", "NUMBER_OF_PROCESSORS", "PROCESSOR_*", "PSModulePath", "MSYS*", "MINGW*",
}

// denied lists the variables that do not pass even on request: the marks by which a claude started
// by claude detects that it is nested, or joins a session, a task list or a job of another one,
// and the variables of another wavex. The names are those of claude 2.1.330.
var denied = []string{
	"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION*",
	"CLAUDE_CODE_TASK_LIST_ID", "CLAUDE_CODE_PARENT*", "CLAUDE_CODE_REMOTE*", "CLAUDE_CODE_AGENT*",
	"CLAUDE_CODE_CHILD*", "CLAUDE_CODE_RESUME*", "CLAUDE_CODE_EXECPATH", "CLAUDE_CODE_SUPERVISED", "CLAUDE_CODE_WORKER*",
	"CLAUDE_SESSION*", "CLAUDE_AGENT*", "CLAUDE_BG_*", "CLAUDE_JOB_DIR", "CLAUDE_ENV_FILE", "CLAUDE_PROJECT_DIR",
	"CLAUDE_PLUGIN_*", "CLAUDE_SKILL_DIR", "WAVEX_*",
}
