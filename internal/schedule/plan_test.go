package schedule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/schedule"
)

type scene struct {
	name    string
	batches []string
	rows    []string
	want    []string
	counts  schedule.Counts // all but Rows and Problems, which follow
}

// ten are ten members of a batch on Monday, and their rows.
const ten = "a b c d e f g h i j"

// eleven people are more than a small growth.
const eleven = ten + " k"

func on(day, keys string) []string {
	var rows []string
	for _, key := range strings.Fields(keys) {
		rows = append(rows, key+" "+day)
	}
	return rows
}

func TestScheduledBatches(t *testing.T) {
	t.Parallel()
	run(t, scheduled, []scene{
		{
			name: "a batch for each time",
			rows: []string{"dora tue", "anna mon", "bert tue", "carl mon"},
			want: []string{"new mon: anna carl", "new tue: bert dora"},
		},
		{
			name:   "no batches while automation is off",
			rows:   []string{"anna mon"},
			counts: schedule.Counts{Off: 1}, batches: []string{"automation off"},
		},
		{
			name:    "who is new comes in, who has new data is refreshed, who is as before is left",
			batches: []string{"1 mon: anna bert~"},
			rows:    []string{"anna mon", "bert mon", "carl mon"},
			want:    []string{"batch 1: add carl", "batch 1: refresh 102 with bert"},
			counts:  schedule.Counts{Unchanged: 1},
		},
		{
			name:    "batches that exist are kept true also when automation is off",
			batches: []string{"automation off", "1 mon: " + ten},
			rows:    on("mon", "a b c d e f g h i k"),
			want:    []string{"batch 1: add k", "batch 1: remove 110 j"},
			counts:  schedule.Counts{Unchanged: 9},
		},
		{
			name:    "a batch that has ended stays as it is",
			batches: []string{"1 mon ended"},
			rows:    []string{"anna mon"},
			counts:  schedule.Counts{Ended: 1},
		},
		{
			name:    "a start that was used again counts by the batch that has not ended",
			batches: []string{"1 mon ended", "2 mon: "},
			rows:    []string{"anna mon"},
			want:    []string{"batch 2: add anna"},
		},
		{
			name:    "a manual batch is not the batch of its time, and its members come into no other",
			batches: []string{"1 manual: anna~ bert"},
			rows:    []string{"anna mon", "carl mon"},
			want:    []string{"new mon: carl"},
			counts:  schedule.Counts{InManual: 1},
		},
		{
			name: "no batch whose last phase was due more than a day ago",
			rows: []string{"anna long-ago", "bert long-ago", "carl yesterday", "dora mon"},
			want: []string{"new mon: dora", "row 0 long-past:", "row 0 long-past:"}, counts: schedule.Counts{LongPast: 3},
		},
		{
			name: "a batch is still made within a day",
			rows: []string{"a 2026-02-28T12:02:31Z", "b 2026-02-28T12:02:30Z"},
			want: []string{"new 2026-02-28T12:02:31Z: a", "row 0 long-past:"}, counts: schedule.Counts{LongPast: 1},
		},
		{
			name:    "a batch that has ended is not missed, however long past its time",
			batches: []string{"1 long-ago ended"},
			rows:    []string{"a long-ago"},
			counts:  schedule.Counts{Ended: 1},
		},
		{
			name:    "a member whose row is long past stays, and is left as they are",
			batches: []string{"1 mon: anna~"},
			rows:    []string{"anna long-ago"},
			want:    []string{"row 0 long-past:"}, counts: schedule.Counts{LongPast: 1},
		},
		{
			name:    "a batch that exists goes on however long ago it began",
			batches: []string{"1 long-ago: anna"},
			rows:    []string{"anna long-ago", "bert long-ago"},
			want:    []string{"batch 1: add bert"}, counts: schedule.Counts{Unchanged: 1},
		},
		{
			name:    "a failed member is refreshed, for a retry to have the corrected data, and never removed",
			batches: []string{"1 mon: anna!~ bert! " + ten},
			rows:    on("mon", "anna "+ten),
			want:    []string{"batch 1: refresh 101 with anna"}, counts: schedule.Counts{Unchanged: 10},
		},
		{
			name:    "who was removed by an administrator does not come back into the batch",
			batches: []string{"1 mon: anna- bert- carl"},
			rows:    []string{"anna mon", "bert tue", "carl mon"},
			want:    []string{"new tue: bert"}, counts: schedule.Counts{RemovedByHand: 1, Unchanged: 1},
		},
	})
}

