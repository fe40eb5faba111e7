package schedule

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// longPast is how long after the last of its phases was due a batch is no longer made.
const longPast = 24 * time.Hour

// planner makes one plan. Batches are numbered by their place in drafts.
type planner struct {
	rb        *runbook.Runbook
	result    *Result
	situation Situation

	drafts  []draft
	byStart map[time.Time]int // start → the automated batch
	ended   map[time.Time]int // start → the batch that has ended
	// reserved is Situation.Reserved with the starts that batches release.
	reserved map[time.Time]int
	homes    map[string][]home // key → where they are a member, the oldest batch first
	byHand   map[string][]int  // key → the batches that an administrator removed them from
	leaving  map[string]bool   // keys of those whose removal is still under way

	unused   map[string]bool // keys of rows that are not used on account of their case
	left     map[string]bool // keys of members who are left as they are on account of that
	late     map[time.Time]int
	coming   []coming
	groups   map[time.Time]*Group
	held     *HeldAdditions
	revision string
	problems []Problem
	counts   Counts
}

// draft collects the planned changes of a batch.
type draft struct {
	Batch
	active  int // members who have not failed
	leaving []Removal
	tooMany string // why so many should not leave at once; nobody comes in then, either
	moving  int    // members who move to movesTo, where they are most of the batch
	movesTo time.Time
	stay    bool // those who were to leave do not
	change  Change
}

// home is a membership of a person.
type home struct{ batch, member int }

// newBatch stands for the place of a batch that is yet to be made.
const newBatch = -1

// coming is a row whose person comes into a batch as soon as they are out of others.
type coming struct {
	row   int
	start time.Time
	batch int // or newBatch
	from  []int
}

func newPlanner(rb *runbook.Runbook, r *Result, s Situation) *planner {
	p := &planner{
		rb: rb, result: r, situation: s,
		byStart: map[time.Time]int{}, ended: map[time.Time]int{}, reserved: map[time.Time]int{}, homes: map[string][]home{}, byHand: map[string][]int{}, leaving: map[string]bool{},
		unused: map[string]bool{}, left: map[string]bool{}, late: map[time.Time]int{}, groups: map[time.Time]*Group{},
	}
	for start, id := range s.Ended {
		p.ended[start.UTC()] = id
	}
	for start, id := range s.Reserved {
		p.reserved[start.UTC()] = id
	}
	// The oldest first: where one of several is taken, it is that one.
	for _, b := range slices.SortedFunc(slices.Values(s.Batches), func(a, b Batch) int { return cmp.Compare(a.ID, b.ID) }) {
		at := len(p.drafts)
		d := draft{Batch: b, change: Change{Batch: b.ID}}
		d.Start = b.Start.UTC()
		if _, taken := p.byStart[d.Start]; !taken && !b.Manual {
			p.byStart[d.Start] = at
		}
		for i, m := range b.Members {
			if m.RemovedByHand {
				p.byHand[m.Key] = append(p.byHand[m.Key], at)
			}
			if m.Leaving {
				p.leaving[m.Key] = true
			}
			if m.gone() {
				continue
			}
			if !m.Failed {
				d.active++
			}
			p.homes[m.Key] = append(p.homes[m.Key], home{at, i})
		}
		p.drafts = append(p.drafts, d)
	}
	return p
}

// takeEarlierStarts gives a batch that was rescheduled the rows that still have a start before that. A
// start that no row of its present and former members has is released: then it is free for another
// batch. While rows cannot be used, that is unknown.
func (p *planner) takeEarlierStarts() {
	for at := range p.drafts {
		d := &p.drafts[at]
		if d.Manual || len(d.Earlier) == 0 {
			continue
		}
		used := p.startsOfRows(d)
		var kept []time.Time
		for _, start := range d.Earlier {
			start = start.UTC()
			if !used[start] && p.result.bad == 0 && p.result.count > 0 {
				d.change.Released = append(d.change.Released, start)
				if _, taken := p.byStart[start]; !taken {
					p.reserved[start] = d.ID
				}
				continue
			}
			kept = append(kept, start)
			if _, taken := p.byStart[start]; !taken {
				p.byStart[start] = at
			}
		}
		d.Earlier = kept
	}
}

