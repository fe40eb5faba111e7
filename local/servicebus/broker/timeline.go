package broker

import (
	"container/heap"
	"time"
)

// timeline is a heap of entries by the time at which they fall due.
type timeline struct{ h dueHeap }

// add puts the entry in and reports whether it is now the first.
func (t *timeline) add(en *entry) bool {
	heap.Push(&t.h, en)
	return en.dueIndex == 0
}

func (t *timeline) first() *entry {
	if len(t.h) == 0 {
		return nil
	}
	return t.h[0]
}

// before is the first entry if it is due by now.
func (t *timeline) before(now time.Time) *entry {
	if en := t.first(); en != nil && en.dueAt <= now.UnixMilli() {
		return en
	}
	return nil
}

// remove takes the entry out if it is in.
func (t *timeline) remove(en *entry) {
	if at := en.dueIndex; at >= 0 && at < len(t.h) && t.h[at] == en {
		heap.Remove(&t.h, at)
	}
}

type dueHeap []*entry

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].dueAt < h[j].dueAt }
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].dueIndex, h[j].dueIndex = i, j
}

func (h *dueHeap) Push(x any) {
	en := x.(*entry)
	en.dueIndex = len(*h)
	*h = append(*h, en)
}

func (h *dueHeap) Pop() any {
	last := len(*h) - 1
	en := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	en.dueIndex = -1
	return en
}

// returnedHeap is a heap of entries by sequence number.
type returnedHeap []*entry

func (h returnedHeap) Len() int           { return len(h) }
func (h returnedHeap) Less(i, j int) bool { return h[i].seq < h[j].seq }
func (h returnedHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].returnedIndex, h[j].returnedIndex = i, j
}

func (h *returnedHeap) Push(x any) {
	en := x.(*entry)
	en.returnedIndex = len(*h)
	*h = append(*h, en)
}

func (h *returnedHeap) Pop() any {
	last := len(*h) - 1
	en := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	en.returnedIndex = -1
	return en
}