func TestMoves(t *testing.T) {
	t.Parallel()
	others := on("mon", "b c d e f g h i j")
	run(t, scheduled, []scene{
		{
			name:    "into a batch that exists",
			batches: []string{"1 mon: " + ten, "2 tue: "},
			rows:    append(slices.Clone(others), "a tue"),
			want:    []string{"batch 1: remove 101 a to tue", "batch 2: add a"}, counts: schedule.Counts{Unchanged: 9},
		},
		{
			name:    "into a new batch",
			batches: []string{"1 mon: " + ten},
			rows:    append(slices.Clone(others), "a tue"),
			want:    []string{"new tue: a", "batch 1: remove 101 a to tue"}, counts: schedule.Counts{Unchanged: 9},
		},
		{
			name:    "not out of the batch where none is made",
			batches: []string{"automation off", "1 mon: " + ten},
			rows:    append(slices.Clone(others), "a tue"),
			want:    []string{"row 10 no-destination: a"}, counts: schedule.Counts{Unchanged: 9, Off: 1},
		},
		{
			name:    "not to the time of a batch that has ended, but with the data of the row",
			batches: []string{"1 mon: a~ b c d e f g h i j", "2 tue ended"},
			rows:    append(slices.Clone(others), "a tue", "x tue"),
			want:    []string{"batch 1: refresh 101 with a", "row 10 no-destination: a"}, counts: schedule.Counts{Unchanged: 9, Ended: 2},
		},
		{
			name:    "all of them to the time of a batch that has ended: nobody leaves, so nothing is held",
			batches: []string{"1 mon: a b", "2 mon filling: c", "3 tue ended"},
			rows:    on("tue", "a b c"),
			want:    []string{"row 1 no-destination: a", "row 2 no-destination: b", "row 3 no-destination: c"}, counts: schedule.Counts{Ended: 3},
		},
		{
			name:    "of a member who failed or was kept, to no batch: as to any other",
			batches: []string{"automation off", "1 mon: a! b+"},
			rows:    on("tue", "a b"),
			want:    []string{"row 1 failed-elsewhere: a"}, counts: schedule.Counts{Kept: 1},
		},
		{
			name:    "of a member of a manual batch, to no batch: their own business",
			batches: []string{"1 manual: a~", "2 tue ended"},
			rows:    []string{"a tue"}, counts: schedule.Counts{InManual: 1},
		},
		{
			name:    "to a batch that an administrator removed them from",
			batches: []string{"1 mon: " + ten, "2 tue: a-"},
			rows:    append(slices.Clone(others), "a tue"),
			want:    []string{"row 10 no-destination: a"}, counts: schedule.Counts{Unchanged: 9, RemovedByHand: 1, Problems: 1},
		},
		{
			name:    "held, since too many leave: nobody is in two batches meanwhile",
			batches: []string{"1 mon: a b c d", "2 tue: x"},
			rows:    []string{"a tue", "b tue", "c wed", "d mon", "x tue", "y tue"},
			want: []string{
				"batch 1: hold 101 a to tue, 102 b to tue, 103 c to wed (of 4): the query now has another batch for 3 of 4 members, more than the removal_guard of 20% allows",
				"batch 2: add y",
			},
			counts: schedule.Counts{Unchanged: 2, Waiting: 3},
		},
		{
			name:    "a failed member stays where they failed, and does not move",
			batches: []string{"1 mon: a!~"},
			rows:    []string{"a tue"},
			want:    []string{"row 1 failed-elsewhere: a"},
		},
	})
}

