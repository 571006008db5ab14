package pool

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/suggest"
)

// quotaNames are those of the resources; cpu and memory are requests, as in a ResourceQuota.
func quotaNames() []string {
	names := []string{"cpu", "memory"}
	for r := range loadline.QuotaResources {
		names = append(names, r.String())
	}
	return names
}

// ParseQuota reads what the pods of the application may have together: "cpu=20,memory=40Gi,pods=100".
// Names are those of a ResourceQuota.
func ParseQuota(text string) (loadline.Quota, error) {
	q := loadline.Quota{Name: "the namespace"}
	if text == "" {
		return loadline.Quota{}, nil
	}
	var faults []error
	for _, field := range strings.Split(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		at := slices.Index(quotaNames(), name)
		if at < 0 {
			faults = append(faults, fmt.Errorf("unknown resource %q%s", name, suggest.Hint(name, quotaNames())))
			continue
		}
		r := loadline.QuotaResource(at - 2)
		switch at {
		case 0:
			r = loadline.QuotaCPURequests
		case 1:
			r = loadline.QuotaMemoryRequests
		}
		parse, want := parseCores, "cores such as 20 or 500m"
		switch {
		case r.Memory():
			parse, want = parseMemory, "memory such as 40Gi"
		case r == loadline.QuotaPods:
			parse, want = parseNumber, "a number such as 100"
		}
		x, ok := parse(value)
		switch {
		case !ok || x <= 0:
			faults = append(faults, fmt.Errorf("%s=%s: must be %s, above 0", name, value, want))
		case q.Hard[r].Set:
			faults = append(faults, fmt.Errorf("%s is given twice", r))
		}
		q.Hard[r] = loadline.Some(x)
	}
	return q, errors.Join(faults...)
}

// QuotaString is a quota as ParseQuota reads it; "" = nothing is limited.
func QuotaString(q loadline.Quota) string {
	var all []string
	for r, hard := range q.Hard {
		if !hard.Set {
			continue
		}
		r := loadline.QuotaResource(r)
		value := formatNumber(hard.Value)
		if r.Memory() {
			value = formatMemory(hard.Value)
		}
		all = append(all, r.String()+"="+value)
	}
	return strings.Join(all, ",")
}
