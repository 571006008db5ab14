package cluster

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// spawnDir makes the test binary start a process in this folder, print its pid and wait for its
// own end.
const spawnDir = "LOADLINE_CLUSTER_SPAWN_DIR"

func spawnAndWait(dir string) {
	p, err := spawn(dir, "sleeper", nil, "sleep", "1000")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.cmd.Process.Pid)
	select {}
}

// However a test ends, its processes end with it.
func TestProcessesEndWithTheirTest(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(s.String(), func(t *testing.T) {
			test := exec.Command(os.Args[0])
			test.Env = append(os.Environ(), spawnDir+"="+t.TempDir())
			out, err := test.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := test.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				t.Fatal(err)
			}
			if err := test.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			_ = test.Wait() // it was ended by a signal
			Eventually(t, "the process to end", func() error {
				if state, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); len(state) > 0 && !strings.Contains(string(state), ") Z ") {
					return fmt.Errorf("it runs: %s", state)
				}
				return nil
			})
		})
	}
}

func TestLogsAreReported(t *testing.T) {
	t.Parallel()
	p, err := spawn(t.TempDir(), "speaker", nil, "sh", "-c", "for i in 1 2 3 4 5; do echo line $i; done; exit 3")
	if err != nil {
		t.Fatal(err)
	}
	<-p.done
	if got := p.tail(2); got != "line 4\nline 5" || !p.ended() {
		t.Errorf("the end is %q", got)
	}
	p.stop() // it has ended by itself
}