func TestSomebodyInTwoBatches(t *testing.T) {
	t.Parallel()
	run(t, scheduled+"\nremoval_guard: 100%", []scene{
		{
			name:    "stays where their row is",
			batches: []string{"1 mon: a", "2 tue: a"},
			rows:    []string{"a tue"},
			want:    []string{"batch 1: remove 101 a", "row 1 two-batches: a"}, counts: schedule.Counts{Unchanged: 1},
		},
		{
			name:    "in two of the same time: stays in the older",
			batches: []string{"2 tue: a", "1 tue: a"},
			rows:    []string{"a tue"},
			want:    []string{"batch 2: remove 201 a", "row 1 two-batches: a"}, counts: schedule.Counts{Unchanged: 1},
		},
		{
			name:    "twice in one batch",
			batches: []string{"1 mon: a a"},
			rows:    []string{"a mon"},
			want:    []string{"batch 1: remove 102 a", "row 1 two-batches: a"}, counts: schedule.Counts{Unchanged: 1},
		},
		{
			name:    "with a row for a batch that has ended: stays in both",
			batches: []string{"1 mon: a~", "2 tue: a~", "3 wed ended"},
			rows:    []string{"a wed"},
			want:    []string{"batch 1: refresh 101 with a", "batch 2: refresh 201 with a", "row 1 two-batches: a", "row 1 no-destination: a"},
			counts:  schedule.Counts{Ended: 1},
		},
		{
			name:    "one of them manual, with a row for a batch that has ended: stays in both",
			batches: []string{"1 manual: a~", "2 tue: a", "3 wed ended"},
			rows:    []string{"a wed"},
			want:    []string{"row 1 two-batches: a", "row 1 no-destination: a"}, counts: schedule.Counts{InManual: 1, Ended: 1},
		},
		{
			name:    "with a row for neither: moves there from both",
			batches: []string{"1 mon: a", "2 tue: a"},
			rows:    []string{"a wed"},
			want:    []string{"new wed: a", "batch 1: remove 101 a to wed", "batch 2: remove 201 a to wed", "row 1 two-batches: a"},
		},
		{
			name:    "failed in one of them: stays in the one of their row, and where they failed",
			batches: []string{"1 mon: a!", "2 tue: a~"},
			rows:    []string{"a tue"},
			want:    []string{"batch 2: refresh 201 with a", "row 1 two-batches: a"},
		},
		{
			name:    "failed in one of them, with a row for neither: leaves the other, and comes into none",
			batches: []string{"1 mon: a", "2 tue: a!"},
			rows:    []string{"a wed"},
			want:    []string{"batch 1: remove 101 a", "row 1 two-batches: a", "row 1 failed-elsewhere: a"},
		},
		{
			name:    "one of them manual: told of, and both are kept",
			batches: []string{"1 manual: a", "2 tue: a"},
			rows:    []string{"a tue"},
			want:    []string{"row 1 two-batches: a"}, counts: schedule.Counts{InManual: 1, Unchanged: 1},
		},
		{
			name:    "one of them manual, with a row for neither: comes into no third",
			batches: []string{"1 manual: a", "2 tue: a"},
			rows:    []string{"a wed"},
			want:    []string{"batch 2: remove 201 a", "row 1 two-batches: a"}, counts: schedule.Counts{InManual: 1},
		},
		{
			name:    "without a row: gone from both",
			batches: []string{"1 mon: a", "2 tue: a"},
			rows:    []string{"b wed"},
			want:    []string{"new wed: b", "batch 1: remove 101 a", "batch 2: remove 201 a"},
		},
	})
	run(t, immediate+"\nremoval_guard: 100%", []scene{{
		name:    "batch_time: immediate: stays in the oldest",
		batches: []string{"3 mon: a", "2 tue: a~"},
		rows:    []string{"a"},
		want:    []string{"batch 3: remove 301 a", "batch 2: refresh 201 with a", "row 1 two-batches: a"},
	}})
}

func TestThoseWhoAreStillLeaving(t *testing.T) {
	t.Parallel()
	run(t, scheduled, []scene{
		{
			name:    "come neither back, nor into another batch, nor into a new one",
			batches: []string{"1 mon: a% b% c%- d", "2 tue: x"},
			rows:    []string{"a mon", "b tue", "c wed", "d mon", "x tue"},
			counts:  schedule.Counts{Waiting: 3, Unchanged: 2},
		},
		{
			name:    "nor into one that is not made, of which no problem tells",
			batches: []string{"automation off", "1 mon: a% b% c%", "2 tue ended"},
			rows:    []string{"a long-ago", "b tue", "c wed"},
			counts:  schedule.Counts{Waiting: 3},
		},
		{
			name:    "wait also after leaving a batch made by hand",
			batches: []string{"1 manual: a%", "2 mon: b"},
			rows:    []string{"a mon", "b mon"},
			counts:  schedule.Counts{Waiting: 1, Unchanged: 1},
		},
		{
			name:    "are not missing without a row, and nobody whom the share is reckoned of",
			batches: []string{"1 mon: a b c d e% f%! g%+ h% i% j%"},
			rows:    on("mon", "a b h"),
			want:    []string{"batch 1: hold 103 c, 104 d (of 4): the query no longer returns 2 of 4 members, more than the removal_guard of 20% allows"},
			counts:  schedule.Counts{Waiting: 1, Unchanged: 2},
		},
		{
			name:    "and were kept before: are not back",
			batches: []string{"1 mon: a%+~"},
			rows:    []string{"a mon"},
			counts:  schedule.Counts{Waiting: 1},
		},
		{
			name:    "and are known by their key but for capital letters",
			batches: []string{"1 mon: k% l"},
			rows:    []string{"K tue", "l mon"},
			want:    []string{"row 1 key-case: K"}, counts: schedule.Counts{Bad: 1, Unchanged: 1},
		},
		{
			name:    "whose row is that of nobody else",
			batches: []string{"1 mon: k% K " + ten},
			rows:    append(on("mon", ten), "k tue"),
			want:    []string{"batch 1: remove 102 K"}, counts: schedule.Counts{Waiting: 1, Unchanged: 10},
		},
		{
			name:    "one batch and are a member of another: stay there",
			batches: []string{"1 mon: a%", "2 tue: a~"},
			rows:    []string{"a tue"},
			want:    []string{"batch 2: refresh 201 with a"},
		},
		{
			name:    "one batch and are to move from another: stay where they are till then",
			batches: []string{"1 mon: a%", "2 tue: a~ " + ten[2:]},
			rows:    append(on("tue", ten[2:]), "a mon"),
			counts:  schedule.Counts{Waiting: 1, Unchanged: 9},
		},
	})
	run(t, immediate, []scene{{
		name:    "batch_time: immediate: come into no batch either",
		batches: []string{"1 yesterday: a%- b%", "2 now filling: c"},
		rows:    []string{"a", "b", "d"},
		want:    []string{"batch 2: add d"}, counts: schedule.Counts{Waiting: 2},
	}})
}

