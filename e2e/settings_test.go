package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Where the programs name the environment variables that they read, and how.
var (
	readSettings = []string{
		"handler/*.go", "worker/*.go", "cmd/matoolkit/*.go", "internal/cli/*.go", "internal/otlp/*.go", "internal/trust/*.go", "internal/datasource/*/*.go",
	}
	settingForms = []*regexp.Regexp{
		regexp.MustCompile(`(?:[gG]etenv|[lL]ookup|LookupEnv|\br\.\w+)\("([A-Za-z_]\w+)"`),
		regexp.MustCompile(`\b[eE]nv[A-Z]\w*\s*=\s*"(\w+)"`),
		regexp.MustCompile(`"(MATOOLKIT_[A-Z_]+)"`),
	}
	// Of the operating system and its shells.
	notSettings = strings.Fields("HOME PATH TERM XDG_CACHE_HOME XDG_CONFIG_HOME APPDATA LOCALAPPDATA")
)

// settingNames are the environment variables that the three programs read, sorted.
func settingNames() []string {
	var all []string
	for _, pattern := range readSettings {
		files, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				continue
			}
			for _, form := range settingForms {
				for _, m := range form.FindAllStringSubmatch(string(source), -1) {
					all = append(all, m[1])
				}
			}
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool { return slices.Contains(notSettings, name) })
}

// TestSettingsAreInDocuments holds the documents against the programs: each variable that
// one of them reads is explained in one of the pages.
func TestSettingsAreInDocuments(t *testing.T) {
	t.Parallel()
	names := settingNames()
	for _, name := range []string{"COSMOS_ENDPOINT", "MAX_PARALLELISM", "MATOOLKIT_API_URL", "OTEL_EXPORTER_OTLP_ENDPOINT", "EXTRA_CA_FILE", "MATOOLKIT_CLOCK_OFFSET"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not among those that are found: %q", name, names)
		}
	}
	var prose strings.Builder
	for _, page := range documents(t) {
		prose.WriteString(page.Prose)
	}
	for _, name := range names {
		if !strings.Contains(prose.String(), "`"+name+"`") {
			t.Errorf("no document explains `%s`", name)
		}
	}
}
