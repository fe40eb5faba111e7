// Package nextlink decides whether the link to the next page of a list may be followed. The request to it has the
// token of the first page, which must not go to another server. The package reads no pages.
package nextlink

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Check refuses a link that does not lead to the server of root, an address such as https://graph.microsoft.com. The
// default port may be named: Exchange Online does so in some of its addresses.
func Check(link, root string) error {
	to, err := url.Parse(link)
	if err != nil || to.Host == "" {
		return errors.New("the link to the next page is not a URL")
	}
	from, err := url.Parse(root)
	if err != nil {
		return fmt.Errorf("%q is not a URL", root)
	}
	if to.User != nil || server(to) != server(from) {
		return fmt.Errorf("the link to the next page leads to %s, and not to %s", to.Host, from.Host)
	}
	return nil
}

// server is the scheme, host and port of an address.
func server(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}