func TestMassChangeGuard(t *testing.T) {
	t.Parallel()
	run(t, scheduled, []scene{
		{
			name:    "as many as the guard allows leave at once",
			batches: []string{"1 mon: " + ten},
			rows:    on("mon", "a b c d e f g h"),
			want:    []string{"batch 1: remove 109 i, 110 j"}, counts: schedule.Counts{Unchanged: 8},
		},
		{
			name:    "one more, and nobody does, nor does anybody come",
			batches: []string{"1 mon: " + ten},
			rows:    on("mon", "a b c d e f g k"),
			want: []string{
				"batch 1: hold 108 h, 109 i, 110 j (of 10): the query no longer returns 3 of 10 members, more than the removal_guard of 20% allows",
			},
			counts: schedule.Counts{Unchanged: 7, Waiting: 1},
		},
		{
			name:    "everybody by another key: they do not come in a second time",
			batches: []string{"1 mon: a b c d", "2 tue: x"},
			rows:    append(on("mon", "1 2 3 4"), "x tue", "y tue"),
			want: []string{
				"batch 1: hold 101 a, 102 b, 103 c, 104 d (of 4): the query no longer returns 4 of 4 members, more than the removal_guard of 20% allows",
				"batch 2: add y",
			},
			counts: schedule.Counts{Unchanged: 1, Waiting: 4},
		},
		{
			name:    "also where rows without a key are a reason of their own",
			batches: []string{"1 mon: a b c d"},
			rows:    append(on("mon", "a 2 3 4"), "NULL mon"),
			want: []string{
				"batch 1: hold 102 b, 103 c, 104 d (of 4): 1 row has no readable key (row 5); it may be one of these members; and the query no longer returns 3 of 4 members, more than the removal_guard of 20% allows",
				"row 5 empty-key:",
			},
			counts: schedule.Counts{Unchanged: 1, Waiting: 3, Bad: 1},
		},
		{
			name:    "nobody moves into a batch that takes nobody, nor out of theirs for it",
			batches: []string{"1 mon: a b p", "2 tue: " + "c d e f g h i j k l", "3 wed filling: m", "4 thu: n o"},
			rows:    append(on("tue", "c d e f g h i j"), "a mon", "k mon", "m mon", "n mon"),
			want: []string{
				"batch 1: hold 102 b, 103 p (of 3): the query no longer returns 2 of 3 members, more than the removal_guard of 20% allows",
				"batch 2: remove 210 l",
				"batch 4: hold 401 n to mon, 402 o (of 2): the query no longer returns 1 and now has another batch for 1 of 2 members, more than the removal_guard of 20% allows",
			},
			counts: schedule.Counts{Unchanged: 9, Waiting: 3},
		},
		{
			name:    "who moves away counts as who is gone",
			batches: []string{"1 mon: " + ten},
			rows:    append(on("mon", "a b c d e f g"), "h tue"),
			want: []string{
				"batch 1: hold 108 h to tue, 109 i, 110 j (of 10): the query no longer returns 2 and now has another batch for 1 of 10 members, more than the removal_guard of 20% allows",
			},
			counts: schedule.Counts{Unchanged: 7, Waiting: 1},
		},
		{
			name:    "failed members and those removed are not among those who could leave",
			batches: []string{"1 mon: a b c d e f! g! h! i- j-"},
			rows:    on("mon", "a b c"),
			want:    []string{"batch 1: hold 104 d, 105 e (of 5): the query no longer returns 2 of 5 members, more than the removal_guard of 20% allows"},
			counts:  schedule.Counts{Unchanged: 3},
		},
		{
			name:    "one member may always leave",
			batches: []string{"1 mon: a b", "2 tue: c"},
			rows:    []string{"a mon"},
			want:    []string{"batch 1: remove 102 b", "batch 2: remove 201 c"},
			counts:  schedule.Counts{Unchanged: 1},
		},
		{
			name:    "each batch for itself",
			batches: []string{"1 mon: a b p", "2 tue: " + "c d e f g h"},
			rows:    append(on("mon", "a"), on("tue", "c d e f g")...),
			want: []string{
				"batch 1: hold 102 b, 103 p (of 3): the query no longer returns 2 of 3 members, more than the removal_guard of 20% allows",
				"batch 2: remove 206 h",
			},
			counts: schedule.Counts{Unchanged: 6},
		},
		{
			name:    "kept members do not count as missing again, and are told of when they are back",
			batches: []string{"1 mon: a b c d e f g h+ i+ j+~"},
			rows:    on("mon", "a b c d e f j"),
			want:    []string{"batch 1: refresh 110 with j", "batch 1: remove 107 g", "batch 1: 110 returned"},
			counts:  schedule.Counts{Unchanged: 6, Kept: 2},
		},
		{
			name:    "a kept member with another time stays, and is in no second batch",
			batches: []string{"1 mon: a+", "2 tue: b"},
			rows:    []string{"a tue", "b tue"},
			counts:  schedule.Counts{Kept: 1, Unchanged: 1},
		},
		{
			name:    "no rows at all",
			batches: []string{"1 mon: a!", "2 tue: b", "3 wed filling: c", "4 manual: d", "5 wed: e"},
			want:    []string{"batch 2: hold 201 b (of 1): the query returned no rows", "batch 5: hold 501 e (of 1): the query returned no rows"},
		},
		{
			name:    "no rows at all, and one batch of two",
			batches: []string{"1 mon: a b"},
			want:    []string{"batch 1: hold 101 a, 102 b (of 2): the query returned no rows"},
		},
		{
			name:    "no rows at all, and one member",
			batches: []string{"1 mon: a!", "2 tue: b", "4 manual: d"},
			want:    []string{"batch 2: remove 201 b"},
		},
		{
			name:    "no rows that can be used",
			batches: []string{"1 mon: a b d"},
			rows:    []string{"a never", "c never"},
			want:    []string{"batch 1: hold 102 b, 103 d (of 3): the query returned 2 rows, and none can be used", "row 1 bad-time: a", "row 2 bad-time: c"},
			counts:  schedule.Counts{Bad: 2},
		},
		{
			name:    "no rows that can be used, and one member",
			batches: []string{"1 mon: a b"},
			rows:    []string{"a never", "c never"},
			want:    []string{"batch 1: remove 102 b", "row 1 bad-time: a", "row 2 bad-time: c"},
			counts:  schedule.Counts{Bad: 2},
		},
		{
			name:    "no row with a key, and one member",
			batches: []string{"1 mon: a"},
			rows:    []string{"NULL mon"},
			want:    []string{"batch 1: hold 101 a (of 1): 1 row has no readable key (row 1); it may be one of these members", "row 1 empty-key:"},
			counts:  schedule.Counts{Bad: 1},
		},
		{
			name:    "those who come in while removals are held do not make the share smaller",
			batches: []string{"1 mon held 2: a b c d e f g h i j"},
			rows:    on("mon", "c d e f g h i j"),
			want:    []string{"batch 1: hold 101 a, 102 b (of 2): the query no longer returns 2 of 2 members, more than the removal_guard of 20% allows"},
			counts:  schedule.Counts{Unchanged: 8},
		},
		{
			name:    "a hold ends when those who are gone are few again",
			batches: []string{"1 mon held 10: " + ten},
			rows:    on("mon", "b c d e f g h i j"),
			want:    []string{"batch 1: remove 101 a"},
			counts:  schedule.Counts{Unchanged: 9},
		},
		{
			name:    "one row without a key",
			batches: []string{"1 mon: " + ten, "2 tue: z"},
			rows:    append(on("mon", "a b c d e f g h i"), "z tue", "NULL mon", "k mon"),
			want: []string{
				"batch 1: add k",
				"batch 1: hold 110 j (of 10): 1 row has no readable key (row 11); it may be one of these members",
				"row 11 empty-key:",
			},
			counts: schedule.Counts{Unchanged: 10, Bad: 1},
		},
		{
			name:    "many rows without a key",
			batches: []string{"1 mon: " + ten},
			rows:    append([]string{"NULL mon", "NULL mon", "NULL tue", "NULL never", "NULL mon", "NULL mon", "NULL mon"}, on("mon", "a b c d e f g h i")...),
			want: []string{
				"batch 1: hold 110 j (of 10): 7 rows have no readable key (rows 1, 2, 3, 4, 5 and 2 more); any of them may be one of these members",
				"row 1 empty-key:", "row 2 empty-key:", "row 3 empty-key:", "row 4 empty-key:", "row 4 bad-time:", "row 5 empty-key:", "row 6 empty-key:", "row 7 empty-key:",
			},
			counts: schedule.Counts{Unchanged: 9, Bad: 7},
		},
		{
			name:    "a batch that is being filled has no guard: nothing of it has begun",
			batches: []string{"1 mon filling: a b c"},
			rows:    []string{"a mon", "b tue"},
			want:    []string{"new tue: b", "batch 1: remove 102 b to tue, 103 c"}, counts: schedule.Counts{Unchanged: 1},
		},
		{
			name:    "whoever leaves is listed by key",
			batches: []string{"1 mon filling: c b d a"},
			rows:    []string{"d mon"},
			want:    []string{"batch 1: remove 104 a, 102 b, 101 c"}, counts: schedule.Counts{Unchanged: 1},
		},
		{
			name:    "but a result in doubt empties no batch",
			batches: []string{"1 mon filling: a b c"},
			rows:    []string{"a mon", "b tue", "NULL mon"},
			want:    []string{"row 3 empty-key:"}, counts: schedule.Counts{Unchanged: 1, Waiting: 1, Bad: 1},
		},
	})
	run(t, scheduled+"\nremoval_guard: 100%", []scene{{
		name:    "all of them, where the runbook allows it",
		batches: []string{"1 mon: a b"},
		rows:    []string{"c mon"},
		want:    []string{"batch 1: add c", "batch 1: remove 101 a, 102 b"},
	}})
}

