package exchange

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
)

// HoldResult is the result of Test-ExchangeMailboxHold.
type HoldResult struct {
	Complete bool     `json:"complete"`
	Reason   string   `json:"reason,omitempty"` // why it is not complete
	Data     HoldData `json:"data"`
}

// HoldData tells of the holds of one mailbox.
type HoldData struct {
	Identity     string
	ExpectedHeld bool
	Held         bool
	Holds        []Hold
}

// Hold keeps the content of a mailbox.
type Hold struct {
	Kind string
	ID   string `json:"Id,omitempty"`
}

// mailboxHolds are the properties of a mailbox about holds.
type mailboxHolds struct {
	LitigationHoldEnabled    bool
	InPlaceHolds             []string
	ComplianceTagHoldApplied bool
	DelayHoldApplied         bool
	DelayReleaseHoldApplied  bool
}

func (c *Client) testHold(ctx context.Context, p catalog.Params) (any, error) {
	id := p.String("Identity")
	var mailboxes []mailboxHolds
	if err := c.Invoke(ctx, "Get-Mailbox", map[string]any{"Identity": id}, &mailboxes); err != nil {
		return nil, err
	}
	if len(mailboxes) != 1 {
		return nil, session.Ambiguous("Get-Mailbox", len(mailboxes))
	}
	var organizations []struct{ InPlaceHolds []string }
	if err := c.Invoke(ctx, "Get-OrganizationConfig", map[string]any{}, &organizations); err != nil {
		return nil, err
	}
	var everywhere []string
	for _, o := range organizations {
		everywhere = append(everywhere, o.InPlaceHolds...)
	}
	data := HoldData{Identity: id, ExpectedHeld: p.Bool("ExpectedHeld", false), Holds: mailboxes[0].all(everywhere)}
	data.Held = len(data.Holds) > 0
	reason := data.difference()
	return HoldResult{Complete: reason == "", Reason: reason, Data: data}, nil
}

// all are the holds of a mailbox, with those of all mailboxes from which it is not excluded.
func (m mailboxHolds) all(everywhere []string) []Hold {
	holds := []Hold{}
	for _, flag := range []struct {
		set  bool
		kind string
	}{
		{m.LitigationHoldEnabled, "LitigationHold"},
		{m.ComplianceTagHoldApplied, "ComplianceTagHold"},
		{m.DelayHoldApplied, "DelayHold"},
		{m.DelayReleaseHoldApplied, "DelayReleaseHold"},
	} {
		if flag.set {
			holds = append(holds, Hold{Kind: flag.kind})
		}
	}
	for _, id := range m.InPlaceHolds {
		if kind := holdKind(id); kind != "" {
			holds = append(holds, Hold{kind, id})
		}
	}
	for _, id := range everywhere {
		excluded := func(own string) bool { return strings.HasPrefix(own, "-") && policyOf(own[1:]) == policyOf(id) }
		if kind := holdKind(id); kind == "RetentionPolicy" && !strings.HasPrefix(id, "grp") && !slices.ContainsFunc(m.InPlaceHolds, excluded) {
			holds = append(holds, Hold{"OrganizationRetentionPolicy", id})
		}
	}
	return holds
}

// policyOf is the id of a retention policy without its action, such as the 2 of mbx7cfb…:2.
func policyOf(id string) string {
	policy, _, _ := strings.Cut(strings.ToLower(id), ":")
	return policy
}

// holdKind is the kind of an entry of InPlaceHolds; empty for an exclusion, and for a policy that only
// deletes, whose action is 1. An entry of a form that is not known counts as a hold.
func holdKind(id string) string {
	_, action, _ := strings.Cut(id, ":")
	switch {
	case strings.HasPrefix(id, "-"), action == "1":
		return ""
	case strings.HasPrefix(id, "mbx"), strings.HasPrefix(id, "skp"), strings.HasPrefix(id, "grp"):
		return "RetentionPolicy"
	case strings.HasPrefix(id, "UniH"):
		return "EDiscoveryHold"
	}
	return "InPlaceHold"
}

func (d HoldData) difference() string {
	switch {
	case d.Held == d.ExpectedHeld:
		return ""
	case d.ExpectedHeld:
		return "the mailbox is not on hold, expected a hold"
	}
	names := make([]string, 0, len(d.Holds))
	for _, h := range d.Holds {
		name := h.Kind
		if h.ID != "" {
			name = fmt.Sprintf("%s %s", h.Kind, h.ID)
		}
		names = append(names, name)
	}
	return "the mailbox is on hold (" + strings.Join(names, ", ") + "), expected no hold"
}
