package nextlink_test

import (
	"testing"

	"github.com/matoolkit/matoolkit/internal/nextlink"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		link, root string
		follows    bool
	}{
		{"https://graph.microsoft.com/v1.0/users?$skiptoken=1", "https://graph.microsoft.com", true},
		{"https://GRAPH.microsoft.com/v1.0/users", "https://graph.microsoft.com/", true},
		{"https://outlook.office365.com:443/adminapi/beta/t/InvokeCommand", "https://outlook.office365.com", true},
		{"https://outlook.office365.com/adminapi", "https://outlook.office365.com:443", true},
		{"http://127.0.0.1:5000/next", "http://127.0.0.1:5000", true},
		{"http://127.0.0.1:5001/next", "http://127.0.0.1:5000", false},
		{"https://outlook.office365.com:444/adminapi", "https://outlook.office365.com", false},
		{"http://outlook.office365.com/adminapi", "https://outlook.office365.com", false},
		{"https://outlook.office365.com.example/adminapi", "https://outlook.office365.com", false},
		{"https://a:b@outlook.office365.com/adminapi", "https://outlook.office365.com", false},
		{"https://elsewhere.example@outlook.office365.com/", "https://outlook.office365.com", false},
		{"/adminapi/beta", "https://outlook.office365.com", false},
		{"%", "https://outlook.office365.com", false},
	} {
		if err := nextlink.Check(tc.link, tc.root); (err == nil) != tc.follows {
			t.Errorf("%s from %s: %v", tc.link, tc.root, err)
		}
	}
}
