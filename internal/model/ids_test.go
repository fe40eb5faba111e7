package model_test

import (
	"testing"
	"testing/quick"

	"github.com/matoolkit/matoolkit/internal/model"
)

func TestStepIDsComeApartAgain(t *testing.T) {
	t.Parallel()
	if got := model.StepID(2, 17, 1); got != 2_0000017_001 {
		t.Fatalf("id %d", got)
	}
	round := func(phase uint16, member uint32, index uint16) bool {
		p, m, i := int(phase)+1, int(member)%10_000_000, int(index)%1000
		gp, gm, gi, err := model.ParseStepID(model.StepID(p, m, i))
		return err == nil && gp == p && gm == m && gi == i
	}
	if err := quick.Check(round, nil); err != nil {
		t.Fatal(err)
	}
	for _, id := range []int64{-1, 0, 17, 9_999_999_999, 1 << 62} {
		if _, _, _, err := model.ParseStepID(id); err == nil {
			t.Errorf("%d was taken for a step execution id", id)
		}
	}
}