// startsOfRows returns the starts that rows of a batch's present and former members have.
func (p *planner) startsOfRows(d *draft) map[time.Time]bool {
	starts := map[time.Time]bool{}
	for _, m := range d.Members {
		if i, present := p.result.byKey[m.Key]; present && !p.result.rows[i].bad {
			starts[p.result.startOf(&p.result.rows[i], p.situation.Now)] = true
		}
	}
	return starts
}

// has reports whether rows with a start are of this batch.
func (d *draft) has(start time.Time) bool {
	return d.Start.Equal(start) || slices.ContainsFunc(d.Earlier, start.Equal)
}

// gone tells that this is no member any more.
func (m *Member) gone() bool { return m.RemovedByHand || m.Leaving }

func (p *planner) member(h home) *Member { return &p.drafts[h.batch].Members[h.member] }

func (p *planner) problem(row *row, column, code, format string, args ...any) {
	pr := Problem{Column: column, Code: code, Message: fmt.Sprintf(format, args...)}
	if row != nil {
		pr.Row, pr.Key = row.number, row.key
	}
	p.problems = append(p.problems, pr)
}

// inKeyOrder gives the places of the rows that can be used.
func (p *planner) inKeyOrder() []int {
	var order []int
	for i := range p.result.rows {
		if row := &p.result.rows[i]; !row.bad && !p.unused[row.key] {
			order = append(order, i)
		}
	}
	rows := p.result.rows
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(rows[a].key, rows[b].key) })
	return order
}

// place decides where the person of a row belongs: they stay where they are, leave,
// or come in.
func (p *planner) place(i int) {
	row := &p.result.rows[i]
	start := p.result.startOf(row, p.situation.Now)
	homes := p.homes[row.key]
	if p.leaving[row.key] && len(homes) == 0 {
		p.counts.Waiting++
		return
	}
	if p.isLongPast(start) {
		p.late[start]++
		p.counts.LongPast++
		return
	}
	manual := slices.ContainsFunc(homes, func(h home) bool { return p.drafts[h.batch].Manual })
	own := slices.DeleteFunc(slices.Clone(homes), func(h home) bool { return p.drafts[h.batch].Manual })
	if manual {
		p.counts.InManual++
	}
	if len(homes) > 1 {
		p.inTwo(row, homes)
	}
	if at, stays := p.stays(start, own); stays {
		p.leave(slices.DeleteFunc(own, func(h home) bool { return h == at }), nil)
		p.stay(i, start, at, manual)
		return
	}
	reason, counted := p.noBatch(start)
	switch {
	case reason != "" && len(own) > 0:
		*counted++
		p.remain(i, start, own, reason)
	case manual:
		p.leave(own, nil)
	case p.leaving[row.key]: // nor are they taken out, to be put nowhere
		p.counts.Waiting++
	case p.staysOut(row.key, row) && len(own) > 0:
		p.counts.RemovedByHand++
		p.remain(i, start, own, "an administrator removed them from the batch of that time")
	case p.staysOut(row.key, row):
		p.counts.RemovedByHand++
	case reason != "":
		*counted++
	default:
		p.coming = append(p.coming, coming{row: i, start: start, batch: p.batchOf(start), from: p.leave(own, &start)})
	}
}

// leave removes a person from the batches that they can leave, and returns those batches.
func (p *planner) leave(own []home, to *time.Time) (from []int) {
	for _, h := range own {
		if m := p.member(h); !m.Failed && !m.Kept {
			d := &p.drafts[h.batch]
			d.leaving = append(d.leaving, Removal{Member: m.ID, Key: m.Key, MovesTo: to})
			from = append(from, h.batch)
		}
	}
	return from
}

