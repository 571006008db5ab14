package scenarios

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/test/cluster"
)

// TestNoticesReachAlertmanager: the metrics go away and return; a real Alertmanager has the alert
// meanwhile, and not afterwards.
func TestNoticesReachAlertmanager(t *testing.T) {
	program, err := exec.LookPath("prometheus-alertmanager")
	if err != nil {
		t.Skip("Alertmanager is not installed: apt-get install --no-install-recommends prometheus-alertmanager")
	}
	t.Parallel()
	s := setUp(t, single(t), 40)
	dir := t.TempDir()
	config := filepath.Join(dir, "alertmanager.yml")
	if err := os.WriteFile(config, []byte("route: {receiver: none}\nreceivers: [{name: none}]\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	address := cluster.FreeAddress(t)
	alertmanager := s.c.Server(t, "alertmanager-"+s.ns, program, "--config.file="+config, "--storage.path="+dir,
		"--web.listen-address="+address, "--cluster.listen-address=")
	t.Cleanup(alertmanager.Stop)
	s.run(t, cluster.ProductOptions{Flags: []string{"--notify-alertmanager", "http://" + address}})
	s.loadLine(t, v1alpha1.Act, "")
	s.waitCondition(t, "Active=True/Acting", "Fallback=False")
	count := func(want int) func() error {
		return func() error {
			answer, err := http.Get("http://" + address + "/api/v2/alerts?active=true&filter=alertname=LoadlineRung&filter=namespace=" + s.ns)
			if err != nil {
				return err
			}
			defer answer.Body.Close()
			var list []struct{ Labels, Annotations map[string]string }
			if err := json.NewDecoder(answer.Body).Decode(&list); err != nil || len(list) != want {
				return fmt.Errorf("%v %v", list, err)
			}
			if want > 0 && (list[0].Labels["loadline"] != "shop" || list[0].Annotations["description"] == "") {
				return fmt.Errorf("%+v", list)
			}
			return nil
		}
	}
	s.prom.Stop()
	cluster.Eventually(t, "the alert", count(1))
	s.prom.Start(t)
	cluster.Eventually(t, "no alert", count(0))
}
