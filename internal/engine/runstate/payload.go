package runstate

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/storable"
)

// checkPayload gives a payload of the step in hand as it can be kept, or says why it cannot.
func (t *transition) checkPayload(what string, payload json.RawMessage) (kept json.RawMessage, reason string) {
	if len(payload) == 0 {
		return payload, ""
	}
	kept, err := storable.JSON(payload)
	var bad *storable.Error
	switch {
	case errors.As(err, &bad) && bad.Path != "":
		return nil, fmt.Sprintf("its %s cannot be stored: at %s, %s", what, bad.Path, bad.Reason)
	case err != nil:
		return nil, fmt.Sprintf("its %s cannot be stored: %v", what, err)
	}
	return kept, t.checkSize(what, kept)
}

// checkSize says why a payload of the step in hand is too large to be kept, if so.
func (t *transition) checkSize(what string, payload json.RawMessage) string {
	if len(payload) > model.MaxPayload {
		return fmt.Sprintf("the size of its %s is %d bytes; at most %d are allowed", what, len(payload), model.MaxPayload)
	}
	total := len(payload) + model.PayloadSize(t.run.Variables)
	for i, s := range t.run.Steps {
		if i != t.run.Current || what != "result" { // which takes the place of the one before
			total += len(s.Result)
		}
		if i != t.run.Current || what != "parameters" {
			total += len(s.Params)
		}
		for _, a := range s.Abandoned {
			total += len(a.Result)
		}
	}
	if total > model.MaxRunPayload {
		return fmt.Sprintf("with its %s the steps of this phase would take %d bytes; at most %d can be stored", what, total, model.MaxRunPayload)
	}
	return ""
}
