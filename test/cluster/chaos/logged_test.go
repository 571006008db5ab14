package chaos

import "testing"

func TestChangesInALog(t *testing.T) {
	const head = "time=2026-11-18T10:06:21.240Z level=INFO msg=decided loadline=ns/shop service=ads mode=Act applied="
	for _, c := range []struct {
		name, line string
		to         int // -1 = no change
	}{
		{"a change of replicas", head + `true from=3 to=4 change="3 to 4 replicas" reason="CPU at 72 %"`, 4},
		{"a brownout", head + `true from=2 to=2 change=brownout reason="it burns"`, 0},
		{"a brownout with a change of replicas", head + `true from=1 to=2 change="1 to 2 replicas, brownout" reason="it burns"`, 0},
		{"the end of a brownout", head + `true from=2 to=2 change="end of brownout" reason="it is met"`, 2},
		{"what was not applied", head + `false from=3 to=4 change="3 to 4 replicas" reason="CPU at 72 %"`, -1},
		{"a restored workload", `time=2026-11-18T10:06:21.240Z level=INFO msg="brownout restored" loadline=ns/shop service=ads replicas=2 ` +
			`reason="the mode is Recommend"`, 2},
		{"another line", `time=2026-11-18T10:06:21.240Z level=DEBUG msg="pass held" loadline=ns/shop reason="no data"`, -1},
	} {
		l, at, is := parseLogged(c.line)
		if is != (c.to >= 0) {
			t.Errorf("%s: found %v", c.name, is)
		}
		if is && (l.To != c.to || l.App != "ns" || l.Service != "ads" || l.Why == "" || at.IsZero() ||
			l.Restored != (c.name == "a restored workload")) {
			t.Errorf("%s: %+v at %v", c.name, l, at)
		}
	}
}
