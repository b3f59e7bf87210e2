package rig

import (
	"os"
	"os/exec"
)

// Browser returns the path of the Chromium or Chrome for the tests, or "" if there is none.
// WAVEX_E2E_CHROMIUM names one that is not on PATH.
func Browser() string {
	if path := os.Getenv("WAVEX_E2E_CHROMIUM"); path != "" {
		return path
	}
	for _, name := range []string{
		"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome-headless-shell",
	} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