// remain keeps a person's memberships, since no batch can accept them: a new time must
// not remove them from one batch without adding them to another.
func (p *planner) remain(i int, start time.Time, own []home, reason string) {
	row, d := &p.result.rows[i], &p.drafts[own[0].batch]
	p.problem(row, p.result.layout.time.name, CodeNoDestination, "%q stays in batch %d of %s, although the batch time is now %s: %s",
		clip(row.key), d.ID, formatTime(d.Start), formatTime(start), reason)
	for _, h := range own {
		p.refresh(i, h)
	}
}

// stays returns the membership that a person keeps: the one with the start of their
// row, otherwise one that they cannot leave. With batch_time: immediate any start
// matches, and it is the oldest.
func (p *planner) stays(start time.Time, own []home) (home, bool) {
	for _, h := range own {
		if p.result.immediate() || p.drafts[h.batch].has(start) {
			return h, true
		}
	}
	for _, fixed := range []func(*Member) bool{
		func(m *Member) bool { return m.Failed },
		func(m *Member) bool { return m.Kept },
	} {
		for _, h := range own {
			if fixed(p.member(h)) {
				return h, true
			}
		}
	}
	return home{}, false
}

// stay brings the data of a member who stays up to date.
func (p *planner) stay(i int, start time.Time, at home, manual bool) {
	row, m, d := &p.result.rows[i], p.member(at), &p.drafts[at.batch]
	if !p.result.immediate() && !d.has(start) {
		if m.Failed {
			p.problem(row, p.result.layout.time.name, CodeFailedElsewhere, "%q failed in batch %d of %s, and the batch time is now %s; they stay in that batch until it has ended",
				clip(row.key), d.ID, formatTime(d.Start), formatTime(start))
		} else if !manual {
			p.counts.Kept++
		}
		return
	}
	if m.Kept {
		d.change.Returned = append(d.change.Returned, m.ID)
	}
	if !p.refresh(i, at) {
		p.counts.Unchanged++
	}
}

// refresh gives a member the data of their row, and tells whether it is other data.
func (p *planner) refresh(i int, at home) bool {
	m, change := p.member(at), &p.drafts[at.batch].change
	if m.Hash == hex.EncodeToString(p.result.rows[i].hash[:]) {
		return false
	}
	change.Refresh = append(change.Refresh, Refresh{m.ID, p.result.row(i)})
	return true
}

// noBatch returns why no batch for start accepts members, and the counter of such
// rows; the reason is empty if one does.
func (p *planner) noBatch(start time.Time) (reason string, counted *int) {
	if p.batchOf(start) != newBatch {
		return "", nil
	}
	if id, ended := p.ended[start]; ended {
		return fmt.Sprintf("batch %d for this start has ended", id), &p.counts.Ended
	}
	if id, reserved := p.reserved[start]; reserved {
		return fmt.Sprintf("batch %d is being rescheduled to this start, or was before", id), &p.counts.Waiting
	}
	if !p.situation.Automation {
		return "automation is off, so no batch is created for this start", &p.counts.Off
	}
	return "", nil
}

// batchOf is the batch for a start, or newBatch.
func (p *planner) batchOf(start time.Time) int {
	if batch, exists := p.byStart[start]; exists {
		return batch
	}
	return newBatch
}

// isLongPast tells that a batch for start is not there and comes too late: all of its
// phases would begin at once, for people whose time may well be a mistake.
func (p *planner) isLongPast(start time.Time) bool {
	_, ended := p.ended[start]
	_, reserved := p.reserved[start]
	if ended || reserved || p.batchOf(start) != newBatch || p.result.immediate() {
		return false
	}
	return p.lastDue(start).Before(p.situation.Now.Add(-longPast))
}