func TestBadRowsLeaveTheirMembersAlone(t *testing.T) {
	t.Parallel()
	run(t, scheduled, []scene{
		{
			name:    "a time that cannot be read",
			batches: []string{"1 mon: " + ten + " k~"},
			rows:    append(on("mon", ten), "k never"),
			want:    []string{"row 11 bad-time: k"}, counts: schedule.Counts{Unchanged: 10, Bad: 1},
		},
		{
			name: "a key that is there twice: neither row is used",
			rows: []string{"a mon", "b mon", "a tue", "a mon"},
			want: []string{"new mon: b", "row 1 duplicate-key: a", "row 3 duplicate-key: a", "row 4 duplicate-key: a"}, counts: schedule.Counts{Bad: 3},
		},
		{
			name:    "a member's key that is there twice",
			batches: []string{"1 mon: " + ten + " k~"},
			rows:    append(on("mon", ten), "k mon", "k tue"),
			want:    []string{"row 11 duplicate-key: k", "row 12 duplicate-key: k"}, counts: schedule.Counts{Unchanged: 10, Bad: 2},
		},
		{
			name:    "a key that differs from a member's in capital letters only: neither added nor removed",
			batches: []string{"1 mon: " + ten + " k! l m"},
			rows:    append(on("mon", ten), "K mon", "L tue", "m mon", "M mon"),
			want:    []string{"row 11 key-case: K", "row 12 key-case: L", "row 14 key-case: M"}, counts: schedule.Counts{Unchanged: 11, Bad: 3},
		},
		{
			name:    "two members whose keys differ in capital letters: one of them is gone",
			batches: []string{"1 mon: " + ten + " k K"},
			rows:    append(on("mon", ten), "K mon"),
			want:    []string{"batch 1: remove 111 k"}, counts: schedule.Counts{Unchanged: 11},
		},
		{
			name:    "it may be either of two members",
			batches: []string{"1 mon: " + ten + " kK Kk"},
			rows:    append(on("mon", ten), "KK mon"),
			want:    []string{"row 11 key-case: KK"}, counts: schedule.Counts{Unchanged: 10, Bad: 1},
		},
		{
			name:    "a bad row whose key differs from a member's in capital letters",
			batches: []string{"1 mon: " + ten + " k"},
			rows:    append(on("mon", ten), "K never"),
			want:    []string{"row 11 bad-time: K"}, counts: schedule.Counts{Unchanged: 10, Bad: 1},
		},
		{
			name:    "members of manual batches, too, are compared without regard to capital letters",
			batches: []string{"1 manual: k"},
			rows:    []string{"K mon"},
			want:    []string{"row 1 key-case: K"}, counts: schedule.Counts{Bad: 1},
		},
		{
			name: "new people whose keys differ in capital letters: none is used",
			rows: []string{"kk mon", "Kk tue", "l mon", "KK mon"},
			want: []string{"new mon: l", "row 1 key-case: kk", "row 2 key-case: Kk", "row 4 key-case: KK"}, counts: schedule.Counts{Bad: 3},
		},
		{
			name: "one of whose rows is bad",
			rows: []string{"k never", "K mon", "l mon"},
			want: []string{"new mon: l", "row 1 bad-time: k", "row 2 key-case: K"}, counts: schedule.Counts{Bad: 2},
		},
		{
			name:    "those of them who are members are used, also to move",
			batches: []string{"1 mon: " + ten + " kk Kk~"},
			rows:    append(on("mon", ten), "KK mon", "kk tue", "Kk mon"),
			want:    []string{"new tue: kk", "batch 1: refresh 112 with Kk", "batch 1: remove 111 kk to tue", "row 11 key-case: KK"},
			counts:  schedule.Counts{Unchanged: 10, Bad: 1},
		},
		{
			name:    "those of them who are leaving, or were removed, are not somebody else either",
			batches: []string{"1 mon: k% l- m-"},
			rows:    []string{"k mon", "K mon", "l mon", "L tue", "m tue", "M mon"},
			want:    []string{"new tue: m", "row 2 key-case: K", "row 4 key-case: L", "row 6 key-case: M"},
			counts:  schedule.Counts{Waiting: 1, RemovedByHand: 1, Bad: 3},
		},
		{
			name:    "who was removed from the batch does not come back in other letters",
			batches: []string{"1 mon: k- l- m-", "2 tue: n"},
			rows:    []string{"K mon", "L tue", "M wed", "n tue"},
			want:    []string{"new wed: M", "batch 2: add L", "row 1 key-case: K"}, counts: schedule.Counts{Unchanged: 1, Bad: 1},
		},
		{
			name:    "who was removed is known from a member whose key differs in capital letters",
			batches: []string{"1 mon: " + ten + " k K-"},
			rows:    append(on("mon", ten), "K mon"),
			want:    []string{"batch 1: remove 111 k"}, counts: schedule.Counts{Unchanged: 10, RemovedByHand: 1},
		},
	})
}

