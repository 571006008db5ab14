package fleet

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The work of one agent panics: it is begun again, reported meanwhile, and another
// agent goes on.
func TestAPanicInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		broken, sound := &Agent{link: &Link{}}, &Agent{link: &Link{}}
		runs, beats := 0, 0
		broken.background(ctx, "publish experience", func(ctx context.Context) {
			if runs++; runs < 3 {
				panic("index out of range")
			}
			<-ctx.Done()
		})
		sound.background(ctx, "publish experience", func(ctx context.Context) {
			for sleep(ctx, time.Second, nil) {
				beats++
			}
		})
		synctest.Wait()
		if err := broken.Err(); err == nil || !strings.Contains(err.Error(), "publish experience: panic: index out of range") {
			t.Errorf("the agent reports %v", err)
		}
		time.Sleep(2*restartAfter + time.Second/2)
		synctest.Wait()
		if runs != 3 || broken.panicked() != nil || beats != 10 {
			t.Errorf("%d runs, %v; the other agent: %d beats", runs, broken.panicked(), beats)
		}
		cancel()
		broken.running.Wait()
		sound.running.Wait()
	})
}
