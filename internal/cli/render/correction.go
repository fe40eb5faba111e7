package render

import (
	"slices"

	"github.com/matoolkit/matoolkit/internal/api"
)

// ChangeTable lists corrected columns of members.
func (c *Printer) ChangeTable(changes ...api.ColumnChange) *Sheet {
	t := c.Table("member", "key", "display", "column", "before", "after", "note")
	if !slices.ContainsFunc(changes, func(v api.ColumnChange) bool { return v.Display != "" }) {
		t.extra = append(t.extra, "display")
	}
	for _, v := range changes {
		note := ""
		if v.Override {
			note = "overrides the data source"
		}
		t.Row(v.MemberID, v.MemberKey, v.Display, v.Column, c.value(v.Before), c.value(v.After), note)
	}
	return t
}

// NoticeInFlight names the steps whose jobs were sent with the values from before a correction.
func (c *Printer) NoticeInFlight(steps []api.StepInFlight) {
	const most = 10
	for i, s := range steps {
		if i == most {
			c.Notice("%d more steps have the old values until they are retried.", len(steps)-most)
			return
		}
		c.Notice("Step %s of %s in %s is under way with the old values; the correction takes effect at its next attempt.", Printable(s.Step), Printable(Person(s.MemberKey, s.Display)), Printable(s.Phase))
	}
}
