package signature_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/signature"
)

func TestValuesOfATypeAreReadFromText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		is    signature.Type
		value any
		want  any // nil: the value is empty
	}{
		{signature.String, "", nil},
		{signature.GUID, nil, nil},
		{signature.Boolean, "TRUE", true},
		{signature.GUID, "AAAAAAAA-0000-4000-8000-000000000001", "aaaaaaaa-0000-4000-8000-000000000001"},
		{signature.Email, "ada.lovelace@contoso.com", "ada.lovelace@contoso.com"},
		{signature.Email, "o'neil_fabrikam.com#EXT#@contoso.onmicrosoft.com", "o'neil_fabrikam.com#EXT#@contoso.onmicrosoft.com"},
		{signature.Email, "zoë@münchen.example", "zoë@münchen.example"},
		{signature.Domain, "mail.contoso-eu.com", "mail.contoso-eu.com"},
		{signature.StringList, `["a","b"]`, []string{"a", "b"}},
		{signature.StringList, []any{}, nil},
		{signature.OneOf("Mailbox", "MailUser"), "mailuser", "MailUser"},
		{signature.Object, map[string]any{"a": "b"}, map[string]any{"a": "b"}},
		{signature.Object, `{"a":{"b":12345678901234567890}}`, map[string]any{"a": map[string]any{"b": json.Number("12345678901234567890")}}},
		{signature.Object, map[string]any{}, map[string]any{}},
	} {
		if got, err := tt.is.Read(tt.value); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s %#v: %#v, %v", tt.is, tt.value, got, err)
		}
	}
}

func TestAValueOfAnotherTypeIsRefusedAndNotRepeated(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		is    signature.Type
		value any
		says  string
	}{
		{signature.GUID, "{AAAAAAAA-0000-4000-8000-000000000001}", "must be a GUID"},
		{signature.Email, "ada.fabrikam.com", "must be an address"},
		{signature.Email, "@fabrikam.com", "must be an address"},
		{signature.Email, "ada@fabrikam", "must be an address"},
		{signature.Email, "Ada <ada@fabrikam.com>", "must be an address"},
		{signature.Email, "ada@fabrikam.com;bob@fabrikam.com", "must be an address"},
		{signature.Email, "ada@fabrikam.com ", "must be an address"},
		{signature.Email, "smtp:ada@fabrikam.com", "must be an address"},
		{signature.Domain, "fabrikam", "must be a domain"},
		{signature.Domain, "fabrikam..com", "must be a domain"},
		{signature.Domain, "-fabrikam.com", "must be a domain"},
		{signature.Domain, "https://fabrikam.com", "must be a domain"},
		{signature.Domain, "fabrikam.com.", "must be a domain"},
		{signature.Boolean, "Wahr", "must be true or false"},
		{signature.String, []any{"a"}, "must be text, not an array"},
		{signature.StringList, "[broken", "not a JSON array"},
		{signature.OneOf("Mailbox", "MailUser"), "Group", "must be one of Mailbox, MailUser"},
		{signature.Object, "[]", "must be an object"},
		{signature.Object, "null", "must be an object"},
		{signature.Object, `{"a":1} {}`, "must be an object"},
		{signature.Object, []any{"a"}, "must be an object, not an array"},
		{signature.Type("colour"), "broken", "unknown type"},
	} {
		_, err := tt.is.Read(tt.value)
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s %q: %v, want %q", tt.is, tt.value, err, tt.says)
			continue
		}
		if s, ok := tt.value.(string); ok && strings.Contains(err.Error(), s) {
			t.Errorf("%s: %v repeats the value", tt.is, err)
		}
	}
}