func TestImmediateBatches(t *testing.T) {
	t.Parallel()
	run(t, immediate, []scene{
		{
			name: "one new batch on the next or last five minutes",
			rows: []string{"b", "a"},
			want: []string{"new 2026-03-01T12:05:00Z: a b"},
		},
		{
			name:    "who is in a batch already is left out, and refreshed in an automated one",
			batches: []string{"1 yesterday: a b~ c!~", "2 manual: d~"},
			rows:    []string{"a", "b", "c", "d", "e"},
			want:    []string{"new 2026-03-01T12:05:00Z: e", "batch 1: refresh 102 with b", "batch 1: refresh 103 with c"},
			counts:  schedule.Counts{Unchanged: 1, InManual: 1},
		},
		{
			name:    "nobody is removed for being gone from a query for those who are ready",
			batches: []string{"1 yesterday: a b c", "2 now filling: d"},
			rows:    []string{"e"},
			want:    []string{"batch 2: add e"},
		},
		{
			name:    "nor when there are no rows",
			batches: []string{"1 yesterday: a b c"},
		},
		{
			name:    "no batches while automation is off",
			batches: []string{"automation off"}, rows: []string{"a"}, counts: schedule.Counts{Off: 1},
		},
		{
			name:    "the batch of these minutes has ended: the next ones will do",
			batches: []string{"1 now ended"}, rows: []string{"a"}, counts: schedule.Counts{Ended: 1},
		},
		{
			name:    "who was removed by an administrator stays out while that batch lasts",
			batches: []string{"1 yesterday: a- b"}, rows: []string{"a", "b"}, counts: schedule.Counts{RemovedByHand: 1, Unchanged: 1},
		},
		{
			name:    "nor do they come back in other letters",
			batches: []string{"1 yesterday: a- b"}, rows: []string{"A", "b"}, counts: schedule.Counts{Bad: 1, Unchanged: 1},
			want: []string{"row 1 key-case: A"},
		},
		{
			name:    "kept members are back",
			batches: []string{"1 yesterday: b+ a+"}, rows: []string{"a", "b"},
			want: []string{"batch 1: 101 returned", "batch 1: 102 returned"}, counts: schedule.Counts{Unchanged: 2},
		},
	})
}

