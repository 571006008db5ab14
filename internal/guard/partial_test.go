package guard_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
)

// partial is a puppet that was taught for some services.
type partial struct {
	*puppet
	decides bool
}

func (p partial) Decides(int) bool { return p.decides }

func TestTheRuleDecidesForServicesThatTheModelWasNotTaughtFor(t *testing.T) {
	st := newStage(t, nil)
	st.model.says = loadline.Proposal{}
	st.ladder.Offer(partial{st.model, false}, "")
	p, err := st.run(time.Minute, 0)
	wants(t, p, err, 9)
	st.on(guard.Primary, "the model is followed")
	if !strings.HasPrefix(p.Services[0].Reason, "rule: ") {
		t.Errorf("reason %q does not say that the rule speaks", p.Services[0].Reason)
	}
}

func TestAModelThatIsSilentOfItsOwnServiceIsNotOverruled(t *testing.T) {
	st := newStage(t, nil)
	st.model.says = loadline.Proposal{}
	st.ladder.Offer(partial{st.model, true}, "")
	if p, err := st.run(time.Minute, 0); err != nil || len(p.Services) != 0 {
		t.Errorf("%+v, %v", p, err)
	}
}
