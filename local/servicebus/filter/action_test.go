package filter

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestActions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Changes{
		"SET sys.To = 'Entity'":                                                       {System: map[string]string{"To": "Entity"}, User: map[string]any{}},
		"set a = 1; SET b = a + 1;":                                                   {System: map[string]string{}, User: map[string]any{"a": int64(1), "b": int64(2)}},
		"SET [a b] = text + '!', REMOVE user.text":                                    {System: map[string]string{}, User: map[string]any{"a b": "north!", "text": nil}},
		"SET text = 'x'; REMOVE text; SET y = text":                                   {System: map[string]string{}, User: map[string]any{"text": nil, "y": nil}},
		"SET sys.Label = 'x'; SET y = sys.Label; REMOVE sys.Label; SET z = sys.Label": {System: map[string]string{"Label": ""}, User: map[string]any{"y": "x", "z": nil}},
	} {
		a, err := ParseAction(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := a.Apply(sample); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"": "position 1: the expression ends where SET or REMOVE", "a = 1": "SET or REMOVE", "SET = 1": "a property", "SET a 1": "position 7",
		"SET a = 1 = 1": "the end of the action", "SET a = EXISTS(b)": "is a condition", "REMOVE a b": "the end of the action", "SET a = (1=1)": "is a condition",
	} {
		if _, err := ParseAction(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := ParseAction("SET sys.SequenceNumber = 1"); !errors.Is(err, ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}
