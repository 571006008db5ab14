package cli

import (
	"net/http"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loadline/loadline/api/v1alpha1"
)

// TestTwentyViewersCostLittle: 20 pages that each look at an application of eleven services after every
// pass take less than 5 % of a core, the clients' side of the requests included.
func TestTwentyViewersCostLittle(t *testing.T) {
	const viewers, passes, period = 20, 8, 15 * time.Second
	s := newStage(t, 2*time.Hour, &stageApp{namespace: "shop", name: "boutique", app: mustApp(t, "boutique"), policy: "planner", load: "day",
		peak: 60, from: 9 * time.Hour, engine: "fluid", mode: v1alpha1.Act})
	base := "http://" + s.address + "/api/v1/"
	token := []string{"Authorization", "Bearer " + aliceToken}
	bytesRead := 0
	look := func() {
		for _, path := range []string{"", "/series?since=240s&service=frontend", "/changes?since=7200s&limit=500"} {
			answer, text := askUI(t, "GET", base+"applications/shop/boutique"+path, token...)
			if answer.StatusCode != http.StatusOK {
				t.Fatalf("%s: %d %s", path, answer.StatusCode, text)
			}
			bytesRead += len(text)
		}
	}
	look() // what is made once
	before := cpuTime(t)
	for range viewers * passes {
		look()
	}
	spent := cpuTime(t) - before
	share := spent.Seconds() / (passes * period.Seconds())
	t.Logf("%v for %d looks of %d bytes: %.2f %% of a core for %d viewers", spent, viewers*passes,
		bytesRead/(viewers*passes), 100*share, viewers)
	if share > 0.05 {
		t.Errorf("%.1f %% of a core", 100*share)
	}
}

// cpuTime that this process has used.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var spent unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &spent); err != nil {
		t.Fatal(err)
	}
	return time.Duration(spent.Nano())
}
