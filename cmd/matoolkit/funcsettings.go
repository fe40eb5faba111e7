package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// funcSettings fills the app settings of the handler into a local.settings.json, as Azure's
// own tool "func start" reads it. What the file has besides stays: settings of other
// names, such as a data source's connection, and what it says of the host.
func funcSettings(file string, handler map[string]string) ([]byte, error) {
	if file == "" {
		return nil, errors.New("--base: give the local.settings.json to fill in, such as local.settings.json.example")
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--base: %w", err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("--base: %s: %w", file, err)
	}
	var encrypted bool
	if of := all["IsEncrypted"]; of != nil {
		if err := json.Unmarshal(of, &encrypted); err != nil {
			return nil, fmt.Errorf("--base: %s: IsEncrypted: %w", file, err)
		}
	}
	if encrypted {
		return nil, fmt.Errorf("--base: %s is encrypted; decrypt it with: func settings decrypt", file)
	}
	var values map[string]string
	if err := json.Unmarshal(all["Values"], &values); err != nil || values == nil {
		return nil, fmt.Errorf("--base: %s has no Values object", file)
	}
	for name, value := range handler {
		values[name] = value
	}
	if all["Values"], err = json.Marshal(values); err != nil {
		return nil, err
	}
	filled, err := json.MarshalIndent(all, "", "  ")
	return append(filled, '\n'), err
}
