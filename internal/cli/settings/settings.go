// Package settings reads and writes the settings of the command line: options, the
// environment and the configuration file.
package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

// Definition is a setting. Its value comes from an option, else an environment variable, else
// the configuration file, else the default. The option and the key in the file have the same
// name.
type Definition struct {
	Key, Variable, Help, Default string
}

// Definitions are all settings, in the order of the help.
var Definitions = []Definition{
	{"api-url", "MATOOLKIT_API_URL", "address of the admin API", ""},
	{"tenant-id", "MATOOLKIT_TENANT_ID", "Entra ID tenant to sign in to", ""},
	{"client-id", "MATOOLKIT_CLIENT_ID", "app registration to sign in with", ""},
	{"api-scope", "MATOOLKIT_API_SCOPE", "scope of the admin API (default api://{client-id}/.default)", ""},
	{"authority", "MATOOLKIT_AUTHORITY", "address of the identity provider", "https://login.microsoftonline.com"},
	{"ca-file", "MATOOLKIT_CA_FILE", "PEM file of an additional certificate authority", ""},
	{"token-store", "MATOOLKIT_TOKEN_STORE", "store of the sign-in: auto, system (key store) or file", "auto"},
	{"auth", "MATOOLKIT_AUTH", "authentication method: device-code, azure-cli, managed-identity or client-certificate", DeviceCode},
	{"client-certificate", "MATOOLKIT_CLIENT_CERTIFICATE", "PEM or PFX file of the client certificate", ""},
	{"managed-identity-id", "MATOOLKIT_MANAGED_IDENTITY_ID", "client ID of the managed identity if there are several", ""},
}

// Setting is the value of a setting with its source: option, environment, file, default or
// none.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// Settings are all settings, in the order of the help.
type Settings []Setting

// Get returns the value of a setting; empty if it has none.
func (s Settings) Get(key string) string {
	for _, v := range s {
		if v.Key == key {
			return v.Value
		}
	}
	return ""
}

const envHome = "MATOOLKIT_HOME" // directory of the configuration file and of the sign-in. Default: ~/.matoolkit

// Home returns the directory of the configuration file and of the sign-in.
func Home(getenv func(string) string) (string, error) {
	if dir := getenv(envHome); dir != "" {
		return dir, nil
	}
	dir := getenv("HOME")
	if dir == "" {
		var err error
		if dir, err = os.UserHomeDir(); err != nil {
			return "", fmt.Errorf("the home directory is unknown (%w); set %s", err, envHome)
		}
	}
	return filepath.Join(dir, ".matoolkit"), nil
}

// File returns the path of the configuration file.
func File(getenv func(string) string) (string, error) {
	dir, err := Home(getenv)
	return filepath.Join(dir, "config.json"), err
}

// Load reads the settings from the options, by key, the environment and the configuration file.
func Load(options map[string]*string, getenv func(string) string) (Settings, error) {
	path, err := File(getenv)
	if err != nil {
		return nil, err
	}
	file, err := Read(path)
	if err != nil {
		return nil, err
	}
	var all Settings
	for _, s := range Definitions {
		v := Setting{Key: s.Key, Source: "none"}
		for _, from := range []struct{ value, source string }{
			{*options[s.Key], "option"}, {getenv(s.Variable), "environment"}, {file[s.Key], "file"}, {s.Default, "default"},
		} {
			if from.value != "" {
				v.Value, v.Source = from.value, from.source
				break
			}
		}
		all = append(all, v)
	}
	if scope := &all[3]; scope.Value == "" && all.Get("client-id") != "" {
		scope.Value, scope.Source = "api://"+all.Get("client-id")+"/.default", "default"
	}
	return all, nil
}

// Read reads the configuration file, a JSON object of settings. A missing file has no settings;
// an invalid file is wrong usage.
func Read(path string) (map[string]string, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, exit.Usagef("read the configuration: %w", err)
	}
	values := map[string]string{}
	if err := json.Unmarshal(data, &values); err != nil {
		return nil, exit.Usagef("the configuration file %s is not a JSON object of strings: %w", path, err)
	}
	for key := range values {
		if !Known(key) {
			return nil, exit.Usagef("the configuration file %s has the unknown setting %q: use %s", path, key, Keys())
		}
	}
	return values, nil
}

// Write replaces the configuration file in one step.
func Write(path string, values map[string]string) error {
	data, err := json.MarshalIndent(values, "", "  ")
	if err != nil {
		return err
	}
	return ReplaceFile(path, append(data, '\n'))
}

// ReplaceFile writes a file in one step. Only its owner can read it.
func ReplaceFile(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".write-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails once it is renamed
	_, err = bytes.NewReader(data).WriteTo(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Known reports whether a setting exists.
func Known(key string) bool {
	return slices.ContainsFunc(Definitions, func(s Definition) bool { return s.Key == key })
}

// Keys lists the names of all settings.
func Keys() string {
	var names []string
	for _, s := range Definitions {
		names = append(names, s.Key)
	}
	return strings.Join(names, ", ")
}
