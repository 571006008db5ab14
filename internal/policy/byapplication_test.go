package policy

import (
	"slices"
	"testing"

	"github.com/loadline/loadline"
)

func TestPoliciesByApplication(t *testing.T) {
	app := &loadline.App{Tenants: []loadline.Tenant{{Name: "shop"}, {Name: "info"}}}
	for _, row := range []struct {
		name, joined string
		each         []string
	}{
		{"one policy is that of each", "hpa:target=60", []string{"hpa:target=60", "hpa:target=60"}},
		{"different settings", "by-application:shop=hpa(target=60;down-window=60s),info=planner",
			[]string{"hpa:target=60,down-window=60s", "planner"}},
		{"rules by service within", "by-application:shop=by-service(web=hpa(target=60;sync=5s);db=static),info=keda(web=20)",
			[]string{"by-service:web=hpa(target=60;sync=5s),db=static", "keda:web=20"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := JoinApplications(app, row.each); got != row.joined {
				t.Errorf("joined %s, want %s", got, row.joined)
			}
			got, err := EachApplication(row.joined, app)
			if err != nil || !slices.Equal(got, row.each) {
				t.Errorf("each %q, %v, want %q", got, err, row.each)
			}
		})
	}
}