func (p *planner) lastDue(start time.Time) time.Time {
	var last time.Time
	for _, phase := range p.rb.Phases {
		if due := phase.Offset.DueAt(start); due.After(last) {
			last = due
		}
	}
	return last
}

// inTwo reports a person who is in several batches.
func (p *planner) inTwo(row *row, homes []home) {
	var ids []string
	for _, h := range homes {
		ids = append(ids, fmt.Sprint(p.drafts[h.batch].ID))
	}
	p.problem(row, "", CodeTwoBatches, "%q is a member of the batches %s at the same time", clip(row.key), strings.Join(ids, ", "))
}

// missing finds members whose key no row has. With batch_time: immediate they stay: a
// query for those who are ready no longer has those who are on their way.
func (p *planner) missing() {
	for i := range p.drafts {
		d := &p.drafts[i]
		if d.Manual || p.result.immediate() {
			continue
		}
		for _, m := range d.Members {
			_, present := p.result.byKey[m.Key]
			switch {
			case present || m.Failed || m.gone() || p.left[m.Key]:
			case m.Kept: // the source has no say about them, so they are no part of its share
				p.counts.Kept++
				d.active--
			default:
				d.leaving = append(d.leaving, Removal{Member: m.ID, Key: m.Key})
			}
		}
	}
}

// come lets those in who have left everything else.
func (p *planner) come() {
	var entering []coming
	for _, c := range p.coming {
		// Most of those who come into a batch that most are gone from may be the same
		// people by other keys.
		if c.batch != newBatch && p.drafts[c.batch].tooMany != "" || slices.ContainsFunc(c.from, func(batch int) bool { return p.drafts[batch].stay }) {
			p.counts.Waiting++
			continue
		}
		if p.situation.Discarded[p.result.rows[c.row].key] && p.isAddition(c) {
			p.counts.Discarded++
			continue
		}
		entering = append(entering, c)
	}
	p.revision = p.digest()
	p.held = p.guardAdditions(entering)
	for _, c := range entering {
		if p.held != nil && p.isAddition(c) {
			p.counts.Waiting++
			continue
		}
		row := p.result.row(c.row)
		if c.batch != newBatch {
			change := &p.drafts[c.batch].change
			change.Add = append(change.Add, row)
			continue
		}
		group, ok := p.groups[c.start]
		if !ok {
			group = &Group{Start: c.start}
			p.groups[c.start] = group
		}
		group.Rows = append(group.Rows, row)
	}
}

func (p *planner) plan() Plan {
	plan := Plan{Additions: p.held, Revision: p.revision, Counts: p.counts}
	for _, start := range slices.SortedFunc(maps.Keys(p.groups), time.Time.Compare) {
		plan.New = append(plan.New, *p.groups[start])
	}
	slices.SortStableFunc(p.drafts, func(a, b draft) int { return a.Start.Compare(b.Start) })
	for _, d := range p.drafts {
		c := d.change
		slices.SortFunc(c.Returned, cmp.Compare)
		if len(c.Add)+len(c.Refresh)+len(c.Remove)+len(c.Returned)+len(c.Released) > 0 || c.Held != nil {
			plan.Changes = append(plan.Changes, c)
		}
	}
	for _, start := range slices.SortedFunc(maps.Keys(p.late), time.Time.Compare) {
		p.problem(nil, p.result.layout.time.name, CodeLongPast, "no batch is created for %s (%s): its last phase was due at %s, more than a day ago; members of other batches with this time stay there",
			formatTime(start), count(p.late[start], "row"), formatTime(p.lastDue(start)))
	}
	found, total := p.result.Problems()
	plan.Counts.Problems = total + len(p.problems)
	plan.Problems = sortedProblems(append(found, p.problems...))
	plan.Problems = plan.Problems[:min(len(plan.Problems), MaxProblems)]
	plan.Counts.Rows, plan.Counts.Bad = p.result.count, p.counts.Bad+p.result.bad
	return plan
}

// formatTime is a time as messages give it.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z07:00") }
