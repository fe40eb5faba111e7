package postgres

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/matoolkit/matoolkit/internal/store"
)

// fields are the fields that queries filter by, sort by or return alone, by the type of the document.
var fields = map[string][]string{
	"entry": {
		"id", "creating", "status", "runbookName", "batchStartTime", "detectedAt", "memberCount", "completedAt", "eraseSecretsAt", "expiresAt", "openDetached",
		"name", "owner",
	},
	"member": {
		"memberId", "page", "key", "search", "status", "addedAt", "leaving",
		"openPhase", "removal", "busyUntil", "undoingUntil", "claim", "removedBy", "movedToBatch",
		"hash", "addedBy", "removedAt", "movedTo",
		"failedIn", "failedStep", "failedAs", "failedVersion", "undone", "error", "failedAt",
	},
	"run":         {"phaseId", "memberId", "page", "key", "status", "stepStatuses", "wakeAt", "pausedAt", "task", "deadlineAt", "worker", "sentAt"},
	"cache":       {"expiresAt"},
	"request":     {"expiresAt"},
	"shard":       {"phaseId", "page", "open", "reported"},
	"runbook":     {"name", "active", "publishedAt", "publishedBy"},
	"version":     {"name", "version", "description", "overdue", "rerunInit", "publishedAt", "publishedBy", "deactivated"},
	"automation":  {"enabled"},
	"sync":        {"runbook", "lastRunAt"},
	"additions":   {"runbook"},
	"worker":      {"id", "catalog"},
	"audit":       {"action", "by", "runbook", "target", "why"},
	"unprocessed": {"status", "topic", "messageType", "place"},
	"delivery":    {"wakeAt", "place"},
}

// extract returns the fields of a document, as an object. A document that is no object has none.
func extract(kind string, doc json.RawMessage) ([]byte, error) {
	names := fields[kind]
	if len(names) == 0 {
		return []byte("{}"), nil
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(doc, &all) != nil {
		return []byte("{}"), nil
	}
	found := map[string]json.RawMessage{}
	for _, name := range names {
		if value, ok := all[name]; ok {
			found[name] = storable(value)
		}
	}
	if kind == "entry" { // queries compare these in any case
		for _, name := range []string{"name", "owner"} {
			var text string
			if json.Unmarshal(found[name], &text) == nil {
				folded, err := store.Encode(strings.ToLower(text))
				if err != nil {
					return nil, err
				}
				found[name] = folded
			}
		}
	}
	if kind == "member" && all["overrides"] != nil {
		found["overridden"] = json.RawMessage("true")
	}
	return store.Encode(found)
}

// storable returns a value without NUL and lone surrogates, which no text of the server has.
func storable(value json.RawMessage) json.RawMessage {
	if !bytes.Contains(value, []byte(`\u`)) {
		return value
	}
	var v any
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	if decoder.Decode(&v) != nil { // it replaces surrogates
		return value
	}
	encoded, err := store.Encode(v)
	if err != nil {
		return value
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(encoded, []byte(`\\`), []byte(`\u005c`)), []byte(`\u0000`), []byte(`\ufffd`))
}

// text returns the text of a filter as fields have it.
func text(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\ufffd"), "\ufffd")
}
