package cosmos

import "testing"

// The keys are those that @azure/cosmos 4.10.1 computes.
func TestEffectivePartitionKey(t *testing.T) {
	t.Parallel()
	c := &container{}
	for pk, want := range map[string]string{
		`["p1"]`:      "062B23DEC15212F01B9A85F4E93A940C",
		`["redmond"]`: "22E342F38A486A088463DFF7838A5963",
		`[""]`:        "32E9366E637A71B4E710384B2F4970A0",
		`["a longer key, of more than sixteen bytes ä"]`: "2931EBE649A8858F5CFE16E0518C8DBA",
		`[5.25]`:    "12E510B4D1E2138833FCFC335C2246AE",
		`[-1]`:      "19938E7A936C1C5B9E3AE842BBC16839",
		`[true]`:    "0E711127C5B5A8E4726AC6DD306A3E59",
		`[false]`:   "2FE1BE91E90A3439635E0E9E37361EF2",
		`[null]`:    "378867E4430E67857ACE5C908374FE16",
		`["a","b"]`: "3A5381E1114EB8D3FCC90795045B49B7195644569A78B1E22D200348AF9416CE",
	} {
		if got, err := c.effectiveKey(pk); got != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", pk, got, err, want)
		}
	}
}