// TestImmediateBatchesAreNeverLate: phases before the start are due at once.
func TestImmediateBatchesAreNeverLate(t *testing.T) {
	t.Parallel()
	rb := parse(t, immediate)
	rb.Phases = rb.Phases[:1] // two days before the start
	plan := schedule.Make(rb, people(t, rb, "a"), situation(t, rb))
	if got := describePlan(plan); !slices.Equal(got, []string{"new 2026-03-01T12:05:00Z: a"}) {
		t.Error(got)
	}
}

// TestAPhaseAfterTheStartKeepsABatchFromBeingLate: what counts is the last of them.
func TestAPhaseAfterTheStartKeepsABatchFromBeingLate(t *testing.T) {
	t.Parallel()
	rb := parse(t, scheduled)
	rb.Phases[1].Offset -= 14 * 24 * 60
	plan := schedule.Make(rb, people(t, rb, "a yesterday", "b long-ago"), situation(t, rb))
	if got := describePlan(plan); !slices.Equal(got, []string{"new yesterday: a", "row 0 long-past:"}) {
		t.Error(got)
	}
}

// TestStartsAreInstants: batches are identified by their start, in any zone.
func TestStartsAreInstants(t *testing.T) {
	t.Parallel()
	rb := parse(t, scheduled)
	s := situation(t, rb, "1 mon: a b c", "2 tue ended")
	east := time.FixedZone("east", 3600)
	s.Now = s.Now.In(east)
	s.Batches[0].Start = s.Batches[0].Start.In(east)
	s.Ended = map[time.Time]int{day(t, "tue").In(east): 2}
	plan := schedule.Make(rb, people(t, rb, "a mon", "b 2026-03-02T02:00:00+02:00", "c mon", "d mon", "e tue"), s)
	if got := describePlan(plan); !slices.Equal(got, []string{"batch 1: add d"}) || plan.Counts.Ended != 1 {
		t.Error(got, plan.Counts)
	}
}

