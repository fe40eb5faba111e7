package app_test

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/scaler"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/workers"
)

// StoredTypes are the Go types of the documents of each type (store.Key.Type).
var StoredTypes = map[string]reflect.Type{
	"additions":    reflect.TypeFor[store.AdditionsPage](),
	"attempts":     reflect.TypeFor[store.Attempts](),
	"audit":        reflect.TypeFor[store.AuditRecord](),
	"automation":   reflect.TypeFor[store.Automation](),
	"batch":        reflect.TypeFor[model.Batch](),
	"catalog":      reflect.TypeFor[store.Catalog](),
	"claim":        reflect.TypeFor[store.PersonClaim](),
	"comparison":   reflect.TypeFor[store.Comparison](),
	"comparisons":  reflect.TypeFor[store.Comparisons](),
	"delivery":     reflect.TypeFor[store.Delivery](),
	"cache":        reflect.TypeFor[model.CacheEntry](),
	"entry":        reflect.TypeFor[store.BatchSummary](),
	"hold":         reflect.TypeFor[store.RemovalHoldMembers](),
	"member":       reflect.TypeFor[model.Member](),
	"pipeline":     reflect.TypeFor[store.PipelineRequest](),
	"removed-rule": reflect.TypeFor[store.NotificationRule](),
	"request":      reflect.TypeFor[store.IdempotencyRecord](),
	"rule":         reflect.TypeFor[store.NotificationRule](),
	"routing":      reflect.TypeFor[store.Routing](),
	"run":          reflect.TypeFor[model.Run](),
	"runbook":      reflect.TypeFor[store.RunbookHead](),
	"scaler":       reflect.TypeFor[scaler.Record](),
	"sequence":     reflect.TypeFor[store.BatchSequence](),
	"shard":        reflect.TypeFor[model.Shard](),
	"slot":         reflect.TypeFor[store.StartSlot](),
	"sync":         reflect.TypeFor[store.SyncRecord](),
	"task":         reflect.TypeFor[store.Task](),
	"unprocessed":  reflect.TypeFor[store.Unprocessable](),
	"version":      reflect.TypeFor[store.RunbookVersion](),
	"worker":       reflect.TypeFor[workers.Record](),
}

// SentTypes are the bodies of the messages of each type. A job has none.
var SentTypes = map[string]reflect.Type{
	message.TypeBatchInit:       reflect.TypeFor[message.BatchInit](),
	message.TypePhaseDue:        reflect.TypeFor[message.PhaseDue](),
	message.TypeMemberAdded:     reflect.TypeFor[message.MemberEvent](),
	message.TypeMemberRemoved:   reflect.TypeFor[message.MemberEvent](),
	message.TypePollCheck:       reflect.TypeFor[message.StepCheck](),
	message.TypeRetryCheck:      reflect.TypeFor[message.StepCheck](),
	message.TypeDeadlineCheck:   reflect.TypeFor[message.DeadlineCheck](),
	message.TypeBatchWork:       reflect.TypeFor[message.BatchWork](),
	message.TypeWorkerResult:    reflect.TypeFor[message.Result](),
	message.TypeWorkerResults:   reflect.TypeFor[struct{ Results []message.GroupedResult }](),
	message.TypeWorkerCatalog:   reflect.TypeFor[message.Catalog](),
	message.TypeWorkerHeartbeat: reflect.TypeFor[message.Heartbeat](),
	message.TypeControl:         reflect.TypeFor[message.Control](),
	"job":                       reflect.TypeFor[message.Job](),
}

// Shape lists the fields of the given types as they stand in JSON, one on each line:
// what it is a field of, where it is, and what stands there.
func Shape(what string, types map[string]reflect.Type) []string {
	var lines []string
	for name, t := range types {
		shapeOf(t, func(path, kind string) { lines = append(lines, fmt.Sprintf("%s %s%s %s", what, name, path, kind)) })
	}
	slices.Sort(lines)
	return lines
}

func shapeOf(t reflect.Type, tell func(path, kind string)) {
	for t.Kind() == reflect.Pointer { // null or absent is a value of every field
		t = t.Elem()
	}
	text := reflect.TypeFor[encoding.TextMarshaler]()
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		tell("", "any JSON")
	case t.Implements(text) || reflect.PointerTo(t).Implements(text): // times, and what writes itself
		tell("", "text of a "+t.String())
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()):
		tell("", "JSON of a "+t.String())
	case t.Kind() == reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Anonymous && name == "", !f.IsExported(), name == "-":
				continue
			case name == "":
				name = f.Name
			}
			shapeOf(f.Type, func(path, kind string) { tell("."+name+path, kind) })
		}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		tell("", "base64")
	case t.Kind() == reflect.Slice:
		shapeOf(t.Elem(), func(path, kind string) { tell("[]"+path, kind) })
	case t.Kind() == reflect.Map:
		shapeOf(t.Elem(), func(path, kind string) { tell("{"+kindOf(t.Key())+"}"+path, kind) })
	case t == reflect.TypeFor[any]():
		tell("", "any JSON")
	default:
		tell("", kindOf(t))
	}
}

// kindOf returns the JSON kind of a type. The width of a number and the name of a text's
// type are not stored.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Int, reflect.Int64, reflect.Int32:
		return "whole number"
	case reflect.Float64:
		return "number"
	}
	panic("no field of this kind is stored so far: " + t.String())
}
