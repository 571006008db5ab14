package chaos

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Lines of Loadline's own log: a change that was applied, and the end of a brownout that nothing
// decides any more.
var (
	loggedChange = regexp.MustCompile(`^time=(\S+) .*msg=decided .*loadline=(\S+)/shop .*service=(\S+) .*applied=true from=\d+ to=(\d+) ` +
		`change=("[^"]*"|\S+) reason=(.+)$`)
	loggedEnd = regexp.MustCompile(`^time=(\S+) .*msg="brownout restored" .*loadline=(\S+)/shop .*service=(\S+) replicas=(\d+)()? ` +
		`reason=(.+)$`)
)

// parseLogged reads a change from a line, if it has one.
func parseLogged(line string) (l Logged, at time.Time, is bool) {
	line = strings.TrimSpace(line)
	m := loggedChange.FindStringSubmatch(line)
	restored := m == nil
	if restored {
		m = loggedEnd.FindStringSubmatch(line)
	}
	if m == nil {
		return l, at, false
	}
	at, err := time.Parse(time.RFC3339Nano, m[1])
	if err != nil {
		return l, at, false
	}
	to, err := strconv.Atoi(m[4])
	if err != nil {
		return l, at, false
	}
	if strings.Contains(m[5], "brownout") && !strings.Contains(m[5], "end of brownout") {
		to = 0
	}
	return Logged{App: m[2], Service: m[3], To: to, Why: m[6], Restored: restored}, at, true
}