// TestProblemsSayWhatIsMeant: the other key, the batch, the reason.
func TestProblemsSayWhatIsMeant(t *testing.T) {
	t.Parallel()
	rb := parse(t, scheduled)
	stays := `"a" stays in batch 1 of 2026-03-02T00:00:00Z, although the batch time is now 2026-03-03T00:00:00Z: `
	alike := func(key, other string) string {
		return fmt.Sprintf("column UserId: %q differs only in case from %s: correct the keys; until then no member is added or removed", key, other)
	}
	for _, one := range []struct{ batches, rows, want []string }{
		{[]string{"1 mon: a", "12 tue ended"}, []string{"a tue"}, []string{stays + "batch 12 for this start has ended"}},
		{[]string{"1 mon: a", "automation off"}, []string{"a tue"}, []string{stays + "automation is off, so no batch is created for this start"}},
		{[]string{"1 mon: kK Kk"}, []string{"kk mon"}, []string{alike("kk", `the key of the member "Kk"`)}},
		{[]string{"1 mon: kK- Kk-"}, []string{"kk mon"}, []string{alike("kk", `the key of "Kk", whom an administrator removed from that batch`)}},
		{[]string{"1 mon: kk-"}, []string{"Kk tue", "KK mon"}, []string{
			alike("Kk", `the key "KK" of another row`), alike("KK", `the key of "kk", whom an administrator removed from that batch`),
		}},
		{nil, []string{"kk mon", "KK mon", "kK tue"}, []string{
			alike("kk", `the key "KK" of another row`), alike("KK", `the key "kK" of another row`), alike("kK", `the key "KK" of another row`),
		}},
	} {
		plan := schedule.Make(rb, people(t, rb, one.rows...), situation(t, rb, one.batches...))
		var got []string
		for _, pr := range plan.Problems {
			got = append(got, pr.Message)
		}
		if !slices.Equal(got, one.want) {
			t.Errorf("the problems are\n\t%s\nand should be\n\t%s", strings.Join(got, "\n\t"), strings.Join(one.want, "\n\t"))
		}
	}
}

func run(t *testing.T, timing string, scenes []scene) {
	t.Helper()
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			rb := parse(t, timing)
			plan := schedule.Make(rb, people(t, rb, s.rows...), situation(t, rb, s.batches...))
			if got := describePlan(plan); !slices.Equal(got, s.want) {
				t.Errorf("the plan is\n\t%s\nand should be\n\t%s", strings.Join(got, "\n\t"), strings.Join(s.want, "\n\t"))
			}
			want := s.counts
			want.Rows, want.Problems = len(s.rows), len(plan.Problems)
			if plan.Counts != want {
				t.Errorf("the counts are\n\t%+v\nand should be\n\t%+v", plan.Counts, want)
			}
		})
	}
}
